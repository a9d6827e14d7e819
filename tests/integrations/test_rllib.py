"""The game in RLlib, and training with it: on this machine, and on a cluster of two nodes that loses one."""

from __future__ import annotations

import importlib.util
import json
import logging
import signal
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml

pytest.importorskip("ray")

import ray
import torch
from ray.cluster_utils import Cluster
from ray.rllib.core.columns import Columns
from ray.rllib.env.multi_agent_env_runner import MultiAgentEnvRunner

from symphony9_env import actions, agents, records, symphony9_v0
from symphony9_env.agents.policy import PolicyAgent
from symphony9_env.arena.matches import win_rate_against
from symphony9_env.arguments import run
from symphony9_env.batched import BatchedGames
from symphony9_env.integrations.rllib import Symphony9MultiAgentEnv
from symphony9_env.options import Variant
from tests.scenarios import scores
from training import rllib, rllib_modules
from training.checkpoints import RunFolder
from training.config import Settings, parse_settings
from training.network import export_weights, make_card

pytestmark = [
    pytest.mark.filterwarnings("ignore:.*Overriding environment rllib-multi-agent-env-v0:UserWarning"),
]

RECORDS = sorted((Path(__file__).parent.parent / "records").glob("*.json"))
TINY: dict[str, Any] = {
    "total_steps": 600,
    "num_threads": 1,
    "game": {"num_players": 3},
    "network": {"hidden": [8, 8, 8]},
    "ppo": {"n_envs": 4, "n_steps": 32, "batch_size": 64, "n_epochs": 2},
    "opponents": {"snapshot_every": 200, "max_snapshots": 2},
    "evaluation": {"every": 300, "games": 6, "opponents": ["random"]},
}


def settings(**changes: Any) -> Settings:
    return parse_settings({**TINY, **changes}, "test")


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


# Training.


@pytest.fixture(scope="module")
def local() -> Iterator[None]:
    rllib.connect(None, 2)
    yield
    ray.shutdown()


def config(folder: Path, **changes: Any) -> str:
    path = folder / "tiny.yaml"
    path.write_text(yaml.safe_dump({**TINY, **changes}))
    return str(path)


