"""`search:N`: the agent around the compiled tree search of `search_tree.py`.

`search:N@NAME` knows that its rivals play as the agent NAME: it approximates a best response to it. Scripted agents and
policies are simulated in compiled code; any other agent is asked for each of its moves (`rivals.py`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from symphony9_env.agents import search_tree
from symphony9_env.agents.base import Agent, Positions, Rows, StoredPositions
from symphony9_env.agents.inference import LIST_SIZE, new_workspace
from symphony9_env.agents.policy import PolicyAgent, ShippedPolicy
from symphony9_env.agents.rivals import AskedRivals, find_kind
from symphony9_env.agents.roles import NO_ROLES, Roles
from symphony9_env.agents.scripted import ScriptedAgent
from symphony9_env.agents.search_tree import WAITING
from symphony9_env.agents.strategies import ASKED, POLICY
from symphony9_env.rules.state import NUM_BOARDS, States, new_states
from symphony9_env.threads import ExclusiveUse, ThreadPool
from symphony9_env.views.seat import legal_numbers

DEFAULT_PLAYOUTS: Final = 800
_FIRST_ROW: Final[Rows] = np.zeros(1, np.int64)


class Assumptions(NamedTuple):
    """What the search assumes about the seats."""

    rivals: int  # UNKNOWN, POLICY, ASKED, or a strategy's number
    roles: NDArray[np.int64]  # for each seat that may decide: the seats that play so, and the team, as sets of seats


class Buffers(NamedTuple):
    """What one thread needs."""

    scratch: States
    tree: tuple[Any, ...]
    playout: tuple[Any, ...]


class SearchAgent(Agent):
    """Searches the games of a batch one after the other, or on several threads at once."""

    def __init__(
        self, playouts: int, seed: int, *, rivals: Agent | None = None, roles: Roles = NO_ROLES, num_threads: int = 1
    ) -> None:
        """`rivals` is how rivals are known to play, None if unknown; those that must be asked are asked by one thread.

        `roles` says which of them do, and for which team it plays.
        """
        known = f"@{roles.format_known(rivals.spec or rivals.name)}" if rivals else ""  # without a label
        self.name = f"search:{playouts}{roles.format_team()}{known}"
        self.roles = roles
        self.rivals = rivals
        self._assumptions = Assumptions(
            find_kind(rivals), np.array([roles.as_sets(seat) for seat in range(NUM_BOARDS)])
        )
        self.seed = seed
        self.playouts = playouts * (1 + (rivals.playouts if rivals else 0))
        self.num_threads = num_threads
        self._num_playouts = playouts
        self._buffers = [
            Buffers(new_states(2), search_tree.new_tree(playouts), search_tree.new_playout())
            for _ in range(num_threads)
        ]
        self._policies: dict[tuple[int, int], tuple[Any, ...]] = {}  # of rivals, by number of players and thread
        self._threads = ThreadPool(num_threads)
        self._exclusive = ExclusiveUse(f"agent {self.name!r}")

    def fingerprint(self, num_players: int) -> str:
        own = super().fingerprint(num_players)
        if self.rivals is None or isinstance(self.rivals, ScriptedAgent):  # a strategy's name says everything about it
            return own
        return f"{own} {self.rivals.fingerprint(num_players)}"

    def check_players(self, num_players: int) -> None:
        self.roles.check_players(self.name, num_players)
        if self.rivals:
            self.rivals.check_players(num_players)

    def close(self) -> None:
        if self.rivals:
            self.rivals.close()

    def decide(self, positions: Positions, rows: Rows) -> Rows:
        states = positions.states
        with self._exclusive:
            if self._assumptions.rivals == ASKED:
                return np.array([self._ask_in_search(positions, row) for row in rows.tolist()], np.int64)
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
        if self._assumptions.rivals != POLICY:
            return self._search_with(None, states, rows, thread)
        actions, counts = np.empty(len(rows), np.int64), states["num_players"][rows]
        for count in np.unique(counts).tolist():
            part = rows[counts == count]
            actions[counts == count] = self._search_with(self._prepare_policy(count, thread), states, part, thread)
        return actions

    def _search_with(self, policy: tuple[Any, ...] | None, states: States, rows: Rows, thread: int) -> Rows:
        """Search games with the network of the rivals' policy, if they play one."""
        actions, win_shares = np.empty(len(rows), np.int64), np.empty(self._num_playouts)
        inputs = self._assumptions, policy, np.uint64(self.seed)
        own_rows = np.ascontiguousarray(rows)
        search_tree.search_rows(states, own_rows, *inputs, *self._buffers[thread], win_shares, actions)
        return actions

    def _prepare_policy(self, num_players: int, thread: int) -> tuple[Any, ...] | None:
        """Return the network of the rivals' policy, a workspace and the temperature; None if they don't play one."""
        if not isinstance(self.rivals, PolicyAgent | ShippedPolicy):
            return None
        if (num_players, thread) not in self._policies:
            policy = self.rivals.for_players(num_players)
            workspace = new_workspace(int(policy.network[0][LIST_SIZE]))
            self._policies[num_players, thread] = policy.network, workspace, float(policy.card.temperature)
        return self._policies[num_players, thread]

    def analyze(self, states: States, row: int) -> tuple[int, int, float]:
        """Return its choice in one game, how many playouts began with it, and how many of those it won.

        A shared win counts its share; with a team, it is the team that wins. If only one action is legal, there are no
        playouts.
        """
        choice = int(self.decide(StoredPositions.of(states), np.array([row]))[0])
        if len(legal_numbers(states, row)) == 1:
            return choice, 0, 0.0
        *_, visits, wins = self._buffers[0].tree
        return choice, int(visits[0, choice]), float(wins[0, choice])

    def compare(self, states: States, row: int, actions: Sequence[int]) -> NDArray[np.float64]:
        """Search one game once for each of these legal actions; return their values, playout by playout.

        The value of a playout is the share of the win, with a team that of the team. The actions face the same worlds.
        """
        if illegal := set(actions) - set(legal_numbers(states, row)):
            raise ValueError(f"actions {sorted(illegal)} are not legal in game {row}")
        win_shares = np.empty((len(actions), self._num_playouts))
        with self._exclusive:
            if self._assumptions.rivals == ASKED:
                search = self._begin_asking(StoredPositions.of(states), row, is_comparison=True)
                for action, shares in zip(actions, win_shares, strict=True):
                    search.run(1 << action, shares)
            else:
                given, policy = np.array(actions, np.int64), self._prepare_policy(int(states["num_players"][row]), 0)
                inputs = self._assumptions, policy, np.uint64(self.seed)
                search_tree.compare_actions(states, row, given, *inputs, *self._buffers[0], win_shares)
        return win_shares

    # Rivals that are neither scripted nor a policy are asked.

    def _ask_in_search(self, positions: Positions, row: int) -> int:
        """Search the game on a row."""
        search = self._begin_asking(positions, row)
        if search.legal & (search.legal - 1) == 0:  # nothing to choose
            return search.legal.bit_length() - 1
        return search.run(search.legal, np.empty(self._num_playouts))

    def _begin_asking(self, positions: Positions, row: int, *, is_comparison: bool = False) -> AskingSearch:
        assert self.rivals is not None
        return AskingSearch(self.rivals, self._assumptions, positions, row, self.seed, self._buffers[0], is_comparison)


