# kernel: compiled by Numba; a change here changes the key of the compile cache
# mypy: disable-error-code="no-any-return"
"""`investor`: plays for income: it collects cubes of musicians who will probably be paid, and bids for their class."""

from __future__ import annotations

from typing import Final

import numpy as np

from symphony9_env.agents.bidding import class_income
from symphony9_env.agents.choices import choose_move
from symphony9_env.agents.greedy import composition_value, fair_share
from symphony9_env.agents.valuation import revealed_token
from symphony9_env.compilation import rule
from symphony9_env.rules.scoring import MONEY_PER_POINT, total_points
from symphony9_env.rules.state import LOW, NONE, NUM_CLASSES, NUM_MUSICIANS, Game
from symphony9_env.rules.tracks import fame

# The assumed probability that the concert is of the class the player works for, and of each other class.
TARGET_CLASS_PROBABILITY: Final = 0.6
OTHER_CLASS_PROBABILITY: Final = 0.2


@rule
def investor_move(game: Game) -> int:
    """Return the action of the investor strategy."""
    player, coin_value = int(game.player), 1 / MONEY_PER_POINT
    target_class = best_paid_class(game, player)
    cube_values = np.zeros(NUM_MUSICIANS)
    now = total_points(game, player)
    for musician in range(game.num_musicians):
        probability = TARGET_CLASS_PROBABILITY if fame(game, musician) == target_class else OTHER_CLASS_PROBABILITY
        income = probability * game.income[fame(game, musician)] * coin_value
        cube_values[musician] = income + composition_value(game, musician, now)
    return choose_move(game, cube_values, coin_value)


@rule
def best_paid_class(game: Game, player: int) -> int:
    """Return the class with the best income for a player after the contribution he would have to make for it."""
    best, best_gain = LOW, -100
    for concert_class in range(NUM_CLASSES):
        gain = class_income(game, player, concert_class) - missing_amount(game, concert_class)
        if gain > best_gain:
            best, best_gain = concert_class, gain
    return best


@rule
def missing_amount(game: Game, concert_class: int) -> int:
    """Return the contribution that brings the total to the middle of a class.

    The others are assumed to contribute as in the last round, and in the first round an equal share.
    """
    target = (int(game.class_from[concert_class]) + int(game.class_to[concert_class])) // 2
    missing = target - revealed_token(game)
    for board in range(game.num_boards):
        if board != game.player:
            missing -= fair_share(game, LOW) if game.outcome == NONE else int(game.contribution[board])
    return min(max(missing, 0), int(game.limit))
