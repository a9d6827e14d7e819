"""Deciding: which actions are legal, and what each does."""

from __future__ import annotations

from typing import Any

from symphony9_env.actions import ANNOUNCE, BID, DISCARD, HANDS, KEEP, PASS, SELL, TAKE
from symphony9_env.compilation import entry, rule
from symphony9_env.components import FURNITURE_VALUES
from symphony9_env.rules.boards import cubes, give_up_cube, has_furniture, sell_furniture
from symphony9_env.rules.concert import close_hand
from symphony9_env.rules.state import (
    BUY_4,
    BUY_8,
    CONTRIBUTE,
    DISCUSS,
    GIVE_UP,
    KEEP_CUBE,
    NONE,
    NUM_FURNITURE,
    OVER,
    SELL_LAST,
    TAKE_FOR_BOT,
    Game,
)
from symphony9_env.rules.tracks import take_cube
from symphony9_env.rules.turns import next_decision

PRICE_4 = 4
PRICE_8 = 8

HAND_TOTAL = tuple(total for total, _ in HANDS)
HAND_TOKEN = tuple(token for _, token in HANDS)


@rule
def price(game: Game) -> int:
    """What a cube costs in the present step."""
    if game.step == BUY_4:
        return PRICE_4
    return PRICE_8 if game.step == BUY_8 else 0


@rule
def mark_legal(game: Game, mask: Any) -> None:
    """Set the mask to 1 at every action that the deciding player may choose, to 0 elsewhere."""
    mask[:] = 0
    step = game.step
    if step == OVER:
        return
    for token in range(NUM_FURNITURE):
        mask[SELL + token] = game.furniture[game.player, token]  # at any own decision (R7)
    if step == CONTRIBUTE:
        for hand in range(len(HANDS)):
            mask[BID + hand] = can_close(game, game.player, hand)
    elif step == DISCUSS:
        mask[PASS] = 1
        mask[ANNOUNCE : ANNOUNCE + game.limit + 1] = 1
    elif step == KEEP_CUBE:
        mask[PASS] = 1
        for musician in range(game.num_musicians):
            if game.performing[musician] and cubes(game, game.player, musician) > 0:
                mask[KEEP + musician] = 1
    elif step == GIVE_UP:
        for musician in range(game.num_musicians):
            if cubes(game, game.player, musician) > 0:
                mask[DISCARD + musician] = 1
    elif step == SELL_LAST:
        mask[PASS] = 1
    else:
        _mark_cubes(game, mask)


@rule
def _mark_cubes(game: Game, mask: Any) -> None:
    """A cube from any track that has one, if it can be paid for; buying may be passed."""
    if game.step == BUY_4 or game.step == BUY_8:
        mask[PASS] = 1
        if game.money[game.player] < price(game):
            return
    for musician in range(game.num_musicians):
        if game.cubes_left[musician] > 0:
            mask[TAKE + musician] = 1


@rule
def can_close(game: Game, player: int, hand: int) -> bool:
    """Coins, or one own furniture token plus coins, up to the limit; no change is given."""
    total, token = HAND_TOTAL[hand], HAND_TOKEN[hand]
    if total > game.limit:
        return False
    if token == NONE:
        return total <= game.money[player]
    return game.furniture[player, token] and total - FURNITURE_VALUES[token] <= game.money[player]


@rule
def apply(game: Game, action: int) -> None:
    """Play a legal action of the deciding player, and go on to the next decision."""
    if SELL <= action < BID:
        sell_furniture(game, game.player, action - SELL)
        if game.step != SELL_LAST or has_furniture(game, game.player):
            return  # the same decision is asked again (R7, R8)
    elif action != PASS:
        _do(game, action)
    game.pending -= 1
    if game.pending <= 0:
        game.turn += 1
        next_decision(game)


@rule
def _do(game: Game, action: int) -> None:
    player = game.player
    if action < KEEP:
        board = game.num_players if game.step == TAKE_FOR_BOT else player
        game.money[player] -= price(game)
        take_cube(game, board, action - TAKE)
    elif action < DISCARD:
        game.kept[player] = action - KEEP
    elif action < PASS:
        give_up_cube(game, player, action - DISCARD)
    elif action < ANNOUNCE:
        close_hand(game, player, HAND_TOTAL[action - BID], HAND_TOKEN[action - BID])
    else:
        game.announced[player] = action - ANNOUNCE


@entry
def legal_actions(games: Any, index: int, mask: Any) -> None:
    mark_legal(games[index], mask)


@entry
def play(games: Any, index: int, action: int) -> None:
    """Play a legal action in game `index`. Whether it is legal is the caller's to check."""
    apply(games[index], action)
