# kernel: compiled by Numba; a change here changes the key of the compile cache
# mypy: disable-error-code="no-any-return"
"""Estimates of the points that one more composition will bring by the end of the game."""

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

# Typical figures of games between the scripted strategies.
SUCCESSES_PER_ROUND: Final = 0.6
PERFORMERS_PER_ROUND: Final = 1.3
COMPOSITIONS_PER_ROUND: Final = 1.4  # of one player, as are the next two
COLOURS_PER_ROUND: Final = 0.7
PAIRS_PER_ROUND: Final = 0.55
FINAL_CUBES: Final = 2.0  # what a player holds at the end, in addition to half of what he holds now
PRIOR_CUBES_TAKEN: Final = 1.3  # net cubes taken off a track (many return to it), in the 1.5 rounds assumed as a prior
FIRST_OF_PAIR_FACTOR: Final = 0.4  # value of the first composition of a pair, as a part of the pair's points
RANK_DOUBT_PER_ROUND: Final = 0.15  # part of the points for a rank that each round left makes uncertain
# The points lost by selling all furniture.
COST_OF_SELLING_ALL: Final = sum(FURNITURE_POINTS) - sum(FURNITURE_VALUES) / MONEY_PER_POINT


@rule
def rounds_left(game: Game) -> int:
    """Return the number of rounds after this one."""
    return NUM_ROUNDS - 1 - int(game.round_index)


@rule
def revealed_token(game: Game) -> int:
    """Return this round's budget token, or 0 (the middle value) before it is revealed."""
    return int(game.budget[game.round_index]) if num_tokens_shown(game) > game.round_index else 0


@rule
def next_composition_points(game: Game, player: int, musician: int, deaths: float) -> float:
    """Return the expected points of a player's next composition of a musician.

    They come from the musician's own scoring tile, from other scoring tiles that count the composition, and from the
    last works of dead musicians. `deaths` is the expected number of dead musicians at the end.
    """
    points = _own_tile_points(game, player, musician, deaths) + death_probability(game, musician)
    for other in range(game.num_musicians):
        if other != musician and game.compositions[player, other] > 0:
            points += _other_tile_points(game, player, musician, other)
    return points


@rule
def points_per_item(game: Game, musician: int, compositions: int) -> float:
    """Return what a musician's scoring tile gives for each item it counts, for a player with so many compositions."""
    if compositions == 0:
        return 0.0
    return int(game.scoring_points[musician, min(compositions, NUM_LEVELS) - 1]) / SIXTHS


@rule
def _own_tile_points(game: Game, player: int, musician: int, deaths: float) -> float:
    """Return the points that one more composition adds by the musician's own scoring tile."""
    own = int(game.compositions[player, musician])
    method = game.scoring_method[musician]
    if method == OWN_TILES:
        return points_per_item(game, musician, 1)
    if method == RANK:
        return _rank_tile_points(game, player, musician)
    rise = points_per_item(game, musician, own + 1) - points_per_item(game, musician, own)
    points = rise * _expected_count(game, player, musician, deaths)
    return points - COST_OF_SELLING_ALL if method == FURNITURE_SOLD and own == 0 else points


@rule
def _rank_tile_points(game: Game, player: int, musician: int) -> float:
    """Return the points that one more composition adds by tile 4B, which compares the players."""
    before = rank_points(game, player, musician) if game.compositions[player, musician] > 0 else 0
    game.compositions[player, musician] += 1
    after = rank_points(game, player, musician)
    game.compositions[player, musician] -= 1
    return (after - before) / SIXTHS * (1 - RANK_DOUBT_PER_ROUND * rounds_left(game))


@rule
def _expected_count(game: Game, player: int, musician: int, deaths: float) -> float:
    """Estimate what a tile will count at the end: the count now and the expected additions of the rounds left."""
    method = game.scoring_method[musician]
    rounds = rounds_left(game) + 1
    if method == SUCCESSES:
        return game.num_successes + SUCCESSES_PER_ROUND * rounds
    if method == PERFORMERS:
        return game.num_performers + PERFORMERS_PER_ROUND * rounds
    if method == DEAD_MUSICIANS:
        return deaths
    if method == CUBES_LEFT:
        return FINAL_CUBES + 0.5 * num_cubes(game, player)
    if method == FURNITURE_SOLD:
        return float(NUM_FURNITURE)
    if method == COLOURS:
        return min(num_colours(game, player) + COLOURS_PER_ROUND * rounds, float(game.num_musicians))
    if method == PAIRS:
        return num_pairs(game, player) + PAIRS_PER_ROUND * rounds
    others = num_tiles(game, player) - int(game.compositions[player, musician])  # OTHER_TILES
    return others + 0.8 * COMPOSITIONS_PER_ROUND * rounds


@rule
def _other_tile_points(game: Game, player: int, musician: int, other: int) -> float:
    """Return the points that one more composition adds by another musician's tile (5A, 5B, 6A or 6B)."""
    method = game.scoring_method[other]
    points = points_per_item(game, other, int(game.compositions[player, other]))
    own = int(game.compositions[player, musician])
    if method == OTHER_TILES:
        return points
    if method == COLOURS:
        return points if own == 0 else 0.0
    if method == PAIRS:
        return points if own % 2 == 1 else FIRST_OF_PAIR_FACTOR * points
    return 0.0


@rule
def expected_deaths(game: Game) -> float:
    """Return the expected number of dead musicians at the end."""
    deaths = 0.0
    for musician in range(game.num_musicians):
        deaths += death_probability(game, musician)
    return deaths


@rule
def death_probability(game: Game, musician: int) -> float:
    """Estimate the probability that a track will be empty by the end, from the pace at which cubes have left it."""
    left = int(game.cubes_left[musician])
    if left == 0:
        return 1.0
    taken = -left
    for space in range(game.track_length[musician]):
        taken += int(game.track_cubes[musician, space])
    pace = (PRIOR_CUBES_TAKEN + 0.55 * taken) / (1.5 + int(game.round_index))
    return min(max(0.5 + 0.25 * (pace * (rounds_left(game) + 1) - left), 0.0), 1.0)
