"""Games of the learner against its opponents, and the decisions that it learns from.

In every game the learner has one seat or more, and the opponent pool plays the others. The decisions of one seat in one
game form a sequence of their own: the reward of a decision is what the seat receives until its next one, and the
advantage is computed along that sequence.
"""

from __future__ import annotations

import json
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from symphony9_env.actions import NUM_ACTIONS_DISCUSSION
from symphony9_env.agents.base import Rows, derive_agent_seed
from symphony9_env.batched import BatchedGames
from symphony9_env.engine import observe_rows
from symphony9_env.rules.state import States
from symphony9_env.views import observation_size
from symphony9_env.views.fields import HIDDEN_SIZE
from symphony9_env.views.vector import observe_hidden
from training.config import Settings
from training.group import Group
from training.opponent_pool import LEARNER, OpponentPool

Floats = NDArray[np.float32]


class Inputs(NamedTuple):
    """What the network is given for some decisions."""

    observation: Floats  # (n, size)
    mask: NDArray[np.bool_]  # (n, actions)
    hidden: Floats | None  # (n, HIDDEN_SIZE) what the deciding seats can't know, for a critic that uses it


class Rollout(NamedTuple):
    """Decisions of the learner, in the order in which they were made.

    The positions are stored as states, a third of the size of the observations, and encoded when they are needed.
    """

    states: States
    action: NDArray[np.int64]
    log_prob: Floats
    value: Floats
    advantage: Floats

    @property
    def returns(self) -> Floats:
        """The targets of the value function."""
        return self.value + self.advantage


class Actor(Protocol):
    """Chooses the learner's actions."""

    def act(self, states: States) -> tuple[NDArray[np.int64], Floats, Floats]:
        """Return an action for each state, its log-probability, and the value of the position."""


class _Step(NamedTuple):
    """One decision in every game; those of the learner are on `rows`, in the seats `seats`."""

    rows: Rows
    seats: Rows
    decisions: tuple[Any, ...]  # the first four arrays of a rollout
    rewards: NDArray[np.float64]  # of all seats: (games, players)
    ended: NDArray[np.bool_]  # (games,)


class Encoder:
    """Encodes states as inputs of the network."""

    def __init__(self, settings: Settings) -> None:
        self._size = observation_size(settings.game.ledger)
        self._needs_hidden = settings.network.critic == "state"

    def encode(self, states: States, rows: Rows) -> Inputs:
        """Return what the deciding seats on these rows observe, and what is hidden from them if the critic uses it."""
        observation = np.empty((len(rows), self._size), np.float32)
        mask = np.empty((len(rows), NUM_ACTIONS_DISCUSSION), np.int8)
        observe_rows(states, rows, observation, mask)
        hidden = np.empty((len(rows), HIDDEN_SIZE), np.float32) if self._needs_hidden else None
        if hidden is not None:
            observe_hidden(states, rows, hidden)
        return Inputs(observation, mask == 1, hidden)


