"""Comments on the decisions of a recorded game: what a policy and search would do there."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping
from typing import Any, Final, TypedDict

import numpy as np
from numpy.typing import NDArray

from symphony9_env import agents
from symphony9_env.actions import NAMES
from symphony9_env.agents.policy import PolicyAgent, ShippedPolicy
from symphony9_env.agents.search import SearchAgent
from symphony9_env.names import agent_name
from symphony9_env.records import PlayerJson
from symphony9_env.rules.state import States

DEFAULT_PLAYOUTS: Final = 400
_MIN_PROBABILITY: Final = 0.005  # smaller ones are left out
_MIN_GAIN: Final = 0.05  # of the chance to win; search does not disagree about less
_ONE_ROW: Final = np.zeros(1, np.int64)


class PolicyCommentJson(TypedDict):
    """A policy's probabilities of the actions, highest first, and its estimate of the chance to win."""

    policy: str
    probabilities: list[tuple[str, float]]
    win_chance: float | None


class SearchCommentJson(TypedDict):
    """The choice of search, and the chances to win with it and with the move that was made, from as many playouts each.

    If the move is the choice, or is not known, there is nothing to compare: the last three are then None or False.
    """

    choice: str
    playouts: int
    choice_chance: float
    move_chance: float | None
    gain_95: tuple[float, float] | None  # how much better the choice is: the 95 % interval
    is_disagreement: bool  # whether the choice is clearly better


class CommentJson(TypedDict):
    """What the commentators say about one decision; None where there is no commentator."""

    policy: PolicyCommentJson | None
    search: SearchCommentJson | None


class Commentators:
    """Comment on the decisions of one game: a policy for each seat, and search."""

    def __init__(self, record: Mapping[str, Any], policy: str | None, playouts: int) -> None:
        """Choose the commentators of a record.

        A seat that was played by a policy is commented on by that policy, any other seat by `policy`, or by none if
        that is None. `playouts` is the number of playouts of search for each decision; 0 for no search.
        """
        self.num_players = int(record["num_players"])
        self.policies = [
            _load_own_policy(player["agent"], self.num_players) or _load_policy(policy, self.num_players)
            for player in read_players(record)
        ]
        self.search = SearchAgent(playouts, seed=0) if playouts else None

    def comment_on(self, states: States, move: int | None) -> CommentJson:
        """Return the comments on a decision and on the move that was made there; None if none was made."""
        return {"policy": self._ask_policy(states), "search": self._ask_search(states, move)}

    def _ask_policy(self, states: States) -> PolicyCommentJson | None:
        policy = self.policies[states["player"][0]]
        if policy is None:
            return None
        probabilities, value = policy.evaluate(states, _ONE_ROW)
        named = [
            (NAMES[action], round(float(probabilities[0, action]), 4))
            for action in np.flatnonzero(probabilities[0] >= _MIN_PROBABILITY)
        ]
        return {
            "policy": policy.name,
            "probabilities": sorted(named, key=lambda entry: -entry[1]),
            "win_chance": None if value is None else round(_estimate_win_chance(float(value[0]), self.num_players), 4),
        }

    def _ask_search(self, states: States, move: int | None) -> SearchCommentJson | None:
        if self.search is None:
            return None
        choice, playouts, wins = self.search.analyze(states, 0)
        if not playouts:
            return None
        if move is not None and move != choice:
            return _compare(NAMES[choice], *self.search.compare(states, 0, [choice, move]))
        return {
            "choice": NAMES[choice],
            "playouts": playouts,
            "choice_chance": round(wins / playouts, 4),
            "move_chance": None,
            "gain_95": None,
            "is_disagreement": False,
        }


def _compare(choice: str, choice_wins: NDArray[np.float64], move_wins: NDArray[np.float64]) -> SearchCommentJson:
    """Return the comment on a move that search would not have made, from the playouts of both in the same worlds."""
    gains = choice_wins - move_wins
    gain, margin = float(gains.mean()), 1.96 * float(gains.std()) / math.sqrt(len(gains))
    return {
        "choice": choice,
        "playouts": len(gains),
        "choice_chance": round(float(choice_wins.mean()), 4),
        "move_chance": round(float(move_wins.mean()), 4),
        "gain_95": (round(gain - margin, 4), round(gain + margin, 4)),
        "is_disagreement": gain >= _MIN_GAIN and gain > margin,
    }


def _estimate_win_chance(value: float, num_players: int) -> float:
    """Return the chance to win that corresponds to an expected return.

    A win returns +1; each of the others then gets an equal share of -1.
    """
    loss = -1 / (num_players - 1)
    return min(max((value - loss) / (1 - loss), 0.0), 1.0)


def read_players(record: Mapping[str, Any]) -> list[PlayerJson]:
    """Return who sat where; `player_0` ... where the record does not say it."""
    given = record.get("players")
    if not isinstance(given, list) or len(given) != record["num_players"]:
        given = [None] * record["num_players"]
    players = [entry if isinstance(entry, dict) else {} for entry in given]
    return [
        {"name": str(player.get("name", agent_name(seat))), "agent": player.get("agent")}
        for seat, player in enumerate(players)
    ]


def _load_own_policy(agent: Any, num_players: int) -> PolicyAgent | None:
    """Return the policy that played, if it was a policy and can still be loaded."""
    if agent != agents.SHIPPED and not (isinstance(agent, str) and os.path.isfile(agent)):
        return None
    try:
        return _load_policy(agent, num_players)
    except ValueError:
        return None


def _load_policy(name: str | None, num_players: int) -> PolicyAgent | None:
    if name is None:
        return None
    agent = agents.make(name, seed=0)
    if isinstance(agent, ShippedPolicy):
        agent = agent.for_players(num_players)
    if not isinstance(agent, PolicyAgent):
        raise ValueError(f"{name!r} is not a policy: it has no probabilities to show")
    agent.check_players(num_players)
    return agent
