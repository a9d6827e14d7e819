"""Who the learner plays against: itself, its past, and fixed agents, drawn anew for every game."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from symphony9_env import agents
from symphony9_env.agents import Agent, Card, load_policy, save_policy
from symphony9_env.agents.base import Positions, Rows
from symphony9_env.agents.networks import Weights
from symphony9_env.agents.policy import PolicyAgent
from symphony9_env.envs.opponents import Opponents, decide_by
from training.config import OpponentSettings

LATEST: Final = "latest"
MEMORY: Final = 0.995  # how slowly a tally forgets, a game
FLOOR: Final = 0.05  # weight of a snapshot that never beats the learner, beside 1 for one that always does


class Pool(Opponents):
    """All opponents, with a tally of how often each ends ahead of the learner.

    Member 0 is the learner itself as it was before the present update, then come the fixed agents, then snapshots.
    A member keeps its number while games with it are under way.
    """

    def __init__(self, settings: OpponentSettings, num_games: int, num_players: int, folder: Path, seed: int) -> None:
        self.settings = settings
        self.num_players = num_players
        self.folder = folder
        self.names = [LATEST, *settings.fixed]
        self.agents: list[Agent] = [_Waiting(), *(agents.make(name, seed=seed) for name in settings.fixed)]
        self.ahead = np.full(len(self.names), 0.5)  # how often it ends ahead of the learner
        self.retired: set[str] = set()
        self.drawn = np.zeros((num_games, num_players), np.int64)  # at the learner's own seat: unused

    # A game's opponents.

    def begin(self, rows: Rows, seats: Rows, seeds: Rows) -> None:
        """Draw opponents for the games just dealt, by their seeds and the tallies so far."""
        odds = self.odds()
        for row, seed in zip(rows.tolist(), seeds.tolist(), strict=True):
            rng = np.random.default_rng(seed)
            drawn = rng.choice(len(odds), self.num_players, p=odds)
            self.drawn[row] = drawn[0] if rng.random() < self.settings.same_kind else drawn

    def odds(self) -> NDArray[np.float64]:
        """How likely each member is to be drawn."""
        weights = np.zeros(len(self.names))
        fixed = list(self.settings.fixed.values())
        weights[1 : 1 + len(fixed)] = fixed
        first = 1 + len(fixed)
        active = np.array([name not in self.retired for name in self.names[first:]], bool)
        past = np.where(active, FLOOR + self.ahead[first:] ** 2, 0.0)
        weights[0] = self.settings.latest + (0.0 if active.any() else self.settings.past)
        if active.any():
            weights[first:] = self.settings.past * past / past.sum()
        odds: NDArray[np.float64] = weights / weights.sum()
        return odds

    def decide(self, positions: Positions, rows: Rows, seats: Rows) -> Rows:
        return decide_by(self.agents, self.drawn[rows, positions.states["player"][rows]], positions, rows)

    def end(self, rows: Rows, seats: Rows, ranks: NDArray[np.float64]) -> None:
        for row, seat, places in zip(rows.tolist(), seats.tolist(), ranks, strict=True):
            for other in range(self.num_players):
                if other != seat:
                    member = self.drawn[row, other]
                    ahead = 0.5 * (1 + np.sign(places[seat] - places[other]))
                    self.ahead[member] += (1 - MEMORY) * (ahead - self.ahead[member])

    # Members.

    def set_latest(self, card: Card, weights: Weights) -> None:
        """The learner as it is now; it draws its actions, as in training."""
        self.agents[0] = PolicyAgent(LATEST, replace(card, temperature=1.0), weights, seed=0)

    def add_snapshot(self, name: str, card: Card, weights: Weights) -> None:
        """Keep the learner as it is now, as a file and as a member; the most beaten one retires if there are many."""
        path = self.folder / f"{name}.safetensors"
        save_policy(path, replace(card, temperature=1.0), weights)
        self._join(path)
        self.ahead = np.append(self.ahead, 0.5)
        first = 1 + len(self.settings.fixed)
        active = [number for number in range(first, len(self.names)) if self.names[number] not in self.retired]
        if len(active) > self.settings.max_snapshots:
            self.retired.add(self.names[min(active[:-1], key=lambda number: self.ahead[number])])

    def _join(self, path: Path) -> None:
        self.names.append(path.stem)
        self.agents.append(PolicyAgent(path.stem, *load_policy(path), seed=len(self.names)))

    # Saving.

    def state(self) -> dict[str, Any]:
        return {
            "names": self.names,
            "ahead": self.ahead.tolist(),
            "retired": sorted(self.retired),
            "who": self.drawn.tolist(),
        }

    def restore(self, state: dict[str, Any]) -> None:
        first = 1 + len(self.settings.fixed)
        if state["names"][:first] != self.names[:first]:
            raise ValueError(f"its opponents were {state['names'][:first]}; these are {self.names[:first]}")
        del self.names[first:], self.agents[first:]
        for name in state["names"][first:]:
            self._join(self.folder / f"{name}.safetensors")
        self.ahead = np.array(state["ahead"])
        self.retired = set(state["retired"])
        self.drawn[:] = state["who"]


class _Waiting(Agent):
    """Holds the place of the learner until its first weights are there."""

    name = LATEST
    seed = 0

    def decide(self, positions: Positions, rows: Rows) -> Rows:
        raise RuntimeError("the pool has no weights of the learner yet; call set_latest first")
