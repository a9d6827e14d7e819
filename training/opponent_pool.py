"""Who plays in the learner's games: the learner, past snapshots of it, and fixed agents, drawn for every game."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np
import torch
from numpy.typing import NDArray

from symphony9_env import agents
from symphony9_env.agents import Agent
from symphony9_env.agents.base import Positions, Rows
from symphony9_env.agents.networks import Weights
from symphony9_env.agents.policy import PolicyAgent, check_values
from symphony9_env.envs.opponents import decide_by, random_seat
from symphony9_env.rules.chance import MAX_SEED
from training.config import Settings
from training.network import make_card
from training.tensors import check_tensors, to_tensors

LEARNER: Final = 0  # the number of the learner among the members
DECAY: Final = 0.995  # of a member's moving average of results, per game
MIN_WEIGHT: Final = 0.05  # of a snapshot that never beats the learner; one that always does has 1 more


@dataclass(frozen=True)
class Snapshot:
    """The learner as it was: the snapshot's number in the run, its weights, and the agent that plays it."""

    number: int
    weights: Weights
    agent: PolicyAgent


class OpponentPool:
    """All members, with a moving average of how often each finishes ahead of the learner.

    Member 0 is the learner; the fixed agents follow, then the snapshots. When there are `max_snapshots`, the next one
    takes the place of the one that least often finishes ahead of the learner, also in games that are in progress.
    """

    def __init__(self, settings: Settings, num_games: int) -> None:
        self.settings = settings.opponents
        self.num_players = settings.game.num_players
        self._card = replace(make_card(settings, {}), temperature=1.0)
        self._fixed = [agents.make(name, seed=settings.seed) for name in self.settings.fixed]
        self.snapshots: list[Snapshot] = []
        self.ahead_rates = np.full(1 + len(self._fixed), 0.5)  # how often each member finishes ahead of the learner
        self.member_at = np.zeros((num_games, self.num_players), np.int64)  # by row and seat

    @property
    def _first_snapshot(self) -> int:
        return 1 + len(self._fixed)

    # Playing.

    def begin(self, rows: Rows, seeds: Rows) -> None:
        """Draw who plays in the games just dealt, from their seeds and the results so far.

        The learner has a random seat, and others if it is drawn for them. As a coalition, it has all but a random one.
        """
        probabilities = self.probabilities()
        for row, seed in zip(rows.tolist(), seeds.tolist(), strict=True):
            rng = np.random.default_rng(seed)
            members = np.asarray(rng.choice(len(probabilities), self.num_players, p=probabilities))
            seat = random_seat(seed, self.num_players)
            if self.settings.coalition:
                self.member_at[row] = LEARNER
                self.member_at[row, seat] = members[0]
            else:
                self.member_at[row] = members[0] if rng.random() < self.settings.same_kind else members
                self.member_at[row, seat] = LEARNER

    def probabilities(self) -> NDArray[np.float64]:
        """Return the probability of drawing each member."""
        first = self._first_snapshot
        weights = np.zeros(len(self.ahead_rates))
        weights[1:first] = list(self.settings.fixed.values())
        weights[LEARNER] = self.settings.latest + (0.0 if self.snapshots else self.settings.past)
        if self.snapshots:
            past = MIN_WEIGHT + self.ahead_rates[first:] ** 2
            weights[first:] = self.settings.past * past / past.sum()
        probabilities: NDArray[np.float64] = weights / weights.sum()
        return probabilities

    def decide(self, positions: Positions, rows: Rows) -> Rows:
        """Return the opponents' actions on these rows, on which the learner is not to decide."""
        members = self.member_at[rows, positions.states["player"][rows]]
        return decide_by(self.opponents(), members - 1, positions, rows)

    def opponents(self) -> list[Agent]:
        """Return all members but the learner."""
        return [*self._fixed, *(snapshot.agent for snapshot in self.snapshots)]

    def end(self, rows: Rows, ranks: NDArray[np.float64]) -> None:
        """Update the moving averages of the opponents in the games that ended on these rows; a tie counts half."""
        for members, game_ranks in zip(self.member_at[rows], ranks, strict=True):
            learner_ranks = game_ranks[members == LEARNER]
            for seat in np.flatnonzero(members != LEARNER).tolist():
                ahead = float(np.mean(0.5 * (1 + np.sign(learner_ranks - game_ranks[seat]))))
                self.ahead_rates[members[seat]] += (1 - DECAY) * (ahead - self.ahead_rates[members[seat]])

    # Members.

    def add_snapshot(self, number: int, weights: Weights) -> None:
        """Add the learner as it is now, or put it in the place of the weakest snapshot if there are enough."""
        snapshot = self._make_snapshot(number, weights)
        if len(self.snapshots) < self.settings.max_snapshots:
            self.snapshots.append(snapshot)
            self.ahead_rates = np.append(self.ahead_rates, 0.5)
            return
        newest = max(one.number for one in self.snapshots)  # it has hardly played yet, so it stays
        candidates = [place for place, one in enumerate(self.snapshots) if one.number < newest] or [0]
        place = min(candidates, key=lambda place: float(self.ahead_rates[self._first_snapshot + place]))
        self.snapshots[place] = snapshot
        self.ahead_rates[self._first_snapshot + place] = 0.5

    def _make_snapshot(self, number: int, weights: Weights) -> Snapshot:
        agent = PolicyAgent(f"snapshot {number}", self._card, weights, seed=number)
        return Snapshot(number, weights, agent)

    def close(self) -> None:
        """Release the resources of the fixed agents."""
        for agent in self._fixed:
            agent.close()

    # Checkpoints.

    def state_dict(self) -> dict[str, Any]:
        """Return the snapshots and all results; who plays in which game is not part of it."""
        return {
            "ahead_rates": tuple(self.ahead_rates.tolist()),
            "snapshots": tuple((one.number, to_tensors(one.weights)) for one in self.snapshots),
        }

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Restore a new pool from the state that `state_dict` returned; raise a ValueError if it is none."""
        saved = state["snapshots"]
        if not isinstance(saved, tuple) or len(saved) > self.settings.max_snapshots:
            raise ValueError(f"opponents: needed: at most {self.settings.max_snapshots} snapshots")
        rates = np.array(state["ahead_rates"], np.float64)
        if rates.shape != (self._first_snapshot + len(saved),) or not ((rates >= 0) & (rates <= 1)).all():
            raise ValueError(f"opponents: ahead_rates: needed: {self._first_snapshot + len(saved)} numbers from 0 to 1")
        self.snapshots = [self._restore_snapshot(*snapshot) for snapshot in saved]
        self.ahead_rates = rates

    def _restore_snapshot(self, number: Any, tensors: Any) -> Snapshot:
        if type(number) is not int or not 0 <= number <= MAX_SEED:
            raise ValueError(f"opponents: snapshot {number!r}: needed: its number")
        wanted = {name: torch.zeros(shape) for name, shape in self._card.shapes().items()}
        check_tensors(f"opponents: snapshot {number}", tensors, wanted)
        weights = {name: values.numpy() for name, values in tensors.items()}
        check_values(self._card, weights)
        return self._make_snapshot(number, weights)

    def set_members(self, members: Any) -> None:
        """Restore who plays in which game; raise a ValueError if that is not possible."""
        given = np.array(members)
        if given.shape != self.member_at.shape or not np.issubdtype(given.dtype, np.integer):
            raise ValueError(f"members: needed: whole numbers of shape {self.member_at.shape}")
        if given.min() < 0 or given.max() >= len(self.ahead_rates):
            raise ValueError(f"members: needed: numbers from 0 to {len(self.ahead_rates) - 1}")
        if not (given == LEARNER).any(axis=1).all():
            raise ValueError("members: the learner does not play in every game")
        self.member_at[:] = given
