"""Setting up: what is drawn from the box for a seed, and how the table looks before the first turn.

Rulebook pp. 6-7, and p. 18 for two players.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from symphony9_env.compilation import entry, rule
from symphony9_env.components import NUM_BOT_TILES, STARTING_MONEY
from symphony9_env.rules.chance import draw_below, mix, shuffle
from symphony9_env.rules.state import NONE, NUM_BOARDS, NUM_CLASSES, NUM_LEVELS, NUM_ROUNDS, TAKE_FREE, Game
from symphony9_env.rules.tracks import rank_musicians, uncover
from symphony9_env.rules.turns import FREE_CUBES


@entry
def deal(box: Any, games: Any, index: int, seed: Any) -> None:
    """Deal game `index` anew from the box (one BOX record in an array) with this seed (uint64).

    The draws come in a fixed order whatever the options, so that one seed gives the same start player,
    budget and bot tiles with every choice of tracks and scoring tiles.
    """
    game = games[index]
    contents = box[0]
    generator = np.empty(1, np.uint64)
    generator[0] = mix(seed)
    _copy_table(game, contents)
    game.first_start = draw_below(generator, game.num_players)
    _draw_budget(game, contents, generator)
    _draw_bot_tiles(game, generator)
    _deal_cubes(game, contents, generator)
    _deal_scoring_tiles(game, contents, generator)
    _lay_tracks(game, contents, generator)
    _begin(game)


@entry
def begin(box: Any, games: Any, index: int) -> None:
    """Start game `index` from a deal made by hand: tracks, tiles, tokens and cubes are in its record."""
    game = games[index]
    _copy_table(game, box[0])
    for musician in range(game.num_musicians):
        _place_scoring_tile(game, box[0], musician, game.scoring_tile[musician])
    _begin(game)


@rule
def _copy_table(game: Game, contents: Any) -> None:
    game.num_players = contents.num_players
    game.num_boards = contents.num_boards
    game.num_musicians = contents.num_musicians
    game.has_bot = contents.has_bot
    game.discussion = contents.discussion
    game.limit = contents.limit
    for concert_class in range(NUM_CLASSES):
        game.class_from[concert_class] = contents.class_from[concert_class]
        game.class_to[concert_class] = contents.class_to[concert_class]
        game.income[concert_class] = contents.income[concert_class]
        for tile in range(NUM_BOT_TILES):
            game.bot_tile_set[tile, concert_class] = contents.bot_tile_set[tile, concert_class]


@rule
def _draw_budget(game: Game, contents: Any, generator: Any) -> None:
    order = np.arange(len(contents.budget_tokens))
    shuffle(generator, order)
    for round_index in range(NUM_ROUNDS):
        game.budget[round_index] = contents.budget_tokens[order[round_index]]


@rule
def _draw_bot_tiles(game: Game, generator: Any) -> None:
    for round_index in range(NUM_ROUNDS):
        tile = draw_below(generator, NUM_BOT_TILES)
        for fame in range(NUM_CLASSES):
            game.bot_tiles[round_index, fame] = game.bot_tile_set[tile, fame] if game.has_bot else 0


@rule
def _deal_cubes(game: Game, contents: Any, generator: Any) -> None:
    """One cube of each colour, shuffled, dealt by the chart clockwise from the start player."""
    colours = np.arange(game.num_musicians)
    shuffle(generator, colours)
    game.dealt_cubes[:] = NONE
    dealt = 0
    for position in range(game.num_boards):
        board = (game.first_start + position) % game.num_players if position < game.num_players else position
        for slot in range(contents.starting_cubes[position]):
            game.dealt_cubes[board, slot] = colours[dealt]
            dealt += 1


@rule
def _deal_scoring_tiles(game: Game, contents: Any, generator: Any) -> None:
    """Tile numbers to musicians at random; each on a side that is random, chosen for all, or set by hand."""
    numbers = np.arange(game.num_musicians)
    shuffle(generator, numbers)
    game.scoring_tile[:] = NONE
    for musician in range(game.num_musicians):
        side = draw_below(generator, 2)
        if contents.scoring_side != NONE:
            side = contents.scoring_side
        tile = 2 * numbers[musician] + side
        if contents.scoring_by_hand[musician] != NONE:
            tile = contents.scoring_by_hand[musician]
        _place_scoring_tile(game, contents, musician, tile)


@rule
def _place_scoring_tile(game: Game, contents: Any, musician: int, tile: int) -> None:
    game.scoring_tile[musician] = tile
    game.scoring_method[musician] = contents.tile_method[tile]
    for level in range(NUM_LEVELS):
        game.scoring_points[musician, level] = contents.tile_points[tile, level]


@rule
def _lay_tracks(game: Game, contents: Any, generator: Any) -> None:
    """Each musician his own board, side A; or the boards dealt to them, on random sides.

    With fewer musicians Schubert's board stays in the box either way (R16).
    """
    boards = np.arange(game.num_musicians)
    shuffle(generator, boards)
    for musician in range(game.num_musicians):
        side = draw_below(generator, 2)
        board = boards[musician]
        if not contents.random_tracks:
            board, side = musician, 0
        game.track_length[musician] = contents.board_length[board, side]
        for space in range(contents.board_length[board, side]):
            game.track_reputations[musician, space] = contents.board_reputations[board, side, space]
            game.track_cubes[musician, space] = contents.board_cubes[board, side, space]


@rule
def _begin(game: Game) -> None:
    """Everything as it is before the first turn."""
    _set_out_tracks(game)
    _set_out_boards(game)
    game.outcome = NONE
    game.total = 0
    game.contribution[:] = 0
    game.contribution_token[:] = NONE
    game.performing[:] = 0
    game.num_successes = 0
    game.num_performers = 0
    game.round_index = 0
    game.start = game.first_start
    game.step = TAKE_FREE
    game.turn = 0
    game.player = game.start
    game.pending = FREE_CUBES  # there always are some: every track starts with a cube


@rule
def _set_out_tracks(game: Game) -> None:
    game.dead[:] = 0
    game.cubes_left[:] = 0
    game.frontier[:] = 0
    game.frontier_left[:] = 0
    game.place[:] = 0
    for musician in range(game.num_musicians):
        for space in range(game.track_length[musician]):
            game.cubes_left[musician] += game.track_cubes[musician, space]
        uncover(game, musician, 0)
    rank_musicians(game)


@rule
def _set_out_boards(game: Game) -> None:
    game.earlier_cubes[:] = 0
    game.new_cubes[:] = 0
    game.compositions[:] = 0
    game.sales[:] = 0
    game.announced[:] = NONE
    game.hand[:] = NONE
    game.hand_token[:] = NONE
    game.kept[:] = NONE
    game.money[:] = 0
    game.furniture[:] = 0
    game.money[: game.num_players] = STARTING_MONEY
    game.furniture[: game.num_players] = 1
    for board in range(NUM_BOARDS):
        for musician in game.dealt_cubes[board]:
            if musician != NONE:
                game.earlier_cubes[board, musician] += 1
