"""Training on a Ray cluster that loses one of two nodes, gets another, loses the driver, and then all workers."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import yaml

pytest.importorskip("ray")

from ray.cluster_utils import Cluster

from symphony9_env import agents
from symphony9_env.arena.matches import win_rate_against
from symphony9_env.arguments import run
from symphony9_env.options import Variant
from tests.integrations.clusters import SECONDS, make_cluster, wait_for
from tests.training.runs import FakeWandb
from training import cluster as training_cluster
from training import train
from training.checkpoints import read_checkpoint
from training.run import RunFolder

ROOT = Path(__file__).parent.parent.parent
TINY: dict[str, Any] = {
    "total_steps": 10**9,
    "workers": 2,
    "save_every": 1,
    "game": {"num_players": 3},
    "network": {"hidden": [8, 8, 8]},
    "ppo": {"n_envs": 16, "n_steps": 16, "batch_size": 64, "n_epochs": 2},
    "opponents": {"snapshot_every": 2000, "max_snapshots": 2},
    "evaluation": {"every": 4000, "games": 6, "opponents": ["random"]},
    "behaviour_cloning": {"agent": None},
}


@pytest.fixture
def cluster() -> Iterator[Cluster]:
    with make_cluster() as cluster:
        yield cluster


def start(cluster: Cluster, folder: RunFolder, *arguments: str) -> subprocess.Popen[str]:
    """Start the command, and let it look for new machines every second."""
    code = (
        "import sys; from training import cluster, train; from symphony9_env.arguments import run; "
        "cluster.RESIZE_SECONDS = 1.0; sys.exit(run('train', train.main))"
    )
    command = [sys.executable, "-c", code, *arguments, "--address", cluster.address]
    with (folder.path / "said.txt").open("a") as said:
        return subprocess.Popen(command, cwd=ROOT, stdout=said, stderr=said, text=True)


def saved_steps(folder: RunFolder) -> int:
    paths = [path for path in (folder.checkpoint, folder.previous) if path.exists()]
    return read_checkpoint(paths[0]).counters.num_timesteps if paths else -1


def starts(folder: RunFolder) -> list[tuple[int, int]]:
    """How many of the two workers began or went on, and at which step, each time that Ray started them."""
    said = (folder.path / "said.txt").read_text()
    return [(int(number), int(step)) for number, step in re.findall(r"with (\d) of 2 workers from step (\d+)", said)]


def wait_for_start(folder: RunFolder, known: int, workers: int, running: subprocess.Popen[str]) -> int:
    """Wait until that many workers go on, after the starts that are known, and have saved; return where they began."""
    wait_for(lambda: workers in [number for number, _ in starts(folder)[known:]], running)
    begun = dict(starts(folder)[known:])[workers]
    wait_for(lambda: saved_steps(folder) > begun + 2000, running)
    return begun


def count_saved_workers(folder: RunFolder) -> tuple[int, int | None]:
    """How many workers the last checkpoint is of, and how many are wanted."""
    checkpoint = read_checkpoint(folder.checkpoint if folder.checkpoint.exists() else folder.previous)
    return len(checkpoint.state["workers"]), checkpoint.settings.workers


def test_training_survives_the_loss_of_nodes_and_of_the_driver(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    config = tmp_path / "tiny.yaml"
    config.write_text(yaml.safe_dump({**TINY, "wandb": "symphony"}))
    fake = FakeWandb(tmp_path)
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")]))
    folder = RunFolder(tmp_path / "run")
    with make_cluster() as cluster:
        lose_a_node_and_the_driver(cluster, folder, config)
    with make_cluster(num_cpus=0) as cluster:
        resume_and_lose_all_workers(cluster, folder)
    said = (folder.path / "said.txt").read_text()
    assert f"python -m training.train --resume {folder.path}" in said
    assert "Traceback" not in said
    rows = [line.split(",")[0] for line in folder.progress.read_text().splitlines()[1:]]
    assert len(set(rows)) == len(rows) > 2
    assert [name for name, *_ in fake.calls() if name != "log"] == ["init", "init", "finish"]
    assert fake.calls()[-1] == ["finish"]
    player = agents.make(folder.last, seed=1)
    assert 0 <= win_rate_against(player, agents.make("random", seed=2), Variant(num_players=3), 6, 1).value <= 1


def lose_a_node_and_the_driver(cluster: Cluster, folder: RunFolder, config: Path) -> None:
    """Start a run on a cluster that loses a node and gets another, and kill the driver."""
    node = cluster.add_node(num_cpus=1)
    running = start(cluster, folder, "--config", str(config), "--out", str(folder.path))
    try:
        assert wait_for_start(folder, 0, 2, running) == 0
        # A node is lost: training goes on with one worker, from the last checkpoint.
        known, saved = len(starts(folder)), saved_steps(folder)
        cluster.remove_node(node, allow_graceful=False)
        assert wait_for_start(folder, known, 1, running) >= saved
        assert count_saved_workers(folder) == (1, 2)
        # Another joins: both train.
        known, saved = len(starts(folder)), saved_steps(folder)
        cluster.add_node(num_cpus=1)
        assert wait_for_start(folder, known, 2, running) >= saved
    finally:
        running.kill()
        running.wait()


def resume_and_lose_all_workers(cluster: Cluster, folder: RunFolder) -> None:
    """Resume the run on a cluster that has room for one worker; it loses that node and gets another."""
    known, saved = len(starts(folder)), saved_steps(folder)
    node = cluster.add_node(num_cpus=1)
    running = start(cluster, folder, "--resume", str(folder.path))
    try:
        assert wait_for_start(folder, known, 1, running) == saved
        assert count_saved_workers(folder) == (1, 2)
        known, saved = len(starts(folder)), saved_steps(folder)
        cluster.remove_node(node, allow_graceful=False)
        cluster.add_node(num_cpus=1)
        assert wait_for_start(folder, known, 1, running) >= saved
        running.send_signal(signal.SIGINT)
        assert running.wait(SECONDS) == 130
    finally:
        running.kill()
        running.wait()


def test_the_user_is_told_at_least_every_30_seconds_that_there_are_no_workers_yet(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert training_cluster.PATIENCE_SECONDS + training_cluster.POLL_SECONDS <= 30
    monkeypatch.setattr(training_cluster, "PATIENCE_SECONDS", 0.01)
    monkeypatch.setattr(training_cluster, "POLL_SECONDS", 0.01)
    monkeypatch.setattr("ray.get", lambda given: given)
    is_over, lines = threading.Event(), list[str]()

    def announce(line: str) -> None:
        lines.append(line)
        if len(lines) == 3:
            is_over.set()

    trainer: Any = SimpleNamespace(fit=lambda: is_over.wait(SECONDS))
    keeper = SimpleNamespace(take_messages=SimpleNamespace(remote=list))
    local: Any = SimpleNamespace(should_stop=lambda: False, announce=announce, close=lambda: None)
    assert training_cluster._watch(trainer, keeper, local) is None
    assert len(lines) >= 3
    assert all(line.startswith("waiting for free cores") for line in lines)


@pytest.mark.filterwarnings("ignore")  # of Ray itself
def test_a_failing_agent_and_a_wrong_address_are_one_line(
    cluster: Cluster, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    own = tmp_path / "own_agent.py"
    own.write_text("def fail(message):\n    return 99\n")
    config = tmp_path / "tiny.yaml"
    config.write_text(yaml.safe_dump({**TINY, "workers": 1, "evaluation": {"games": 3, "opponents": [f"{own}:fail"]}}))
    for address, expected in ((cluster.address, "gave no legal action"), ("127.0.0.1:1", "no Ray cluster there")):
        command = ["--config", str(config), "--out", str(tmp_path / "run"), "--address", address]
        assert run("train", lambda command=command: train.main(command)) == 2  # type: ignore[misc]
        error = capsys.readouterr().err
        assert expected in error.splitlines()[-1], error
    assert "GLOO_SOCKET_IFNAME" not in os.environ
