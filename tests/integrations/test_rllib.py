"""The game in RLlib, and what RLlib's training is made of."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("ray")

import torch
from ray.rllib.core.columns import Columns
from ray.rllib.env.multi_agent_env_runner import MultiAgentEnvRunner

from symphony9_env import actions, agents, records, symphony9_v0
from symphony9_env.agents.policy import PolicyAgent
from symphony9_env.batched import BatchedGames
from symphony9_env.integrations.rllib import Symphony9MultiAgentEnv
from tests.integrations.rllib_settings import settings
from tests.scenarios import scores
from training import rllib_modules
from training.config import Settings
from training.network import export_weights, make_card

pytestmark = [
    pytest.mark.filterwarnings("ignore:.*Overriding environment rllib-multi-agent-env-v0:UserWarning"),
]


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


# What RLlib is made of.


def runner(chosen: Settings, number: int = 1) -> MultiAgentEnvRunner:
    return MultiAgentEnvRunner(config=rllib_modules.make_config(chosen, runners=0), worker_index=number)


@pytest.mark.parametrize("network", [{"hidden": [8, 7, 6]}, {"kind": "mlp", "hidden": [9, 5], "activation": "tanh"}])
@pytest.mark.parametrize("discussion", [False, True])
def test_the_module_keeps_to_the_mask_and_exports_as_it_is(tmp_path: Path, network: Any, discussion: bool) -> None:
    chosen = settings(network=network, game={"num_players": 4, "discussion": discussion})
    module = runner(chosen).module["learner"]
    with torch.no_grad():
        for values in module.parameters():
            values.add_(0.3 * torch.randn_like(values))
    games = BatchedGames(64, num_players=4, ledger=True, discussion=discussion, seed=1)
    for _ in range(40):
        games.step(games.sample_actions())
    legal = games.action_mask == 1
    seen = {
        "observations": torch.from_numpy(games.observation.copy()),
        "action_mask": torch.from_numpy(games.action_mask.astype(np.float32)),
    }
    out = module.forward_exploration({Columns.OBS: seen})
    logits = out[Columns.ACTION_DIST_INPUTS]
    chances = torch.softmax(logits, dim=1).numpy()
    assert (chances[~legal] == 0).all()
    drawn = module.get_exploration_action_dist_cls().from_logits(logits)
    for _ in range(20):
        assert legal[np.arange(64), drawn.sample().numpy()].all()
    path = tmp_path / "policy.safetensors"
    agents.save_policy(path, make_card(chosen, {}), export_weights(module.policy))
    saved = PolicyAgent.load(path, 0).network
    np.testing.assert_allclose(
        saved.logits(games.observation)[:, : legal.shape[1]][legal], logits.numpy()[legal], atol=1e-4
    )
    told = saved.value(games.observation)
    assert told is not None
    for more in ({}, {"embeddings": out[Columns.EMBEDDINGS]}):
        values = module.compute_values({Columns.OBS: seen}, **more).detach().numpy()
        np.testing.assert_allclose(told, values, atol=1e-4)


def test_every_decision_of_the_learner_comes_once_with_its_reward(monkeypatch: pytest.MonkeyPatch) -> None:
    """RLlib loses some where it cuts a game (`batch_mode`), repeats deals in each round, and shares them: seeds."""
    ends: dict[str, tuple[dict[str, Any], dict[str, float]]] = {}
    step = Symphony9MultiAgentEnv.step

    def watched(env: Symphony9MultiAgentEnv, moves: Any) -> Any:
        result = step(env, moves)
        if result[2]["__all__"]:
            ends[json.dumps(env.raw.record()["actions"])] = env.raw.record(), result[1]
        return result

    monkeypatch.setattr(Symphony9MultiAgentEnv, "step", watched)
    seats: set[str] = set()
    num_games = 0
    for number in (1, 2):
        one = runner(settings(), number)
        for _ in range(2):
            for episode in one.sample():
                assert episode.is_terminated
                assert {part.module_id for part in episode.agent_episodes.values()} == {rllib_modules.LEARNER}
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
    assert num_games == len(ends) == 16
    assert len({json.dumps(record["setup"]) for record, _ in ends.values()}) == 16
    assert seats == {"player_0", "player_1", "player_2"}


def test_seats_are_drawn_as_the_settings_say() -> None:
    class Episode:
        def __init__(self, number: int) -> None:
            self.id_ = f"{number:032x}"

    chosen = settings(game={"num_players": 4}, opponents={"latest": 1, "past": 3, "same_kind": 0.5, "max_snapshots": 3})
    seats = rllib_modules.Seats(chosen.opponents, 4)
    games = [[seats(f"player_{seat}", Episode(number)) for seat in range(4)] for number in range(4000)]
    counts = Counter(name for game in games for name in game)
    assert counts["learner"] / 16000 == pytest.approx(seats.learner_share, abs=0.02)
    assert set(counts) == {"learner", "past_0", "past_1", "past_2"}
    assert min(counts[f"past_{number}"] for number in range(3)) > 0.3 * (16000 - counts["learner"])
    assert all("learner" in game for game in games)
    same = sum(len(set(game) - {"learner"}) == 1 and game.count("learner") == 1 for game in games) / 4000
    assert 0.5 * 0.75 < same < 0.5 * 0.75 + 0.1  # all of one past, by same_kind or by luck
    alone = rllib_modules.Seats(settings(opponents={"past": 0}).opponents, 2)
    assert alone.past == []
    assert alone("player_1", Episode(1)) == "learner"
    with pytest.raises(ValueError, match=r"opponents\.latest and opponents\.past are 0"):
        rllib_modules.Seats(settings(opponents={"latest": 0, "past": 0}).opponents, 2)
