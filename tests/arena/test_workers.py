"""Worker processes: the same results with any number of them, and when some or the program itself are killed."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from symphony9_env.agents import registry
from symphony9_env.arena import benchmark, tournament
from symphony9_env.arena.game_players import AgentRecipe, TournamentPlayer, make_player
from symphony9_env.arena.worker_pools import LocalPool, ProcessPool, open_pool
from symphony9_env.arguments import run
from symphony9_env.options import Variant
from symphony9_env.processes import count_cores
from tests.agents.test_external import LOWEST, write_script
from tests.arena.commands import COMMANDS, fix_circumstances, read_folder, run_in
from tests.arena.test_benchmark_deals import SPY

ROOT = Path(__file__).parent.parent.parent
RANDOM = ["--agents", "random", "--num-players", "2"]
SECONDS = 120.0  # to wait for anything
needs_signals = pytest.mark.skipif(sys.platform == "win32", reason="sends signals")


def wait_for(condition: Callable[[], Any]) -> None:
    end = time.monotonic() + SECONDS
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.02)


# The same results.


@pytest.fixture
def losses(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Kill the workers that get the second and the fourth chunk of games, while they play; return their numbers."""
    chunks: list[int] = []
    killed: list[int] = []
    send = ProcessPool.send

    def send_and_kill(self: ProcessPool, worker: int, games: Any) -> None:
        send(self, worker, games)
        chunks.append(worker)
        if len(chunks) in (2, 4):
            self._processes[worker].send_signal(signal.SIGKILL)
            killed.append(worker)

    monkeypatch.setattr(ProcessPool, "send", send_and_kill)
    return killed


