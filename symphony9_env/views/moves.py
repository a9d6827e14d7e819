"""The moves of a game as one seat saw them."""

from __future__ import annotations

from collections.abc import Sequence

from symphony9_env.actions import is_bid
from symphony9_env.compilation import as_python
from symphony9_env.rules.state import States, game_at
from symphony9_env.views.visible import is_hand_hidden

Move = tuple[int, int]  # the seat and the action


def last_bid(moves: Sequence[Move], player: int) -> int:
    """Return the index of this player's last bid in the moves."""
    return max(index for index, (who, action) in enumerate(moves) if who == player and is_bid(action))


def moves_seen(states: States, index: int, moves: Sequence[Move], seat: int) -> list[tuple[int, int | None]]:
    """Return the moves of game `index` with None for the others' hands that are still closed."""
    seen: list[tuple[int, int | None]] = list(moves)
    for player in range(int(states["num_players"][index])):
        if as_python(is_hand_hidden)(game_at(states, index), seat, player):
            seen[last_bid(moves, player)] = (player, None)
    return seen
