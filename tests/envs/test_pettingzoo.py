"""PettingZoo's own tests, and what the environment promises beyond them."""

from __future__ import annotations

import copy
import re
import sys
from collections.abc import Callable
from itertools import count
from types import SimpleNamespace
from typing import Any

import numpy as np
import pettingzoo
import pytest
from pettingzoo.test import api_test, parallel_api_test, performance_benchmark, render_test, seed_test

from symphony9_env import symphony9_v0
from symphony9_env.actions import NAMES
from symphony9_env.envs.aec import RawEnv
from symphony9_env.envs.checked import CheckedEnv
from symphony9_env.options import OPTION_FIELDS
from symphony9_env.rules.chance import MAX_SEED, next_seed
from symphony9_env.views import OBSERVATION_SIZE, observation_fields
from tests.scenarios import finish, legal, setup

OPTIONS: list[dict[str, Any]] = [
    {"num_players": 2},
    {"num_players": 3, "discussion": True, "ledger": True},
    {"num_players": 4, "tracks": "random", "reward": "score", "shaping": True},
    {"num_players": 4, "reward": "margin", "scoring": "B"},
]


needs_registry = pytest.mark.skipif(not hasattr(pettingzoo, "make"), reason="PettingZoo has a registry from 1.27 on")


def test_the_documentation_of_the_environment_names_every_option() -> None:
    for environment in (symphony9_v0.env, symphony9_v0.raw_env, symphony9_v0.parallel_env):
        listed = re.findall(r"^ {4}(\w+): ", environment.__init__.__doc__ or "", re.MULTILINE)
        assert listed == [option.name for option in OPTION_FIELDS]


@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_pettingzoo_s_checks_pass(options: dict[str, Any], capsys: pytest.CaptureFixture[str]) -> None:
    api_test(symphony9_v0.env(**options), num_cycles=400)
    api_test(symphony9_v0.raw_env(**options), num_cycles=400)
    seed_test(lambda: symphony9_v0.env(**options), num_cycles=200)
    parallel_api_test(symphony9_v0.parallel_env(**options), num_cycles=200)
    assert "Passed API test" in capsys.readouterr().out


def test_render_test_passes(capsys: pytest.CaptureFixture[str], no_display: None) -> None:
    render_test(symphony9_v0.env)
    assert "Symphony No. 9, 4 players" in capsys.readouterr().out  # human prints


