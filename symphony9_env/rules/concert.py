# kernel: compiled by Numba; a change here changes the key of the compile cache
# mypy: disable-error-code="no-any-return"
"""The royal concert: the hands open, the total decides, and players are paid or punished.

Rulebook pp. 10-12, and p. 19 for the bot.
"""

from __future__ import annotations

from typing import Any

from symphony9_env.compilation import rule
from symphony9_env.components import FURNITURE_VALUES
from symphony9_env.rules.boards import cubes, give_up_cube, num_cubes
from symphony9_env.rules.events import (
    BONUS_AWARDED,
    CONCERT_RESOLVED,
    CUBE_RETURNED,
    HAND_OPENED,
    INCOME_PAID,
    MUSICIAN_PERFORMED,
    PENALTY_IMPOSED,
    emit,
)
from symphony9_env.rules.state import (
    HIGH,
    LOW,
    MEDIUM,
    NONE,
    NUM_CLASSES,
    TOO_LITTLE,
    TOO_MUCH,
    Game,
)
from symphony9_env.rules.tracks import fame, num_cubes_left

MEDIUM_BONUS = 5


@rule
def close_hand(game: Game, player: int, total: int, token: int) -> None:
    """Close a player's hand. What it holds stays the player's own until it is paid."""
    game.hand[player] = total
    game.hand_token[player] = token


@rule
def open_hands(game: Game, events: Any) -> None:
    """Open all hands together, add the bot's share, and let the total with the budget token decide."""
    total = game.budget[game.round_index]
    for player in range(game.num_players):
        game.contribution[player] = game.hand[player]
        game.contribution_token[player] = game.hand_token[player]
        game.hand[player] = NONE
        game.hand_token[player] = NONE
        total += game.contribution[player]
        emit(events, game, HAND_OPENED, player, NONE, game.contribution[player], game.contribution_token[player])
    if game.has_bot:
        bot = game.num_players
        game.contribution[bot] = bot_contribution(game, game.bot_tiles[game.round_index])
        total += game.contribution[bot]
        emit(events, game, HAND_OPENED, bot, NONE, game.contribution[bot], NONE)
    game.total = total
    game.outcome = concert_outcome(game, total)
    emit(events, game, CONCERT_RESOLVED, NONE, NONE, total, NONE)
    for musician in range(game.num_musicians):
        game.performing[musician] = fame(game, musician) == game.outcome
        if game.performing[musician]:
            emit(events, game, MUSICIAN_PERFORMED, NONE, musician, NONE, NONE)
    _report_bonuses_and_penalties(game, events)
    if is_success(game):
        _pay_contributions(game)


@rule
def _report_bonuses_and_penalties(game: Game, events: Any) -> None:
    """Report what the outcome entitles or obliges players to; the medium bonus is reported when it is paid.

    A bonus that has no effect is not reported.
    """
    if events is not None:
        for player in range(game.num_players):
            if may_keep_cube(game, player) or may_take_bonus(game, player):
                emit(events, game, BONUS_AWARDED, player, NONE, 0, NONE)
            if is_punished(game, player):
                emit(events, game, PENALTY_IMPOSED, player, NONE, min(penalty(game), num_cubes(game, player)), NONE)


@rule
def concert_outcome(game: Game, total: int) -> int:
    """Return the class of a concert with this total, or why it fails."""
    for concert_class in range(NUM_CLASSES):
        if game.class_from[concert_class] <= total <= game.class_to[concert_class]:
            return concert_class
    return TOO_LITTLE if total < game.class_from[LOW] else TOO_MUCH


@rule
def is_success(game: Game) -> bool:
    """Return whether the last concert took place."""
    return game.outcome == LOW or game.outcome == MEDIUM or game.outcome == HIGH


@rule
def bot_contribution(game: Game, tile: Any) -> int:
    """Return the bot's share by a tile: the amount for the fame of the colour it has most cubes of.

    For tied colours that is the lowest of their amounts, and without cubes the one for low fame (R10).
    """
    most, amount = 0, tile[LOW]
    for musician in range(game.num_musicians):
        held = cubes(game, game.num_players, musician)
        offered = tile[fame(game, musician)]
        if held > most or (held == most > 0 and offered < amount):
            most, amount = held, offered
    return amount


@rule
def _pay_contributions(game: Game) -> None:
    """Take what every hand held from its owner."""
    for player in range(game.num_players):
        token = game.contribution_token[player]
        game.money[player] -= game.contribution[player]
        if token != NONE:
            game.money[player] += FURNITURE_VALUES[token]  # that part was not paid in coins
            game.furniture[player, token] = 0


@rule
def gave_most(game: Game, player: int) -> bool:
    """Return whether a player gave most, or tied for it; the bot does not count (R4, R6)."""
    for other in range(game.num_players):
        if game.contribution[other] > game.contribution[player]:
            return False
    return True


@rule
def wins_bonus(game: Game, player: int, concert_class: int) -> bool:
    """Return whether a player wins the bonus of a concert of this class."""
    return game.outcome == concert_class and gave_most(game, player)


@rule
def is_punished(game: Game, player: int) -> bool:
    """Return whether a player is to blame for a failed concert; the bot does not count (R6)."""
    if game.outcome == TOO_MUCH:
        return gave_most(game, player)
    return game.outcome == TOO_LITTLE and game.contribution[player] == game.contribution[: game.num_players].min()


@rule
def penalty(game: Game) -> int:
    """Return how many cubes the punished give up: one in rounds 1-3, two in rounds 4-6."""
    return 1 if game.round_index < 3 else 2


@rule
def cubes_to_keep(game: Game, player: int) -> int:
    """Return the musicians, as a set, of whom the low bonus may save a cube: own cubes that income would take."""
    musicians = 0
    for musician in range(game.num_musicians):
        if game.performing[musician] and cubes(game, player, musician) > 0:
            musicians |= 1 << musician
    return musicians


@rule
def may_keep_cube(game: Game, player: int) -> bool:
    """Return whether a player wins the low bonus and has a cube that it can save (R13)."""
    return wins_bonus(game, player, LOW) and cubes_to_keep(game, player) != 0


@rule
def may_take_bonus(game: Game, player: int) -> bool:
    """Return whether a player wins the high bonus and a cube is left to take."""
    return wins_bonus(game, player, HIGH) and num_cubes_left(game) > 0


@rule
def pay_income(game: Game, events: Any) -> None:
    """Pay for every cube of a performer and take one cube of each colour that paid; then pay the $5 bonus."""
    for musician in range(game.num_musicians):
        if game.performing[musician]:
            game.num_performers += 1
            for board in range(game.num_boards):
                _pay_for_cubes(game, board, musician, events)
    game.num_successes += 1
    for player in range(game.num_players):
        if wins_bonus(game, player, MEDIUM):
            game.money[player] += MEDIUM_BONUS
            emit(events, game, BONUS_AWARDED, player, NONE, MEDIUM_BONUS, NONE)


@rule
def _pay_for_cubes(game: Game, board: int, musician: int, events: Any) -> None:
    """Pay a board for its cubes of one performer, and take one of them unless the low bonus saves it."""
    held = cubes(game, board, musician)
    if held == 0:
        return
    if board < game.num_players:  # the bot gives up its cube and gets nothing
        game.money[board] += held * game.income[game.outcome]
        emit(events, game, INCOME_PAID, board, musician, held * game.income[game.outcome], NONE)
    if game.kept[board] != musician:
        give_up_cube(game, board, musician)
        emit(events, game, CUBE_RETURNED, board, musician, NONE, NONE)
