"""Rewards: what a step and the end of a game are worth to each player.

Kernel code, shared by every face; the kinds are named in `options.py`.
"""

from __future__ import annotations

from typing import Any, Final

from symphony9_env.compilation import entry, rule
from symphony9_env.options import REWARDS
from symphony9_env.rules.scoring import rank_players, total_points
from symphony9_env.rules.state import OVER, SIXTHS, Game

WIN: Final = REWARDS.index("win")
MARGIN: Final = REWARDS.index("margin")


@rule
def settle_game(game: Game, kind: int, shaping: bool, points: Any, ranks: Any, rewards: Any) -> None:
    """Bring everybody's points (in sixths) up to date and add to the rewards what the last step earned.

    With shaping that is the change in own points; at the end, which also fills the ranks, the final reward.
    """
    for player in range(game.num_players):
        before = points[player]
        points[player] = total_points(game, player)
        if shaping:
            rewards[player] += (points[player] - before) / SIXTHS
    if game.step == OVER:
        rank_players(game, points, ranks)
        if kind == WIN:
            _add_win_rewards(game, ranks, rewards)
        else:
            _add_point_rewards(game, kind, points, rewards)


@rule
def _add_win_rewards(game: Game, ranks: Any, rewards: Any) -> None:
    """The winners share +1, the others share -1; if all tie, nobody gets anything."""
    winners = 0
    for player in range(game.num_players):
        winners += ranks[player] == 1
    if winners == game.num_players:
        return
    for player in range(game.num_players):
        if ranks[player] == 1:
            rewards[player] += 1 / winners
        else:
            rewards[player] -= 1 / (int(game.num_players) - winners)


@rule
def _add_point_rewards(game: Game, kind: int, points: Any, rewards: Any) -> None:
    """Own points; as a margin, less the mean of the others'."""
    total = 0
    for player in range(game.num_players):
        total += points[player]
    for player in range(game.num_players):
        rewards[player] += points[player] / SIXTHS
        if kind == MARGIN:
            rewards[player] -= (total - points[player]) / (SIXTHS * (int(game.num_players) - 1))


@entry
def settle(games: Any, index: int, kind: int, shaping: bool, points: Any, ranks: Any, rewards: Any) -> None:
    settle_game(games[index], kind, shaping, points, ranks, rewards)
