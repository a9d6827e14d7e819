"""The PettingZoo parallel environment: all seats give an action, and only the deciding seat's counts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Unpack

from pettingzoo.utils.conversions import turn_based_aec_to_parallel_wrapper

from symphony9_env.envs.aec import AfterReset, Observation
from symphony9_env.envs.checked import CheckedEnv
from symphony9_env.options import OptionValues, with_option_signature


class ParallelEnv(turn_based_aec_to_parallel_wrapper):
    """Symphony No. 9 with PettingZoo's parallel API; options as for `raw_env`.

    Waiting seats have a mask of ones: a mask of zeros, which leaves nothing to choose, crashes some learners.
    """

    aec_env: CheckedEnv

    agents: Any = AfterReset()

    @with_option_signature
    def __init__(self, *, render_mode: str | None = None, **options: Unpack[OptionValues]) -> None:
        env = CheckedEnv(render_mode=render_mode, **options)
        env.waiting_mask[:] = 1
        super().__init__(env)

    def step(
        self, actions: dict[str, Any]
    ) -> tuple[dict[str, Observation], dict[str, float], dict[str, bool], dict[str, bool], dict[str, dict[str, Any]]]:
        """Play the deciding seat's action and ignore the others."""
        if not self.agents:
            return {}, {}, {}, {}, {}
        deciding = self.aec_env.agent_selection
        if not isinstance(actions, Mapping) or deciding not in actions:
            raise ValueError(f"no action for {deciding}, who is to decide; actions is {actions!r}")
        observations, rewards, terminations, truncations, infos = super().step(actions)
        return observations, rewards, terminations, truncations, self._add_active_agent(infos)

    def reset(
        self, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[dict[str, Observation], dict[str, dict[str, Any]]]:
        """Deal a game as `raw_env` does."""
        observations, infos = super().reset(seed, options)
        return observations, self._add_active_agent(infos)

    @property
    def decision(self) -> str:
        """What is asked of the deciding seat, such as "bid"."""
        return self.aec_env.decision

    def __repr__(self) -> str:
        return repr(self.aec_env).replace(type(self.aec_env).__name__, type(self).__name__)

    def _repr_html_(self) -> str:
        return self.aec_env._repr_html_()

    def _add_active_agent(self, infos: dict[str, dict[str, Any]]) -> dict[str, dict[str, Any]]:
        """Copy the infos and add the agent who is to decide to each."""
        deciding = {"active_agent": self.aec_env.agent_selection} if self.aec_env.agents else {}
        return {agent: {**info, **deciding} for agent, info in infos.items()}
