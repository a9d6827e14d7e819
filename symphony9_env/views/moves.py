"""The moves of a game as one seat may see them."""

from __future__ import annotations

from collections.abc import Sequence

from symphony9_env.actions import BID, HANDS, is_bid
from symphony9_env.compilation import as_python
from symphony9_env.rules.state import NONE, States, game_at
from symphony9_env.views.visible import is_hand_hidden

Move = tuple[int, int]  # the seat and its action


def see_moves(states: States, index: int, moves: Sequence[Move], seat: int) -> list[tuple[int, int | None]]:
    """Return all moves of game `index`, with None for the bids that are still hidden from a seat."""
    seen: list[tuple[int, int | None]] = list(moves)
    for player in range(int(states["num_players"][index])):
        if as_python(is_hand_hidden)(game_at(states, index), seat, player):
            seen[_last_bid(moves, player)] = (player, None)
    return seen


def replace_bids(states: States, index: int, moves: Sequence[Move]) -> list[Move]:
    """Return the moves with bids that fit the closed hands of game `index`, after these were resampled."""
    replaced = list(moves)
    for player in range(int(states["num_players"][index])):
        total, token = (int(states[name][index, player]) for name in ("hand", "hand_token"))
        if total != NONE:
            replaced[_last_bid(moves, player)] = (player, BID + HANDS.index((total, token)))
    return replaced


def _last_bid(moves: Sequence[Move], player: int) -> int:
    """Return the index of a player's last bid."""
    return max(index for index, (mover, action) in enumerate(moves) if mover == player and is_bid(action))
