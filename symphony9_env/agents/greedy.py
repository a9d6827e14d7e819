# kernel: compiled by Numba; a change here changes the key of the compile cache
# mypy: disable-error-code="no-any-return"
"""`greedy`: takes compositions by their points, cares little for concerts and never looks ahead."""

from __future__ import annotations

import numpy as np

from symphony9_env.agents.choices import contribute, trade
from symphony9_env.agents.valuation import open_token
from symphony9_env.compilation import rule
from symphony9_env.rules.boards import cubes, major_patron
from symphony9_env.rules.scoring import MONEY_PER_POINT, total_points
from symphony9_env.rules.state import CONTRIBUTE, DISCUSS, LOW, NONE, NUM_MUSICIANS, SIXTHS, Game

PER_CUBE_SHORT = 0.5  # a composition that takes one more cube is worth half as much
DEFENCE = 0.2  # of its points, for a cube more where one leads already


@rule
def greedy_move(game: Game) -> int:
    if game.phase == CONTRIBUTE or game.phase == DISCUSS:
        return contribute(game, fair_share(game, LOW))
    worth = np.zeros(NUM_MUSICIANS)
    now = total_points(game, int(game.player))
    for musician in range(game.num_musicians):
        worth[musician] = worth_of_composition(game, musician, now)
    return trade(game, worth, 1 / MONEY_PER_POINT)


@rule
def worth_of_composition(game: Game, musician: int, now: int) -> float:
    """The points that his next composition would add to the player's of now, the less the further away it is."""
    player = int(game.player)
    game.compositions[player, musician] += 1
    points = (total_points(game, player) - now) / SIXTHS
    game.compositions[player, musician] -= 1
    patron = major_patron(game, musician)
    if patron == player:
        return DEFENCE * points
    rival = cubes(game, patron, musician) if patron != NONE else 0
    short = max(rival - cubes(game, player, musician), 0)
    return points * PER_CUBE_SHORT**short


@rule
def fair_share(game: Game, concert_class: int) -> int:
    """An equal part of the least that makes a concert of this class, the open token counted in."""
    needed = int(game.class_from[concert_class]) - open_token(game)
    return min(-(-needed // int(game.num_players)), int(game.limit))
