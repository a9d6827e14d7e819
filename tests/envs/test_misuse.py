"""Illegal actions, wrong types, wrong order: `env()` as PettingZoo's stock wrappers, `raw_env()` by ValueError."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from pettingzoo.utils import wrappers
from pettingzoo.utils.env_logger import EnvLogger

from symphony9_env import symphony9_v0
from symphony9_env.envs.aec import RawEnv
from symphony9_env.envs.checked import CheckedEnv
from tests.scenarios import finish


def stock(**options: Any) -> Any:
    """The raw environment in PettingZoo's three stock wrappers, in their usual order."""
    env: Any = wrappers.TerminateIllegalWrapper(RawEnv(**options), illegal_reward=-1)
    return wrappers.OrderEnforcingWrapper(wrappers.AssertOutOfBoundsWrapper(env))


def outcome(call: Callable[[], Any]) -> Any:
    """What a call does: the kind of error, or nothing."""
    EnvLogger.suppress_output()
    EnvLogger.flush()
    try:
        call()
    except Exception as error:
        return type(error)
    finally:
        EnvLogger.unsuppress_output()
    return bool(EnvLogger.mqueue)  # whether it warned


def situation(env: Any) -> tuple[Any, ...]:
    if not env.agents:
        return ("over",)
    observation, reward, terminated, truncated, _ = env.last()
    return (
        env.agents,
        env.agent_selection,
        reward,
        terminated,
        truncated,
        env.rewards,
        env.terminations,
        env.truncations,
        observation["observation"].tobytes(),
        observation["action_mask"].tobytes(),
    )


MISTAKES: list[Any] = [-1, 40, 49, 1000, None, "pass", 3.0, np.float32(2), [1], np.array([1, 2]), object()]


@pytest.mark.parametrize("seed", range(12))
def test_env_behaves_as_the_stock_wrappers_do(seed: int) -> None:
    """The same moves and mistakes, at the same moments, up to and past the end of the game."""
    options: dict[str, Any] = {"num_players": 2 + seed % 3, "shaping": seed % 2 == 0}
    ours, theirs = symphony9_v0.env(**options), stock(**options)
    ours.reset(seed=seed)
    theirs.reset(seed=seed)
    rng = np.random.default_rng(seed)
    for step in range(220):
        dead = not ours.agents or ours.terminations[ours.agent_selection]
        mask = ours.action_mask
        if dead:
            action = None if rng.random() < 0.8 else 0
        elif rng.random() < 0.03:
            action = MISTAKES[rng.integers(len(MISTAKES))]
        elif seed >= 6 and step > 30 and rng.random() < 0.02:
            action = int(rng.choice(np.flatnonzero(mask == 0)))  # illegal: ends the game
        else:
            action = int(rng.choice(np.flatnonzero(mask)))
        assert outcome(lambda a=action: ours.step(a)) == outcome(lambda a=action: theirs.step(a))  # type: ignore[misc]
        assert situation(ours) == situation(theirs)


@pytest.mark.parametrize("reward", ["win", "margin", "score"])
def test_an_illegal_move_ends_the_game_at_minus_one(reward: str) -> None:
    env = symphony9_v0.env(reward=reward)
    env.reset(seed=0)
    culprit = env.agent_selection
    env.step(18)  # nobody may pass on the first turn
    assert env.rewards == {agent: -1.0 if agent == culprit else 0.0 for agent in env.possible_agents}
    assert all(env.terminations.values())
    assert all(env.truncations.values())
    assert all("score" not in info for info in env.infos.values())
    env.step(None)  # some agents are still to be removed
    env.reset(seed=0)
    assert not any(env.terminations.values())
    finish(env, np.random.default_rng(0))
    assert all("score" in info for info in env.infos.values())


BEFORE_RESET: list[tuple[str, Callable[[Any], Any]]] = [
    ("agents", lambda env: env.agents),
    ("num_agents", lambda env: env.num_agents),
    ("rewards", lambda env: env.rewards),
    ("infos", lambda env: env.infos),
    ("agent_selection", lambda env: env.agent_selection),
    ("terminations", lambda env: env.terminations),
    ("step", lambda env: env.step(0)),
    ("observe", lambda env: env.observe("player_0")),
    ("state", lambda env: env.state()),
    ("render", lambda env: env.render()),
    ("agent_iter", lambda env: env.agent_iter()),
    ("last", lambda env: env.last()),
]


@pytest.mark.parametrize(("name", "call"), BEFORE_RESET, ids=[name for name, _ in BEFORE_RESET])
def test_before_reset_env_fails_as_the_stock_wrappers_do(name: str, call: Callable[[Any], Any]) -> None:
    ours = outcome(lambda: call(symphony9_v0.env()))
    assert ours in (AttributeError, AssertionError)
    assert ours == outcome(lambda: call(stock()))


