"""RLlib (new API stack): a `MultiAgentEnv`, a thin adapter over `raw_env`.

    from symphony9_env.integrations.rllib import Symphony9MultiAgentEnv
    PPOConfig().environment(Symphony9MultiAgentEnv, env_config={"num_players": 3}, disable_env_checking=True)

Only the seat to decide has an observation. RLlib's own check of environments samples actions without the mask, so it
must be turned off; examples/rllib_selfplay.py trains with a module that respects the mask.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from gymnasium import spaces
from ray.rllib.env.multi_agent_env import MultiAgentEnv

from symphony9_env.envs.aec import RawEnv
from symphony9_env.rules.chance import MAX_SEED, next_seed

Observations = dict[str, dict[str, Any]]
Infos = dict[str, dict[str, Any]]


class Symphony9MultiAgentEnv(MultiAgentEnv):
    """Symphony No. 9 for 2 to 4 players; `config` holds the options of `raw_env`.

    An observation is {"observations": the vector, "action_mask": 1.0 for each legal action}. The seat that acted gets 0
    at first. What it receives after its action comes with its next observation, or with the end of the game.
    """

    def __init__(self, config: Mapping[str, Any] | None = None) -> None:
        self.raw = RawEnv(**(config or {}))
        self.render_mode = self.raw.render_mode
        self.metadata = dict(self.raw.metadata)
        self.agents = self.possible_agents = self.raw.possible_agents
        self.observation_spaces = {agent: self._space(agent) for agent in self.agents}
        self.action_spaces = self.raw.action_spaces
        super().__init__()

    def _space(self, agent: str) -> spaces.Dict:
        space: Any = self.raw.observation_space(agent)
        mask = spaces.Box(0, 1, space["action_mask"].shape, np.float32)
        return spaces.Dict({"observations": space["observation"], "action_mask": mask})

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Observations, Infos]:
        """Deal a game as `raw_env` does, by seed or by hand."""
        self.raw.reset(seed, options)
        return self._observe(), self._infos()

    def step(
        self, action_dict: Mapping[str, Any]
    ) -> tuple[Observations, dict[str, float], dict[str, bool], dict[str, bool], Infos]:
        actor = self.raw.agent_selection
        if set(action_dict) != {actor}:
            raise ValueError(f"actions of {sorted(action_dict)}; needed: one of {actor}, who is to decide")
        self.raw.step(action_dict[actor])
        over = self.raw.terminations[actor]
        earned = self.raw.cumulative_rewards
        rewards = dict(earned) if over else {actor: 0.0, self.raw.agent_selection: earned[self.raw.agent_selection]}
        terminated = {**self.raw.terminations, "__all__": over}
        return self._observe(), rewards, terminated, {**self.raw.truncations, "__all__": False}, self._infos()

    def _observe(self) -> Observations:
        agent = self.raw.agent_selection
        if self.raw.terminations[agent]:
            return {}
        observation = self.raw.observe(agent)
        mask = observation["action_mask"].astype(np.float32)
        return {agent: {"observations": observation["observation"], "action_mask": mask}}

    def _infos(self) -> Infos:
        """Return the info of the seat to decide; at the end everybody's `score`, `rank` and `breakdown`."""
        agent = self.raw.agent_selection
        return dict(self.raw.infos) if self.raw.terminations[agent] else {agent: self.raw.infos[agent]}

    def render(self) -> Any:
        return self.raw.render()

    def close(self) -> None:
        self.raw.close()


class FreshDealsEnv(Symphony9MultiAgentEnv):
    """The environment for training with a seed: no two games have the same deal.

    RLlib seeds game i of runner r with seed + r + i, so that runners share deals; with `complete_episodes` it does so
    again for every batch. Here the first seed depends on the runner's number, and each later one on the last deal.
    """

    def __init__(self, config: Any) -> None:
        super().__init__(config)
        self._runner = int(config.worker_index)

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Observations, Infos]:
        if seed is not None:
            seed = (next_seed(seed) + self._runner) & MAX_SEED if self.raw.game_seed is None else None
        return super().reset(seed=seed, options=options)
