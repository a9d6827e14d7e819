"""The lines of one decision of `think:N`: compiled, but for rivals that are agents of any other kind."""

from __future__ import annotations

from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from symphony9_env.agents import inference, lines
from symphony9_env.agents.base import Agent, Positions, StoredPositions, has_ledger
from symphony9_env.agents.rivals import AskedRivals
from symphony9_env.agents.strategies import ASKED
from symphony9_env.rules.state import NUM_ROUNDS, States, new_states

_BATCH: Final = 64  # worlds that are simulated in one call


class Models(NamedTuple):
    """How the seats are simulated, as `lines.py` needs it."""

    rivals: int  # UNKNOWN, POLICY, ASKED, or a strategy's number
    guide: tuple[Any, ...]
    network: tuple[Any, ...]  # the rivals', if they play a policy; otherwise the guide again
    own_temperature: float
    rival_temperature: float
    known_temperature: float  # of the rivals that play another policy
    scripted_share: float
    known: int  # the set of seats that `rivals` is about; the others play as UNKNOWN, but for the team
    team: int  # the set of seats that share the goal, which play as the guide unless they are known

    def with_roles(self, known: int, team: int) -> Models:
        """Return the same with other sets of seats."""
        return self._replace(known=known, team=team)


class Buffers(NamedTuple):
    """What one thread needs."""

    workspace: tuple[Any, ...]
    root: States
    priors: NDArray[np.float64]


class Simulation:
    """The worlds and lines of one decision; `roots` of the buffers holds its position."""

    def __init__(
        self,
        positions: Positions,
        row: int,
        models: Models,
        buffers: Buffers,
        seed: int,
        num_rounds: int,
        rivals: Agent | None,
        weights: NDArray[np.float64],
    ) -> None:
        """`weights` are those of the seats' returns in the value of a line."""
        self._ledger = has_ledger(positions)
        self._models = models
        self._workspace, self._root, _ = buffers
        self._seed = np.uint64(seed)
        self._asked = AskedRivals(rivals, positions, row, self._root) if rivals and models.rivals == ASKED else None
        self._weights = weights
        self._seat = int(self._root["player"][0])
        self._num_worlds = 0
        has_value = models.guide[0][inference.HAS_VALUE]
        self._last_round = int(self._root["round_index"][0]) + (num_rounds if has_value else NUM_ROUNDS) - 1

    def simulate(self, actions: NDArray[np.int64], num_worlds: int) -> NDArray[np.float64]:
        """Simulate each action in so many new worlds; return the sums of the values."""
        sums = np.zeros(len(actions))
        end = self._num_worlds + num_worlds
        while self._num_worlds < end:
            size = min(_BATCH, end - self._num_worlds)
            worlds, streams = new_states(size), np.empty(size, np.uint64)
            lines.make_worlds(self._root, self._seed, self._num_worlds, self._models, self._workspace, worlds, streams)
            self._num_worlds += size
            sums += self._play(worlds, streams, actions).reshape(size, -1).sum(axis=0)
        return sums

    def _play(self, worlds: States, streams: NDArray[np.uint64], actions: NDArray[np.int64]) -> NDArray[np.float64]:
        """Play each action in each world to the end of the line; return the values."""
        roots = self._asked.follow(worlds) if self._asked else StoredPositions.of(worlds)
        if self._asked:
            self._asked.close_hands(roots)
        played = StoredPositions.of(new_states(len(worlds) * len(actions)), self._ledger)
        played.history[:] = np.repeat(roots.history, len(actions), axis=0)
        played.length[:] = np.repeat(roots.length, len(actions))
        lines.begin_lines(worlds, actions, played.states, played.history, played.length)
        values, numbers = np.zeros(len(played.states)), np.arange(len(played.states))
        while len(numbers):
            num_waiting = lines.play_lines(
                played.states,
                numbers,
                streams,
                self._seat,
                self._weights,
                self._last_round,
                self._models,
                self._workspace,
                values,
                played.history,
                played.length,
            )
            numbers = numbers[:num_waiting]
            if self._asked and num_waiting:
                self._asked.play(played, numbers)
        return values