@pytest.mark.parametrize("name", ["step", "observe", "state", "render", "record"])
def test_before_reset_raw_env_says_what_to_do(name: str) -> None:
    env = RawEnv()
    arguments = {"step": (0,), "observe": ("player_0",)}.get(name, ())
    with pytest.raises(ValueError, match="call reset"):
        getattr(env, name)(*arguments)


@pytest.mark.parametrize("name", ["decision", "action_mask", "deciding_seat"])
def test_before_reset_properties_are_named_without_parentheses(name: str) -> None:
    with pytest.raises(ValueError, match=rf"^{name} before reset\(\): call reset\(\) first$"):
        getattr(RawEnv(), name)
    with pytest.raises(AssertionError, match=rf"reset\(\) needs to be called before {name}\."):
        getattr(CheckedEnv(), name)


@pytest.mark.parametrize("kind", ["env", "raw_env", "parallel_env"])
def test_before_reset_it_is_said_which_attribute_is_not_there_yet(kind: str) -> None:
    with pytest.raises(AttributeError, match="agents cannot be accessed before reset"):
        _ = getattr(symphony9_v0, kind)().num_agents


def test_checks_hold_without_assertions() -> None:
    """`python -O` leaves assert statements out."""
    code = (
        "from symphony9_env import symphony9_v0\nenv = symphony9_v0.env()\nenv.reset(seed=0)\n"
        "for action in (-19, 40, None, 'x'):\n    try:\n        env.step(action)\n"
        "    except AssertionError:\n        print('refused')"
    )
    done = subprocess.run([sys.executable, "-O", "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["refused"] * 4


def test_iterating_without_stepping_is_refused() -> None:
    env = symphony9_v0.env()
    env.reset(seed=0)
    agents = iter(env.agent_iter())
    next(agents)
    with pytest.raises(AssertionError, match="need to call step"):
        next(agents)


@pytest.mark.parametrize("action", [*MISTAKES, True, False, np.bool_(True), np.int64(-3)], ids=repr)
def test_raw_env_refuses_what_is_no_action_and_stands_as_before(action: Any) -> None:
    env = RawEnv()
    env.reset(seed=0)
    before = env.states.tobytes()
    with pytest.raises(ValueError, match=rf"{env.agent_selection} may choose: 0 take handel"):
        env.step(action)
    assert env.states.tobytes() == before
    assert env.record()["actions"] == []
    finish(env, np.random.default_rng(0))


def test_raw_env_names_the_illegal_action_and_what_is_legal() -> None:
    env = RawEnv()
    env.reset(seed=0)
    with pytest.raises(ValueError, match=r"action 18 \('pass'\) is illegal now; player_\d may choose: 0 take handel"):
        env.step(18)


@pytest.mark.parametrize("action", [3, np.int64(3), np.uint8(3), np.array(3)], ids=repr)
def test_whole_numbers_of_any_kind_are_actions(action: Any) -> None:
    for env in (symphony9_v0.raw_env(), symphony9_v0.env()):
        env.reset(seed=0)
        env.step(action)
        assert env.record()["actions"][0][1] == "take mozart"


def test_after_the_end_raw_env_takes_none_for_each_agent_and_then_refuses() -> None:
    env = RawEnv(num_players=2)
    env.reset(seed=0)
    finish(env, np.random.default_rng(0))
    over = env.states.tobytes()
    with pytest.raises(ValueError, match="action 18 after the game is over; legal: None"):
        env.step(18)
    for _ in range(2):
        env.step(None)
    for action in (None, 18):
        with pytest.raises(ValueError, match=rf"action {action} after the game is over; legal: nothing, call reset"):
            env.step(action)
    assert env.states.tobytes() == over
    assert len(env.record()["result"]["scores"]) == 2


def test_after_the_end_env_warns_and_does_nothing() -> None:
    env = symphony9_v0.env(num_players=2)
    env.reset(seed=0)
    finish(env, np.random.default_rng(0))
    env.step(None)
    env.step(None)
    before = env.states.tobytes()
    assert outcome(lambda: env.step(18)) is True
    assert env.states.tobytes() == before


@pytest.mark.parametrize("make", [RawEnv, CheckedEnv])
def test_unknown_agents_are_refused(make: type[RawEnv]) -> None:
    env = make(num_players=2)
    env.reset(seed=0)
    with pytest.raises(ValueError, match="agent 'player_2'; allowed: player_0, player_1"):
        env.observe("player_2")
