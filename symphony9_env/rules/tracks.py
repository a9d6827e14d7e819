"""Career tracks: taking cubes uncovers spaces, spaces give reputation, reputation gives the ranking.

Rulebook pp. 8 and 10.
"""

from __future__ import annotations

from symphony9_env.compilation import rule
from symphony9_env.components import MAX_SPACES
from symphony9_env.rules.state import HIGH, LOW, MEDIUM, Game


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
    return int(game.track_length[musician]) - int(game.num_uncovered[musician])


@rule
def uncover_spaces(game: Game, musician: int) -> None:
    """A space is uncovered once it and all spaces left of it hold no cube; empty ones follow at once (R1)."""
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
def any_cube_left(game: Game) -> bool:
    for musician in range(game.num_musicians):
        if game.cubes_left[musician] > 0:
            return True
    return False


@rule
def num_cubes_left(game: Game) -> int:
    cubes = 0
    for musician in range(game.num_musicians):
        cubes += game.cubes_left[musician]
    return cubes


@rule
def ranks_above(game: Game, one: int, other: int) -> bool:
    """By reputation, then seniority, then nearer the top row. The dead are ranked too."""
    if game.reputation[one] != game.reputation[other]:
        return game.reputation[one] > game.reputation[other]
    if game.num_uncovered[one] != game.num_uncovered[other]:
        return game.num_uncovered[one] > game.num_uncovered[other]
    return one < other


@rule
def rank_musicians(game: Game) -> None:
    for one in range(game.num_musicians):
        place = 0
        for other in range(game.num_musicians):
            if other != one and ranks_above(game, other, one):
                place += 1
        game.place[one] = place


@rule
def fame(game: Game, musician: int) -> int:
    """The first is of high fame, the last two of low, the rest of medium."""
    place = game.place[musician]
    if place == 0:
        return HIGH
    if place >= game.num_musicians - 2:
        return LOW
    return MEDIUM
