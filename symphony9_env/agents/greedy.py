# kernel: compiled by Numba; a change here changes the key of the compile cache
# mypy: disable-error-code="no-any-return"
"""`greedy`: goes for the compositions with the most points now, bids little and never plans ahead."""

from __future__ import annotations

from typing import Final

import numpy as np

from symphony9_env.agents.choices import choose_contribution, choose_move
from symphony9_env.agents.valuation import revealed_token
from symphony9_env.compilation import rule
from symphony9_env.rules.boards import cubes, major_patron
from symphony9_env.rules.scoring import MONEY_PER_POINT, total_points
from symphony9_env.rules.state import CONTRIBUTE, DISCUSS, LOW, NONE, NUM_MUSICIANS, SIXTHS, Game

MISSING_CUBE_FACTOR: Final = 0.5  # the value of a composition halves with each cube that the player is behind
DEFENCE_FACTOR: Final = 0.2  # value of another cube where the player leads, as a part of the composition's points


@rule
def greedy_move(game: Game) -> int:
    """Return the action of the greedy strategy."""
    if game.phase == CONTRIBUTE or game.phase == DISCUSS:
        return choose_contribution(game, fair_share(game, LOW))
    cube_values = np.zeros(NUM_MUSICIANS)
    now = total_points(game, int(game.player))
    for musician in range(game.num_musicians):
        cube_values[musician] = composition_value(game, musician, now)
    return choose_move(game, cube_values, 1 / MONEY_PER_POINT)


@rule
def composition_value(game: Game, musician: int, now: int) -> float:
    """Return the points that a next composition would add to `now`, reduced if the player is behind in cubes."""
    player = int(game.player)
    game.compositions[player, musician] += 1
    points = (total_points(game, player) - now) / SIXTHS
    game.compositions[player, musician] -= 1
    patron = major_patron(game, musician)
    if patron == player:
        return DEFENCE_FACTOR * points
    rival = cubes(game, patron, musician) if patron != NONE else 0
    missing = max(rival - cubes(game, player, musician), 0)
    return points * MISSING_CUBE_FACTOR**missing


@rule
def fair_share(game: Game, concert_class: int) -> int:
    """Return an equal share of the smallest total that makes a concert of this class, less the revealed token."""
    needed = int(game.class_from[concert_class]) - revealed_token(game)
    return min(-(-needed // int(game.num_players)), int(game.limit))
