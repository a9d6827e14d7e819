"""The same game for code that wants PettingZoo's parallel API: all seats answer, one answer counts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Unpack

from pettingzoo.utils.conversions import turn_based_aec_to_parallel_wrapper

from symphony9_env.envs.aec import AfterReset, CheckedEnv, Observation
from symphony9_env.options import OptionValues


class ParallelEnv(turn_based_aec_to_parallel_wrapper):
    """At each step every seat gives an action and only the deciding seat's counts.

    Waiting seats see a mask of ones: a mask of zeros, which leaves nothing to choose, crashes some learners.
    """

    aec_env: CheckedEnv

    agents: Any = AfterReset()

    def __init__(self, *, render_mode: str | None = None, **options: Unpack[OptionValues]) -> None:
        env = CheckedEnv(render_mode=render_mode, **options)
        env._waiting_mask[:] = 1
        super().__init__(env)

    def step(
        self, actions: dict[str, Any]
    ) -> tuple[dict[str, Observation], dict[str, float], dict[str, bool], dict[str, bool], dict[str, dict[str, Any]]]:
        if not self.agents:
            return {}, {}, {}, {}, {}
        deciding = self.aec_env.agent_selection
        if not isinstance(actions, Mapping) or deciding not in actions:
            raise ValueError(f"no action for {deciding}, who is to decide; actions is {actions!r}")
        observations, rewards, terminations, truncations, infos = super().step(actions)
        return observations, rewards, terminations, truncations, self._named(infos)

    def reset(
        self, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[dict[str, Observation], dict[str, dict[str, Any]]]:
        observations, infos = super().reset(seed, options)
        return observations, self._named(infos)

    def _repr_html_(self) -> str:
        return self.aec_env._repr_html_()

    def _named(self, infos: dict[str, dict[str, Any]]) -> dict[str, dict[str, Any]]:
        """Infos of the caller's own, each with the agent who is to decide."""
        deciding = {"active_agent": self.aec_env.agent_selection} if self.aec_env.agents else {}
        return {agent: {**info, **deciding} for agent, info in infos.items()}


def parallel_env(*, render_mode: str | None = None, **options: Unpack[OptionValues]) -> ParallelEnv:
    """The parallel environment, with the options of `raw_env`."""
    return ParallelEnv(render_mode=render_mode, **options)
