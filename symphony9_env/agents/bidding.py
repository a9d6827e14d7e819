# kernel: compiled by Numba; a change here changes the key of the compile cache
# mypy: disable-error-code="no-any-return"
"""How much to contribute: what the others will probably give, and what each total would bring."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from symphony9_env.actions import BID, MAX_CONTRIBUTION
from symphony9_env.agents.valuation import open_token, points_at
from symphony9_env.compilation import rule
from symphony9_env.components import BUDGET_TOKENS, NUM_BOT_TILES
from symphony9_env.rules.boards import cubes
from symphony9_env.rules.chance import draw_below
from symphony9_env.rules.concert import MEDIUM_BONUS, bot_contribution, concert_outcome, penalty
from symphony9_env.rules.scoring import PERFORMERS, SUCCESSES
from symphony9_env.rules.state import HIGH, LOW, MEDIUM, NONE, NUM_CLASSES, TOO_LITTLE, TOO_MUCH, Game
from symphony9_env.rules.tracks import fame

HABIT: Final = 0.6  # how far a rival's last contribution tells his next
SPREAD: Final = 1.0  # of a guess, in dollars
SURPRISE: Final = 0.15  # weight of an amount far from the guess, beside 1 for the guess itself
ENVY: Final = 0.3  # how much of the rivals' average gain is one's own loss

BIDS: Final = MAX_CONTRIBUTION + 1  # 0 to 8
LOWEST: Final = min(BUDGET_TOKENS)  # totals of token, bot and rivals are counted from here


@rule
def best_bid(game: Game, player: int, worth: Any, coin: float) -> int:
    """The amount with the best expectation, in points, over all that the others may give."""
    by_most, by_least = _what_others_give(game, player)
    stakes, bonus = np.zeros(NUM_CLASSES), np.zeros(NUM_CLASSES)
    for concert_class in range(NUM_CLASSES):
        stakes[concert_class] = _stake(game, player, concert_class, worth, coin)
        bonus[concert_class] = _bonus(game, player, concert_class, worth, coin)
    fine = penalty(game) * _cheapest(game, player, worth)
    best, most = 0, -np.inf
    for bid in range(min(int(game.limit), int(game.money[player])) + 1):
        points = 0.0
        for total in range(len(by_most)):
            likely = by_most[total, BIDS - 1]
            if likely == 0:
                continue
            outcome = concert_outcome(game, LOWEST + total + bid)
            if outcome == TOO_LITTLE:
                points -= by_least[total, bid] * fine
            elif outcome == TOO_MUCH:
                points -= by_most[total, bid] * fine
            else:
                points += likely * (stakes[outcome] - bid * coin) + by_most[total, bid] * bonus[outcome]
        if points > most:
            best, most = bid, points
    return best


@rule
def _what_others_give(game: Game, player: int) -> Any:
    """How likely each total of token, bot and rivals is, with the most and the least that a rival gives.

    by_most[total, bid]: and no rival gives more than the bid; by_least[total, bid]: and none gives less.
    """
    tiles = NUM_BOT_TILES if game.has_bot else 1
    bases = np.zeros(tiles, np.int64)
    for tile in range(tiles):
        bases[tile] = open_token(game) - LOWEST + _bot_amount(game, tile)
    highest = bases.max()
    size = highest + 1 + (int(game.num_players) - 1) * MAX_CONTRIBUTION
    by_most, by_least = np.zeros((size, BIDS)), np.zeros((size, BIDS))
    for tile in range(tiles):
        by_most[bases[tile], 0] += 1 / tiles
        by_least[bases[tile], BIDS - 1] += 1 / tiles
    odds = np.zeros(BIDS)
    for other in range(game.num_players):
        if other != player:
            _guess(game, other, odds)
            _add_rival(by_most, by_least, odds, highest)
            highest += MAX_CONTRIBUTION
    for total in range(size):
        for bid in range(1, BIDS):
            by_most[total, bid] += by_most[total, bid - 1]
        for bid in range(BIDS - 2, -1, -1):
            by_least[total, bid] += by_least[total, bid + 1]
    return by_most, by_least


@rule
def _bot_amount(game: Game, tile: int) -> int:
    """What the bot would give if it drew this tile."""
    if not game.has_bot:
        return 0
    _swap_bot_tile(game, tile)
    amount = int(bot_contribution(game))
    _swap_bot_tile(game, tile)
    return amount


@rule
def _swap_bot_tile(game: Game, tile: int) -> None:
    for level in range(NUM_CLASSES):
        drawn = game.bot_tiles[game.round_index, level]
        game.bot_tiles[game.round_index, level] = game.bot_tile_set[tile, level]
        game.bot_tile_set[tile, level] = drawn


@rule
def _add_rival(by_most: Any, by_least: Any, odds: Any, highest: int) -> None:
    """In place: from the highest total down, and from the lowest edge up, nothing is moved twice."""
    for total in range(highest, -1, -1):
        for edge in range(BIDS):
            most, least = by_most[total, edge], by_least[total, edge]
            if most == 0 and least == 0:
                continue
            by_most[total, edge] = by_least[total, edge] = 0
            for bid in range(BIDS):
                by_most[total + bid, max(edge, bid)] += most * odds[bid]
                by_least[total + bid, min(edge, bid)] += least * odds[bid]


@rule
def _guess(game: Game, other: int, odds: Any) -> None:
    """How likely each contribution of a rival is: around an equal share of the class that pays him best."""
    wanted = LOW
    for concert_class in range(NUM_CLASSES):
        if pay_of_class(game, other, concert_class) > pay_of_class(game, other, wanted):
            wanted = concert_class
    middle = (int(game.class_from[wanted]) + int(game.class_to[wanted])) / 2
    centre = (middle - open_token(game)) / int(game.num_boards)
    if game.outcome != NONE:
        centre += HABIT * (int(game.contribution[other]) - centre)
    odds[:] = 0
    whole = 0.0
    for bid in range(min(int(game.limit), int(game.money[other])) + 1):
        off = (bid - centre) / SPREAD
        odds[bid] = SURPRISE + 1 / ((1 + off * off) * (1 + off * off))
        whole += odds[bid]
    for bid in range(BIDS):
        odds[bid] /= whole


@rule
def pay_of_class(game: Game, player: int, concert_class: int) -> int:
    """What a concert of this class pays a player, in dollars."""
    held = 0
    for musician in range(game.num_musicians):
        if fame(game, musician) == concert_class:
            held += cubes(game, player, musician)
    return held * int(game.income[concert_class])


@rule
def _stake(game: Game, player: int, concert_class: int, worth: Any, coin: float) -> float:
    """What a concert of this class brings a player in points, less a part of what it brings the others."""
    own = coin * pay_of_class(game, player, concert_class) + _points_of_success(game, player, concert_class)
    for musician in range(game.num_musicians):
        if fame(game, musician) == concert_class and cubes(game, player, musician) > 0:
            own -= worth[musician]
    others = 0.0
    for other in range(game.num_players):
        if other != player:
            others += coin * pay_of_class(game, other, concert_class) + _points_of_success(game, other, concert_class)
    return own - ENVY * others / (int(game.num_players) - 1)


@rule
def _points_of_success(game: Game, player: int, concert_class: int) -> float:
    """By tiles 2A and 2B, which count successful concerts and performers."""
    points = 0.0
    for musician in range(game.num_musicians):
        each = points_at(game, musician, int(game.compositions[player, musician]))
        if game.scoring_method[musician] == SUCCESSES:
            points += each
        elif game.scoring_method[musician] == PERFORMERS:
            for performer in range(game.num_musicians):
                points += each * (fame(game, performer) == concert_class)
    return points


@rule
def _bonus(game: Game, player: int, concert_class: int, worth: Any, coin: float) -> float:
    """What giving most brings: the dearest cube kept, money, or the dearest cube on offer."""
    if concert_class == MEDIUM:
        return MEDIUM_BONUS * coin
    dearest = 0.0
    for musician in range(game.num_musicians):
        if concert_class == HIGH:
            to_have = game.cubes_left[musician] > 0
        else:
            to_have = fame(game, musician) == LOW and cubes(game, player, musician) > 0
        if to_have:
            dearest = max(dearest, worth[musician])
    return dearest


@rule
def _cheapest(game: Game, player: int, worth: Any) -> float:
    """The own cube that a penalty would take; nothing without cubes."""
    cheapest = np.inf
    for musician in range(game.num_musicians):
        if cubes(game, player, musician) > 0:
            cheapest = min(cheapest, worth[musician])
    return 0.0 if cheapest == np.inf else cheapest


@rule
def likely_bid(game: Game, player: int, odds: Any, stream: Any) -> int:
    """A bid drawn from what a rival would guess of this player: much cheaper than thinking one out."""
    _guess(game, player, odds)
    left = draw_below(stream, 0, 1 << 20) / (1 << 20)
    for bid in range(BIDS):
        left -= odds[bid]
        if left < 0:
            return BID + bid
    return BID
