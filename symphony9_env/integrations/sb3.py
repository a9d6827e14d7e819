"""stable-baselines3: many games at once as one of its environments, for MaskablePPO and its other algorithms.

from sb3_contrib import MaskablePPO
from symphony9_env.integrations.sb3 import Symphony9VecEnv
MaskablePPO("MlpPolicy", Symphony9VecEnv(256, num_players=4, opponents="greedy"), gamma=1.0).learn(1_000_000)
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from stable_baselines3.common.vec_env import VecEnv

from symphony9_env.envs.vector import Symphony9VectorEnv

StepResult = tuple[NDArray[np.float32], NDArray[np.float32], NDArray[np.bool_], list[dict[str, Any]]]


class Symphony9VecEnv(VecEnv):
    """`Symphony9VectorEnv`, with the same options, as a stable-baselines3 environment of `num_envs` games.

    The info of a game's last step has its `score` and `rank`, the `terminal_observation`, and the `episode` that
    stable-baselines3 logs. Algorithms without masks need `illegal="random"`.
    """

    def __init__(self, num_envs: int, **options: Any) -> None:
        self.vector_env = Symphony9VectorEnv(num_envs, **options)
        self.render_mode = None
        self._actions = np.zeros(num_envs, np.int64)
        self._returns = np.zeros(num_envs)
        self._lengths = np.zeros(num_envs, np.int64)
        super().__init__(num_envs, self.vector_env.single_observation_space, self.vector_env.single_action_space)

    def reset(self) -> NDArray[np.float32]:
        """Deal all games, with the seed that was given to `seed`, if any."""
        observation, _ = self.vector_env.reset(seed=self._seeds[0])
        self._reset_seeds()
        self._returns[:] = self._lengths[:] = 0
        return observation

    def action_masks(self) -> NDArray[np.int8]:
        """Return the learner's legal actions in each game."""
        return self.vector_env.action_masks()

    def step_async(self, actions: NDArray[np.int64]) -> None:
        self._actions = actions

    def step_wait(self) -> StepResult:
        observation, rewards, terminated, truncated, infos = self.vector_env.step(self._actions)
        ended = terminated | truncated
        self._returns += rewards
        self._lengths += 1
        each: list[dict[str, Any]] = [{} for _ in range(self.num_envs)]
        for row in np.flatnonzero(ended).tolist():
            each[row] = self._describe_end(row, bool(truncated[row]), infos)
        self._returns[ended] = self._lengths[ended] = 0
        return observation, rewards.astype(np.float32), ended, each

    def _describe_end(self, row: int, is_truncated: bool, infos: dict[str, Any]) -> dict[str, Any]:
        """Return the info of a game's last step, with the keys that stable-baselines3 looks for."""
        final = infos["final_info"]
        scores = {
            name: float(final[name][row]) for name in ("score", "rank") if name in final and final[f"_{name}"][row]
        }
        return {
            "terminal_observation": infos["final_obs"][row],
            "TimeLimit.truncated": is_truncated,
            "episode": {"r": float(self._returns[row]), "l": int(self._lengths[row])},
            **scores,
        }

    # The rest of the interface: all games share one environment object.

    def env_method(self, method_name: str, *args: Any, indices: Any = None, **kwargs: Any) -> Any:
        """Call a method once; `action_masks`, which stable-baselines3 asks for, returns the masks of all games."""
        return getattr(self, method_name)(*args, **kwargs)

    def get_attr(self, attr_name: str, indices: Any = None) -> list[Any]:
        return [getattr(self, attr_name) for _ in self._get_indices(indices)]

    def set_attr(self, attr_name: str, value: Any, indices: Any = None) -> None:
        setattr(self, attr_name, value)

    def env_is_wrapped(self, wrapper_class: type[Any], indices: Any = None) -> list[bool]:
        return [False for _ in self._get_indices(indices)]

    def close(self) -> None:
        """Close the opponents."""
        self.vector_env.close()
