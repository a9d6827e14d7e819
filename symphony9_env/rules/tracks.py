# kernel: compiled by Numba; a change here changes the key of the compile cache
# mypy: disable-error-code="no-any-return"
"""Career tracks: taking cubes uncovers spaces, spaces give reputation, and reputation decides the ranking.

Rulebook pp. 8 and 10.
"""

from __future__ import annotations

from symphony9_env.compilation import rule
from symphony9_env.components import MAX_SPACES
from symphony9_env.rules.state import HIGH, LOW, MEDIUM, NUM_MUSICIANS, Game


@rule
def take_cube(game: Game, board: int, musician: int) -> None:
    """Move a cube from a musician's leftmost covered space to a board's pile of this round."""
    game.cubes_left[musician] -= 1
    game.new_cubes[board, musician] += 1
    first = MAX_SPACES * musician
    for space in range(first, first + num_covered(game, musician)):
        game.ahead_cubes[space] -= 1
    if game.ahead_cubes[first] == 0:
        uncover_spaces(game, musician)
        rank_musicians(game)


@rule
def num_covered(game: Game, musician: int) -> int:
    """Return how many spaces of a track are still covered."""
    return int(game.track_length[musician]) - int(game.num_uncovered[musician])


@rule
def uncover_spaces(game: Game, musician: int) -> None:
    """Uncover the spaces that hold no cube and have none to their left; empty ones follow at once (R1)."""
    first = MAX_SPACES * musician
    while num_covered(game, musician) > 0 and game.ahead_cubes[first] == 0:
        game.reputation[musician] = game.ahead_reputation[first]
        game.num_uncovered[musician] += 1
        for space in range(first, first + MAX_SPACES - 1):
            game.ahead_cubes[space] = game.ahead_cubes[space + 1]
            game.ahead_reputation[space] = game.ahead_reputation[space + 1]
        game.ahead_cubes[first + MAX_SPACES - 1] = 0
        game.ahead_reputation[first + MAX_SPACES - 1] = 0


@rule
def num_cubes_left(game: Game) -> int:
    """Return how many cubes are left on all tracks."""
    cubes = 0
    for musician in range(game.num_musicians):
        cubes += game.cubes_left[musician]
    return cubes


@rule
def standing(game: Game, musician: int) -> int:
    """Return a number to rank by: reputation, then seniority, then nearer the top row. The dead are ranked too."""
    reputation, seniority = int(game.reputation[musician]), int(game.num_uncovered[musician])
    return (reputation * (MAX_SPACES + 1) + seniority) * NUM_MUSICIANS - musician


@rule
def rank_musicians(game: Game) -> None:
    """Fill in every musician's rank, 0 for the first."""
    for musician in range(game.num_musicians):
        rank = 0
        for other in range(game.num_musicians):
            rank += standing(game, other) > standing(game, musician)
        game.rank[musician] = rank


@rule
def fame(game: Game, musician: int) -> int:
    """Return a musician's fame: high for the first in the ranking, low for the last two, medium for the rest."""
    rank = game.rank[musician]
    if rank == 0:
        return HIGH
    if rank >= game.num_musicians - 2:
        return LOW
    return MEDIUM
