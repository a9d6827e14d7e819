# kernel: compiled by Numba; a change here changes the key of the compile cache
# mypy: disable-error-code="no-any-return"
"""Rewards: what a step and the end of a game are worth to each player."""

from __future__ import annotations

from typing import Any, Final

from symphony9_env.compilation import entry, rule
from symphony9_env.rules.scoring import rank_players, total_points, win_share
from symphony9_env.rules.state import OVER, SIXTHS, Game

REWARDS: Final = ("win", "margin", "score")
WIN, MARGIN, SCORE = range(len(REWARDS))


@rule
def add_rewards(game: Game, kind: int, shaping: float, points: Any, ranks: Any, rewards: Any) -> None:
    """Update everybody's points (in sixths) and add what the last step earned to the rewards.

    `shaping` is the reward for each point that the step brought; 0 for none. At the end of the game fill the ranks
    and add the final reward.
    """
    for player in range(game.num_players):
        before = points[player]
        points[player] = total_points(game, player)
        if shaping != 0:
            rewards[player] += shaping * ((points[player] - before) / SIXTHS)
    if game.phase == OVER:
        rank_players(game, points, ranks)
        if kind == WIN:
            _add_win_rewards(game, ranks, rewards)
        else:
            _add_point_rewards(game, kind, points, rewards)


@rule
def _add_win_rewards(game: Game, ranks: Any, rewards: Any) -> None:
    """Let the winners share +1 and the others share -1; nobody gets anything if all tie."""
    winners = 0
    for player in range(game.num_players):
        winners += ranks[player] == 1
    if winners == game.num_players:
        return
    for player in range(game.num_players):
        if ranks[player] == 1:
            rewards[player] += win_share(ranks, game.num_players, player)
        else:
            rewards[player] -= 1 / (int(game.num_players) - winners)


@rule
def _add_point_rewards(game: Game, kind: int, points: Any, rewards: Any) -> None:
    """Add a player's own points; for `margin`, less the mean of the others'."""
    total = 0
    for player in range(game.num_players):
        total += points[player]
    for player in range(game.num_players):
        rewards[player] += points[player] / SIXTHS
        if kind == MARGIN:
            rewards[player] -= (total - points[player]) / (SIXTHS * (int(game.num_players) - 1))


@entry
def compute_rewards(states: Any, index: int, kind: int, shaping: float, points: Any, ranks: Any, rewards: Any) -> None:
    """Run `add_rewards` on game `index`."""
    add_rewards(states[index], kind, shaping, points, ranks, rewards)
