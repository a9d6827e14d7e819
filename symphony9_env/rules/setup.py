# kernel: compiled by Numba; a change here changes the key of the compile cache
# mypy: disable-error-code="no-any-return"
"""Set-up: what is drawn from the box for a seed, and the state before the first turn.

Rulebook pp. 6-7, and p. 18 for two players.
"""

from __future__ import annotations

from typing import Any

from symphony9_env.compilation import entry, rule
from symphony9_env.components import MAX_SPACES, NUM_BOT_TILES, SIDES, STARTING_MONEY
from symphony9_env.rules.chance import draw_below, draw_member, mix, skip_draws
from symphony9_env.rules.state import (
    NONE,
    NUM_BOARDS,
    NUM_CLASSES,
    NUM_LEVELS,
    NUM_MUSICIANS,
    NUM_ROUNDS,
    TAKE_FREE,
    Game,
)
from symphony9_env.rules.tracks import rank_musicians, uncover_spaces
from symphony9_env.rules.turns import FREE_CUBES


@rule
def deal_game(contents: Any, game: Game, seed: Any) -> None:
    """Deal a new game from the box with this seed (uint64).

    Each part has a stream of its own, so that one seed gives the same start player, budget, bot tiles and
    starting cubes whatever the choice of tracks and scoring tiles.
    """
    stream = mix(seed)
    _copy_player_count_rules(game, contents)
    game.first_start = draw_below(stream, 0, game.num_players)
    _draw_budget(game, contents, mix(skip_draws(stream, 1)))
    _draw_bot_tiles(game, mix(skip_draws(stream, 2)))
    _deal_cubes(game, contents, mix(skip_draws(stream, 3)))
    _deal_scoring_tiles(game, contents, mix(skip_draws(stream, 4)))
    _lay_tracks(game, contents, mix(skip_draws(stream, 5)))
    _begin(game)


@entry
def deal(box: Any, states: Any, index: int, seed: Any) -> None:
    """Deal a new game as game `index` from the box (an array of one) with this seed (uint64)."""
    deal_game(box[0], states[index], seed)


@entry
def begin(box: Any, states: Any, index: int) -> None:
    """Start game `index` from a deal made by hand: tracks, tiles, tokens and cubes are in its state already."""
    game = states[index]
    _copy_player_count_rules(game, box[0])
    for musician in range(game.num_musicians):
        _place_scoring_tile(game, box[0], musician, game.scoring_tile[musician])
    _begin(game)


@rule
def _copy_player_count_rules(game: Game, contents: Any) -> None:
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
def _draw_budget(game: Game, contents: Any, stream: Any) -> None:
    left = (1 << len(contents.budget_tokens)) - 1
    for round_index in range(NUM_ROUNDS):
        token = draw_member(stream, round_index, left)
        left ^= 1 << token
        game.budget[round_index] = contents.budget_tokens[token]


@rule
def _draw_bot_tiles(game: Game, stream: Any) -> None:
    for round_index in range(NUM_ROUNDS):
        tile = draw_below(stream, round_index, NUM_BOT_TILES)
        for fame in range(NUM_CLASSES):
            game.bot_tiles[round_index, fame] = game.bot_tile_set[tile, fame] if game.has_bot else 0


@rule
def _deal_cubes(game: Game, contents: Any, stream: Any) -> None:
    """Shuffle one cube of each colour and deal them by the chart, clockwise from the start player."""
    game.dealt_cubes[:] = NONE
    left = (1 << int(game.num_musicians)) - 1
    dealt = 0
    for position in range(game.num_boards):
        board = (game.first_start + position) % game.num_players if position < game.num_players else position
        for slot in range(contents.starting_cubes[position]):
            musician = draw_member(stream, dealt, left)
            left ^= 1 << musician
            dealt += 1
            game.dealt_cubes[board, slot] = musician


@rule
def _deal_scoring_tiles(game: Game, contents: Any, stream: Any) -> None:
    """Deal the tile numbers to the musicians, each on a side that is random, the same for all, or set by hand."""
    game.scoring_tile[:] = NONE
    left = (1 << int(game.num_musicians)) - 1
    for musician in range(game.num_musicians):
        number = draw_member(stream, 2 * musician, left)
        left ^= 1 << number
        side = draw_below(stream, 2 * musician + 1, len(SIDES))
        if contents.scoring_side != NONE:
            side = contents.scoring_side
        tile = len(SIDES) * number + side
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
def _lay_tracks(game: Game, contents: Any, stream: Any) -> None:
    """Lay side A of his own board at each musician, or deal the boards to them on random sides.

    With fewer musicians Schubert's board stays in the box either way (R16).
    """
    left = (1 << int(game.num_musicians)) - 1
    for musician in range(game.num_musicians):
        board = draw_member(stream, 2 * musician, left)
        left ^= 1 << board
        side = draw_below(stream, 2 * musician + 1, len(SIDES))
        if not contents.random_tracks:
            board, side = musician, 0
        game.track_length[musician] = contents.board_length[board, side]
        for space in range(MAX_SPACES):  # spaces beyond the track's end are zeros: equal games have equal bytes
            game.track_reputations[musician, space] = contents.board_reputations[board, side, space]
            game.track_cubes[musician, space] = contents.board_cubes[board, side, space]


@rule
def _begin(game: Game) -> None:
    """Set everything as it is before the first turn."""
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
    game.phase = TAKE_FREE
    game.turn = 0
    game.player = game.start
    game.pending = FREE_CUBES  # there are that many: every track starts with a cube


@rule
def _set_out_tracks(game: Game) -> None:
    game.dead[:] = 0
    game.cubes_left[:] = 0
    game.reputation[:] = 0  # without an uncovered space (R1)
    game.num_uncovered[:] = 0
    game.ahead_reputation[:] = 0
    game.ahead_cubes[:] = 0
    game.rank[:] = NUM_MUSICIANS
    for musician in range(game.num_musicians):
        for space in range(game.track_length[musician]):
            game.cubes_left[musician] += game.track_cubes[musician, space]
            game.ahead_cubes[MAX_SPACES * musician + space] = game.cubes_left[musician]
            game.ahead_reputation[MAX_SPACES * musician + space] = game.track_reputations[musician, space]
        uncover_spaces(game, musician)
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
