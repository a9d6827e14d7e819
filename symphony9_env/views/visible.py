# kernel: compiled by Numba; a change here changes the key of the compile cache
# mypy: disable-error-code="no-any-return"
"""What one seat can't know, taken out of a game's record: what players are given to decide by."""

from __future__ import annotations

from typing import Any

import numpy as np

from symphony9_env.compilation import rule, wrapping
from symphony9_env.rules.chance import mix
from symphony9_env.rules.state import NONE, NUM_BOARDS, NUM_CLASSES, NUM_FURNITURE, NUM_MUSICIANS, NUM_ROUNDS, Game
from symphony9_env.views.vector import num_bot_tiles_shown, num_tokens_shown

_FACTOR = np.uint64(0x9E3779B97F4A7C15)


@rule
def hide_unknown(game: Game, seat: int) -> None:
    """Overwrite, in place, the others' closed hands, the tokens not yet shown and the bot's coming tiles.

    The others' money and furniture stay: a perfect memory of all payments knows them.
    """
    for player in range(game.num_players):
        if player != seat and game.hand[player] != NONE:
            game.hand[player] = 0
            game.hand_token[player] = NONE
    for round_index in range(num_tokens_shown(game), NUM_ROUNDS):
        game.budget[round_index] = 0
    if game.has_bot:
        for round_index in range(num_bot_tiles_shown(game), NUM_ROUNDS):
            for level in range(NUM_CLASSES):
                game.bot_tiles[round_index, level] = 0


@wrapping
def _with(digest: Any, value: int) -> Any:
    return (digest + np.uint64(value + 2)) * _FACTOR


@rule
def public_digest(game: Game) -> Any:
    """A hash (uint64) of what lies open on the table: positions that look different have different ones.

    Purses are left out, so it is the same whatever a seat does not know.
    """
    digest = _with(np.uint64(game.round_index), int(game.phase) * NUM_BOARDS + int(game.player))
    digest = _with(digest, int(game.pending) * NUM_BOARDS + int(game.start))
    for musician in range(NUM_MUSICIANS):
        digest = _with(digest, int(game.scoring_tile[musician]) * 64 + int(game.cubes_left[musician]))
        for board in range(NUM_BOARDS):
            held = int(game.earlier_cubes[board, musician]) * 32 + int(game.new_cubes[board, musician])
            digest = _with(digest, held * 8 + int(game.compositions[board, musician]))
    for board in range(NUM_BOARDS):
        digest = _with(digest, int(game.contribution[board]) * 16 + int(game.announced[board]))
        for token in range(NUM_FURNITURE):
            digest = _with(digest, int(game.sales[board, token]))
    return mix(digest)


@rule
def purse_digest(game: Game) -> Any:
    """A hash (uint64) of everybody's money and furniture, which a perfect memory knows."""
    digest = np.uint64(0)
    for player in range(game.num_players):
        digest = _with(digest, int(game.money[player]))
        for token in range(NUM_FURNITURE):
            digest = _with(digest, int(game.furniture[player, token]))
    return mix(digest)
