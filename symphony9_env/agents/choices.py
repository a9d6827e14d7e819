# kernel: compiled by Numba; a change here changes the key of the compile cache
# mypy: disable-error-code="no-any-return"
"""What every scripted player does alike once it has said what a cube is worth to it: take, buy, keep, give up, sell."""

from __future__ import annotations

from typing import Any

from symphony9_env.actions import ANNOUNCE, BID, DISCARD, HANDS, KEEP, PASS, SELL, TAKE
from symphony9_env.compilation import rule
from symphony9_env.components import FURNITURE_POINTS, FURNITURE_VALUES
from symphony9_env.rules.boards import cubes
from symphony9_env.rules.game import HAND_TOTAL, legal_hands, price
from symphony9_env.rules.scoring import MONEY_PER_POINT, total_points
from symphony9_env.rules.state import (
    BUY_4,
    BUY_8,
    DISCUSS,
    GIVE_UP,
    KEEP_CUBE,
    NONE,
    NUM_FURNITURE,
    NUM_MUSICIANS,
    SELL_LAST,
    TAKE_FOR_BOT,
    Game,
)


@rule
def trade(game: Game, worth: Any, coin: float) -> int:
    """Any decision but bidding, by what a cube of each musician is worth (points) and what a coin is."""
    if game.phase == KEEP_CUBE:
        return KEEP + dearest_performer(game, worth)
    if game.phase == GIVE_UP:
        return DISCARD + cheapest_own(game, worth)
    if game.phase == SELL_LAST:
        return last_sale(game)
    if game.phase == TAKE_FOR_BOT:
        return TAKE + cheapest_on_offer(game, worth)
    musician = dearest_on_offer(game, worth)
    if game.phase == BUY_4 or game.phase == BUY_8:
        return _buy(game, musician, worth, coin)
    return TAKE + musician


@rule
def dearest_on_offer(game: Game, worth: Any) -> int:
    """The musician whose cube is worth most, of those who have one left; NONE if the tracks are empty."""
    best = NONE
    for musician in range(game.num_musicians):
        if game.cubes_left[musician] > 0 and (best == NONE or worth[musician] > worth[best]):
            best = musician
    return best


@rule
def cheapest_on_offer(game: Game, worth: Any) -> int:
    """For the bot: the musician whose cube one would miss least."""
    best = NONE
    for musician in range(game.num_musicians):
        if game.cubes_left[musician] > 0 and (best == NONE or worth[musician] < worth[best]):
            best = musician
    return best


@rule
def _buy(game: Game, musician: int, worth: Any, coin: float) -> int:
    """Buy if the cube is worth its price; sell furniture for it if it is worth that loss too."""
    if musician == NONE:
        return PASS
    gain = worth[musician] - coin * price(game)
    if gain <= 0:
        return PASS
    missing = price(game) - int(game.money[game.player])
    if missing <= 0:
        return TAKE + musician
    token = token_for(game, missing)
    if token != NONE and gain > sale_loss(token):
        return SELL + token
    return PASS


@rule
def token_for(game: Game, missing: int) -> int:
    """The smallest own token that brings in the missing money, or NONE."""
    for token in range(NUM_FURNITURE):
        if game.furniture[game.player, token] and FURNITURE_VALUES[token] >= missing:
            return token
    return NONE


@rule
def sale_loss(token: int) -> float:
    """Points given up by selling, when the money is only money."""
    return FURNITURE_POINTS[token] - FURNITURE_VALUES[token] / MONEY_PER_POINT


@rule
def dearest_performer(game: Game, worth: Any) -> int:
    best = NONE
    for musician in range(game.num_musicians):
        to_keep = game.performing[musician] and cubes(game, game.player, musician) > 0
        if to_keep and (best == NONE or worth[musician] > worth[best]):
            best = musician
    return best


@rule
def cheapest_own(game: Game, worth: Any) -> int:
    best = NONE
    for musician in range(NUM_MUSICIANS):
        if cubes(game, game.player, musician) > 0 and (best == NONE or worth[musician] < worth[best]):
            best = musician
    return best


@rule
def last_sale(game: Game) -> int:
    """The end is exact: whichever set of tokens to sell gives most points, one after the other."""
    player = int(game.player)
    best_set, most = 0, -1
    for sold in range(1 << NUM_FURNITURE):
        points = points_after_sales(game, player, sold)
        if points > most:
            best_set, most = sold, points
    for token in range(NUM_FURNITURE):
        if best_set >> token & 1 and game.furniture[player, token]:
            return SELL + token
    return PASS


@rule
def points_after_sales(game: Game, player: int, sold: int) -> int:
    """Own points, in sixths, once these tokens are sold (of those still there)."""
    money, kept = game.money[player], 0
    for token in range(NUM_FURNITURE):
        kept |= int(game.furniture[player, token]) << token
        if sold >> token & 1 and game.furniture[player, token]:
            game.money[player] += FURNITURE_VALUES[token]
            game.furniture[player, token] = 0
    points = total_points(game, player)
    game.money[player] = money
    for token in range(NUM_FURNITURE):
        game.furniture[player, token] = kept >> token & 1
    return points


@rule
def contribute(game: Game, amount: int) -> int:
    """Announce an amount; or bid it, in coins if they suffice, else with a token in the hand, else what there is."""
    if game.phase == DISCUSS:
        return ANNOUNCE + amount
    hands = legal_hands(game, int(game.player))
    for hand in range(len(HANDS)):
        if hands >> hand & 1 and HAND_TOTAL[hand] == amount:
            return BID + hand
    return BID + min(amount, int(game.money[game.player]))
