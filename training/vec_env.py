"""Many games as one stable-baselines3 environment: the learner plays one seat of each, the pool the others."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from symphony9_env.actions import NUM_ACTIONS_DISCUSSION
from symphony9_env.integrations.sb3 import Symphony9VecEnv
from training.config import Settings
from training.opponent_pool import OpponentPool


class SelfPlayVecEnv(Symphony9VecEnv):
    """The games of a training run, with 49 actions whether or not there is a discussion.

    The learner has a random seat in each game, and the pool, whose snapshots are in `folder`, plays the others.
    `set_shaping` adds a reward for the points that a step brings.
    """

    def __init__(self, settings: Settings, folder: Path) -> None:
        self.pool = OpponentPool(settings, folder)
        super().__init__(settings.ppo.n_envs, opponents=self.pool, **settings.game.options().as_keywords())
        self.action_space = spaces.Discrete(NUM_ACTIONS_DISCUSSION)
        self._first_seed = settings.seed
        self._masks = np.zeros((self.num_envs, NUM_ACTIONS_DISCUSSION), np.int8)

    def reset(self) -> NDArray[np.float32]:
        """Deal all games, always from the run's seed."""
        self.seed(self._first_seed)
        return super().reset()

    def action_masks(self) -> NDArray[np.int8]:
        """Return the learner's legal actions in each game, padded to 49 actions."""
        mask = self.vector_env.batch.action_mask
        self._masks[:, : mask.shape[1]] = mask
        return self._masks

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
