# kernel: compiled by Numba; a change here changes the key of the compile cache
# mypy: disable-error-code="no-any-return"
"""`investor`: plays the concerts. Holds cubes of those who will be paid best and bids for their class."""

from __future__ import annotations

import numpy as np

from symphony9_env.agents.bidding import best_bid, pay_of_class
from symphony9_env.agents.choices import contribute, trade
from symphony9_env.agents.greedy import fair_share, worth_of_composition
from symphony9_env.agents.valuation import open_token
from symphony9_env.compilation import rule
from symphony9_env.rules.scoring import MONEY_PER_POINT, total_points
from symphony9_env.rules.state import (
    CONTRIBUTE,
    DISCUSS,
    LOW,
    NONE,
    NUM_CLASSES,
    NUM_MUSICIANS,
    Game,
)
from symphony9_env.rules.tracks import fame

FAVOURED = 0.6  # how likely the class one works for comes about
OTHERWISE = 0.2


@rule
def investor_move(game: Game) -> int:
    player, coin = int(game.player), 1 / MONEY_PER_POINT
    favourite = best_paid_class(game, player)
    worth = np.zeros(NUM_MUSICIANS)
    now = total_points(game, player)
    for musician in range(game.num_musicians):
        likely = FAVOURED if fame(game, musician) == favourite else OTHERWISE
        pay = likely * game.income[fame(game, musician)] * coin
        worth[musician] = pay + worth_of_composition(game, musician, now)
    if game.phase == CONTRIBUTE or game.phase == DISCUSS:
        return contribute(game, best_bid(game, player, worth, coin))
    return trade(game, worth, coin)


@rule
def best_paid_class(game: Game, player: int) -> int:
    """The class that would leave a player with most, its pay less what he would have to give for it."""
    best, most = LOW, -100
    for concert_class in range(NUM_CLASSES):
        left = pay_of_class(game, player, concert_class) - what_is_missing(game, concert_class)
        if left > most:
            best, most = concert_class, left
    return best


@rule
def what_is_missing(game: Game, concert_class: int) -> int:
    """To the middle of that class, if the others give what they gave last time (at first: an equal share)."""
    target = (int(game.class_from[concert_class]) + int(game.class_to[concert_class])) // 2
    missing = target - open_token(game)
    for board in range(game.num_boards):
        if board != game.player:
            missing -= fair_share(game, LOW) if game.outcome == NONE else int(game.contribution[board])
    return min(max(missing, 0), int(game.limit))