def test_performance_benchmark_runs(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """It plays by the clock for five seconds: let its clock run fast."""
    ticks = count()
    clock = SimpleNamespace(time=lambda: next(ticks) / 20)
    monkeypatch.setattr(sys.modules["pettingzoo.test.performance_benchmark"], "time", clock)
    performance_benchmark(symphony9_v0.env())
    assert "turns per second" in capsys.readouterr().out


@needs_registry
def test_the_registry_makes_both_kinds() -> None:
    aec: Any = pettingzoo.make("aec", "symphony9/symphony9-v0", num_players=3)
    parallel: Any = pettingzoo.make("parallel", "symphony9/symphony9-v0", num_players=3)
    assert isinstance(aec, CheckedEnv)
    assert aec.possible_agents == parallel.possible_agents == ["player_0", "player_1", "player_2"]


def test_spaces_are_one_shape_for_every_player_count() -> None:
    for num_players in (2, 3, 4):
        env = RawEnv(num_players=num_players)
        env.reset(seed=0)
        seen = env.observe("player_0")
        assert seen["observation"].shape == (OBSERVATION_SIZE,)
        assert seen["observation"].dtype == np.float32
        assert seen["action_mask"].dtype == np.int8
        assert env.action_space("player_0").n == 40  # type: ignore[attr-defined]
    with_discussion = RawEnv(discussion=True, ledger=True)
    assert with_discussion.action_space("player_0").n == 49  # type: ignore[attr-defined]
    assert with_discussion.observation_space("player_0")["observation"].shape == (  # type: ignore[index]
        observation_fields(True)[-1].stop,
    )


def test_the_first_observation_comes_in_fresh_arrays_every_time() -> None:
    env = RawEnv()
    env.reset(seed=0)
    calls: list[Callable[[], Any]] = [
        lambda: env.observe(env.agent_selection),
        lambda: env.last()[0],
        *(lambda agent=agent: env.observe(agent) for agent in env.agents),
    ]
    for call in calls:
        first, second = call(), call()
        kept = copy.deepcopy(second)
        for key in first:
            first[key][:] = 1
            assert np.array_equal(second[key], kept[key])
    state = env.state()
    state[:] = 7
    assert env.state().max() < 7
    finish(env, np.random.default_rng(0))


def test_infos_are_empty_until_the_end_and_the_environment_names_the_decision() -> None:
    """Words and keys that change from step to step break libraries that turn infos into tensors."""
    env, parallel = RawEnv(), symphony9_v0.parallel_env()
    env.reset(seed=0)
    _, infos = parallel.reset(seed=0)
    rng = np.random.default_rng(0)
    named = set()
    while not all(env.terminations.values()):
        assert env.infos == infos == {agent: {} for agent in env.agents}
        assert (parallel.decision, parallel.deciding_agent) == (env.decision, env.agent_selection)
        named.add(env.decision)
        action = int(rng.choice(np.flatnonzero(env.action_mask)))
        _, _, _, _, infos = parallel.step(dict.fromkeys(parallel.agents, action))
        env.step(action)
    assert {"take", "buy_4", "buy_8", "bid"} <= named
    assert env.infos == infos
    assert all(info["rank"] for info in infos.values())


@pytest.mark.parametrize("make", [symphony9_v0.env, symphony9_v0.raw_env])
def test_masks_in_infos(make: Any) -> None:
    env, usual = make(num_players=3, mask="info"), make(num_players=3)
    for each in (env, usual):
        each.reset(seed=1)
    rng = np.random.default_rng(1)
    while not all(env.terminations.values()):
        for agent in env.agents:
            observation = env.observe(agent)
            assert env.observation_space(agent).contains(observation)
            assert np.array_equal(observation, usual.observe(agent)["observation"])
            assert set(env.infos[agent]) == {"action_mask"}
            assert np.array_equal(env.infos[agent]["action_mask"], usual.observe(agent)["action_mask"])
        _, _, _, _, info = env.last()
        action = int(rng.choice(np.flatnonzero(info["action_mask"])))
        env.step(action)
        usual.step(action)
    assert set(env.infos["player_0"]) == {"score", "rank", "breakdown", "action_mask"}
    with pytest.raises(ValueError, match="mask='both'; allowed: 'observation', 'info'"):
        make(mask="both")


def test_masks_in_infos_of_the_parallel_environment() -> None:
    env = symphony9_v0.parallel_env(num_players=2, mask="info")
    observations, infos = env.reset(seed=2)
    rng = np.random.default_rng(2)
    while env.agents:
        for agent in env.agents:
            assert env.observation_space(agent).contains(observations[agent])
            waits = agent != env.deciding_agent
            assert waits == bool(infos[agent]["action_mask"].all())
        kept = copy.deepcopy(infos)
        before = infos
        actions = {agent: rng.choice(np.flatnonzero(info["action_mask"])) for agent, info in infos.items()}
        observations, _, _, _, infos = env.step(actions)
        assert str(before) == str(kept)
    assert all("rank" in info and "action_mask" in info for info in infos.values())


@pytest.mark.parametrize("make", [symphony9_v0.env, symphony9_v0.raw_env])
def test_max_cycles_truncates_the_game(make: Any) -> None:
    env = make(max_cycles=5)
    env.reset(seed=0)
    for _ in range(5):
        assert not any(env.truncations.values())
        env.step(int(env.observe(env.agent_selection)["action_mask"].argmax()))
    assert all(env.truncations.values())
    assert not any(env.terminations.values())
    assert env.infos["player_0"] == {}
    for _ in range(4):
        env.step(None)
    assert env.agents == []
    env.reset(seed=0)
    env.step(int(env.observe(env.agent_selection)["action_mask"].argmax()))
    assert not any(env.truncations.values())


@needs_registry
@pytest.mark.parametrize("kind", ["aec", "parallel"])
def test_max_cycles_of_the_registry(kind: Any) -> None:
    env: Any = pettingzoo.make(kind, "symphony9/symphony9-v0", max_cycles=3, num_players=2)
    env.reset(seed=0)
    steps = 0
    while env.agents and steps < 10:
        game = getattr(env, "aec_env", env)
        if any(game.truncations.values()):
            env.step(None)
            continue
        action = int(game.action_mask.argmax())
        env.step(action if kind == "aec" else dict.fromkeys(env.agents, action))
        steps += 1
    assert steps == 3
    with pytest.raises(ValueError, match="max_cycles=0; allowed: a whole number from 1 on, or None"):
        pettingzoo.make(kind, "symphony9/symphony9-v0", max_cycles=0)


@pytest.mark.parametrize("num_players", [2, 3, 4])
def test_final_infos(num_players: int) -> None:
    env = symphony9_v0.env(num_players=num_players)
    env.reset(seed=5)
    finish(env, np.random.default_rng(5))
    names = {*setup(num_players)["tracks"], "furniture", "money", "last_works"}
    for agent in env.agents:
        info = env.infos[agent]
        assert set(info) == {"score", "rank", "breakdown"}
        assert (type(info["score"]), type(info["rank"])) == (float, int)
        assert set(info["breakdown"]) == names
    assert min(info["rank"] for info in env.infos.values()) == 1
    assert sum(env.rewards.values()) == pytest.approx(0)


def test_every_agent_gets_its_final_reward_through_last() -> None:
    env = symphony9_v0.env(num_players=4)
    env.reset(seed=9)
    rng = np.random.default_rng(9)
    totals = dict.fromkeys(env.possible_agents, 0.0)
    for agent in env.agent_iter():
        observation, reward, terminated, truncated, _ = env.last()
        totals[agent] += reward
        done = terminated or truncated
        env.step(None if done else int(rng.choice(np.flatnonzero(observation["action_mask"]))))
    assert sorted(totals.values()) == pytest.approx([-1 / 3, -1 / 3, -1 / 3, 1])
    assert env.agents == []


# Seeds.


def deals(env: RawEnv, number: int) -> list[Any]:
    """Deal this many games without naming a seed."""
    out = []
    for _ in range(number):
        env.reset()
        out.append(env.record()["setup"])
    return out


def test_the_same_seed_and_options_give_the_same_deal_everywhere() -> None:
    for make in (symphony9_v0.env, symphony9_v0.raw_env):
        one, other = make(num_players=3), make(num_players=3)
        one.reset(seed=123)
        other.reset()
        other.reset(seed=np.uint16(123))  # type: ignore[arg-type]
        assert one.record() == other.record()
    parallel = symphony9_v0.parallel_env(num_players=3)
    parallel.reset(seed=123)
    assert parallel.aec_env.record() == one.record()


def test_one_seed_gives_the_same_chance_with_every_choice_of_tracks_and_tiles() -> None:
    plain, other = RawEnv(), RawEnv(tracks="random", scoring="B", discussion=True)
    for seed in range(20):
        plain.reset(seed=seed)
        other.reset(seed=seed)
        for part in ("start_player", "budget", "starting_cubes"):
            assert plain.record()["setup"][part] == other.record()["setup"][part]


def test_after_a_seeded_reset_the_next_seed_is_the_published_function_of_the_last() -> None:
    env = RawEnv()
    env.reset(seed=42)
    env.reset()
    assert env.game_seed == next_seed(42)
    env.reset()
    assert env.game_seed == next_seed(next_seed(42))
    again = RawEnv()
    again.reset(seed=42)
    assert deals(again, 2)[-1] == env.record()["setup"]


def test_without_any_seed_deals_differ() -> None:
    env, other = RawEnv(), RawEnv()
    env.reset()
    other.reset()
    assert env.game_seed != other.game_seed
    assert 0 <= (env.game_seed or 0) <= MAX_SEED


def test_there_is_no_attribute_seed() -> None:
    """Tianshou's PettingZooEnv calls it if there is one, and resets by the seed if not."""
    for env in (symphony9_v0.env(), symphony9_v0.raw_env()):
        env.reset(seed=1)
        assert not hasattr(env, "seed")


def test_next_seed_stays_in_range_and_is_published() -> None:
    """splitmix64's first output for state 0 is 0xE220A8397B1DCDAF; its upper 53 bits are the seed after 0."""
    assert next_seed(0) == 0xE220A8397B1DCDAF >> 11
    assert all(0 <= next_seed(seed) <= MAX_SEED for seed in (1, 2**31, MAX_SEED))


def test_seeding_touches_no_global_generator() -> None:
    np.random.seed(3)
    before = np.random.get_state()[1].tolist()  # type: ignore[index]
    env = RawEnv()
    env.reset(seed=1)
    finish(env, np.random.default_rng(0))
    assert np.random.get_state()[1].tolist() == before  # type: ignore[index]


# A given deal.


def test_reset_deals_a_given_set_up_and_ignores_unknown_options() -> None:
    env = symphony9_v0.env(num_players=4)
    env.reset(seed=3, options={"options": 1})
    by_seed = env.record()["setup"]
    env.reset(options={"setup": by_seed, "colour": "blue"})
    assert env.record()["setup"] == by_seed
    assert env.record()["seed"] is None
    env.reset()
    assert env.game_seed == next_seed(3)


def test_a_bad_set_up_is_refused_and_the_game_on_the_table_is_unharmed() -> None:
    env = symphony9_v0.env(num_players=4)
    env.reset(seed=3)
    env.step(int(np.flatnonzero(env.action_mask)[0]))
    before = (env.states.tobytes(), env.record(), env.agent_selection)
    bad = setup(4, budget=[2] * 6)
    with pytest.raises(ValueError, match="budget has 6 tokens of 2"):
        env.reset(options={"setup": bad})
    with pytest.raises(ValueError, match="seed=-1"):
        env.reset(seed=-1)
    assert (env.states.tobytes(), env.record(), env.agent_selection) == before
    finish(env, np.random.default_rng(0))


# Rendering.


def test_ansi_returns_the_deciding_seat_s_view() -> None:
    env = symphony9_v0.env(render_mode="ansi")
    env.reset(seed=0)
    text = env.render()
    assert isinstance(text, str)
    assert f"You are {env.agent_selection}" in text
    for name in legal(env):
        assert f"{NAMES.index(name)} {name}" in text
    finish(env, np.random.default_rng(0))
    assert "final score" in (env.render() or "")


def test_human_prints_after_each_step_where_no_window_can_open(
    capsys: pytest.CaptureFixture[str], no_display: None
) -> None:
    env = symphony9_v0.raw_env(render_mode="human")
    env.reset(seed=0)
    env.step(int(np.flatnonzero(env.action_mask)[0]))
    assert capsys.readouterr().out.count("Symphony No. 9") == 2


def test_rendering_without_a_mode_says_so(caplog: pytest.LogCaptureFixture) -> None:
    env = symphony9_v0.env()
    env.reset(seed=0)
    assert env.render() is None
    assert "render_mode" in caplog.text


# Parallel.


def test_in_the_parallel_environment_only_the_deciding_seat_s_action_counts() -> None:
    env = symphony9_v0.parallel_env(num_players=3, discussion=True)
    observations, infos = env.reset(seed=4)
    rng = np.random.default_rng(4)
    steps = 0
    while env.agents:
        deciding = [agent for agent in env.agents if not observations[agent]["action_mask"].all()]
        assert deciding == [env.aec_env.agent_selection]
        mask = observations[deciding[0]]["action_mask"]
        actions = dict.fromkeys(env.agents, 48)
        actions[deciding[0]] = int(rng.choice(np.flatnonzero(mask)))
        observations, rewards, terminations, truncations, infos = env.step(actions)
        steps += 1
    assert all(terminations.values())
    assert not any(truncations.values())
    assert {info["rank"] for info in infos.values()} >= {1}
    assert sum(rewards.values()) == pytest.approx(0)
    assert steps > 60
    assert env.step({}) == ({}, {}, {}, {}, {})


def test_the_parallel_environment_s_infos_are_the_caller_s() -> None:
    env = symphony9_v0.parallel_env(num_players=2)
    _, infos = env.reset(seed=0)
    kept = copy.deepcopy(infos)
    env.step({env.deciding_agent: 0})
    assert infos == kept


def test_the_parallel_environment_needs_the_deciding_seat_s_action() -> None:
    env = symphony9_v0.parallel_env()
    env.reset(seed=0)
    with pytest.raises(ValueError, match="no action for player_"):
        env.step({})