class SelfPlay:
    """A worker's games. The learner's seats in each are a random one and those of which the pool draws the learner."""

    def __init__(self, settings: Settings, group: Group) -> None:
        self.settings = settings
        self.num_games = group.share(settings.ppo.n_envs)
        self.pool = OpponentPool(settings, self.num_games)
        self._seed = settings.seed if group.rank == 0 else derive_agent_seed(settings.seed, group.rank)
        options = settings.game.options().as_keywords()
        self.batch = BatchedGames(self.num_games, seed=self._seed, **options)
        self._rows = np.arange(self.num_games)

    def deal(self, steps: int = 0) -> None:
        """Deal all games; their seeds depend on the run's seed, the worker, and how many steps the run has made."""
        self.batch.reset(derive_agent_seed(self._seed, steps) if steps else self._seed)
        self.pool.begin(self._rows, self.batch.seeds)

    def collect(self, actor: Actor, num_decisions: int) -> Rollout:
        """Play until so many decisions of the learner can be learned from, and return them.

        A seat's last decision in an unfinished game can't: it only serves to value the one before it.
        """
        steps, num_known = [], 0
        is_open = np.zeros(self.pool.member_at.shape, bool)  # whether the seat has a decision in this rollout and game
        while num_known < num_decisions:
            step = self._step(actor)
            num_known += int(is_open[step.rows, step.seats].sum())
            is_open[step.rows, step.seats] = True
            num_known += int(is_open[step.ended].sum())
            is_open[step.ended] = False
            steps.append(step)
        return self._join(steps, num_decisions)

    def _step(self, actor: Actor) -> _Step:
        """Play one decision in every game."""
        batch, player = self.batch, self.batch.player.copy()
        is_learner = self.pool.member_at[self._rows, player] == LEARNER
        rows, others = np.flatnonzero(is_learner), np.flatnonzero(~is_learner)
        actions = np.empty(self.num_games, np.int64)
        states = batch.states[rows]  # a copy
        actions[rows], log_prob, value = actor.act(states)
        actions[others] = self.pool.decide(batch, others)
        batch.step(actions)
        ended = batch.terminated.copy()
        step = _Step(rows, player[rows], (states, actions[rows], log_prob, value), self._read_rewards(), ended)
        if ended.any():
            over = np.flatnonzero(ended)
            self.pool.end(over, batch.final_ranks[over])
            self.pool.begin(over, batch.seeds[over])
        return step

    def _read_rewards(self) -> NDArray[np.float64]:
        """Return the rewards of the last step; all seats of a coalition receive what they earned together."""
        rewards = self.batch.rewards.copy()
        if self.settings.opponents.coalition:
            is_learner = self.pool.member_at == LEARNER
            rewards = np.where(is_learner, (rewards * is_learner).sum(axis=1, keepdims=True), rewards)
        return rewards

    def _join(self, steps: list[_Step], num_decisions: int) -> Rollout:
        """Compute the advantages, and join the first decisions that can be learned from."""
        parts = self._compute_advantages(steps)
        is_known = np.concatenate([known for _, known in parts])
        chosen = np.flatnonzero(is_known)[:num_decisions]
        arrays: list[Any] = [
            np.concatenate(part)[chosen] for part in zip(*(step.decisions for step in steps), strict=True)
        ]
        advantage = np.concatenate([part for part, _ in parts])[chosen]
        states, action, log_prob, value = arrays
        return Rollout(states, action, log_prob, value, advantage.astype(np.float32))

    def _compute_advantages(self, steps: list[_Step]) -> list[tuple[NDArray[np.float64], NDArray[np.bool_]]]:
        """Return the advantages of every step's decisions, and which of them are known."""
        gamma, gae_lambda = self.settings.ppo.gamma, self.settings.ppo.gae_lambda
        reward = np.zeros(
            self.pool.member_at.shape
        )  # of each seat after the step that is looked at, up to its next decision
        next_value, next_advantage = np.zeros_like(reward), np.zeros_like(reward)
        is_followed = np.zeros(reward.shape, bool)  # by another decision of the seat, or by the end of the game
        parts = []
        for step in reversed(steps):
            reward[step.ended] = next_value[step.ended] = next_advantage[step.ended] = 0
            is_followed[step.ended] = True
            reward += step.rewards
            seat = step.rows, step.seats
            value = step.decisions[3]
            delta = reward[seat] + gamma * next_value[seat] - value
            advantage = delta + gamma * gae_lambda * next_advantage[seat]
            is_known = is_followed[seat]
            parts.append((advantage, is_known))
            next_value[seat], next_advantage[seat], reward[seat] = value, np.where(is_known, advantage, 0), 0
            is_followed[seat] = True
        return parts[::-1]

    def set_shaping(self, coefficient: float) -> None:
        """Set the reward for each point that a step brings; 0 turns shaping off."""
        self.batch.set_shaping(coefficient)

    def close(self) -> None:
        """Close the opponents."""
        self.pool.close()

    # Checkpoints.

    def state_dict(self) -> dict[str, Any]:
        """Return all games and who plays in them, exactly, in mid-game."""
        return {"games": self.batch.save(), "members": json.dumps(self.pool.member_at.tolist())}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Restore the state that `state_dict` returned; raise a ValueError if it is not such a state."""
        games, members = state.get("games"), state.get("members")
        if not isinstance(games, bytes) or not isinstance(members, str):
            raise ValueError("workers: needed: games and members")
        self.pool.set_members(json.loads(members))
        self.batch.load(games)