class AskingSearch:
    """The search of one position in which Python asks the rivals for their moves."""

    def __init__(
        self,
        rivals: Agent,
        assumptions: Assumptions,
        positions: Positions,
        row: int,
        seed: int,
        buffers: Buffers,
        is_comparison: bool,
    ) -> None:
        self._assumptions = assumptions
        self._buffers = scratch, _, playout = buffers
        self.legal = int(
            search_tree.begin_search(positions.states, row, np.uint64(seed), is_comparison, scratch, playout)
        )
        root, world = scratch[:1], scratch[1:]
        self._asked = AskedRivals(rivals, positions, row, root, seats=int(assumptions.roles[root["player"][0], 0]))
        self._game = self._asked.follow(world)

    def run(self, first_actions: int, win_shares: NDArray[np.float64]) -> int:
        """Run a playout for each element of `win_shares`, write its value there, and return the choice.

        All playouts begin with one of `first_actions`.
        """
        scratch, tree, playout = self._buffers
        search_tree.clear_tree(tree, playout)
        for number in range(len(win_shares)):
            search_tree.begin_playout(self._assumptions, number, scratch, playout)
            self._asked.close_hands(self._game)
            moves = self._game.history, self._game.length
            while (
                value := search_tree.play_on(first_actions, self._assumptions, scratch, tree, playout, *moves)
            ) == WAITING:
                self._asked.play(self._game, _FIRST_ROW)
            win_shares[number] = value
        return int(search_tree.choose_action(tree))
