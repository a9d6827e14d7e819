"""The PettingZoo parallel environment: all seats give an action, and only the deciding seat's counts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Unpack

from pettingzoo.utils.conversions import turn_based_aec_to_parallel_wrapper

from symphony9_env.envs.aec import AfterReset
from symphony9_env.envs.checked import CheckedEnv
from symphony9_env.options import OptionValues, with_option_signature


class ParallelEnv(turn_based_aec_to_parallel_wrapper):
    """Symphony No. 9 with PettingZoo's parallel API; options as for `raw_env`.

    Waiting seats have a mask of ones: a mask of zeros, which leaves nothing to choose, crashes some learners.
    """

    aec_env: CheckedEnv

    agents: Any = AfterReset()

    @with_option_signature
    def __init__(
        self,
        *,
        render_mode: str | None = None,
        mask: str = "observation",
        max_cycles: int | None = None,
        **options: Unpack[OptionValues],
    ) -> None:
        env = CheckedEnv(render_mode=render_mode, mask=mask, max_cycles=max_cycles, **options)
        env.waiting_mask[:] = 1
        super().__init__(env)

    def step(
        self, actions: dict[str, Any]
    ) -> tuple[dict[str, Any], dict[str, float], dict[str, bool], dict[str, bool], dict[str, dict[str, Any]]]:
        """Play the deciding seat's action and ignore the others."""
        if not self.agents:
            return {}, {}, {}, {}, {}
        env = self.aec_env
        if not isinstance(actions, Mapping) or self.deciding_agent not in actions:
            raise ValueError(f"no action for {self.deciding_agent}, who is to decide; actions is {actions!r}")
        env.step(actions[self.deciding_agent])
        # Not PettingZoo's own step: it puts the name of the deciding agent into the infos, which breaks libraries.
        results = (env.rewards, env.terminations, env.truncations, env.infos)
        rewards, terminations, truncations, infos = ({agent: part[agent] for agent in self.agents} for part in results)
        observations = {agent: env.observe(agent) for agent in self.agents}
        while env.agents and (env.terminations[env.agent_selection] or env.truncations[env.agent_selection]):
            env.step(None)
        self.agents = env.agents[:]
        return observations, rewards, terminations, truncations, infos

    @property
    def deciding_agent(self) -> str:
        """The agent whose action counts in the next step; once the game is over, the last one whose action did."""
        return self.aec_env.possible_agents[self.aec_env.deciding_seat]

    @property
    def decision(self) -> str:
        """What is asked of the deciding seat, such as "bid"."""
        return self.aec_env.decision

    def __repr__(self) -> str:
        return repr(self.aec_env).replace(type(self.aec_env).__name__, type(self).__name__)

    def _repr_html_(self) -> str:
        return self.aec_env._repr_html_()
