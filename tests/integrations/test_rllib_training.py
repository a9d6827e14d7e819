"""Training with RLlib: on this machine, and on a cluster of two nodes that loses one."""

from __future__ import annotations

import importlib.util
import json
import logging
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml

pytest.importorskip("ray")

import ray
from ray.cluster_utils import Cluster

from symphony9_env import agents
from symphony9_env.arena.matches import win_rate_against
from symphony9_env.arguments import run
from symphony9_env.options import Variant
from tests.integrations.rllib_settings import TINY, settings
from training import rllib
from training.checkpoints import RunFolder

pytestmark = [
    pytest.mark.filterwarnings("ignore:.*Overriding environment rllib-multi-agent-env-v0:UserWarning"),
]


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
    def full(target: Path) -> None:
        target.mkdir()
        (target / "half").write_text("")
        raise OSError("No space left on device")

    folder = RunFolder(tmp_path)
    training = rllib.Run(settings(), folder, runners=0)
    with monkeypatch.context() as patched:
        patched.setattr(training.algorithm, "save_to_path", full)
        with pytest.raises(ValueError, match=r"No space left on device.*; nothing is saved$"):
            training.save()
    training.save()
    before = rllib.pointer_paths(folder)[0].read_text()
    training.update()
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


def test_a_second_run_in_the_same_folder_is_refused(tmp_path: Path) -> None:
    folder = RunFolder(tmp_path / "run")
    with folder.lock():
        for command in (["--resume", str(folder.path)], ["--config", config(tmp_path), "--out", str(folder.path)]):
            with pytest.raises(ValueError, match="another training run is using this folder"):
                rllib.main(command)
    assert not folder.config.exists()


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
