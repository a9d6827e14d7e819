"""Many games as one stable-baselines3 environment: the learner plays one seat of each, the pool the others."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray
from stable_baselines3.common.vec_env import VecEnv

from symphony9_env.actions import NUM_ACTIONS_DISCUSSION
from symphony9_env.envs.vector import Symphony9VectorEnv
from training.config import Settings
from training.opponent_pool import OpponentPool


class SelfPlayVecEnv(VecEnv):
    """`Symphony9VectorEnv` as a stable-baselines3 environment, with 49 actions whether or not there is a discussion.

    The learner has a random seat in each game, and the pool, whose snapshots are in `folder`, plays the others.
    `set_shaping` adds a reward for the points that a step brings.
    """

    def __init__(self, settings: Settings, folder: Path) -> None:
        num_envs = settings.ppo.n_envs
        self.pool = OpponentPool(settings, folder)
        self.vector_env = Symphony9VectorEnv(num_envs, opponents=self.pool, **settings.game.options().as_keywords())
        self.render_mode = None
        self._first_seed = settings.seed
        self._actions = np.zeros(num_envs, np.int64)
        self._masks = np.zeros((num_envs, NUM_ACTIONS_DISCUSSION), np.int8)
        self._no_infos: list[dict[str, Any]] = [{} for _ in range(num_envs)]
        box = self.vector_env.single_observation_space
        super().__init__(num_envs, box, spaces.Discrete(NUM_ACTIONS_DISCUSSION))

    def reset(self) -> NDArray[np.float32]:
        """Deal all games, always from the run's seed."""
        observation, _ = self.vector_env.reset(seed=self._first_seed)
        return observation

    def action_masks(self) -> NDArray[np.int8]:
        """Return the learner's legal actions in each game, padded to 49 actions."""
        mask = self.vector_env.batch.action_mask
        self._masks[:, : mask.shape[1]] = mask
        return self._masks

    def step_async(self, actions: NDArray[np.int64]) -> None:
        self._actions = actions

    def step_wait(self) -> tuple[NDArray[np.float32], NDArray[np.float32], NDArray[np.bool_], list[dict[str, Any]]]:
        observation, rewards, terminated, _, final = self.vector_env.step(self._actions)
        infos = self._no_infos
        if terminated.any():
            infos = list(self._no_infos)
            for row in np.flatnonzero(terminated).tolist():
                infos[row] = {"terminal_observation": final["final_obs"][row]}
        return observation, rewards.astype(np.float32), terminated, infos

    def set_shaping(self, coefficient: float) -> None:
        """Set the reward for each point that a step brings; 0 turns shaping off."""
        self.vector_env.batch.set_shaping(coefficient)

    # Checkpoints.

    def state_dict(self) -> dict[str, Any]:
        """Return all games and the pool's state, exactly, in mid-game."""
        return {"games": self.vector_env.save(), "pool": json.dumps(self.pool.state_dict())}

    def load_state_dict(self, state: dict[str, Any]) -> NDArray[np.float32]:
        """Restore the state that `state_dict` returned; return the learner's observations.

        Raise a ValueError if it is not such a state.
        """
        games, pool = state.get("games"), state.get("pool")
        if not isinstance(games, bytes) or not isinstance(pool, str):
            raise ValueError("env: needed: games and pool")
        self.pool.load_state_dict(json.loads(pool))
        self.vector_env.load(games)
        return self.vector_env.batch.observation.copy()

    # The rest of the VecEnv interface: all games share one environment object.

    def env_method(self, method_name: str, *args: Any, indices: Any = None, **kwargs: Any) -> Any:
        return getattr(self, method_name)(*args, **kwargs)

    def get_attr(self, attr_name: str, indices: Any = None) -> list[Any]:
        return [getattr(self, attr_name) for _ in self._get_indices(indices)]

    def set_attr(self, attr_name: str, value: Any, indices: Any = None) -> None:
        setattr(self, attr_name, value)

    def env_is_wrapped(self, wrapper_class: type[Any], indices: Any = None) -> list[bool]:
        return [False for _ in self._get_indices(indices)]

    def close(self) -> None:
        """Close the opponents."""
        self.pool.close()
