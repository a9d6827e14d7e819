"""Training on a Ray cluster of two nodes, which loses one, gets another, and loses the driver."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
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


def num_starts(folder: RunFolder, workers: int) -> int:
    return (folder.path / "said.txt").read_text().count(f"training with {workers} worker")


def test_training_survives_the_loss_of_a_node_and_of_the_driver(tmp_path: Path) -> None:
    config = tmp_path / "tiny.yaml"
    config.write_text(yaml.safe_dump(TINY))
    folder = RunFolder(tmp_path / "run")
    with make_cluster() as cluster:
        lose_a_node(cluster, folder, config)
    after = saved_steps(folder)
    with make_cluster() as cluster:
        running = start(cluster, folder, "--resume", str(folder.path))
        try:
            wait_for(lambda: num_starts(folder, 1) == 2 and saved_steps(folder) > after + 2000, running)
            running.send_signal(signal.SIGINT)
            assert running.wait(SECONDS) == 130
        finally:
            running.kill()
            running.wait()
    said = (folder.path / "said.txt").read_text()
    assert f"python -m training.train --resume {folder.path}" in said
    assert "Traceback" not in said
    rows = [line.split(",")[0] for line in folder.progress.read_text().splitlines()[1:]]
    assert len(set(rows)) == len(rows) > 2
    player = agents.make(folder.last, seed=1)
    assert 0 <= win_rate_against(player, agents.make("random", seed=2), Variant(num_players=3), 6, 1).value <= 1


def lose_a_node(cluster: Cluster, folder: RunFolder, config: Path) -> None:
    """Start a run on a cluster that loses a node and gets another, and kill the driver."""
    node = cluster.add_node(num_cpus=1)
    running = start(cluster, folder, "--config", str(config), "--out", str(folder.path))
    try:
        # A node is lost: training goes on with one worker, from the last checkpoint.
        wait_for(lambda: num_starts(folder, 2) == 1 and saved_steps(folder) > 0, running)
        before = saved_steps(folder)
        cluster.remove_node(node, allow_graceful=False)
        wait_for(lambda: num_starts(folder, 1) == 1, running)
        assert saved_steps(folder) >= before
        wait_for(lambda: saved_steps(folder) > before + 2000, running)
        # Another joins: both train.
        cluster.add_node(num_cpus=1)
        wait_for(lambda: num_starts(folder, 2) == 2, running)
        after = saved_steps(folder)
        wait_for(lambda: saved_steps(folder) > after + 2000, running)
    finally:
        running.kill()
        running.wait()


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
