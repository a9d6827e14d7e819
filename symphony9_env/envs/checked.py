"""The PettingZoo AEC environment with the checks of PettingZoo's stock wrappers."""

from __future__ import annotations

from typing import Any

from pettingzoo.utils.env import AECIterable, AECIterator
from pettingzoo.utils.env_logger import EnvLogger

from symphony9_env.envs.aec import RawEnv
from symphony9_env.options import whole_number
from symphony9_env.views.rules_summary import summarize_rules_and_actions

# Agents that are language models are shown the documentation of this module as the rules (PettingZoo's tutorial on
# LangChain does that).
__doc__ = f"{__doc__}\n\n{summarize_rules_and_actions()}"


class CheckedEnv(RawEnv):
    """Symphony No. 9 for 2 to 4 players, with the behaviour of PettingZoo's stock wrappers; options as for `raw_env`.

    An illegal move ends the game with -1 for the agent that made it; an action out of range fails an assertion; a
    step after the end gives a warning. Making the checks here is several times faster than the three wrappers are.
    """

    has_updated = False  # whether step or reset was called since `agent_iter` last gave an agent

    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> None:
        super().reset(seed, options)
        self.has_updated = True

    def step(self, action: int | None) -> None:
        if not self.has_reset:
            EnvLogger.error_step_before_reset()
        self.has_updated = True
        if not self.agents:
            EnvLogger.warn_step_after_terminated_truncated()
        elif self._has_ended:
            if action is not None:
                self._check_range(action)
            self._was_dead_step(action)
        else:
            number = self._check_range(action)
            if self._mask[number]:
                self._play(number)
            else:
                self._end_by_illegal_move()

    def _check_range(self, action: Any) -> int:
        number = whole_number(action)
        if number is None or not 0 <= number < len(self._mask):
            raise AssertionError("action is not in action space")
        return number

    def _end_by_illegal_move(self) -> None:
        EnvLogger.warn_on_illegal_move()
        agent = self.agent_selection
        self._has_ended = True
        self._cumulative_rewards[agent] = 0.0
        self.terminations = dict.fromkeys(self.agents, True)
        self.truncations = dict.fromkeys(self.agents, True)
        self.rewards = {**dict.fromkeys(self.agents, 0.0), agent: -1.0}
        self._accumulate_rewards()
        self._deads_step_first()

    def require_reset(self, use: str) -> None:
        if not self.has_reset:
            raise AssertionError(f"reset() needs to be called before {use}.")

    def agent_iter(self, max_iter: int = 2**63) -> AECIterable[str, Any, int]:
        if not self.has_reset:
            EnvLogger.error_agent_iter_before_reset()
        return _OrderedIterable(self, max_iter)


class _OrderedIterable(AECIterable[str, Any, int]):
    """What `agent_iter` returns."""

    def __iter__(self) -> AECIterator[str, Any, int]:
        return _OrderedIterator(self.env, self.max_iter)


class _OrderedIterator(AECIterator[str, Any, int]):
    """Check that every agent steps, as PettingZoo's `OrderEnforcingWrapper` does."""

    def __next__(self) -> str:
        agent: str = super().__next__()
        if not self.env.has_updated:
            raise AssertionError("need to call step() or reset() in a loop over `agent_iter`")
        self.env.has_updated = False
        return agent
