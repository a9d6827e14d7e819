"""`search:N`: the agent around the compiled tree search of `search_tree.py`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from symphony9_env.agents.base import Agent, Positions, Rows
from symphony9_env.agents.roles import NO_ROLES, Roles
from symphony9_env.agents.search_tree import UNKNOWN, compare_actions, new_tree, search_rows
from symphony9_env.agents.strategies import STRATEGIES
from symphony9_env.rules.state import NUM_BOARDS, States, new_states
from symphony9_env.threads import ExclusiveUse, ThreadPool
from symphony9_env.views.seat import legal_numbers

DEFAULT_PLAYOUTS: Final = 800


class SearchAgent(Agent):
    """Searches the games of a batch one after the other, or on several threads at once."""

    def __init__(
        self, playouts: int, seed: int, *, rivals: str | None = None, roles: Roles = NO_ROLES, num_threads: int = 1
    ) -> None:
        """`rivals` names the strategy that rivals are known to follow; None if it is not known.

        `roles` says which of them do, and for which team it plays.
        """
        self.name = f"search:{playouts}{roles.format_team()}" + (f"@{roles.format_known(rivals)}" if rivals else "")
        self.roles = roles
        sets = np.array([roles.as_sets(seat) for seat in range(NUM_BOARDS)])
        self._told = (STRATEGIES.index(rivals) if rivals else UNKNOWN, sets)
        self.seed = seed
        self.playouts = playouts
        self.num_threads = num_threads
        self._buffers = [(new_states(2), new_tree(playouts)) for _ in range(num_threads)]  # one pair per thread
        self._threads = ThreadPool(num_threads)
        self._exclusive = ExclusiveUse(f"agent {self.name!r}")

    def check_players(self, num_players: int) -> None:
        self.roles.check_players(self.name, num_players)

    def decide(self, positions: Positions, rows: Rows) -> Rows:
        states = positions.states
        with self._exclusive:
            if self.num_threads == 1 or len(rows) == 1:
                return self._search(states, rows, 0)
            actions = np.empty(len(rows), np.int64)
            parts = [slice(thread, None, self.num_threads) for thread in range(self.num_threads)]
            calls = [(states, rows[part], thread) for thread, part in enumerate(parts)]
            for part, chosen in zip(parts, self._threads.run(self._search, calls), strict=True):
                actions[part] = chosen
            return actions

    def _search(self, states: States, rows: Rows, thread: int) -> Rows:
        """Search the games on these rows one after the other, with the buffers of a thread."""
        scratch, tree = self._buffers[thread]
        actions = np.empty(len(rows), np.int64)
        own_rows = np.ascontiguousarray(rows)
        search_rows(states, own_rows, self.playouts, self._told, np.uint64(self.seed), scratch, tree, actions)
        return actions

    def analyze(self, states: States, row: int) -> tuple[int, int, float]:
        """Return its choice in one game, how many playouts began with it, and how many of those it won.

        A shared win counts its share; with a team, it is the team that wins. If only one action is legal, there are no
        playouts.
        """
        choice = int(self._search(states, np.array([row]), 0)[0])
        if len(legal_numbers(states, row)) == 1:
            return choice, 0, 0.0
        *_, visits, wins = self._buffers[0][1]
        return choice, int(visits[0, choice]), float(wins[0, choice])

    def compare(self, states: States, row: int, actions: Sequence[int]) -> NDArray[np.float64]:
        """Search one game once for each of these legal actions; return their values, playout by playout.

        The value of a playout is the share of the win, with a team that of the team. The actions face the same worlds.
        """
        if illegal := set(actions) - set(legal_numbers(states, row)):
            raise ValueError(f"actions {sorted(illegal)} are not legal in game {row}")
        scratch, tree = self._buffers[0]
        win_shares = np.empty((len(actions), self.playouts))
        given = np.array(actions, np.int64)
        compare_actions(states, row, given, self._told, np.uint64(self.seed), scratch, tree, win_shares)
        return win_shares