@pytest.mark.parametrize("command", COMMANDS)
def test_results_are_the_same_with_any_number_of_workers(
    command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fix_circumstances(monkeypatch)
    one, three = (run_in(tmp_path / count, monkeypatch, command, "--workers", count) for count in ("1", "3"))
    assert one
    assert one == three


@needs_signals
@pytest.mark.parametrize("command", COMMANDS)
def test_workers_that_are_killed_are_replaced_and_their_games_played_again(
    command: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    losses: list[int],
) -> None:
    fix_circumstances(monkeypatch)
    whole = run_in(tmp_path / "whole", monkeypatch, command, "--workers", "1")
    capsys.readouterr()
    assert run_in(tmp_path / "lost", monkeypatch, command, "--workers", "2") == whole
    assert len(losses) == 2
    lost = "a worker was lost (killed by SIGKILL); its games are played again\n"
    assert capsys.readouterr().err.count(lost) == 2


def test_a_tournament_continues_with_another_number_of_workers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = run_in(tmp_path / "whole", monkeypatch, "tournament", "--workers", "1")
    for count, games in (("2", "18"), ("1", "30"), ("3", "60")):
        continued = run_in(tmp_path / "continued", monkeypatch, "tournament", "--workers", count, "--games", games)
    assert continued["games.csv"] == whole["games.csv"]


# Losses again and again.


SUICIDAL = """
import os, signal
import numpy as np
from symphony9_env.agents import Agent
from symphony9_env.agents.scripted import ScriptedAgent

class Suicidal(Agent):
    def decide(self, positions, rows):
        if os.path.exists("flag"):
            os.kill(os.getpid(), signal.SIGKILL)
        return ScriptedAgent("greedy", 0).decide(positions, rows)
"""


@needs_signals
def test_an_agent_that_kills_every_worker_stops_the_tournament_and_finished_games_are_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("suicidal.py").write_text(SUICIDAL)
    given = ["--agents", "random,suicidal.py:Suicidal", "--num-players", "2", "--workers", "2", "--out", "t"]
    tournament.main([*given, "--games", "10"])
    kept = Path("t/games.csv").read_bytes()
    Path("flag").touch()
    capsys.readouterr()
    assert run("tournament", lambda: tournament.main([*given, "--games", "40"])) == 2
    expected = (
        r"tournament: 3 workers in a row were lost before they had finished game \d+ \(the last: killed by SIGKILL\); "
        "10 of 40 games are kept, and the same command continues"
    )  # both workers are lost again and again, and either may be the first that was lost three times
    assert re.fullmatch(expected, capsys.readouterr().err.splitlines()[-1])
    assert Path("t/games.csv").read_bytes() == kept
    Path("flag").unlink()
    tournament.main([*given, "--games", "40"])
    assert Path("t/games.csv").read_bytes().startswith(kept)


# Signals.


def list_children(pid: int) -> list[int]:
    """Return the processes that a process has started, and those that they have started."""
    found = [pid]
    for parent in found:
        for thread in Path(f"/proc/{parent}/task").iterdir():
            found += [int(child) for child in (thread / "children").read_text().split()]
    return found[1:]


def is_running(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


@contextmanager
def start_long(folder: Path, *more: str) -> Iterator[tuple[subprocess.Popen[str], list[int]]]:
    """Start a tournament that does not end by itself; yield it and its workers when some games are saved."""
    given = ["--num-players", "2", "--games", "10000000", "--workers", "2", "--out", "t"]
    code = (
        "import signal, sys; signal.signal(signal.SIGINT, signal.default_int_handler); "  # a shell may ignore it
        "from evaluation.tournament import *; sys.exit(run('tournament', main))"
    )
    variables = {**os.environ, "PYTHONPATH": str(ROOT)}
    with subprocess.Popen(
        [sys.executable, "-c", code, *given, *more],
        cwd=folder,
        env=variables,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as running:
        try:
            games = folder / "t" / "games.csv"
            wait_for(lambda: running.poll() is not None or (games.exists() and games.read_text().count("\n") > 8))
            yield running, list_children(running.pid)
        finally:
            running.kill()


needs_proc = pytest.mark.skipif(not os.path.isdir("/proc/self/task"), reason="lists processes with /proc")


@needs_proc
@pytest.mark.parametrize(("number", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_stops_the_tournament_and_its_workers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: signal.Signals, status: int
) -> None:
    agent = write_script(tmp_path, LOWEST)
    with start_long(tmp_path, "--agents", "random", "--agent", agent) as (running, children):
        assert len(children) == 4  # two workers, each with an agent
        running.send_signal(number)
        output, errors = running.communicate(timeout=SECONDS)
        assert running.returncode == status
    wait_for(lambda: not any(is_running(child) for child in children))
    assert "stopped: " in errors
    assert "games are kept, and the same command continues" in errors
    assert "Traceback" not in errors
    assert "report.html" in output
    kept = (tmp_path / "t" / "games.csv").read_text().splitlines()
    games = str(len(kept) // 2)
    monkeypatch.chdir(tmp_path)
    tournament.main([*RANDOM, "--workers", "1", "--games", games, "--agent", agent, "--out", "straight"])
    assert (tmp_path / "straight" / "games.csv").read_text().splitlines()[: len(kept)] == kept


@needs_proc
def test_when_the_program_is_killed_its_workers_and_their_agents_end(tmp_path: Path) -> None:
    agent = write_script(tmp_path, LOWEST)
    with start_long(tmp_path, "--agents", "random", "--agent", agent) as (running, children):
        running.kill()
        running.communicate()
    wait_for(lambda: not any(is_running(child) for child in children))


# Agents.


def test_every_worker_has_an_agent_process_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = f"import os\nopen(os.path.join({str(tmp_path)!r}, f'pid-{{os.getpid()}}'), 'w').close()\n" + LOWEST
    agent = f"own={write_script(tmp_path, text)}"
    found = []
    for more, num_processes in (([], 1), (["--workers", "2"], 3)):  # one worker by default, because it is a process
        folder = tmp_path / str(num_processes)
        folder.mkdir()
        monkeypatch.chdir(folder)
        tournament.main([*RANDOM, "--games", "16", "--agent", agent, *more, "--out", "t"])
        assert len(list(tmp_path.glob("pid-*"))) == num_processes
        found.append(read_folder(folder / "t"))
    assert found[0] == found[1]


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("return message['ranks']", "raised KeyError: 'ranks' (at own.py:3); no game was finished"),
        ("return 99", "gave no legal action in 3 answers; the last: '99' is no legal action"),
    ],
)
def test_an_agent_that_fails_is_reported_as_without_workers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], text: str, reason: str
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("own.py").write_text(f"def decide(message):\n    print('to standard output')\n    {text}\n")
    said = []
    for count in ("1", "2"):
        given = ["--agents", "random,own.py:decide", "--num-players", "2", "--workers", count, "--out", count]
        assert run("tournament", lambda given=given: tournament.main(given)) == 2  # type: ignore[misc]
        said.append(capsys.readouterr().err.splitlines()[-1])
    assert reason in said[0]
    assert said[0] == said[1]


def test_an_agent_that_raises_is_shown_with_its_traceback(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("wrong.py").write_text(SUICIDAL.replace('os.path.exists("flag")', "1 / 0"))
    given = ["--agents", "random,wrong.py:Suicidal", "--num-players", "2", "--workers", "2", "--out", "t"]
    with pytest.raises(RuntimeError, match=r"(?s)a worker failed:.*wrong\.py.*ZeroDivisionError"):
        tournament.main(given)


def test_an_agent_that_is_another_one_in_a_worker_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("own.py").write_text("def decide(message):\n    return min(message['legal'], key=int)\n")
    player = TournamentPlayer([AgentRecipe("own.py:decide", seed=1)], Variant(num_players=2), num_records=0)
    description = player.describe()
    make_player(description).close()
    Path("own.py").write_text("def decide(message):\n    return max(message['legal'], key=int)\n")
    with pytest.raises(ValueError, match=r"^a worker on .*: agent 'own\.py:decide' was changed, or is another one"):
        make_player(description)
    Path("own.py").unlink()
    with pytest.raises(ValueError, match=r"^a worker on .*: agent 'own\.py:decide': .*No such file"):
        make_player(description)


@pytest.mark.usefixtures("short_evaluations")
def test_an_agent_in_a_worker_finds_neither_the_salt_nor_the_key_or_seed_of_its_game(tmp_path: Path) -> None:
    seen = tmp_path / "seen"
    text = SPY.replace("FOLDER", repr(str(tmp_path / "out"))).replace("SEEN", repr(str(seen)))
    with (
        ProcessPool(2) as pool,
        benchmark.Benchmark(
            "2p", write_script(tmp_path, text), tmp_path / "out", lite=True, timeout=20, pool=pool
        ) as made,
    ):
        results = made.run()
    found = seen.read_text()
    assert "symphony9_env.arena.worker" in found  # it did read the command of its parent
    plans = [made.plan(outcome.game) for outcome in made.outcomes]
    seeds = [str(seed) for plan in plans for seed in (plan["game"]["seed"], plan["opponent_seed"])]
    for secret in (results["salt"], made.outcomes[-1].key, *seeds):
        assert secret not in found


@pytest.mark.usefixtures("short_evaluations")
def test_what_a_worker_gets_contains_neither_the_salt_nor_a_key(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sent: list[str] = []
    send = ProcessPool.send

    def record(self: ProcessPool, worker: int, games: Any) -> None:
        sent.append(repr((self._description, games)))
        assert len(games) == 1
        send(self, worker, games)

    monkeypatch.setattr(ProcessPool, "send", record)
    with (
        ProcessPool(2) as pool,
        benchmark.Benchmark("2p", "greedy", tmp_path / "out", lite=True, timeout=20, pool=pool) as made,
    ):
        results = made.run()
    assert len(sent) == 4
    for secret in (results["salt"], *(outcome.key for outcome in made.outcomes)):
        assert secret not in "".join(sent)


@pytest.mark.usefixtures("short_evaluations")
def test_forfeits_and_silence_are_the_same_with_any_number_of_workers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """It dies at once in the second seat: never three times in a row, but in every game of one of two workers."""
    dies = LOWEST.replace("    print(", "    if json.loads(line)['seat'] == 1: sys.exit(3)\n    print(")
    monkeypatch.setattr(benchmark, "LITE_GAMES", 4)
    given = ["--task", "2p", "--agent", write_script(tmp_path, dies), "--lite", "--salt", "00ff"]
    said = []
    for count in ("1", "2", "3"):
        benchmark.main([*given, "--workers", count, "--out", str(tmp_path / count)])
        said.append([line for line in capsys.readouterr().err.splitlines() if "forfeited" in line])
    assert len(said[0]) == 4
    assert said[0] == said[1] == said[2]
    games = [(tmp_path / count / "games.jsonl").read_bytes() for count in "123"]
    assert games[0] == games[1] == games[2]


# The command line.


def test_there_is_a_worker_for_each_core_unless_told_otherwise() -> None:
    def count(*arguments: Any) -> int:
        with open_pool(*arguments) as pool:
            assert isinstance(pool, LocalPool) == (pool.size == 1)
            return pool.size

    cores = count_cores()
    assert count(None, None, ["planner", "own.py:decide"]) == cores
    assert count(None, None, ["planner"], cores) == 1
    assert count(3, None, ["stdio:python agent.py"]) == 3
    for name in ("stdio:python agent.py", "mine=http://localhost:1/", "think:9@stdio:python agent.py"):
        assert count(None, None, ["planner", name]) == 1


def test_an_agent_that_was_registered_in_this_program_plays_in_this_process(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(registry, "_registered", {"first": lambda message: min(message["legal"], key=int)})
    given = ["--agents", "random,mine=first", "--num-players", "2", "--games", "4", "--out", str(tmp_path / "t")]
    for more in (["--workers", "2"], ["--address", "127.0.0.1:1"]):
        assert run("tournament", lambda more=more: tournament.main([*given, *more])) == 2  # type: ignore[misc]
        assert "agent 'mine=first' was registered in this program only; allowed: --workers 1" in capsys.readouterr().err
    tournament.main(given)


def test_a_cluster_needs_an_extra(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    monkeypatch.delitem(sys.modules, "symphony9_env.arena.cluster", raising=False)
    assert run("tournament", lambda: tournament.main([*RANDOM, "--address", "127.0.0.1:1", "--out", "t"])) == 2
    assert capsys.readouterr().err == 'tournament: ray is not installed; pip install "symphony9-env[cluster]"\n'
