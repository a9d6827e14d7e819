"""A record as data for the replay page: every position, what happened, and what a policy and search think of it."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np

from symphony9_env import agents, records
from symphony9_env.actions import NAMES
from symphony9_env.agents.policy import PolicyAgent, ShippedPolicy
from symphony9_env.agents.search import SearchAgent
from symphony9_env.envs.aec import RawEnv
from symphony9_env.rules.state import OVER
from symphony9_env.views import seat_view
from symphony9_env.web.player_names import told_apart
from symphony9_env.web.scene import Json, own, scene, setting
from symphony9_env.web.story import opening, tell

DEFAULT_SEARCH: Final = 400
_ONE_ROW: Final = np.zeros(1, np.int64)
_SHOWN: Final = 0.005  # probabilities below are left out


class Critics:
    """Who comments on decisions: policies by seat, and search."""

    def __init__(self, record: Mapping[str, Any], policy: str | None, search: int) -> None:
        """`policy` speaks for every seat that was not played by a policy itself; None: nobody does. `search`: playouts
        a decision, 0 for none."""
        self.num_players = int(record["num_players"])
        self.policies = [
            _policy_of(one["agent"], self.num_players) or _need_policy(policy, self.num_players)
            for one in players_of(record)
        ]
        self.search = SearchAgent(search, seed=0) if search else None

    def of(self, env: RawEnv) -> Json:
        """What they think of the decision that is to be made."""
        comment: Json = {}
        policy = self.policies[env.deciding_seat]
        if policy is not None:
            odds, value = policy.evaluate(env.states, _ONE_ROW)
            shown = [(NAMES[action], float(odds[0, action])) for action in np.flatnonzero(odds[0] >= _SHOWN)]
            comment["policy"] = policy.name
            comment["odds"] = sorted(((name, round(chance, 4)) for name, chance in shown), key=lambda one: -one[1])
            if value is not None:
                comment["win"] = round(_chance(float(value[0]), self.num_players), 4)
        if self.search is not None:
            choice, tried = self.search.analyze(env.states, 0)
            if tried:
                comment["search"] = NAMES[choice]
                comment["tried"] = {NAMES[action]: (count, round(won, 1)) for action, (count, won) in tried.items()}
        return comment


def _chance(value: float, num_players: int) -> float:
    """The chance to win that an expected return tells: a win is +1, a loss shares -1 with the other losers."""
    loss = -1 / (num_players - 1)
    return min(max((value - loss) / (1 - loss), 0.0), 1.0)


def players_of(record: Mapping[str, Any]) -> list[Json]:
    """Who sat where, if the record says so: a name and, if it was no person, an agent as `agents.make` takes it."""
    given = record.get("players")
    if not isinstance(given, list) or len(given) != record["num_players"]:
        given = [None] * record["num_players"]
    players = [one if isinstance(one, dict) else {} for one in given]
    return [
        {"name": str(one.get("name", f"player_{seat}")), "agent": one.get("agent")} for seat, one in enumerate(players)
    ]


def _policy_of(agent: Any, num_players: int) -> PolicyAgent | None:
    """The policy that played, if it was one that is still there."""
    if agent != agents.SHIPPED and not (isinstance(agent, str) and os.path.isfile(agent)):
        return None
    try:
        return _need_policy(agent, num_players)
    except ValueError:
        return None


def _need_policy(name: str | None, num_players: int) -> PolicyAgent | None:
    if name is None:
        return None
    agent = agents.make(name, seed=0)
    if isinstance(agent, ShippedPolicy):
        agent = agent.for_players(num_players)
    if not isinstance(agent, PolicyAgent):
        raise ValueError(f"{name!r} is no policy: it has no probabilities to show")
    agent.check_players(num_players)
    return agent


def replay_data(record: Mapping[str, Any], title: str, critics: Critics) -> Json:
    """Everything that the page shows of one game."""
    frames: list[Json] = []
    before = None
    for env in records.replay(record):
        if before is None:
            fixed, events = setting(seat_view(env.states, 0, 0)), opening(env.states)
        else:
            seat, action = env.history[-1]
            frames[-1]["move"] = {"seat": seat, "name": NAMES[action]}
            events = tell(before, action, env.states)
        frames.append({**_frame(env), "events": events})
        if env.states["phase"][0] != OVER:
            frames[-1]["comment"] = critics.of(env)
        before = env.states.copy()
    players = [{"name": name} for name in told_apart([one["name"] for one in players_of(record)])]
    return {"title": title, "setting": fixed, "players": players, "frames": frames}


def _frame(env: RawEnv) -> Json:
    """A position with all hands open; the page covers them again when it shows one seat's view."""
    seats = [seat_view(env.states, 0, seat, ledger=True) for seat in range(env.options.num_players)]
    return {"scene": scene(seats[0]), "own": [own(view) for view in seats]}


def read_games(paths: Sequence[str | os.PathLike[str]], policy: str | None, search: int) -> list[Json]:
    """The games in these files with their comments (see `Critics`); says how far it is, to a person."""
    if search < 0:
        raise ValueError(f"--search {search}; allowed: 0 (none) or a number of playouts")
    games = []
    for number, path in enumerate(paths, 1):
        if sys.stderr.isatty():
            print(f"\rreading game {number} of {len(paths)} ", end="\n" * (number == len(paths)), file=sys.stderr)
        record = records.load(path)
        try:
            games.append(replay_data(record, Path(path).name, Critics(record, policy, search)))
        except ValueError as error:
            raise ValueError(f"{os.fspath(path)}: {error}") from None
    return games
