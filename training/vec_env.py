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
from symphony9_env.options import EnvOptions
from training.opponent_pool import Pool


class SelfPlayVecEnv(VecEnv):
    """`Symphony9VectorEnv` as a stable-baselines3 environment, with 49 actions in every kind of game.

    The reward is that of the environment plus, if `set_shaping` was called, a reward for each point a step brings.
    """

    def __init__(self, num_games: int, pool: Pool, options: EnvOptions, seed: int) -> None:
        keywords = options.as_keywords()
        self.pool = pool
        self.vector_env = Symphony9VectorEnv(num_games, opponents=pool, **keywords)
        self.render_mode = None
        self._first_seed = seed
        self._actions = np.zeros(num_games, np.int64)
        self._masks = np.zeros((num_games, NUM_ACTIONS_DISCUSSION), np.int8)
        self._no_infos: list[dict[str, Any]] = [{} for _ in range(num_games)]
        box = self.vector_env.single_observation_space
        super().__init__(num_games, box, spaces.Discrete(NUM_ACTIONS_DISCUSSION))
        self.metadata: dict[str, Any] = {}

    def reset(self) -> NDArray[np.float32]:
        observation, _ = self.vector_env.reset(seed=self._first_seed)
        return observation

    def action_masks(self) -> NDArray[np.int8]:
        mask = self.vector_env.batch.action_mask
        self._masks[:, : mask.shape[1]] = mask
        return self._masks

    def step_async(self, actions: NDArray[np.int64]) -> None:
        self._actions = actions

    def step_wait(self) -> tuple[NDArray[np.float32], NDArray[np.float32], NDArray[np.bool_], list[dict[str, Any]]]:
        observation, rewards, ended, _, final = self.vector_env.step(self._actions)
        infos = self._no_infos
        if ended.any():
            infos = list(self._no_infos)
            for row in np.flatnonzero(ended).tolist():
                infos[row] = {"terminal_observation": final["final_obs"][row]}
        return observation, rewards.astype(np.float32), ended, infos

    def set_shaping(self, coefficient: float) -> None:
        """Set the reward for each point that a step brings; 0 for none."""
        self.vector_env.batch.set_shaping(coefficient)

    # Saving.

    def state(self) -> dict[str, Any]:
        return {"games": self.vector_env.save(), "pool": json.dumps(self.pool.state())}

    def restore(self, state: dict[str, Any]) -> NDArray[np.float32]:
        """Go on where a save was made; returns what the learner sees."""
        self.vector_env.load(state["games"])
        self.pool.restore(json.loads(state["pool"]))
        return self.vector_env.batch.observation.copy()

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
