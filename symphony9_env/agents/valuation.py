# kernel: compiled by Numba; a change here changes the key of the compile cache
# mypy: disable-error-code="no-any-return"
"""What one more composition will have been worth when the game ends, as far as a player can foresee it."""

from __future__ import annotations

from typing import Final

from symphony9_env.compilation import rule
from symphony9_env.components import FURNITURE_POINTS, FURNITURE_VALUES
from symphony9_env.rules.boards import num_cubes
from symphony9_env.rules.scoring import (
    COLOURS,
    CUBES_LEFT,
    DEAD_MUSICIANS,
    FURNITURE_SOLD,
    MONEY_PER_POINT,
    OTHER_TILES,
    OWN_TILES,
    PAIRS,
    PERFORMERS,
    RANK,
    SUCCESSES,
    num_colours,
    num_pairs,
    num_tiles,
    rank_points,
)
from symphony9_env.rules.state import NUM_FURNITURE, NUM_LEVELS, NUM_ROUNDS, SIXTHS, Game
from symphony9_env.views.visible import num_tokens_shown

# What a round usually brings.
SUCCESSES_A_ROUND: Final = 0.6
PERFORMERS_A_ROUND: Final = 1.3
TILES_A_ROUND: Final = 1.4  # for one player
COLOURS_A_ROUND: Final = 0.7
PAIRS_A_ROUND: Final = 0.55
CUBES_OFF_A_TRACK: Final = 1.3  # in all: a little less than half of those that are taken ...
CUBES_AT_THE_END: Final = 2.0  # ... and what a player holds at the end, besides half of what he holds now
FIRST_OF_A_PAIR: Final = 0.4  # of the pair's points
RANKS_SHIFT: Final = 0.15  # part of a rank's points that each round to come puts in doubt
SALE_OF_ALL: Final = sum(FURNITURE_POINTS) - sum(FURNITURE_VALUES) / MONEY_PER_POINT  # points lost by selling out


@rule
def rounds_after(game: Game) -> int:
    return NUM_ROUNDS - 1 - int(game.round_index)


@rule
def open_token(game: Game) -> int:
    """Return this round's budget token, or 0 (the middle value) before it is shown."""
    return int(game.budget[game.round_index]) if num_tokens_shown(game) > game.round_index else 0


@rule
def points_of_next_tile(game: Game, player: int, musician: int, dead: float) -> float:
    """By its own colour's scoring tile, by those of other colours that count it, and as a last work.

    `dead` is how many musicians will be dead in the end.
    """
    points = _by_own_colour(game, player, musician, dead) + chance_of_death(game, musician)
    for other in range(game.num_musicians):
        if other != musician and game.compositions[player, other] > 0:
            points += _by_other_colour(game, player, musician, other)
    return points


@rule
def points_at(game: Game, musician: int, compositions: int) -> float:
    """What his scoring tile gives for each thing it counts, with so many compositions; nothing without one."""
    if compositions == 0:
        return 0.0
    return int(game.scoring_points[musician, min(compositions, NUM_LEVELS) - 1]) / SIXTHS


@rule
def _by_own_colour(game: Game, player: int, musician: int, dead: float) -> float:
    own = int(game.compositions[player, musician])
    method = game.scoring_method[musician]
    if method == OWN_TILES:
        return points_at(game, musician, 1)
    if method == RANK:
        return _by_rank(game, player, musician)
    rise = points_at(game, musician, own + 1) - points_at(game, musician, own)
    points = rise * _expected_count(game, player, musician, dead)
    return points - SALE_OF_ALL if method == FURNITURE_SOLD and own == 0 else points


@rule
def _by_rank(game: Game, player: int, musician: int) -> float:
    before = rank_points(game, player, musician) if game.compositions[player, musician] > 0 else 0
    game.compositions[player, musician] += 1
    after = rank_points(game, player, musician)
    game.compositions[player, musician] -= 1
    return (after - before) / SIXTHS * (1 - RANKS_SHIFT * rounds_after(game))


@rule
def _expected_count(game: Game, player: int, musician: int, dead: float) -> float:
    """What a tile by level will count at the end: what there is, and what this and the later rounds will bring."""
    method = game.scoring_method[musician]
    rounds = rounds_after(game) + 1
    if method == SUCCESSES:
        return game.num_successes + SUCCESSES_A_ROUND * rounds
    if method == PERFORMERS:
        return game.num_performers + PERFORMERS_A_ROUND * rounds
    if method == DEAD_MUSICIANS:
        return dead
    if method == CUBES_LEFT:
        return CUBES_AT_THE_END + 0.5 * num_cubes(game, player)
    if method == FURNITURE_SOLD:
        return float(NUM_FURNITURE)
    if method == COLOURS:
        return min(num_colours(game, player) + COLOURS_A_ROUND * rounds, float(game.num_musicians))
    if method == PAIRS:
        return num_pairs(game, player) + PAIRS_A_ROUND * rounds
    others = num_tiles(game, player) - int(game.compositions[player, musician])  # OTHER_TILES
    return others + 0.8 * TILES_A_ROUND * rounds


@rule
def _by_other_colour(game: Game, player: int, musician: int, other: int) -> float:
    """Tiles 5A, 5B and 6 on another track count this one too."""
    method = game.scoring_method[other]
    points = points_at(game, other, int(game.compositions[player, other]))
    own = int(game.compositions[player, musician])
    if method == OTHER_TILES:
        return points
    if method == COLOURS:
        return points if own == 0 else 0.0
    if method == PAIRS:
        return points if own % 2 == 1 else FIRST_OF_A_PAIR * points
    return 0.0


@rule
def expected_dead(game: Game) -> float:
    dead = 0.0
    for musician in range(game.num_musicians):
        dead += chance_of_death(game, musician)
    return dead


@rule
def chance_of_death(game: Game, musician: int) -> float:
    """Whether his track will be empty by the end, by the pace at which cubes have left it."""
    left = int(game.cubes_left[musician])
    if left == 0:
        return 1.0
    taken = -left
    for space in range(game.track_length[musician]):
        taken += int(game.track_cubes[musician, space])
    pace = (CUBES_OFF_A_TRACK + 0.55 * taken) / (1.5 + int(game.round_index))
    return min(max(0.5 + 0.25 * (pace * (rounds_after(game) + 1) - left), 0.0), 1.0)
