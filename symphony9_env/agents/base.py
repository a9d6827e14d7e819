"""What every agent has in common: `decide` for many games at once, `choose` for one environment."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final, Protocol

import numpy as np
from numpy.typing import NDArray

from symphony9_env.engine import MAX_DECISIONS
from symphony9_env.rules.state import GAME, OVER, States

Rows = NDArray[np.int64]
_ONE_ROW: Final[Rows] = np.zeros(1, np.int64)


class Positions(Protocol):
    """Games in progress, as agents receive them; a `BatchedGames` is one.

    `states` are the true states, with everything that is hidden from the deciding seat. An agent of your own should
    read `symphony9_env.views.seat_view(positions.states, row, seat)` instead, which holds only what that seat may know.
    """

    @property
    def states(self) -> States:
        """The states of the games, one for each row."""

    def moves(self, row: int) -> Sequence[int]:
        """Return the actions played so far in the game on a row, closed hands included."""


@dataclass
class StoredPositions:
    """Positions in plain arrays: the states, and the actions that led to them."""

    states: States
    history: NDArray[np.uint8]  # (rows, MAX_DECISIONS)
    length: NDArray[np.int64]  # (rows,)

    @classmethod
    def of(cls, states: States) -> StoredPositions:
        """Return states without any moves so far."""
        return cls(states, np.zeros((len(states), MAX_DECISIONS), np.uint8), np.zeros(len(states), np.int64))

    def moves(self, row: int) -> list[int]:
        """Return the actions played so far in the game on a row."""
        moves: list[int] = self.history[row, : self.length[row]].tolist()
        return moves


class Agent(ABC):
    """Plays any seat of any game.

    What it does must depend on its seed and on what the deciding seat may know, and on nothing else: not on other
    games, nor on what it did before. Then a batch of games is played exactly as single games are.
    """

    name: str  # how results and pages show it
    seed: int

    @abstractmethod
    def decide(self, positions: Positions, rows: Rows) -> Rows:
        """Return a legal action for the seat to decide on each of these rows."""

    def choose(self, env: Any) -> int:
        """Return a legal action for whoever is to decide in a PettingZoo environment (or the single-seat one)."""
        return int(self.decide(position_of(env), _ONE_ROW)[0])

    def fingerprint(self, num_players: int) -> str:
        """Return what identifies its behaviour in games of this many players; for a policy, a hash of its weights."""
        return self.name

    def check_players(self, num_players: int) -> None:  # noqa: B027
        """Raise a ValueError if it can't play games of this many players."""

    def close(self) -> None:  # noqa: B027
        """Release resources."""

    def __repr__(self) -> str:
        return f"<agent {self.name!r}, seed {self.seed}>"


def position_of(env: Any) -> Positions:
    """Return an environment of this package, unwrapped; raise a ValueError if nobody is to decide in it."""
    inner = getattr(env, "unwrapped", env)
    states = getattr(inner, "states", None)
    if not isinstance(states, np.ndarray) or states.dtype != GAME or len(states) != 1:
        raise ValueError(f"env={env!r}; allowed: an environment of this package, wrapped or not")
    if not inner.has_reset:
        raise ValueError("env: nothing is dealt yet; call reset() first")
    if states["phase"][0] == OVER or all(inner.terminations.values()):
        raise ValueError("env: the game is over, nobody is to decide; call reset() first")
    position: Positions = inner
    return position
