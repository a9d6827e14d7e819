"""The evaluations on a Ray cluster, and a tournament on one of two nodes, which loses one."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

pytest.importorskip("ray")

from ray.cluster_utils import Cluster

from symphony9_env.arena import benchmark, tournament
from symphony9_env.arguments import run
from tests.arena.commands import fix_circumstances, run_in
from tests.integrations.clusters import SECONDS, make_cluster, wait_for

ROOT = Path(__file__).parent.parent.parent
SLOW = """
import time
from symphony9_env.agents import Agent
from symphony9_env.agents.scripted import ScriptedAgent

class Slow(Agent):
    def decide(self, positions, rows):
        time.sleep(0.002 * len(rows))
        return ScriptedAgent("greedy", self.seed).decide(positions, rows)
"""


@pytest.fixture
def cluster() -> Iterator[Cluster]:
    with make_cluster() as cluster:
        yield cluster


@contextmanager
def start(folder: Path, arguments: list[str]) -> Iterator[subprocess.Popen[str]]:
    """Start a tournament in a folder; its output goes to the file `said`."""
    folder.mkdir(exist_ok=True)
    variables = {**os.environ, "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-m", "evaluation.tournament", *arguments]
    with (folder / "said").open("a") as said:
        running = subprocess.Popen(command, cwd=folder, env=variables, stdout=said, stderr=said, text=True)
        try:
            yield running
        finally:
            running.kill()
            running.wait()


def count_rows(folder: Path) -> int:
    games = folder / "t" / "games.csv"
    return games.read_text().count("\n") if games.exists() else 0


def test_a_tournament_that_loses_a_node_is_the_same_as_with_one_or_two_workers(tmp_path: Path) -> None:
    (tmp_path / "slow.py").write_text(SLOW)
    given = ["--agents", f"random,slow={tmp_path / 'slow.py'}:Slow", "--num-players", "2", "--games", "120"]
    given += ["--records", "2", "--out", "t"]
    for name, count in (("one", "1"), ("two", "2")):
        with start(tmp_path / name, [*given, "--workers", count]) as running:
            assert running.wait(SECONDS) == 0
    folder = tmp_path / "cluster"
    with make_cluster() as cluster:
        node = cluster.add_node(num_cpus=1)
        with start(folder, [*given, "--address", cluster.address]) as running:
            wait_for(lambda: count_rows(folder) > 8, running)
            cluster.remove_node(node, allow_graceful=False)
            assert count_rows(folder) < 241  # some games are missing
            assert running.wait(SECONDS) == 0
    said = (folder / "said").read_text()
    assert "a worker was lost (" in said
    assert "Traceback" not in said
    for file in ("t/results.json", "t/games.csv", "t/records/game-1.json", "t/report.html"):
        contents = [(tmp_path / name / file).read_bytes() for name in ("one", "two", "cluster")]
        assert contents[0] == contents[1] == contents[2]


def test_a_tournament_on_a_cluster_stops_and_continues(cluster: Cluster, tmp_path: Path) -> None:
    (tmp_path / "slow.py").write_text(SLOW)
    given = ["--agents", f"random,{tmp_path / 'slow.py'}:Slow", "--num-players", "2", "--out", "t"]
    with start(tmp_path / "run", [*given, "--games", "100000", "--address", cluster.address]) as running:
        wait_for(lambda: count_rows(tmp_path / "run") > 8, running)
        running.send_signal(signal.SIGINT)
        assert running.wait(SECONDS) == 130
    said = (tmp_path / "run" / "said").read_text()
    assert "games are kept, and the same command continues" in said
    assert "Traceback" not in said
    wanted = str(count_rows(tmp_path / "run") // 2 + 20)
    for name in ("run", "straight"):
        with start(tmp_path / name, [*given, "--games", wanted, "--workers", "1"]) as running:
            assert running.wait(SECONDS) == 0
    assert (tmp_path / "run/t/games.csv").read_bytes() == (tmp_path / "straight/t/games.csv").read_bytes()


@pytest.mark.filterwarnings("ignore")  # of Ray itself
def test_an_evaluation_on_a_cluster_is_the_same_as_without(
    cluster: Cluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(benchmark, "LITE_GAMES", 2)
    (tmp_path / "own.py").write_text("def decide(message):\n    return min(message['legal'], key=int)\n")
    given = ["--task", "3p", "--agent", f"own={tmp_path / 'own.py'}:decide", "--lite", "--salt", "00ff", "--out"]
    benchmark.main([*given, str(tmp_path / "here"), "--workers", "1"])
    benchmark.main([*given, str(tmp_path / "there"), "--address", cluster.address])
    for file in ("results.json", "games.jsonl"):
        assert (tmp_path / "here" / file).read_bytes() == (tmp_path / "there" / file).read_bytes()


@pytest.mark.filterwarnings("ignore")  # of Ray itself
@pytest.mark.parametrize("command", ["gate", "exploit", "coalition"])
def test_the_other_commands_on_a_cluster_are_the_same_as_without(
    command: str, cluster: Cluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fix_circumstances(monkeypatch)
    here = run_in(tmp_path / "here", monkeypatch, command, "--workers", "1")
    assert run_in(tmp_path / "there", monkeypatch, command, "--address", cluster.address) == here


@pytest.mark.filterwarnings("ignore")  # of Ray itself
def test_a_failing_agent_and_a_wrong_address_are_one_line(
    cluster: Cluster, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "own.py").write_text("def fail(message):\n    return 99\n")
    given = ["--agents", f"random,{tmp_path / 'own.py'}:fail", "--num-players", "2", "--out", str(tmp_path / "t")]
    for address, expected in ((cluster.address, "gave no legal action"), ("127.0.0.1:1", "no Ray cluster there")):
        assert run("tournament", lambda address=address: tournament.main([*given, "--address", address])) == 2  # type: ignore[misc]
        error = capsys.readouterr().err
        assert expected in error.splitlines()[-1], error
