"""Career tracks: taking cubes uncovers spaces, spaces give reputation, reputation gives the ranking.

Rulebook pp. 8 and 10.
"""

from __future__ import annotations

from symphony9_env.compilation import rule
from symphony9_env.rules.state import HIGH, LOW, MEDIUM, Game


@rule
def take_cube(game: Game, board: int, musician: int) -> None:
    """Move a cube from a musician's leftmost covered space to a board's pile of this round."""
    game.cubes_left[musician] -= 1
    game.new_cubes[board, musician] += 1
    game.frontier_left[musician] -= 1
    if game.frontier_left[musician] == 0:
        uncover(game, musician, game.frontier[musician] + 1)
        rank_musicians(game)


@rule
def uncover(game: Game, musician: int, space: int) -> None:
    """Move the frontier right from `space` to the next space that holds a cube (R1)."""
    while space < game.track_length[musician] and game.track_cubes[musician, space] == 0:
        space += 1
    game.frontier[musician] = space
    if space < game.track_length[musician]:
        game.frontier_left[musician] = game.track_cubes[musician, space]


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
def seniority(game: Game, musician: int) -> int:
    """The index of the rightmost uncovered space; -1 if there is none (R1)."""
    return game.frontier[musician] - 1


@rule
def reputation(game: Game, musician: int) -> int:
    """The value of the rightmost uncovered space; 0 if there is none (R1)."""
    if game.frontier[musician] == 0:
        return 0
    return game.track_reputations[musician, game.frontier[musician] - 1]


@rule
def ranks_above(game: Game, one: int, other: int) -> bool:
    """By reputation, then seniority, then nearer the top row. The dead are ranked too."""
    if reputation(game, one) != reputation(game, other):
        return reputation(game, one) > reputation(game, other)
    if game.frontier[one] != game.frontier[other]:
        return game.frontier[one] > game.frontier[other]
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
