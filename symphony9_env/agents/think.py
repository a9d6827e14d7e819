"""`think:N`: a saved policy that looks ahead with N simulated lines of play per decision (`lines.py`).

The candidates are the policy's most likely actions. They are compared in the same worlds, in stages: after each stage
the better half stays (sequential halving), so that most lines are spent on the best of them. An action's score is its
mean value plus a small bonus for what the policy prefers.

`think:N@NAME` knows that all rivals play as the agent NAME: it approximates a best response to it. `roles.py` describes
teams and rivals in certain seats.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil, log2
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from symphony9_env.actions import NUM_ACTIONS_DISCUSSION
from symphony9_env.agents import inference, lines
from symphony9_env.agents.base import Agent, Positions, Rows, StoredPositions
from symphony9_env.agents.networks import Floats
from symphony9_env.agents.policy import PolicyAgent, ShippedPolicy
from symphony9_env.agents.rivals import find_kind
from symphony9_env.agents.roles import NO_ROLES, Roles
from symphony9_env.agents.simulation import Buffers, Models, Simulation
from symphony9_env.agents.strategies import ASKED
from symphony9_env.rules.state import States, new_states
from symphony9_env.threads import ExclusiveUse, ThreadPool

DEFAULT_LINES: Final = 350  # no more time per decision than `search:800`, for every number of players


@dataclass(frozen=True)
class ThinkSettings:
    """What the search does with its lines; docs/evaluation.md compares alternatives."""

    max_candidates: int = 8
    min_prior: float = 0.0  # actions that the policy finds less likely are no candidates
    max_stages: int = NUM_ACTIONS_DISCUSSION  # 1: every candidate gets as many lines as the others
    num_rounds: int = 1  # the last round of a line, this one being the first; 6: all lines end with the game
    own_temperature: float = 1.0  # of the policy when it plays on for the thinking seat
    rival_temperature: float = 1.0  # of the policy when it plays for the rivals
    scripted_share: float = 0.5  # how many rivals play as the models of `search:N` instead of the policy
    prior_weight: float = 0.02  # of the logarithm of an action's prior probability in its score
    improvement: float = 8.0  # how much a value of 1 adds to a logit in the improved policy


@dataclass(frozen=True)
class Analysis:
    """What thinking about one decision found out; the best candidate comes first."""

    actions: NDArray[np.int64]  # the candidates
    values: NDArray[
        np.float64
    ]  # the mean value of each one's lines: the expected return of the deciding seat or its team
    num_lines: NDArray[np.int64]  # of each
    probabilities: NDArray[np.float64]  # of every action: the improved policy
    value: float  # of the position under the improved policy


class ThinkAgent(Agent):
    """Thinks about the games of a batch one after the other, or on several threads at once."""

    def __init__(
        self,
        num_lines: int,
        seed: int,
        *,
        policy: PolicyAgent | ShippedPolicy | None = None,
        rivals: Agent | None = None,
        roles: Roles = NO_ROLES,
        num_threads: int = 1,
        settings: ThinkSettings | None = None,
    ) -> None:
        """`policy` is the shipped one by default; `rivals` is how rivals are known to play, None if unknown.

        `roles` says which of them do, and for which team it plays.
        """
        self.seed = seed
        self.num_lines = num_lines
        self.policy = policy or ShippedPolicy(seed)
        self.rivals = rivals
        self.playouts = num_lines * (1 + (rivals.playouts if rivals else 0))
        self.settings = settings or ThinkSettings()
        self.num_threads = num_threads
        guide = "" if policy is None else f":{policy.name}"
        known = f"@{roles.format_known(rivals.spec or rivals.name)}" if rivals else ""  # without a label
        self.name = f"think:{num_lines}{guide}{roles.format_team()}{known}"
        self.roles = roles
        self._kind = find_kind(rivals)
        if self._kind == ASKED and roles != NO_ROLES:
            raise ValueError(
                f"agent {self.name!r}: with seats, the agent behind @ must be a scripted agent or a policy"
            )
        self._models: dict[int, Models] = {}
        self._buffers: dict[tuple[int, int], Buffers] = {}
        self._threads = ThreadPool(num_threads)
        self._exclusive = ExclusiveUse(f"agent {self.name!r}")

    def fingerprint(self, num_players: int) -> str:
        known = [self.rivals.fingerprint(num_players)] if self.rivals else []
        return " ".join([super().fingerprint(num_players), self.policy.fingerprint(num_players), *known])

    def check_players(self, num_players: int) -> None:
        self.roles.check_players(self.name, num_players)
        self.policy.check_players(num_players)
        if self.rivals:
            self.rivals.check_players(num_players)

    def close(self) -> None:
        if self.rivals:
            self.rivals.close()

    def decide(self, positions: Positions, rows: Rows) -> Rows:
        return np.array([found.actions[0] for found in self._analyze_rows(positions, rows)], np.int64)

    def analyze(self, states: States, row: int) -> Analysis:
        """Think about one game, and return what was found out."""
        return self._analyze_rows(StoredPositions.of(states), np.array([row]))[0]

    def evaluate(self, states: States, rows: Rows) -> tuple[Floats, Floats]:
        """Return the improved probability of every action, and the expected return of the deciding seat."""
        found = self._analyze_rows(StoredPositions.of(states), rows)
        probabilities = np.array([analysis.probabilities for analysis in found], np.float32)
        return probabilities, np.array([analysis.value for analysis in found], np.float32)

    def _analyze_rows(self, positions: Positions, rows: Rows) -> list[Analysis]:
        with self._exclusive:
            for count in np.unique(positions.states["num_players"][rows]).tolist():
                self._prepare(count)
            num_threads = 1 if self._kind == ASKED else min(self.num_threads, len(rows))
            if num_threads <= 1:
                return [self._think(positions, row, 0) for row in rows.tolist()]
            parts = [(positions, rows[thread::num_threads].tolist(), thread) for thread in range(num_threads)]
            found: list[Any] = [None] * len(rows)
            for thread, part in enumerate(self._threads.run(self._think_rows, parts)):
                found[thread::num_threads] = part
            return found

    def _think_rows(self, positions: Positions, rows: list[int], thread: int) -> list[Analysis]:
        return [self._think(positions, row, thread) for row in rows]

    def _prepare(self, num_players: int) -> None:
        """Load the policies for a number of players."""
        if num_players in self._models:
            return
        self.check_players(num_players)
        guide = self.policy.for_players(num_players).network
        network, temperature = guide, 0.0
        if isinstance(self.rivals, PolicyAgent | ShippedPolicy):
            known = self.rivals.for_players(num_players)
            network, temperature = known.network, float(known.card.temperature)
        chosen = self.settings
        self._models[num_players] = Models(
            self._kind,
            guide,
            network,
            chosen.own_temperature,
            chosen.rival_temperature,
            temperature,
            chosen.scripted_share,
            *NO_ROLES.as_sets(0),
        )
        size = max(int(packed[0][inference.LIST_SIZE]) for packed in (guide, network))
        for thread in range(self.num_threads):
            workspace = inference.new_workspace(size)
            self._buffers[num_players, thread] = Buffers(workspace, new_states(1), np.zeros(NUM_ACTIONS_DISCUSSION))

    def _think(self, positions: Positions, row: int, thread: int) -> Analysis:
        """Think about the game on a row."""
        num_players = int(positions.states["num_players"][row])
        models, buffers = self._models[num_players], self._buffers[num_players, thread]
        legal = lines.prepare_root(positions.states, row, models.guide, *buffers)
        actions = _list_members(legal)
        if len(actions) == 1:
            return Analysis(actions, np.full(1, np.nan), np.zeros(1, np.int64), _one_hot(actions[0]), np.nan)
        seat = int(positions.states["player"][row])
        known, team = self.roles.as_sets(seat)
        models = models.with_roles(known, team)
        weights = self.roles.weigh_returns(seat, num_players)
        num_rounds = self.settings.num_rounds
        simulation = Simulation(positions, row, models, buffers, self.seed, num_rounds, self.rivals, weights)
        return self._compare(simulation, actions, buffers.priors)

    def _compare(self, simulation: Simulation, legal: NDArray[np.int64], priors: NDArray[np.float64]) -> Analysis:
        """Compare the likeliest actions in stages, of which each keeps the better half."""
        likeliest = legal[np.argsort(-priors[legal], kind="stable")][: self.settings.max_candidates]
        candidates = likeliest[(priors[likeliest] >= self.settings.min_prior) | (likeliest == likeliest[0])]
        bonus = self.settings.prior_weight * np.log(np.maximum(priors, 1e-12))
        sums, counts = np.zeros(NUM_ACTIONS_DISCUSSION), np.zeros(NUM_ACTIONS_DISCUSSION, np.int64)
        stages = min(max(1, ceil(log2(len(candidates)))), self.settings.max_stages)
        order: list[int] = []  # the candidates that are left out, the last one first
        for stage in range(stages):
            worlds = max(1, self.num_lines // (stages * len(candidates)))
            sums[candidates] += simulation.simulate(candidates, worlds)
            counts[candidates] += worlds
            scores = sums[candidates] / counts[candidates] + bonus[candidates]
            candidates = candidates[np.argsort(-scores, kind="stable")]
            kept = len(candidates) if stage == stages - 1 else (len(candidates) + 1) // 2
            order = [*candidates[kept:].tolist(), *order]
            candidates = candidates[:kept]
        ranked = np.array([*candidates.tolist(), *order])
        values = sums[ranked] / counts[ranked]
        return Analysis(ranked, values, counts[ranked], *self._improve(priors, ranked, values))

    def _improve(
        self, priors: NDArray[np.float64], actions: NDArray[np.int64], values: NDArray[np.float64]
    ) -> tuple[NDArray[np.float64], float]:
        """Return the improved policy, and the value under it.

        An action that was not tried counts as much as those that were tried do on average, weighted by the policy.
        """
        tried = priors[actions] + 1e-12
        completed = np.full(len(priors), float(tried @ values / tried.sum()))
        completed[actions] = values
        weights = priors * np.exp(self.settings.improvement * (completed - completed.max()))
        probabilities = weights / weights.sum()
        return probabilities, float(probabilities @ completed)


def _list_members(members: int) -> NDArray[np.int64]:
    """Return the members of a set of actions."""
    return np.array([action for action in range(NUM_ACTIONS_DISCUSSION) if members >> action & 1])


def _one_hot(action: int) -> NDArray[np.float64]:
    probabilities = np.zeros(NUM_ACTIONS_DISCUSSION)
    probabilities[action] = 1
    return probabilities
