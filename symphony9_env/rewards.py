"""Rewards: what a finished game is worth to each player, and the shaping option.

Kernel code, shared by every face; the kinds are named in `options.py`.
"""

from __future__ import annotations

from typing import Any, Final

from symphony9_env.compilation import entry, rule
from symphony9_env.options import REWARDS
from symphony9_env.rules.state import SIXTHS

WIN: Final = REWARDS.index("win")
MARGIN: Final = REWARDS.index("margin")
SCORE: Final = REWARDS.index("score")


@rule
def final_rewards(kind: int, num_players: int, points: Any, ranks: Any, rewards: Any) -> None:
    """Add each player's reward for the end of a game; points are in sixths."""
    if kind == WIN:
        _add_win_rewards(num_players, ranks, rewards)
        return
    total = 0
    for player in range(num_players):
        total += points[player]
    for player in range(num_players):
        own = points[player] / SIXTHS
        if kind == MARGIN:
            own -= (total - points[player]) / (SIXTHS * (num_players - 1))
        rewards[player] += own


@rule
def _add_win_rewards(num_players: int, ranks: Any, rewards: Any) -> None:
    """The winners share +1, the others share -1; if all tie, nobody gets anything."""
    winners = 0
    for player in range(num_players):
        winners += ranks[player] == 1
    if winners == num_players:
        return
    for player in range(num_players):
        if ranks[player] == 1:
            rewards[player] += 1 / winners
        else:
            rewards[player] -= 1 / (num_players - winners)


@rule
def shaping_rewards(num_players: int, before: Any, now: Any, rewards: Any) -> None:
    """Add the change in each player's own points, if the game ended now; points are in sixths."""
    for player in range(num_players):
        rewards[player] += (now[player] - before[player]) / SIXTHS


@entry
def add_rewards(
    kind: int, over: bool, shaping: bool, num_players: int, before: Any, points: Any, ranks: Any, rewards: Any
) -> None:
    """Add a step's rewards (float64) for points before and after it (int64, sixths)."""
    if shaping:
        shaping_rewards(num_players, before, points, rewards)
    if over:
        final_rewards(kind, num_players, points, ranks, rewards)
