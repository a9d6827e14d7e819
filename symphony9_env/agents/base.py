"""The interface of all agents: `decide` for many games at once, `choose` for one environment.

An agent of your own is easiest to write as a function of a message (see `external.py`): it needs no class and can't
see hidden information. Subclass `Agent` to decide for many games in one call, or to use this package's own views:

    class Thrifty(Agent):
        def __init__(self, seed: int) -> None:
            self.seed = seed

        def decide(self, positions: Positions, rows: Rows) -> Rows:
            return np.array([self.decide_row(positions, row) for row in rows.tolist()])

        def decide_row(self, positions: Positions, row: int) -> int:
            view = seat_view(positions.states, row, int(positions.states["player"][row]))
            return max(view.legal) if view.boards[0].money > 10 else min(view.legal)

`positions.states` are the true states: they contain the other players' money and closed hands, and the tokens still to
come. Don't read them yourself. Use `symphony9_env.views.seat_view`, which holds what the deciding seat may know, and
`symphony9_env.events.see` for events. `examples/my_agent.py` is a complete example, and `agents.make` takes your class
as `package.module:Thrifty` or `path/to/file.py:Thrifty`.
"""

from __future__ import annotations

import hashlib
import inspect
import sys
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Final, Protocol, Self, cast

import numpy as np
from numpy.typing import NDArray

from symphony9_env.engine import MAX_DECISIONS
from symphony9_env.rules.chance import next_seed
from symphony9_env.rules.state import GAME, OVER, States

Rows = NDArray[np.int64]
_ONE_ROW: Final[Rows] = np.zeros(1, np.int64)


class Positions(Protocol):
    """Games in progress, as agents receive them: a `BatchedGames`, an environment, or `StoredPositions`.

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
    ledger: bool = False  # whether seats see everybody's money and furniture

    @classmethod
    def of(cls, states: States, ledger: bool = False) -> StoredPositions:
        """Return states without any moves so far."""
        return cls(states, np.zeros((len(states), MAX_DECISIONS), np.uint8), np.zeros(len(states), np.int64), ledger)

    def moves(self, row: int) -> list[int]:
        """Return the actions played so far in the game on a row."""
        return cast("list[int]", self.history[row, : self.length[row]].tolist())


class _ClassName:
    """The default of `Agent.name`: the name of the agent's class, until an instance or a subclass sets another."""

    def __get__(self, agent: object, owner: type) -> str:
        return owner.__name__


class Agent(ABC):
    """Plays any seat of any game.

    Its decisions must depend on its seed and on what the deciding seat may know, and on nothing else: not on other
    games, nor on its earlier decisions. Then a batch of games is played exactly as single games are.
    """

    # How results and pages show it; `agents.make` sets it to the name it was given.
    name: str = cast("str", _ClassName())
    seed: int = 0
    spec: str | None = None  # the name by which `agents.make` makes it, without a label
    playouts: int = 0  # games that it simulates for each decision, as a measure of the time that it takes

    @abstractmethod
    def decide(self, positions: Positions, rows: Rows) -> Rows:
        """Return a legal action for the seat to decide on each of these rows."""

    def choose(self, env: Any) -> int:
        """Return a legal action for the agent to decide in a PettingZoo environment (or the single-seat one)."""
        return int(self.decide(position_of(env), _ONE_ROW)[0])

    def fingerprint(self, num_players: int) -> str:
        """Return what identifies its behaviour in games of this many players.

        By default that is its name, what a label stands for, and a hash of the source file of a class of your own.
        """
        spec = None if self.spec == self.name else self.spec
        return " ".join(filter(None, (self.name, spec, hash_source(type(self)))))

    def check_players(self, num_players: int) -> None:  # noqa: B027
        """Raise a ValueError if it can't play games of this many players."""

    def close(self) -> None:  # noqa: B027
        """Release what it holds, such as a process; it may be used again afterwards."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<agent {self.name!r}, seed {self.seed}>"


def position_of(env: Any) -> Positions:
    """Return an environment of this package, unwrapped; raise a ValueError if nobody is to decide in it."""
    inner = getattr(env, "unwrapped", env)
    states = getattr(inner, "states", None)
    if not isinstance(states, np.ndarray) or states.dtype != GAME or len(states) != 1:
        raise ValueError(f"env={env!r}; allowed: an environment of this package, wrapped or not")
    if not inner.has_reset:
        raise ValueError("env: no game has been dealt; call reset() first")
    if states["phase"][0] == OVER or all(inner.terminations.values()):
        raise ValueError("env: the game is over, nobody is to decide; call reset() first")
    return cast("Positions", inner)


def derive_agent_seed(seed: int, number: int) -> int:
    """Return the seed of agent `number` among the agents of one game or tournament, whose own seed is `seed`.

    >>> derive_agent_seed(7, 0)
    7812351085431573
    """
    return next_seed(next_seed(seed) ^ (number + 1))


def has_ledger(positions: Positions) -> bool:
    """Return whether the seats of these games see everybody's money and furniture (the option `ledger`)."""
    return bool(getattr(getattr(positions, "options", positions), "ledger", False))


def hash_source(code: Any) -> str:
    """Return a short hash of the file that defines a class, function or callable object, and of the modules beside it.

    These are the modules from the same folder that have been imported. Return an empty string for this package's own
    code and where there is no file.
    """
    while isinstance(code, partial):
        code = code.func
    if not isinstance(code, type) and not inspect.isroutine(code):
        code = type(code)
    if str(code.__module__).startswith("symphony9_env."):
        return ""
    try:
        file = Path(inspect.getsourcefile(code) or "").resolve()
        contents = [path.read_bytes() for path in sorted({file, *_list_modules(file.parent)})]
    except (TypeError, OSError):
        return ""
    return hashlib.sha256(b"".join(hashlib.sha256(content).digest() for content in contents)).hexdigest()[:16]


def _list_modules(folder: Path) -> set[Path]:
    """Return the files of the modules that were imported from a folder, without installed ones and this package's."""
    modules = [module for name, module in list(sys.modules.items()) if not name.startswith("symphony9_env")]
    # Modules that load themselves late may have anything as attributes, so attributes are not asked for.
    files = [getattr(module, "__dict__", {}).get("__file__") for module in modules]
    found = {Path(file).resolve() for file in files if isinstance(file, str)}
    inside = {path: path.relative_to(folder).parts for path in found if path.is_relative_to(folder)}
    is_installed = folder.name == "site-packages"
    return {path for path, parts in inside.items() if not is_installed and "site-packages" not in parts}
