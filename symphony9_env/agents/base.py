"""What every player has in common: `decide` for many games at once, `choose` for one environment."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from symphony9_env.rules.state import GAME, OVER, Games

Rows = NDArray[np.int64]
_ONE_ROW: Final[Rows] = np.zeros(1, np.int64)


class Agent(ABC):
    """Plays any seat of any game. What it does depends on its seed and on what the deciding seat may know,
    on nothing else: not on other games, nor on what it did before. So a batch plays as single games do.
    """

    name: str  # as `agents.make` takes it
    seed: int

    @abstractmethod
    def decide(self, games: Games, rows: Rows) -> Rows:
        """A legal action for the seat to decide in each of these rows of an array of game records.

        The records hold everything; what the deciding seat can't know is taken out before anything looks at them.
        """

    def choose(self, env: Any) -> int:
        """A legal action for whoever is to decide in a PettingZoo environment (or the single-seat one)."""
        return int(self.decide(game_to_decide(env), _ONE_ROW)[0])

    def fingerprint(self, num_players: int) -> str:
        """What tells it from another agent of the same name; for a policy, its weights."""
        return self.name

    def check_players(self, num_players: int) -> None:  # noqa: B027
        """A ValueError if it can't play in games of so many players."""

    def __repr__(self) -> str:
        return f"<agent {self.name!r}, seed {self.seed}>"


def game_to_decide(env: Any) -> Games:
    """The game on an environment's table, in which somebody must be to decide."""
    table = getattr(env, "unwrapped", env)
    game = getattr(table, "game", None)
    if not isinstance(game, np.ndarray) or game.dtype != GAME:
        raise ValueError(f"env={env!r}; allowed: an environment of this package, wrapped or not")
    if not getattr(table, "_has_reset", True):
        raise ValueError("env: nothing is dealt yet; call reset() first")
    if game["step"][0] == OVER or all(getattr(table, "terminations", {"nobody": False}).values()):
        raise ValueError("env: the game is over, nobody is to decide; call reset() first")
    return game
