# kernel: compiled by Numba; a change here changes the key of the compile cache
# mypy: disable-error-code="no-any-return"
"""Resampling: states that a seat can't tell from the true one, for search over hidden information.

What a perfect memory knows is kept, including the others' money and furniture. What the seat can't know is drawn
again: the others' closed hands (any legal hand), the tokens not yet shown, and the bot's coming tiles.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from symphony9_env.compilation import entry, rule
from symphony9_env.components import BUDGET_TOKENS, NUM_BOT_TILES
from symphony9_env.rules.chance import draw_below, draw_member, mix, skip_draws
from symphony9_env.rules.concert import close_hand
from symphony9_env.rules.game import HAND_TOKEN, HAND_TOTAL, legal_hands
from symphony9_env.rules.state import NUM_CLASSES, NUM_ROUNDS, Game, States
from symphony9_env.views.visible import is_hand_hidden, num_bot_tiles_shown, num_tokens_shown


@rule
def resample_hidden(game: Game, seat: int, stream: Any) -> None:
    """Draw again, in place, everything that `seat` can't know."""
    _resample_budget(game, mix(stream))
    if game.has_bot:
        _resample_bot_tiles(game, mix(skip_draws(stream, 1)))
    for player in range(game.num_players):
        if is_hand_hidden(game, seat, player):
            hand = draw_member(stream, 2 + player, legal_hands(game, player))
            close_hand(game, player, HAND_TOTAL[hand], HAND_TOKEN[hand])


@rule
def _resample_budget(game: Game, stream: Any) -> None:
    """Draw the tokens to come from those in the box that have not been shown."""
    shown = num_tokens_shown(game)
    unseen = (1 << len(BUDGET_TOKENS)) - 1
    for round_index in range(shown):
        for token in range(len(BUDGET_TOKENS)):
            if unseen >> token & 1 and BUDGET_TOKENS[token] == game.budget[round_index]:
                unseen ^= 1 << token
                break
    for round_index in range(shown, NUM_ROUNDS):
        token = draw_member(stream, round_index, unseen)
        unseen ^= 1 << token
        game.budget[round_index] = BUDGET_TOKENS[token]


@rule
def _resample_bot_tiles(game: Game, stream: Any) -> None:
    for round_index in range(num_bot_tiles_shown(game), NUM_ROUNDS):
        tile = draw_below(stream, round_index, NUM_BOT_TILES)
        for level in range(NUM_CLASSES):
            game.bot_tiles[round_index, level] = game.bot_tile_set[tile, level]


@entry
def resample_game(states: Any, index: int, seat: int, stream: Any) -> None:
    """Draw again, in place, everything that `seat` can't know of game `index`, from a random stream (uint64)."""
    resample_hidden(states[index], seat, stream)


def resample(game: States, seat: int, rng: np.random.Generator) -> States:
    """Return a copy of a state (an array of one) that `seat` can't tell from it."""
    if not isinstance(rng, np.random.Generator):
        raise ValueError(f"rng={rng!r}; allowed: a numpy.random.Generator")
    copy = game.copy()
    num_players = int(copy["num_players"][0])
    if not 0 <= seat < num_players:
        raise ValueError(f"seat={seat!r}; allowed: 0 to {num_players - 1}")
    resample_game(copy, 0, seat, rng.integers(2**64, dtype=np.uint64))
    return copy
