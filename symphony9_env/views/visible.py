# kernel: compiled by Numba; a change here changes the key of the compile cache
# mypy: disable-error-code="no-any-return"
"""What is public and what a seat may know: the single definition, for compiled code and for Python.

Public: tracks, cubes, compositions, scoring tiles, opened contributions, sales, announcements, and the budget tokens
and bot tiles that have been shown. Hidden from a seat: the others' closed hands, their money and furniture (unless
perfect memory of all payments is granted), the tokens not yet shown, and the bot's coming tiles. The observation, the
seat view, resampling, digests, adapters and agents all ask the functions here.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from symphony9_env.compilation import rule, wrapping_rule
from symphony9_env.rules.chance import draw_below, mix
from symphony9_env.rules.state import (
    CONTRIBUTE,
    DISCUSS,
    NONE,
    NUM_BOARDS,
    NUM_FURNITURE,
    NUM_MUSICIANS,
    OVER,
    Game,
)

_FACTOR = np.uint64(0x9E3779B97F4A7C15)
_FINE: Final = 1 << 24


@rule
def num_tokens_shown(game: Game) -> int:
    """Return how many budget tokens have been shown: this round's once the concert has begun."""
    return game.round_index + (1 if game.phase >= DISCUSS else 0)


@rule
def num_bot_tiles_shown(game: Game) -> int:
    """Return how many bot tiles have been drawn: this round's once the hands are open."""
    return game.round_index + (1 if game.phase > CONTRIBUTE else 0)


@rule
def is_hand_hidden(game: Game, seat: int, player: int) -> bool:
    """Return whether a player has a closed hand that this seat may not see."""
    return player != seat and game.hand[player] != NONE


@rule
def is_purse_hidden(game: Game, seat: int, player: int, ledger: bool) -> bool:
    """Return whether this seat may not see a player's money and furniture. `ledger` grants a perfect memory."""
    return player != seat and not ledger and game.phase != OVER


@rule
def hide_unknown(game: Game, seat: int) -> None:
    """Overwrite, in place, what a seat with a perfect memory can't know.

    That is the others' closed hands, the tokens not yet shown and the bot's coming tiles. The others' money and
    furniture stay, because a perfect memory of all payments knows them.
    """
    for player in range(game.num_players):
        if is_hand_hidden(game, seat, player):
            game.hand[player] = 0
            game.hand_token[player] = NONE
    game.budget[num_tokens_shown(game) :] = 0
    game.bot_tiles[num_bot_tiles_shown(game) :] = 0


@wrapping_rule
def _add(digest: Any, value: int) -> Any:
    """Return the digest with one more number hashed in."""
    # A NONE, such as the scoring tile of a musician who is not in the game, makes the number negative. NumPy refuses to
    # make a negative Python number unsigned; an int64 wraps, as in compiled code.
    return (digest + np.uint64(np.int64(value + 2))) * _FACTOR


@rule
def public_digest(game: Game) -> Any:
    """Return a hash (uint64) of public information, without anybody's money and furniture.

    It is the same for all positions that a seat can't tell apart.
    """
    digest = _add(np.uint64(game.round_index), int(game.phase) * NUM_BOARDS + int(game.player))
    digest = _add(digest, int(game.pending) * NUM_BOARDS + int(game.start))
    for musician in range(NUM_MUSICIANS):
        digest = _add(digest, int(game.scoring_tile[musician]) * 64 + int(game.cubes_left[musician]))
        for board in range(NUM_BOARDS):
            held = int(game.earlier_cubes[board, musician]) * 32 + int(game.new_cubes[board, musician])
            digest = _add(digest, held * 8 + int(game.compositions[board, musician]))
    for board in range(NUM_BOARDS):
        digest = _add(digest, int(game.contribution[board]) * 16 + int(game.announced[board]))
        for token in range(NUM_FURNITURE):
            digest = _add(digest, int(game.sales[board, token]))
    return mix(digest)


@rule
def draw_chance(game: Game, seed: Any) -> float:
    """Return a random number from 0 to 1 for the decision of a seat, by the seed and by public information."""
    return draw_below(mix(seed ^ public_digest(game)), 0, _FINE) / _FINE


@rule
def purse_digest(game: Game) -> Any:
    """Return a hash (uint64) of everybody's money and furniture, which a perfect memory knows."""
    digest = np.uint64(0)
    for player in range(game.num_players):
        digest = _add(digest, int(game.money[player]))
        for token in range(NUM_FURNITURE):
            digest = _add(digest, int(game.furniture[player, token]))
    return mix(digest)
