"""States that a seat can't tell from the true one: for search over hidden information.

What a perfect memory knows is kept, the others' money and furniture included. What nobody at that seat can
know is drawn anew: the others' closed hands (any legal hand), the tokens not yet shown, the bot's coming tiles.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from symphony9_env.actions import BID, HANDS, NUM_ACTIONS_DISCUSSION
from symphony9_env.compilation import entry, rule
from symphony9_env.components import BUDGET_TOKENS
from symphony9_env.rules.chance import draw_below, shuffle
from symphony9_env.rules.concert import close_hand
from symphony9_env.rules.game import HAND_TOKEN, HAND_TOTAL, mark_hands
from symphony9_env.rules.state import NONE, NUM_CLASSES, NUM_ROUNDS, Game, Games
from symphony9_env.views.vector import num_bot_tiles_shown, num_tokens_shown


@rule
def resample_hidden(game: Game, seat: int, generator: Any) -> None:
    """Draw anew, in place, all that `seat` can't know."""
    _resample_budget(game, generator)
    if game.has_bot:
        _resample_bot_tiles(game, generator)
    for player in range(game.num_players):
        if player != seat and game.hand[player] != NONE:
            _resample_hand(game, player, generator)


@rule
def _resample_budget(game: Game, generator: Any) -> None:
    """The tokens to come are drawn from those in the box that have not been shown."""
    shown = num_tokens_shown(game)
    used = np.zeros(len(BUDGET_TOKENS), np.int8)
    for round_index in range(shown):
        for token in range(len(BUDGET_TOKENS)):
            if not used[token] and BUDGET_TOKENS[token] == game.budget[round_index]:
                used[token] = 1
                break
    unseen = np.empty(len(BUDGET_TOKENS), np.int8)
    count = 0
    for token in range(len(BUDGET_TOKENS)):
        if not used[token]:
            unseen[count] = BUDGET_TOKENS[token]
            count += 1
    shuffle(generator, unseen[:count])
    for round_index in range(shown, NUM_ROUNDS):
        game.budget[round_index] = unseen[round_index - shown]


@rule
def _resample_bot_tiles(game: Game, generator: Any) -> None:
    for round_index in range(num_bot_tiles_shown(game), NUM_ROUNDS):
        tile = draw_below(generator, len(game.bot_tile_set))
        for level in range(NUM_CLASSES):
            game.bot_tiles[round_index, level] = game.bot_tile_set[tile, level]


@rule
def _resample_hand(game: Game, player: int, generator: Any) -> None:
    """Any legal hand, each as likely."""
    mask = np.zeros(NUM_ACTIONS_DISCUSSION, np.int8)
    mark_hands(game, player, mask)
    chosen = draw_below(generator, mask.sum())
    for hand in range(len(HANDS)):
        if mask[BID + hand]:
            if chosen == 0:
                close_hand(game, player, HAND_TOTAL[hand], HAND_TOKEN[hand])
            chosen -= 1


@entry
def resample_game(games: Any, index: int, seat: int, generator: Any) -> None:
    """Draw anew, in place, all that `seat` can't know of game `index` (generator: uint64, length 1)."""
    resample_hidden(games[index], seat, generator)


def resample(game: Games, seat: int, rng: np.random.Generator) -> Games:
    """A copy of a game (an array of one record) that `seat` can't tell from it."""
    copy = game.copy()
    num_players = int(copy["num_players"][0])
    if not 0 <= seat < num_players:
        raise ValueError(f"seat={seat!r}; allowed: 0 to {num_players - 1}")
    resample_game(copy, 0, seat, rng.integers(2**64, size=1, dtype=np.uint64))
    return copy


__all__ = ["resample", "resample_game", "resample_hidden"]
