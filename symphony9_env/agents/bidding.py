# kernel: compiled by Numba; a change here changes the key of the compile cache
# mypy: disable-error-code="no-any-return"
"""How much to contribute: predict the others' contributions, and choose the amount with the best expectation."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from symphony9_env.actions import BID, MAX_CONTRIBUTION
from symphony9_env.agents.valuation import points_per_item, revealed_token
from symphony9_env.compilation import rule
from symphony9_env.components import BUDGET_TOKENS, NUM_BOT_TILES
from symphony9_env.rules.boards import cubes
from symphony9_env.rules.chance import draw_below
from symphony9_env.rules.concert import MEDIUM_BONUS, bot_contribution, concert_outcome, penalty
from symphony9_env.rules.scoring import PERFORMERS, SUCCESSES
from symphony9_env.rules.state import HIGH, LOW, MEDIUM, NONE, NUM_CLASSES, TOO_LITTLE, TOO_MUCH, Game
from symphony9_env.rules.tracks import fame

LAST_BID_WEIGHT: Final = 0.6  # weight of a rival's last contribution in the prediction of his next one
BID_SPREAD: Final = 1.0  # width of the predicted distribution, in dollars
UNEXPECTED_BID_WEIGHT: Final = 0.15  # weight of an amount far from the predicted one, whose own weight is about 1
RIVAL_GAIN_WEIGHT: Final = 0.3  # how much of the rivals' average gain counts as a loss of one's own

NUM_BIDS: Final = MAX_CONTRIBUTION + 1  # 0 to 8
LOWEST_TOKEN: Final = min(BUDGET_TOKENS)  # an offset that makes totals of token, bot and rivals usable as indices


@rule
def best_bid(game: Game, player: int, cube_values: Any, coin_value: float) -> int:
    """Return the amount with the highest expected value, in points, over all totals that the others may contribute.

    `cube_values` are the points that a cube of each musician is worth to the player, `coin_value` those of a dollar.
    """
    with_max, with_min = _predict_total(game, player)
    concert_values, bonus_values = np.zeros(NUM_CLASSES), np.zeros(NUM_CLASSES)
    for concert_class in range(NUM_CLASSES):
        concert_values[concert_class] = _concert_value(game, player, concert_class, cube_values, coin_value)
        bonus_values[concert_class] = _bonus_value(game, player, concert_class, cube_values, coin_value)
    penalty_cost = penalty(game) * _least_cube_value(game, player, cube_values)
    best, best_points = 0, -np.inf
    for bid in range(min(int(game.limit), int(game.money[player])) + 1):
        points = 0.0
        for total in range(len(with_max)):
            probability = with_max[total, NUM_BIDS - 1]
            if probability == 0:
                continue
            outcome = concert_outcome(game, LOWEST_TOKEN + total + bid)
            if outcome == TOO_LITTLE:
                points -= with_min[total, bid] * penalty_cost
            elif outcome == TOO_MUCH:
                points -= with_max[total, bid] * penalty_cost
            else:
                points += (
                    probability * (concert_values[outcome] - bid * coin_value)
                    + with_max[total, bid] * bonus_values[outcome]
                )
        if points > best_points:
            best, best_points = bid, points
    return best


@rule
def _predict_total(game: Game, player: int) -> Any:
    """Return the probability of each total of token, bot and rivals, together with the rivals' extremes.

    with_max[total, bid] is the probability of this total with no rival above the bid; with_min[total, bid] is the
    probability of this total with no rival below the bid.
    """
    num_tiles = NUM_BOT_TILES if game.has_bot else 1
    bases = np.zeros(num_tiles, np.int64)
    for tile in range(num_tiles):
        bot = int(bot_contribution(game, game.bot_tile_set[tile])) if game.has_bot else 0
        bases[tile] = revealed_token(game) - LOWEST_TOKEN + bot
    highest = bases.max()
    size = highest + 1 + (int(game.num_players) - 1) * MAX_CONTRIBUTION
    with_max, with_min = np.zeros((size, NUM_BIDS)), np.zeros((size, NUM_BIDS))
    for tile in range(num_tiles):
        with_max[bases[tile], 0] += 1 / num_tiles
        with_min[bases[tile], NUM_BIDS - 1] += 1 / num_tiles
    probabilities = np.zeros(NUM_BIDS)
    for other in range(game.num_players):
        if other != player:
            _predict_bid(game, other, probabilities)
            _add_rival(with_max, with_min, probabilities, highest)
            highest += MAX_CONTRIBUTION
    for total in range(size):
        for bid in range(1, NUM_BIDS):
            with_max[total, bid] += with_max[total, bid - 1]
        for bid in range(NUM_BIDS - 2, -1, -1):
            with_min[total, bid] += with_min[total, bid + 1]
    return with_max, with_min


@rule
def _add_rival(with_max: Any, with_min: Any, probabilities: Any, highest: int) -> None:
    """Add a rival's predicted contribution to the distributions, in place.

    Totals are visited from the highest down, so that no probability is moved twice.
    """
    for total in range(highest, -1, -1):
        for extreme in range(NUM_BIDS):
            of_max, of_min = with_max[total, extreme], with_min[total, extreme]
            if of_max == 0 and of_min == 0:
                continue
            with_max[total, extreme] = with_min[total, extreme] = 0
            for bid in range(NUM_BIDS):
                with_max[total + bid, max(extreme, bid)] += of_max * probabilities[bid]
                with_min[total + bid, min(extreme, bid)] += of_min * probabilities[bid]


@rule
def _predict_bid(game: Game, other: int, probabilities: Any) -> None:
    """Predict the probability of each contribution of a rival.

    The distribution is centred on an equal share of the class that pays him best, moved towards his last contribution.
    """
    best_class = LOW
    for concert_class in range(NUM_CLASSES):
        if class_income(game, other, concert_class) > class_income(game, other, best_class):
            best_class = concert_class
    middle = (int(game.class_from[best_class]) + int(game.class_to[best_class])) / 2
    centre = (middle - revealed_token(game)) / int(game.num_boards)
    if game.outcome != NONE:
        centre += LAST_BID_WEIGHT * (int(game.contribution[other]) - centre)
    probabilities[:] = 0
    weight_sum = 0.0
    for bid in range(min(int(game.limit), int(game.money[other])) + 1):
        distance = (bid - centre) / BID_SPREAD
        probabilities[bid] = UNEXPECTED_BID_WEIGHT + 1 / ((1 + distance * distance) * (1 + distance * distance))
        weight_sum += probabilities[bid]
    for bid in range(NUM_BIDS):
        probabilities[bid] /= weight_sum


@rule
def class_income(game: Game, player: int, concert_class: int) -> int:
    """Return the income that a concert of this class pays a player, in dollars."""
    held = 0
    for musician in range(game.num_musicians):
        if fame(game, musician) == concert_class:
            held += cubes(game, player, musician)
    return held * int(game.income[concert_class])


@rule
def _concert_value(game: Game, player: int, concert_class: int, cube_values: Any, coin_value: float) -> float:
    """Return a player's gain from a concert of this class in points, less a part of the others' gain."""
    own = coin_value * class_income(game, player, concert_class) + _success_points(game, player, concert_class)
    for musician in range(game.num_musicians):
        if fame(game, musician) == concert_class and cubes(game, player, musician) > 0:
            own -= cube_values[musician]
    others = 0.0
    for other in range(game.num_players):
        if other != player:
            others += coin_value * class_income(game, other, concert_class) + _success_points(
                game, other, concert_class
            )
    return own - RIVAL_GAIN_WEIGHT * others / (int(game.num_players) - 1)


@rule
def _success_points(game: Game, player: int, concert_class: int) -> float:
    """Return the points of tiles 2A and 2B, which count successful concerts and performers."""
    points = 0.0
    for musician in range(game.num_musicians):
        each = points_per_item(game, musician, int(game.compositions[player, musician]))
        if game.scoring_method[musician] == SUCCESSES:
            points += each
        elif game.scoring_method[musician] == PERFORMERS:
            for performer in range(game.num_musicians):
                points += each * (fame(game, performer) == concert_class)
    return points


@rule
def _bonus_value(game: Game, player: int, concert_class: int, cube_values: Any, coin_value: float) -> float:
    """Return the value of contributing most: the best cube that may be kept, money, or the best cube on offer."""
    if concert_class == MEDIUM:
        return MEDIUM_BONUS * coin_value
    highest = 0.0
    for musician in range(game.num_musicians):
        if concert_class == HIGH:
            available = game.cubes_left[musician] > 0
        else:
            available = fame(game, musician) == LOW and cubes(game, player, musician) > 0
        if available:
            highest = max(highest, cube_values[musician])
    return highest


@rule
def _least_cube_value(game: Game, player: int, cube_values: Any) -> float:
    """Return the value of the cube that the player would discard as a penalty; 0 if he has none."""
    lowest = np.inf
    for musician in range(game.num_musicians):
        if cubes(game, player, musician) > 0:
            lowest = min(lowest, cube_values[musician])
    return 0.0 if lowest == np.inf else lowest


@rule
def sample_bid(game: Game, player: int, probabilities: Any, stream: Any) -> int:
    """Draw a bid from the distribution that a rival would predict for this player, and return it as an action.

    This is much cheaper than computing the best bid.
    """
    _predict_bid(game, player, probabilities)
    draw = draw_below(stream, 0, 1 << 20) / (1 << 20)
    for bid in range(NUM_BIDS):
        draw -= probabilities[bid]
        if draw < 0:
            return BID + bid
    return BID
