"""Runs with several workers: equal parameters, resuming, and workers that are lost."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch
import yaml
from torch import distributed

from symphony9_env.agents import registry
from symphony9_env.agents.scripted import ScriptedAgent
from symphony9_env.arguments import run
from symphony9_env.processes import count_cores
from tests.training.runs import SHORT, TINY, same, settings, steps
from training import train, workers
from training.checkpoints import read_checkpoint
from training.config import Settings
from training.group import DistributedGroup, Group
from training.ppo import SelfPlayPPO
from training.run import LocalRun, Outcome, RunFolder
from training.stopping import StopSignals
from training.trainer import Trainer

ROOT = Path(__file__).parent.parent.parent
PLAIN: dict[str, Any] = {"network": {"kind": "mlp", "hidden": [8], "activation": "tanh"}}  # has nothing to compile
linux_only = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="uses /proc")


def train_with(number: int, path: Path, **changes: Any) -> RunFolder:
    folder = RunFolder(path)
    train.train(settings(**{**SHORT, **PLAIN, "workers": number, **changes}), folder)
    return folder


@pytest.fixture(scope="module")
def double(tmp_path_factory: pytest.TempPathFactory) -> RunFolder:
    """A short run with two workers, whose checkpoints are after 512 and after 256 steps."""
    return train_with(2, tmp_path_factory.mktemp("runs") / "double")


def act_at(monkeypatch: pytest.MonkeyPatch, num_steps: int, act: Callable[[LocalRun], object]) -> None:
    """Do something in worker 0 before the update after so many steps."""
    show = LocalRun.show

    def act_and_show(run: LocalRun, done: int, notes: Any) -> None:
        if done == num_steps:
            act(run)
        show(run, done, notes)

    monkeypatch.setattr(LocalRun, "show", act_and_show)


def children(pid: int) -> list[int]:
    found = subprocess.run(["ps", "--ppid", str(pid), "-o", "pid=,args="], capture_output=True, text=True, check=False)
    return [int(line.split()[0]) for line in found.stdout.splitlines() if "training.workers" in line]


# The group.


def test_one_worker_through_the_group_is_the_single_process(short: RunFolder, tmp_path: Path) -> None:
    chosen = settings(**SHORT)
    group = workers.join_group(chosen, 0, 1, str(tmp_path / "store"))
    try:
        assert isinstance(group, DistributedGroup)
        trainer = Trainer(chosen, group, None)
        trainer.start()
        trainer.train()
    finally:
        group.close()
    expected = read_checkpoint(short.checkpoint).state["policy"]
    for name, values in trainer.model.policy.state_dict().items():
        assert torch.equal(values, expected[name])


_AVERAGE = """
import sys, torch
from datetime import timedelta
from torch import distributed
from training.group import DistributedGroup
rank, size, store = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
distributed.init_process_group("gloo", store=distributed.FileStore(store, size), rank=rank, world_size=size)
group = DistributedGroup()
values = torch.randn(1000, generator=torch.Generator().manual_seed(rank))
group.average(values)
torch.save(values, f"{store}.{rank}")
group.close()
"""


@pytest.mark.parametrize("size", [2, 3, 5])
def test_workers_on_different_machines_get_the_same_mean(tmp_path: Path, size: int) -> None:
    """With any number of workers, also those that are no power of two."""
    store = tmp_path / "store"
    variables = {**os.environ, "GLOO_SOCKET_IFNAME": workers.LOOPBACK.get(sys.platform, "")}
    processes = [
        subprocess.Popen([sys.executable, "-c", _AVERAGE, str(rank), str(size), str(store)], env=variables)
        for rank in range(size)
    ]
    assert [process.wait(60) for process in processes] == [0] * size
    found = [torch.load(f"{store}.{rank}") for rank in range(size)]
    given = [torch.randn(1000, generator=torch.Generator().manual_seed(rank)) for rank in range(size)]
    torch.testing.assert_close(found[0], torch.stack(given).mean(0))
    assert all(torch.equal(values, found[0]) for values in found)


def test_the_parameters_that_workers_have_are_compared_when_saving(
    double: RunFolder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The run of the fixture saved after every update, so its workers always had the same parameters."""
    assert read_checkpoint(double.checkpoint).counters.num_updates == 2
    update = SelfPlayPPO.update

    def update_and_differ(model: SelfPlayPPO, rollout: Any) -> None:
        update(model, rollout)
        with torch.no_grad():
            next(iter(model.policy.parameters())).view(-1)[0] += 1e-6  # of worker 0 only

    monkeypatch.setattr(SelfPlayPPO, "update", update_and_differ)
    with pytest.raises(ValueError, match="the workers' parameters differ"):
        train_with(2, tmp_path / "run")
    assert read_checkpoint(RunFolder(tmp_path / "run").checkpoint).counters.num_timesteps == 0


