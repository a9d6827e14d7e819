"""Hundreds of games as one stable-baselines3 environment: the learner has a seat in each, the pool the others."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray
from stable_baselines3.common.vec_env import VecEnv

from symphony9_env.actions import NUM_ACTIONS_DISCUSSION
from symphony9_env.envs.vector import Symphony9VectorEnv
from symphony9_env.options import Options
from training.pool import Pool


class SelfPlayVecEnv(VecEnv):
    """`Symphony9VectorEnv` as stable-baselines3 wants it, with 49 actions in every kind of game.

    The reward is that of the environment (`win`) plus `shaping` for each point that a step brings.
    """

    def __init__(self, num_games: int, pool: Pool, options: Options, seed: int) -> None:
        named = {name: getattr(options, name) for name in ("tracks", "scoring", "discussion", "ledger", "components")}
        self.pool = pool
        self.games = Symphony9VectorEnv(
            num_games, opponents=pool, num_players=options.num_players, reward="win", shaping=True, **named
        )
        self.render_mode = None
        self.shaping = 0.0
        self._first_seed = seed
        self._actions = np.zeros(num_games, np.int64)
        self._masks = np.zeros((num_games, NUM_ACTIONS_DISCUSSION), np.int8)
        self._nothing: list[dict[str, Any]] = [{} for _ in range(num_games)]
        box = self.games.single_observation_space
        super().__init__(num_games, box, spaces.Discrete(NUM_ACTIONS_DISCUSSION))
        self.metadata: dict[str, Any] = {}

    def reset(self) -> NDArray[np.float32]:
        observation, _ = self.games.reset(seed=self._first_seed)
        return observation

    def action_masks(self) -> NDArray[np.int8]:
        mask = self.games.games.action_mask
        self._masks[:, : mask.shape[1]] = mask
        return self._masks

    def step_async(self, actions: NDArray[np.int64]) -> None:
        self._actions = actions

    def step_wait(self) -> tuple[NDArray[np.float32], NDArray[np.float32], NDArray[np.bool_], list[dict[str, Any]]]:
        observation, earned, ended, _, infos = self.games.step(self._actions)
        won = np.zeros(self.num_envs)
        told = self._nothing
        if ended.any():
            rows = np.flatnonzero(ended)
            won[rows] = self._won(rows, infos["final_info"]["rank"][rows] == 1)
            told = list(self._nothing)
            for row in rows.tolist():
                told[row] = {"terminal_observation": infos["final_obs"][row]}
        rewards = won + self.shaping * (earned - won)  # what was earned is the win and the points
        return observation, rewards.astype(np.float32), ended, told

    def _won(self, rows: NDArray[np.int64], mine: NDArray[np.bool_]) -> NDArray[np.float64]:
        """The win's part of the reward, where the learner is among the first or not."""
        first = self.games.games.final_ranks[rows] == 1
        winners, num_players = first.sum(1), first.shape[1]
        losers = np.maximum(num_players - winners, 1)
        return np.where(winners == num_players, 0.0, np.where(mine, 1 / winners, -1 / losers))

    # Saving.

    def state(self) -> dict[str, Any]:
        return {"games": self.games.save(), "pool": json.dumps(self.pool.state())}

    def restore(self, state: dict[str, Any]) -> NDArray[np.float32]:
        """Go on where a save was made; returns what the learner sees."""
        self.games.load(state["games"])
        self.pool.restore(json.loads(state["pool"]))
        return self.games.games.observation.copy()

    # What stable-baselines3 asks of every environment.

    def env_method(self, method_name: str, *args: Any, indices: Any = None, **kwargs: Any) -> Any:
        return getattr(self, method_name)(*args, **kwargs)

    def has_attr(self, attr_name: str) -> bool:
        return hasattr(self, attr_name)

    def get_attr(self, attr_name: str, indices: Any = None) -> list[Any]:
        return [getattr(self, attr_name)] * len(self._chosen(indices))

    def set_attr(self, attr_name: str, value: Any, indices: Any = None) -> None:
        setattr(self, attr_name, value)

    def env_is_wrapped(self, wrapper_class: type[Any], indices: Any = None) -> list[bool]:
        return [False] * len(self._chosen(indices))

    def _chosen(self, indices: Any) -> Sequence[int]:
        return range(self.num_envs) if indices is None else np.atleast_1d(indices).tolist()

    def close(self) -> None:
        """Nothing to close."""
