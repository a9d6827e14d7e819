# kernel: compiled by Numba; a change here changes the key of the compile cache
# mypy: disable-error-code="no-any-return"
"""Decisions that the scripted strategies share: take, buy, keep, discard and sell, given the value of each cube."""

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
def choose_trade(game: Game, cube_values: Any, coin_value: float) -> int:
    """Choose an action in any phase but discussion and contribution.

    `cube_values` are the points that a cube of each musician is worth to the player, `coin_value` those of a dollar.
    """
    if game.phase == KEEP_CUBE:
        return KEEP + most_valuable_performer(game, cube_values)
    if game.phase == GIVE_UP:
        return DISCARD + least_valuable_own(game, cube_values)
    if game.phase == SELL_LAST:
        return choose_last_sale(game)
    if game.phase == TAKE_FOR_BOT:
        return TAKE + least_valuable_on_offer(game, cube_values)
    musician = most_valuable_on_offer(game, cube_values)
    if game.phase == BUY_4 or game.phase == BUY_8:
        return _choose_purchase(game, musician, cube_values, coin_value)
    return TAKE + musician


@rule
def most_valuable_on_offer(game: Game, cube_values: Any) -> int:
    """Return the musician with the most valuable cube among those with cubes left; NONE if the tracks are empty."""
    best = NONE
    for musician in range(game.num_musicians):
        if game.cubes_left[musician] > 0 and (best == NONE or cube_values[musician] > cube_values[best]):
            best = musician
    return best


@rule
def least_valuable_on_offer(game: Game, cube_values: Any) -> int:
    """Return the musician with the least valuable cube among those with cubes left: a cube for the bot."""
    best = NONE
    for musician in range(game.num_musicians):
        if game.cubes_left[musician] > 0 and (best == NONE or cube_values[musician] < cube_values[best]):
            best = musician
    return best


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
    token = smallest_sufficient_token(game, missing)
    if token != NONE and gain > sale_loss(token):
        return SELL + token
    return PASS


@rule
def smallest_sufficient_token(game: Game, missing: int) -> int:
    """Return the smallest own token that brings in the missing money, or NONE."""
    for token in range(NUM_FURNITURE):
        if game.furniture[game.player, token] and FURNITURE_VALUES[token] >= missing:
            return token
    return NONE


@rule
def sale_loss(token: int) -> float:
    """Return the points lost by selling a token, if the money is kept until the end."""
    return FURNITURE_POINTS[token] - FURNITURE_VALUES[token] / MONEY_PER_POINT


@rule
def most_valuable_performer(game: Game, cube_values: Any) -> int:
    """Return the performing musician with the most valuable own cube, or NONE."""
    best = NONE
    for musician in range(game.num_musicians):
        to_keep = game.performing[musician] and cubes(game, game.player, musician) > 0
        if to_keep and (best == NONE or cube_values[musician] > cube_values[best]):
            best = musician
    return best


@rule
def least_valuable_own(game: Game, cube_values: Any) -> int:
    """Return the musician with the least valuable own cube, or NONE."""
    best = NONE
    for musician in range(NUM_MUSICIANS):
        if cubes(game, game.player, musician) > 0 and (best == NONE or cube_values[musician] < cube_values[best]):
            best = musician
    return best


@rule
def choose_last_sale(game: Game) -> int:
    """Sell the next token of the set whose sale gives the most points, or pass; the end of the game is exact."""
    player = int(game.player)
    best_set, best_points = 0, -1
    for sold in range(1 << NUM_FURNITURE):
        points = points_after_sales(game, player, sold)
        if points > best_points:
            best_set, best_points = sold, points
    for token in range(NUM_FURNITURE):
        if best_set >> token & 1 and game.furniture[player, token]:
            return SELL + token
    return PASS


@rule
def points_after_sales(game: Game, player: int, sold: int) -> int:
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
