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
        return observations, rewards, terminations, truncations, infos


def parallel_env(*, render_mode: str | None = None, **options: Unpack[OptionValues]) -> ParallelEnv:
    """The parallel environment, with the options of `raw_env`."""
    return ParallelEnv(render_mode=render_mode, **options)
