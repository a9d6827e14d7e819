# kernel: compiled by Numba; a change here changes the key of the compile cache
# mypy: disable-error-code="no-any-return"
"""Decisions that the scripted strategies share: bid, take, buy, keep, discard, sell, given the value of each cube."""

from __future__ import annotations

from typing import Any

from symphony9_env.actions import ANNOUNCE, BID, DISCARD, HANDS, KEEP, PASS, SELL, TAKE
from symphony9_env.agents.bidding import best_bid
from symphony9_env.compilation import rule
from symphony9_env.components import FURNITURE_POINTS, FURNITURE_VALUES
from symphony9_env.rules.boards import cubes
from symphony9_env.rules.game import HAND_TOTAL, legal_hands, price
from symphony9_env.rules.scoring import MONEY_PER_POINT, total_points
from symphony9_env.rules.state import (
    BUY_4,
    BUY_8,
    CONTRIBUTE,
    DISCUSS,
    GIVE_UP,
    KEEP_CUBE,
    NONE,
    NUM_FURNITURE,
    SELL_LAST,
    TAKE_FOR_BOT,
    Game,
)


@rule
def choose_move(game: Game, cube_values: Any, coin_value: float) -> int:
    """Choose an action in any phase: the best bid, or the best trade.

    `cube_values` are the points that a cube of each musician is worth to the player, `coin_value` those of a dollar.
    """
    if game.phase == CONTRIBUTE or game.phase == DISCUSS:
        return choose_contribution(game, best_bid(game, int(game.player), cube_values, coin_value))
    if game.phase == SELL_LAST:
        return _choose_last_sale(game)
    musician = _choose_musician(game, cube_values)
    if game.phase == KEEP_CUBE:
        return KEEP + musician
    if game.phase == GIVE_UP:
        return DISCARD + musician
    if game.phase == BUY_4 or game.phase == BUY_8:
        return _choose_purchase(game, musician, cube_values, coin_value)
    return TAKE + musician


@rule
def _choose_musician(game: Game, cube_values: Any) -> int:
    """Return the musician with the most valuable cube that this phase offers; NONE if it offers none.

    The cube to give up and the cube for the bot are the least valuable ones.
    """
    sign = -1 if game.phase == GIVE_UP or game.phase == TAKE_FOR_BOT else 1
    best = NONE
    for musician in range(game.num_musicians):
        is_better = best == NONE or sign * cube_values[musician] > sign * cube_values[best]
        if is_better and _is_offered(game, musician):
            best = musician
    return best


@rule
def _is_offered(game: Game, musician: int) -> bool:
    """Return whether this phase offers a cube of the musician: an own one to keep or give up, or one on his track."""
    if game.phase == KEEP_CUBE:
        return game.performing[musician] != 0 and cubes(game, game.player, musician) > 0
    if game.phase == GIVE_UP:
        return cubes(game, game.player, musician) > 0
    return game.cubes_left[musician] > 0


@rule
def _choose_purchase(game: Game, musician: int, cube_values: Any, coin_value: float) -> int:
    """Buy the cube if it is worth its price; first sell furniture if it is also worth the loss of the sale."""
    if musician == NONE:
        return PASS
    gain = cube_values[musician] - coin_value * price(game)
    if gain <= 0:
        return PASS
    missing = price(game) - int(game.money[game.player])
    if missing <= 0:
        return TAKE + musician
    token = _smallest_sufficient_token(game, missing)
    if token != NONE and gain > _sale_loss(token):
        return SELL + token
    return PASS


@rule
def _smallest_sufficient_token(game: Game, missing: int) -> int:
    """Return the smallest own token that brings in the missing money, or NONE."""
    for token in range(NUM_FURNITURE):
        if game.furniture[game.player, token] and FURNITURE_VALUES[token] >= missing:
            return token
    return NONE


@rule
def _sale_loss(token: int) -> float:
    """Return the points lost by selling a token, if the money is kept until the end."""
    return FURNITURE_POINTS[token] - FURNITURE_VALUES[token] / MONEY_PER_POINT


@rule
def _choose_last_sale(game: Game) -> int:
    """Sell the next token of the set whose sale gives the most points, or pass; the end of the game is exact."""
    player = int(game.player)
    best_set, best_points = 0, -1
    for sold in range(1 << NUM_FURNITURE):
        points = _points_after_sales(game, player, sold)
        if points > best_points:
            best_set, best_points = sold, points
    for token in range(NUM_FURNITURE):
        if best_set >> token & 1 and game.furniture[player, token]:
            return SELL + token
    return PASS


@rule
def _points_after_sales(game: Game, player: int, sold: int) -> int:
    """Return the player's points, in sixths, after selling the tokens of the set `sold` that he still has."""
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
def choose_contribution(game: Game, amount: int) -> int:
    """Announce an amount, or bid it: in coins if they suffice, else with a furniture token.

    If the amount can't be bid exactly, bid as many coins as there are.
    """
    if game.phase == DISCUSS:
        return ANNOUNCE + amount
    hands = legal_hands(game, int(game.player))
    for hand in range(len(HANDS)):
        if hands >> hand & 1 and HAND_TOTAL[hand] == amount:
            return BID + hand
    return BID + min(amount, int(game.money[game.player]))
