"""The learner's opponents: its current policy, past snapshots of it, and fixed agents, drawn for every game."""

from __future__ import annotations

import hashlib
import re
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from symphony9_env import agents, files
from symphony9_env.agents import Agent, Card, load_policy, save_policy
from symphony9_env.agents.base import Positions, Rows
from symphony9_env.agents.networks import Weights
from symphony9_env.agents.policy import PolicyAgent
from symphony9_env.envs.opponents import Opponents, decide_by
from training.config import Settings

LATEST: Final = "latest"
DECAY: Final = 0.995  # of a member's moving average of results, per game
MAX_SNAPSHOT_BYTES: Final = 1 << 30
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
        self.hashes: dict[str, str] = {}  # of the files of the snapshots
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
        path = self._snapshot_path(name)
        save_policy(path, replace(card, temperature=1.0), weights)
        self._load_snapshot(name, hashlib.sha256(path.read_bytes()).hexdigest())
        self.ahead_rates = np.append(self.ahead_rates, 0.5)
        snapshots = range(self._first_snapshot, len(self.names))
        active = [number for number in snapshots if self.names[number] not in self.retired]
        if len(active) > self.settings.max_snapshots:
            self.retired.add(self.names[min(active[:-1], key=lambda number: self.ahead_rates[number])])

    def _snapshot_path(self, name: str) -> Path:
        return self.folder / f"{name}.safetensors"

    def _load_snapshot(self, name: str, digest: str) -> None:
        path = self._snapshot_path(name)
        try:
            found = hashlib.sha256(files.read_bytes(path, MAX_SNAPSHOT_BYTES)).hexdigest()
        except OSError as error:
            raise ValueError(f"policy {path}: can't be read ({error.strerror})") from None
        if found != digest:
            raise ValueError(f"policy {path}: is damaged or not of this run: its hash differs")
        agent = PolicyAgent(name, *load_policy(path), seed=len(self.names) + 1)
        agent.check_players(self.num_players)
        self.hashes[name] = digest
        self.names.append(name)
        self.agents.append(agent)

    # Checkpoints.

    def state_dict(self) -> dict[str, Any]:
        """Return the pool's state as JSON data; of a snapshot only its name and hash, since it is a file already."""
        return {
            "names": self.names,
            "hashes": self.hashes,
            "ahead_rates": self.ahead_rates.tolist(),
            "retired": sorted(self.retired),
            "member_at": self.member_at.tolist(),
        }

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Restore a new pool from the state that `state_dict` returned; raise a ValueError if it is none."""
        first, names = self._first_snapshot, state["names"]
        if not isinstance(names, list) or names[:first] != self.names[:first]:
            raise ValueError(f"opponents: needed: {', '.join(self.names[:first])}, then the snapshots")
        for name in names[first:]:
            if not re.fullmatch(r"[a-z0-9-]{1,40}", name):
                raise ValueError(f"opponents: {name!r} is not a snapshot")
            self._load_snapshot(name, state["hashes"][name])
        rates, members = np.array(state["ahead_rates"], np.float64), np.array(state["member_at"])
        if rates.shape != (len(names),) or not ((rates >= 0) & (rates <= 1)).all():
            raise ValueError(f"opponents: ahead_rates: needed: {len(names)} numbers from 0 to 1")
        if members.shape != self.member_at.shape or not np.issubdtype(members.dtype, np.integer):
            raise ValueError(f"opponents: member_at: needed: whole numbers of shape {self.member_at.shape}")
        if members.min() < 0 or members.max() >= len(names):
            raise ValueError(f"opponents: member_at: needed: numbers from 0 to {len(names) - 1}")
        if not set(state["retired"]) <= set(names[first:]):
            raise ValueError("opponents: retired: needed: names of snapshots")
        self.ahead_rates = rates
        self.retired = set(state["retired"])
        self.member_at[:] = members


class _Placeholder(Agent):
    """Stands for the learner's policy until `set_latest` is called."""

    def decide(self, positions: Positions, rows: Rows) -> Rows:
        raise RuntimeError("the pool does not have the learner's policy yet; call set_latest first")