def test_the_number_of_workers_is_that_of_the_cores_or_as_the_settings_say() -> None:
    assert workers.count_workers(settings(workers=3)) == 3
    assert workers.count_workers(settings(workers=None, device="cpu")) == count_cores()
    assert 1 <= count_cores() <= len(os.sched_getaffinity(0) if sys.platform == "linux" else range(1024))


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU")
def test_a_gpu_that_is_not_there_is_refused_in_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    config = tmp_path / "tiny.yaml"
    config.write_text(yaml.safe_dump(TINY))
    arguments = ["--config", str(config), "--out", str(tmp_path / "run"), "device=cuda"]
    assert run("train", lambda: train.main(arguments)) == 2
    assert capsys.readouterr().err == "train: device=cuda: PyTorch finds no GPU; allowed: auto, cpu\n"


# Resuming.


def test_two_workers_that_stop_and_resume_end_with_the_same_policy(
    double: RunFolder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "run"
    with monkeypatch.context() as patched:
        act_at(patched, 256, lambda run: signal.raise_signal(signal.SIGTERM))
        patched.setattr(train, "load_settings", lambda *_: settings(**SHORT, **PLAIN, workers=2))
        assert run("train", lambda: train.main(["--config", "none.yaml", "--out", str(path)])) == 143
    assert "saved after 256 steps; continue with:" in capsys.readouterr().out
    torch.manual_seed(99)
    assert run("train", lambda: train.main(["--resume", str(path)])) == 0
    folder = RunFolder(path)
    assert same(folder.last, double.last)
    assert steps(folder) == steps(double) == ["0.0", "512.0"]
    one, other = (read_checkpoint(each.checkpoint).state for each in (folder, double))
    assert one["pool"]["ahead_rates"] == other["pool"]["ahead_rates"]
    for first, second in zip(one["workers"], other["workers"], strict=True):
        assert first["games"] == second["games"]
        assert first["members"] == second["members"]
        assert torch.equal(first["torch_rng"], second["torch_rng"])
    assert one["workers"][0]["games"] != one["workers"][1]["games"]


@pytest.mark.parametrize("number", [1, 2])
def test_a_run_resumes_with_another_number_of_workers(double: RunFolder, tmp_path: Path, number: int) -> None:
    """With new games, and with the steps, snapshots and evaluations that it has."""
    before = double if number == 1 else train_with(1, tmp_path / "single")
    shutil.copytree(before.path, tmp_path / "run")
    folder = RunFolder(tmp_path / "run")
    os.replace(folder.previous, folder.checkpoint)
    old = read_checkpoint(folder.checkpoint)
    assert (len(old.state["workers"]), old.counters.num_timesteps) == (3 - number, 256)
    train.main(["--resume", str(folder.path), f"workers={number}"])
    new = read_checkpoint(folder.checkpoint)
    assert (len(new.state["workers"]), new.settings.workers) == (number, number)
    assert (new.counters.num_timesteps, new.counters.num_updates) == (512, 2)
    assert [one for one, _ in new.state["pool"]["snapshots"]] == [256]
    assert steps(folder) == ["0.0", "512.0"]
    assert not same(folder.last, before.last)


def test_a_run_that_has_lost_workers_wants_as_many_as_before_when_it_resumes_on_a_cluster(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On a cluster, settings that say 64 are trained by one worker while there is room for no more."""
    chosen, folder = settings(**SHORT, **PLAIN, workers=64), RunFolder(tmp_path / "run")
    trainer = Trainer(chosen, Group(), LocalRun(chosen, folder, StopSignals()))
    trainer.start()
    trainer.train()
    checkpoint = read_checkpoint(folder.checkpoint)
    assert (len(checkpoint.state["workers"]), checkpoint.settings.workers) == (1, 64)
    wanted: list[int | None] = []

    def train_on_cluster(_address: str, chosen: Settings, *_: Any) -> Outcome:
        wanted.append(chosen.workers)
        return Outcome(chosen, checkpoint.counters.rows, 512, stopped=False)

    monkeypatch.setitem(sys.modules, "training.cluster", SimpleNamespace(train_on_cluster=train_on_cluster))
    for number in ([], ["workers=8"]):
        train.main(["--resume", str(folder.path), "--address", "here:6379", *number])
    assert wanted == [64, 8]


def test_averages_that_round_are_not_taken_again_after_resuming(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The computed mean of three equal numbers may be another number; here it always is."""
    monkeypatch.setattr(Group, "average", lambda self, values: values.mul_(0.999))
    straight = train_with(1, tmp_path / "straight")
    folder = RunFolder(tmp_path / "stopped")
    shutil.copytree(straight.path, folder.path, dirs_exist_ok=True)
    os.replace(folder.previous, folder.checkpoint)
    train.main(["--resume", str(folder.path)])
    one, other = (read_checkpoint(each.checkpoint).state["pool"]["ahead_rates"] for each in (straight, folder))
    assert one == other
    assert same(folder.last, straight.last)


# Workers that are lost or fail.


def test_a_lost_worker_ends_the_run_in_one_line_and_leaves_a_checkpoint(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    started: list[subprocess.Popen[str]] = []
    start = workers._start

    def start_and_keep(task: workers.Task) -> subprocess.Popen[str]:
        started.append(start(task))
        return started[-1]

    monkeypatch.setattr(workers, "_start", start_and_keep)
    act_at(monkeypatch, 256, lambda run: started[0].kill())
    reason = r"run: lost worker 1 \(killed by SIGKILL\); stopped, and the last checkpoint is unchanged$"
    with pytest.raises(ValueError, match=reason):
        train_with(2, tmp_path / "run")
    monkeypatch.undo()
    assert not distributed.is_initialized()
    folder = RunFolder(tmp_path / "run")
    assert read_checkpoint(folder.checkpoint).counters.num_timesteps in (0, 256)
    train.main(["--resume", str(folder.path), "workers=1"])
    assert steps(folder) == ["0.0", "512.0"]


def test_a_worker_that_is_lost_before_the_training_begins_is_noticed_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    start = workers._start

    def start_and_kill(task: workers.Task) -> subprocess.Popen[str]:
        process = start(task)
        process.kill()
        return process

    monkeypatch.setattr(workers, "_start", start_and_kill)
    with pytest.raises(ValueError, match=r"lost worker 1 \(killed by SIGKILL\); stopped, and nothing is saved$"):
        train_with(2, tmp_path / "run")


def test_what_fails_in_a_worker_reaches_the_user(tmp_path: Path) -> None:
    """The agent also prints more than a pipe holds."""
    agent = tmp_path / "own.py"
    agent.write_text(
        "import sys\n\ndef decide(message):\n    print('x' * 1_000_000, file=sys.stdout, flush=True)\n"
        "    is_worker = sys.orig_argv[-1] == 'training.workers'\n"
        "    return 99 if is_worker else min(message['legal'], key=int)\n"
    )
    opponents = {"latest": 0, "past": 0, "fixed": {f"{agent}:decide": 1}}
    with pytest.raises(ValueError, match=r"own.py:decide' gave no legal action"):
        train_with(2, tmp_path / "run", opponents=opponents)
    assert not distributed.is_initialized()


def test_an_agent_that_only_this_process_knows_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "_registered", {"mine": partial(ScriptedAgent, "greedy")})
    with pytest.raises(ValueError, match="unknown agent 'mine'"):
        train_with(2, tmp_path / "run", opponents={"fixed": {"mine": 1}})


# Signals and sockets.


@contextmanager
def start_run(folder: Path) -> Iterator[tuple[subprocess.Popen[str], int]]:
    """Start a long run in a process of its own and wait for its first checkpoint; yield it, and worker 1."""
    config = folder / "plain.yaml"
    config.write_text(yaml.safe_dump({**TINY, **PLAIN, "workers": 2, "total_steps": 10**8, "save_every": 0.01}))
    command = [sys.executable, "-m", "training.train", "--config", str(config), "--out", str(folder / "run")]
    process = subprocess.Popen(
        command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
    )
    end = time.monotonic() + 120
    try:
        while not (folder / "run" / "checkpoint.pt").exists():
            assert process.poll() is None
            assert time.monotonic() < end
            time.sleep(0.05)
        (other,) = children(process.pid)
        yield process, other
    finally:
        process.kill()
        process.communicate()


def listening_addresses(pid: int) -> set[str]:
    """The addresses on which a process listens, as /proc/net has them."""
    links = [os.readlink(link) for link in Path(f"/proc/{pid}/fd").iterdir() if link.is_symlink()]
    inodes = {link[8:-1] for link in links if link.startswith("socket:[")}
    found = set()
    for table in ("tcp", "tcp6"):
        for line in Path(f"/proc/{pid}/net/{table}").read_text().splitlines()[1:]:
            fields = line.split()
            if fields[3] == "0A" and fields[9] in inodes:
                found.add(fields[1].partition(":")[0])
    return found


def wait_for_end(pid: int, seconds: float) -> bool:
    end = time.monotonic() + seconds
    command = Path(f"/proc/{pid}/cmdline")  # empty for a zombie
    while command.exists() and command.read_bytes():
        if time.monotonic() > end:
            return False
        time.sleep(0.05)
    return True


@linux_only
def test_ctrl_c_stops_all_workers_after_a_save_and_they_listen_on_this_machine_only(tmp_path: Path) -> None:
    with start_run(tmp_path) as (process, other):
        addresses = listening_addresses(process.pid) | listening_addresses(other)
        os.kill(other, signal.SIGINT)  # is not for it
        os.kill(other, signal.SIGTERM)
        os.killpg(process.pid, signal.SIGINT)  # what a terminal does
        output, errors = process.communicate(timeout=60)
    assert addresses
    assert addresses <= {"0100007F", "00000000000000000000000001000000", "0000000000000000FFFF00000100007F"}
    assert process.returncode == 130, errors
    assert "continue with:" in output
    assert "Traceback" not in errors
    assert wait_for_end(other, 1)


@linux_only
def test_the_other_workers_end_and_clean_up_when_worker_0_is_killed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "temporary").mkdir()
    monkeypatch.setenv("TMPDIR", str(tmp_path / "temporary"))
    with start_run(tmp_path) as (process, other):
        stores = list((tmp_path / "temporary").glob("symphony9-workers-*"))
        process.kill()
        errors = process.communicate(timeout=60)[1]
    assert "Traceback" not in errors
    assert wait_for_end(other, 5)
    assert len(stores) == 1
    assert not stores[0].exists()
    folder = RunFolder(tmp_path / "run")
    with folder.lock():
        last = folder.checkpoint if folder.checkpoint.exists() else folder.previous
        assert read_checkpoint(last).settings.workers == 2
