"""The game in RLlib, and the example that trains with it."""

from __future__ import annotations

import json
import runpy
from collections import Counter
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

pytest.importorskip("ray")

from ray.rllib.env.multi_agent_env_runner import MultiAgentEnvRunner

from symphony9_env import actions, records, symphony9_v0
from symphony9_env.integrations.rllib import Symphony9MultiAgentEnv
from tests.scenarios import scores

pytestmark = [
    pytest.mark.filterwarnings("ignore:.*Overriding environment rllib-multi-agent-env-v0:UserWarning"),
]


EXAMPLE = Path(__file__).parent.parent.parent / "examples" / "rllib_selfplay.py"
RECORDS = sorted((Path(__file__).parent.parent / "records").glob("*.json"))


# The environment.


def played(env: Symphony9MultiAgentEnv, rng: np.random.Generator, seed: int) -> tuple[Counter[str], dict[str, Any]]:
    """A game of random legal moves: what each seat was given in all, and the infos of the end."""
    seen, infos = env.reset(seed=seed)
    given: Counter[str] = Counter()
    over = False
    while not over:
        ((agent, observation),) = seen.items()
        assert agent == env.raw.agent_selection
        assert env.get_observation_space(agent).contains(observation)
        assert set(infos) == {agent}
        action = int(rng.choice(np.flatnonzero(observation["action_mask"])))
        seen, rewards, terminated, truncated, infos = env.step({agent: action})
        assert agent in rewards
        assert not any(truncated.values())
        given.update(rewards)
        over = terminated["__all__"]
    assert seen == {}
    assert terminated == dict.fromkeys([*env.possible_agents, "__all__"], True)
    assert set(rewards) == set(env.possible_agents)
    return given, infos


@pytest.mark.parametrize("num_players", [2, 3, 4])
@pytest.mark.parametrize("shaping", [False, True])
def test_the_environment_keeps_its_contract(num_players: int, shaping: bool) -> None:
    config = {"num_players": num_players, "discussion": True, "ledger": True, "reward": "score", "shaping": shaping}
    env = Symphony9MultiAgentEnv(config)
    given, infos = played(env, np.random.default_rng(1), seed=3)
    raw = symphony9_v0.raw_env(**config)  # type: ignore[arg-type]
    raw.reset(seed=3)
    for agent, start in zip(env.possible_agents, scores(raw), strict=True):
        score = infos[agent]["score"]
        assert given[agent] == pytest.approx(score + (score - start if shaping else 0))


@pytest.mark.parametrize("path", RECORDS, ids=lambda path: path.stem)
def test_a_record_plays_as_it_did(path: Path) -> None:
    record = records.load(path)
    env = Symphony9MultiAgentEnv({"num_players": record["num_players"], "discussion": record["discussion"]})
    env.reset(options={"setup": record["setup"]})
    for agent, name in record["actions"]:
        *_, infos = env.step({agent: actions.number(name)})
    assert env.raw.record() == {key: value for key, value in record.items() if key != "legal"}
    assert [infos[agent]["score"] for agent in env.possible_agents] == pytest.approx(record["result"]["scores"])


def test_a_seed_deals_what_it_deals_elsewhere() -> None:
    raw, env = symphony9_v0.raw_env(num_players=4), Symphony9MultiAgentEnv()
    for seed in (0, 7, 2**53 - 1):
        raw.reset(seed=seed)
        env.reset(seed=seed)
        assert env.raw.record() == raw.record()
    raw.reset()
    env.reset()  # the next deal follows from the last
    assert env.raw.record() == raw.record()


def test_misuse_is_told() -> None:
    with pytest.raises(TypeError, match="did you mean 'num_players'"):
        Symphony9MultiAgentEnv({"num_player": 3})
    with pytest.raises(ValueError, match="num_players=5"):
        Symphony9MultiAgentEnv({"num_players": 5})
    env = Symphony9MultiAgentEnv({"num_players": 2, "render_mode": "ansi"})
    ((agent, seen),) = env.reset(seed=1)[0].items()
    other = next(name for name in env.possible_agents if name != agent)
    with pytest.raises(ValueError, match=f"needed: one of {agent}"):
        env.step({other: 0})
    with pytest.raises(ValueError, match="illegal now"):
        env.step({agent: int(np.flatnonzero(seen["action_mask"] == 0)[0])})
    assert agent in (env.render() or "")


# The example.


@pytest.fixture(scope="module")
def example() -> SimpleNamespace:
    return SimpleNamespace(**runpy.run_path(str(EXAMPLE)))


def test_every_decision_of_every_game_comes_once_with_its_reward(
    example: SimpleNamespace, monkeypatch: pytest.MonkeyPatch
) -> None:
    """RLlib loses some where it cuts a game (`batch_mode`), repeats deals in each round, and shares them: seeds."""
    ends: dict[str, tuple[dict[str, Any], dict[str, float]]] = {}
    step = Symphony9MultiAgentEnv.step

    def watched(env: Symphony9MultiAgentEnv, moves: Any) -> Any:
        result = step(env, moves)
        if result[2]["__all__"]:
            ends[json.dumps(env.raw.record()["actions"])] = env.raw.record(), result[1]
        return result

    monkeypatch.setattr(Symphony9MultiAgentEnv, "step", watched)
    config = example.make_config(num_players=3, num_runners=0, seed=0).env_runners(num_envs_per_env_runner=4)
    seats: set[str] = set()
    num_games = 0
    for number in (1, 2):
        runner = MultiAgentEnvRunner(config=config, worker_index=number)
        for _ in range(2):
            for episode in runner.sample(num_episodes=4):
                assert episode.is_terminated
                for agent, part in episode.agent_episodes.items():
                    own = [int(action) for action in part.get_actions()]
                    found = [
                        rewards[agent]
                        for record, rewards in ends.values()
                        if [actions.number(name) for who, name in record["actions"] if who == agent] == own
                    ]
                    assert found == [part.get_return()]
                    seats.add(agent)
                num_games += 1
    assert num_games >= 16
    assert len({json.dumps(record["setup"]) for record, _ in ends.values()}) == len(ends) >= num_games
    assert seats == {"player_0", "player_1", "player_2"}


def test_the_example_learns_a_policy_that_keeps_to_the_mask(example: SimpleNamespace) -> None:
    result = example.main(["--steps", "500", "--games", "4"])
    assert result.steps >= 500
    assert 0 <= result.win_rate <= 1
