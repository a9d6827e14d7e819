# kernel: compiled by Numba; a change here changes the key of the compile cache
# mypy: disable-error-code="no-any-return"
"""Decisions: which actions are legal, and what each of them does."""

from __future__ import annotations

from typing import Any

from symphony9_env.actions import ANNOUNCE, BID, DISCARD, HANDS, KEEP, PASS, SELL, TAKE
from symphony9_env.compilation import entry, rule
from symphony9_env.components import FURNITURE_VALUES
from symphony9_env.rules.boards import cubes, give_up_cube, has_furniture, sell_furniture
from symphony9_env.rules.concert import close_hand, cubes_to_keep
from symphony9_env.rules.events import (
    AMOUNT_ANNOUNCED,
    CUBE_DISCARDED,
    CUBE_KEPT,
    CUBE_TAKEN,
    HAND_CLOSED,
    PASSED,
    clear_events,
    emit,
)
from symphony9_env.rules.state import (
    BUY_4,
    BUY_8,
    CONTRIBUTE,
    DISCUSS,
    GIVE_UP,
    KEEP_CUBE,
    NONE,
    NUM_FURNITURE,
    NUM_MUSICIANS,
    OVER,
    SELL_LAST,
    TAKE_FOR_BOT,
    Game,
)
from symphony9_env.rules.tracks import take_cube
from symphony9_env.rules.turns import next_decision

SECOND_TURN_PRICE = 4
THIRD_TURN_PRICE = 8

HAND_TOTAL = tuple(total for total, _ in HANDS)
HAND_TOKEN = tuple(token for _, token in HANDS)


@rule
def price(game: Game) -> int:
    """Return what a cube costs in the current phase."""
    if game.phase == BUY_4:
        return SECOND_TURN_PRICE
    return THIRD_TURN_PRICE if game.phase == BUY_8 else 0


@rule
def legal_set(game: Game) -> int:
    """Return what the deciding player may choose, as a set: a whole number with one bit for each action."""
    phase = game.phase
    if phase == OVER:
        return 0
    legal = 0
    for token in range(NUM_FURNITURE):
        legal |= int(game.furniture[game.player, token]) << SELL + token  # at any own decision (R7)
    if phase == CONTRIBUTE:
        return legal | legal_hands(game, game.player) << BID
    if phase == DISCUSS:
        return legal | 1 << PASS | ((1 << int(game.limit) + 1) - 1) << ANNOUNCE
    if phase == KEEP_CUBE:
        return legal | 1 << PASS | cubes_to_keep(game, game.player) << KEEP
    if phase == GIVE_UP:
        return legal | _own_cubes(game) << DISCARD
    if phase == SELL_LAST:
        return legal | 1 << PASS
    if phase == BUY_4 or phase == BUY_8:
        legal |= 1 << PASS
        if game.money[game.player] < price(game):
            return legal
    return legal | _tracks_with_cubes(game) << TAKE


@rule
def _tracks_with_cubes(game: Game) -> int:
    musicians = 0
    for musician in range(NUM_MUSICIANS):
        musicians |= (game.cubes_left[musician] > 0) << musician
    return musicians


@rule
def _own_cubes(game: Game) -> int:
    musicians = 0
    for musician in range(NUM_MUSICIANS):
        musicians |= (cubes(game, game.player, musician) > 0) << musician
    return musicians


@rule
def legal_hands(game: Game, player: int) -> int:
    """Return what a player may close a hand with, as a set of HANDS: coins, or one furniture token and coins.

    The total is at most the limit, and no change is given.
    """
    money = game.money[player]
    hands = 0
    for hand in range(len(HANDS)):
        total, token = HAND_TOTAL[hand], HAND_TOKEN[hand]
        if total > game.limit:
            continue
        if token == NONE:
            hands |= (total <= money) << hand
        elif game.furniture[player, token]:
            hands |= (total - FURNITURE_VALUES[token] <= money) << hand
    return hands


@rule
def mark_legal(legal: int, mask: Any) -> None:
    """Write a set of legal actions as a mask: 1 for each of them, 0 elsewhere."""
    for action in range(len(mask)):
        mask[action] = legal >> action & 1


@rule
def apply(game: Game, action: int, events: Any) -> None:
    """Play a legal action of the deciding player and go on to the next decision.

    `events` is a buffer for what the move sets off, or None.
    """
    if SELL <= action < BID:
        sell_furniture(game, game.player, action - SELL, events)
        if game.phase != SELL_LAST or has_furniture(game, game.player):
            return  # the same decision is asked again (R7, R8)
    elif action == PASS:
        emit(events, game, PASSED, game.player, NONE, NONE, NONE)
    else:
        _do(game, action, events)
    game.pending -= 1
    if game.pending <= 0:
        game.turn += 1
        next_decision(game, events)


@rule
def _do(game: Game, action: int, events: Any) -> None:
    """Carry out an action that is neither a sale nor a pass."""
    player = game.player
    if action < KEEP:
        board = game.num_players if game.phase == TAKE_FOR_BOT else player
        game.money[player] -= price(game)
        take_cube(game, board, action - TAKE)
        emit(events, game, CUBE_TAKEN, board, action - TAKE, price(game), NONE)
    elif action < DISCARD:
        game.kept[player] = action - KEEP
        emit(events, game, CUBE_KEPT, player, action - KEEP, NONE, NONE)
    elif action < PASS:
        give_up_cube(game, player, action - DISCARD)
        emit(events, game, CUBE_DISCARDED, player, action - DISCARD, NONE, NONE)
    elif action < ANNOUNCE:
        total, token = HAND_TOTAL[action - BID], HAND_TOKEN[action - BID]
        close_hand(game, player, total, token)
        emit(events, game, HAND_CLOSED, player, NONE, total, token)
    else:
        game.announced[player] = action - ANNOUNCE
        emit(events, game, AMOUNT_ANNOUNCED, player, NONE, action - ANNOUNCE, NONE)


@entry
def legal_actions(states: Any, index: int, mask: Any) -> None:
    """Write the mask of the legal actions in game `index`."""
    mark_legal(legal_set(states[index]), mask)


@entry
def play(states: Any, index: int, action: int) -> None:
    """Play a legal action in game `index`; the caller checks that it is legal."""
    apply(states[index], action, None)


@entry
def play_with_events(states: Any, index: int, action: int, events: Any) -> None:
    """Play a legal action in game `index` and fill the event buffer with what it sets off."""
    clear_events(events)
    apply(states[index], action, events)
