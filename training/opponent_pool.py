"""The learner's opponents: its current policy, past snapshots of it, and fixed agents, drawn for every game."""

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
from training.config import Settings

LATEST: Final = "latest"
DECAY: Final = 0.995  # of a member's moving average of results, per game
MIN_WEIGHT: Final = 0.05  # of a snapshot that never beats the learner; one that always does has 1 more


class OpponentPool(Opponents):
    """All opponents, with a moving average of how often each finishes ahead of the learner.

    Member 0 is the learner's current policy; the fixed agents follow, then the snapshots. Snapshots retire but are
    never removed, so a member keeps its number while games with it are in progress.
    """

    def __init__(self, settings: Settings, folder: Path) -> None:
        self.settings = settings.opponents
        self.num_players = settings.game.num_players
        self.folder = folder
        fixed = [agents.make(name, seed=settings.seed) for name in self.settings.fixed]
        self.names = [LATEST, *self.settings.fixed]
        self.agents: list[Agent] = [_Placeholder(), *fixed]
        self._first_snapshot = len(self.agents)
        self.ahead_rates = np.full(len(self.names), 0.5)  # how often each member finishes ahead of the learner
        self.retired: set[str] = set()
        shape = settings.ppo.n_envs, self.num_players
        self.member_at = np.zeros(shape, np.int64)  # by row and seat; unused at the learner's seat

    # Playing.

    def begin(self, rows: Rows, seats: Rows, seeds: Rows) -> None:
        """Draw opponents for the games just dealt, from their seeds and the results so far."""
        probabilities = self.probabilities()
        for row, seed in zip(rows.tolist(), seeds.tolist(), strict=True):
            rng = np.random.default_rng(seed)
            members = rng.choice(len(probabilities), self.num_players, p=probabilities)
            self.member_at[row] = members[0] if rng.random() < self.settings.same_kind else members

    def probabilities(self) -> NDArray[np.float64]:
        """Return the probability of drawing each member."""
        first = self._first_snapshot
        weights = np.zeros(len(self.names))
        weights[1:first] = list(self.settings.fixed.values())
        active = np.array([name not in self.retired for name in self.names[first:]], bool)
        past = np.where(active, MIN_WEIGHT + self.ahead_rates[first:] ** 2, 0.0)
        weights[0] = self.settings.latest + (0.0 if active.any() else self.settings.past)
        if active.any():
            weights[first:] = self.settings.past * past / past.sum()
        probabilities: NDArray[np.float64] = weights / weights.sum()
        return probabilities

    def decide(self, positions: Positions, rows: Rows, seats: Rows) -> Rows:
        """Return the opponents' actions on these rows."""
        return decide_by(self.agents, self.member_at[rows, positions.states["player"][rows]], positions, rows)

    def end(self, rows: Rows, seats: Rows, ranks: NDArray[np.float64]) -> None:
        """Update the moving averages of the opponents in the games that ended on these rows; a tie counts half."""
        for row, seat, game_ranks in zip(rows.tolist(), seats.tolist(), ranks, strict=True):
            for other in range(self.num_players):
                if other != seat:
                    member = self.member_at[row, other]
                    ahead = 0.5 * (1 + np.sign(game_ranks[seat] - game_ranks[other]))
                    self.ahead_rates[member] += (1 - DECAY) * (ahead - self.ahead_rates[member])

    # Members.

    def set_latest(self, card: Card, weights: Weights) -> None:
        """Set the learner's current policy; it samples its actions, as in training."""
        self.agents[0] = PolicyAgent(LATEST, replace(card, temperature=1.0), weights, seed=0)

    def add_snapshot(self, name: str, card: Card, weights: Weights) -> None:
        """Save the policy and add it as a member.

        If there are more than `max_snapshots`, retire the one that least often finishes ahead of the learner.
        """
        path = self.folder / f"{name}.safetensors"
        save_policy(path, replace(card, temperature=1.0), weights)
        self._load_snapshot(path)
        self.ahead_rates = np.append(self.ahead_rates, 0.5)
        snapshots = range(self._first_snapshot, len(self.names))
        active = [number for number in snapshots if self.names[number] not in self.retired]
        if len(active) > self.settings.max_snapshots:
            self.retired.add(self.names[min(active[:-1], key=lambda number: self.ahead_rates[number])])

    def _load_snapshot(self, path: Path) -> None:
        self.names.append(path.stem)
        self.agents.append(PolicyAgent(path.stem, *load_policy(path), seed=len(self.names)))

    # Checkpoints.

    def state_dict(self) -> dict[str, Any]:
        """Return the pool's state as JSON data; snapshots are named only, since they are files already."""
        return {
            "names": self.names,
            "ahead_rates": self.ahead_rates.tolist(),
            "retired": sorted(self.retired),
            "member_at": self.member_at.tolist(),
        }

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Restore the state that `state_dict` returned."""
        first = self._first_snapshot
        if state["names"][:first] != self.names[:first]:
            raise ValueError(f"opponents: the checkpoint has {state['names'][:first]}, this run {self.names[:first]}")
        del self.names[first:], self.agents[first:]
        for name in state["names"][first:]:
            self._load_snapshot(self.folder / f"{name}.safetensors")
        self.ahead_rates = np.array(state["ahead_rates"])
        self.retired = set(state["retired"])
        self.member_at[:] = state["member_at"]


class _Placeholder(Agent):
    """Stands for the learner's policy until `set_latest` is called."""

    def decide(self, positions: Positions, rows: Rows) -> Rows:
        raise RuntimeError("the pool does not have the learner's policy yet; call set_latest first")