def test_a_run_stops_goes_on_and_exports(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    update = rllib.Run.update

    def stopped(training: rllib.Run) -> None:
        update(training)
        training.signals.received = signal.SIGTERM

    out = tmp_path / "run"
    monkeypatch.setattr(rllib.Run, "update", stopped)
    command = ["--config", config(tmp_path), "--out", str(out), "--runners", "1"]
    assert run("rllib", lambda: rllib.main(command)) == 143
    told = capsys.readouterr()
    assert "not supported with RLlib: opponents.fixed, behaviour_cloning" in told.err
    assert f"python -m training.rllib --resume {out} --runners 1" in told.out
    first = json.loads((out / "checkpoint.json").read_text())
    assert 0 < first["steps"] < TINY["total_steps"]
    begun = agents.load_policy(out / "last.safetensors")[1]

    monkeypatch.setattr(rllib.Run, "update", update)
    restored: list[Any] = []
    restore = rllib.Run._restore

    def watched(training: rllib.Run, checkpoint: Path) -> None:
        restore(training, checkpoint)
        restored.append((training.export_policy()[1], training.algorithm.iteration))

    monkeypatch.setattr(rllib.Run, "_restore", watched)
    assert run("rllib", lambda: rllib.main(["--resume", str(out), "--runners", "0"])) == 0
    ((weights, iteration),) = restored
    assert iteration == 1
    assert all(np.array_equal(weights[name], begun[name]) for name in begun)
    last = json.loads((out / "checkpoint.json").read_text())
    assert last["steps"] >= TINY["total_steps"] > first["steps"]
    assert last["snapshots"] > 2
    previous = json.loads((out / "previous.json").read_text())
    assert {path.name for path in out.glob("checkpoint-*")} == {last["checkpoint"], previous["checkpoint"]}
    assert "learner alone against" in capsys.readouterr().out

    card, weights = agents.load_policy(out / "last.safetensors")
    assert card.training["steps"] == last["steps"]
    assert any(not np.array_equal(weights[name], begun[name]) for name in begun)
    player = agents.make(out / "last.safetensors", seed=1)
    assert 0 <= win_rate_against(player, agents.make("random", seed=2), Variant(num_players=3), 6, 1).value <= 1

    capsys.readouterr()
    for given, said in (
        (["--resume", str(tmp_path / "none")], "no such folder"),
        (["--resume", str(tmp_path)], "the folder contains no checkpoint.json"),
        (["--resume", str(out), "seed=3"], "cannot be combined with"),
        (["--config", config(tmp_path), "--out", str(out)], "already contains a run"),
        (["--config", config(tmp_path), "--out", str(tmp_path / "x"), "--runners", "-1"], "allowed: 0 or more"),
        (["--config", config(tmp_path), "--out", str(tmp_path / "x"), "--address", "127.0.0.1:1"], "no Ray cluster"),
    ):
        assert run("rllib", lambda given=given: rllib.main(given)) == 2  # type: ignore[misc]
        error = capsys.readouterr().err
        assert said in error, error


def test_snapshots_take_turns_and_reach_the_runners(local: None, tmp_path: Path) -> None:
    chosen = settings(opponents={"snapshot_every": 10**9, "max_snapshots": 3})
    training = rllib.Run(chosen, RunFolder(tmp_path), runners=1)

    def first_weights(source: Any) -> dict[str, list[float]]:
        return {
            name: source[name].get_state()["policy.mlp_extractor.weights.first_weight"][0].tolist()
            for name in ("learner", "past_0", "past_1", "past_2")
        }

    def held() -> dict[str, list[float]]:
        group = training.algorithm.env_runner_group
        (there,) = group.foreach_env_runner(lambda one: first_weights(one.module), local_env_runner=False)
        assert there == first_weights(training.algorithm.learner_group._learner.module)
        found: dict[str, list[float]] = there
        return found

    taken = [held()["learner"]]
    assert held() == dict.fromkeys(("learner", "past_0", "past_1", "past_2"), taken[0])
    for expected in ([0, 1, 0], [0, 1, 2], [3, 1, 2]):
        training.update()
        taken.append(held()["learner"])
        training.take_snapshot()
        for _ in range(2):
            there = held()
            assert [taken.index(there[f"past_{number}"]) for number in range(3)] == expected
            training.update()  # does not train them
    training.close()


def test_a_saved_policy_can_be_the_beginning(local: None, tmp_path: Path) -> None:
    training = rllib.Run(settings(), RunFolder(tmp_path / "one"), runners=0)
    training.update()
    card, weights = training.export_policy()
    training.close()
    path = tmp_path / "begun.safetensors"
    agents.save_policy(path, card, weights)
    again = rllib.Run(settings(start_from=str(path)), RunFolder(tmp_path / "two"), runners=0)
    assert all(np.array_equal(values, weights[name]) for name, values in again.export_policy()[1].items())
    again.close()
    with pytest.raises(ValueError, match=r"start_from: .* differs from this run"):
        rllib.Run(settings(start_from=str(path), network={"hidden": [9, 9, 9]}), RunFolder(tmp_path / "x"), runners=0)


def test_a_save_that_fails_leaves_the_one_before(local: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = RunFolder(tmp_path)
    training = rllib.Run(settings(), folder, runners=0)
    training.save()
    before = rllib.pointer_paths(folder)[0].read_text()
    training.update()

    def full(target: Path) -> None:
        target.mkdir()
        (target / "half").write_text("")
        raise OSError("No space left on device")

    monkeypatch.setattr(training.algorithm, "save_to_path", full)
    with pytest.raises(ValueError, match=r"No space left on device.*the last checkpoint is unchanged"):
        training.save()
    assert rllib.pointer_paths(folder)[0].read_text() == before
    monkeypatch.undo()
    training.close()
    again = rllib.Run(settings(), folder, 0, rllib.Saved.model_validate_json(before))
    assert again.num_timesteps == 0
    again.update()
    again.save()
    assert len(list(tmp_path.glob("checkpoint-*"))) == 2  # the half one is gone
    again.close()


def test_a_damaged_checkpoint_is_noticed_and_the_previous_one_used(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    ray.shutdown()
    out = tmp_path / "run"
    command = ["--config", config(tmp_path, save_every=0.001), "--out", str(out), "--runners", "0"]
    rllib.main(command)
    last, previous = (json.loads((out / name).read_text()) for name in ("checkpoint.json", "previous.json"))
    assert previous["steps"] < last["steps"]
    damaged = max((out / last["checkpoint"]).rglob("*"), key=lambda path: path.stat().st_size)
    contents = bytearray(damaged.read_bytes())
    contents[len(contents) // 2] ^= 1
    damaged.write_bytes(contents)
    capsys.readouterr()
    rllib.main(["--resume", str(out), "--runners", "0"])
    assert f"is damaged: its contents do not match their hash); continuing from {out / 'previous.json'}" in (
        capsys.readouterr().err
    )
    assert json.loads((out / "checkpoint.json").read_text())["steps"] >= TINY["total_steps"]
    for name in ("checkpoint.json", "previous.json"):
        (out / name).write_text('{"format": "symphony9-rllib/2", "checkpoint": "../../etc"}')
    with pytest.raises(ValueError, match=r"checkpoint.json: can't be used .*previous.json: can't be used"):
        rllib.main(["--resume", str(out), "--runners", "0"])


def test_the_example_runs() -> None:
    ray.shutdown()
    path = Path(__file__).parent.parent.parent / "examples" / "rllib_selfplay.py"
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    example = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(example)
    trained = example.main(["--steps", "100", "--games", "2"])
    assert trained.steps >= 100
    assert trained.win_rate in (0, 0.5, 1)


@pytest.fixture
def two_nodes() -> Iterator[tuple[Cluster, Any]]:
    ray.shutdown()
    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 1, "include_dashboard": False})
    worker = cluster.add_node(num_cpus=1)
    ray.init(address=cluster.address, logging_level=logging.CRITICAL, log_to_driver=False)
    yield cluster, worker
    ray.shutdown()
    cluster.shutdown()


def test_training_goes_on_when_a_node_is_lost_and_takes_a_new_one_in(
    two_nodes: tuple[Cluster, Any], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    cluster, worker = two_nodes
    training = rllib.Run(settings(game={"num_players": 2}), RunFolder(tmp_path), runners=2)
    group = training.algorithm.env_runner_group
    places = group.foreach_env_runner(lambda _: ray.get_runtime_context().get_node_id(), local_env_runner=False)
    assert len(set(places)) == 2
    training.update()
    assert training.healthy_runners == 2
    cluster.remove_node(worker, allow_graceful=False)
    steps = [training.num_timesteps]
    for _ in range(3):
        training.update()
        steps.append(training.num_timesteps)
    assert steps == sorted(set(steps))
    assert training.healthy_runners == 1
    assert "1 of 2 runners are available" in capsys.readouterr().err
    training.save()
    cluster.add_node(num_cpus=1)
    for _ in range(100):
        training.update()
        if training.healthy_runners == 2:
            break
    assert training.healthy_runners == 2
    assert "2 of 2 runners are available" in capsys.readouterr().err
    training.close()
