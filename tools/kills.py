"""Kill training runs at random moments, and check that they always resume and lose at most one interval.

    python -m tools.kills --kills 100

A short run with two workers saves a checkpoint before every update. At a random moment, worker 0, the other worker or
both are killed (SIGKILL): while they start, train, evaluate or save. Then nothing may be left running, every file must
be whole, and the run continues from the last checkpoint, or from the beginning if there was none yet. A run that is
complete is followed by a new one. Needs Linux.
"""

from __future__ import annotations

import argparse
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, Final, NamedTuple

import yaml

from symphony9_env.agents import load_policy
from symphony9_env.arguments import run
from training import train
from training.checkpoints import read_checkpoint
from training.run import LocalRun, RunFolder
from training.trainer import Trainer

STEPS_PER_UPDATE: Final = 256
TINY_RUN: Final[dict[str, Any]] = {
    "total_steps": 20 * STEPS_PER_UPDATE,
    "workers": 2,
    "save_every": 1e-9,
    "game": {"num_players": 3},
    "network": {"kind": "mlp", "hidden": [8]},
    "ppo": {"n_envs": 16, "n_steps": 16, "batch_size": 64, "n_epochs": 2},
    "opponents": {"snapshot_every": 1024, "max_snapshots": 2},
    "evaluation": {"every": 1024, "games": 12, "opponents": ["random"]},
    "behaviour_cloning": {"agent": None},
}
VICTIMS: Final = ("worker 0", "another worker", "all workers")
EARLY_SHARE: Final = 0.35  # of the kills, which may come before the training has begun
EARLY_SECONDS: Final = 6.0  # in which such a kill comes
SPARED_SHARE: Final = 0.5  # of the runs that have only their end left
LATE_SECONDS: Final = 2.0  # after the beginning of the training, in which the others come
END_SECONDS: Final = 90.0  # for what is left to end
START_SECONDS: Final = 300.0
COMMAND: Final = "from tools import kills; kills.train_and_report()"


# In the process of worker 0.


def train_and_report() -> None:
    """Run the command `training.train`; write the steps, and what is going on, to the file that comes first."""
    path, *arguments = sys.argv[1:]
    report = os.open(path, os.O_WRONLY | os.O_APPEND)
    show = LocalRun.show

    def report_and_show(local: LocalRun, done: int, notes: Any) -> None:
        os.write(report, f"{done}\n".encode())
        show(local, done, notes)

    LocalRun.show = report_and_show  # type: ignore[assignment,method-assign]
    Trainer.evaluate = _reporting(Trainer.evaluate, "evaluating", report)  # type: ignore[assignment,method-assign]
    Trainer.save = _reporting(Trainer.save, "saving", report)  # type: ignore[assignment,method-assign]
    sys.exit(run("train", lambda: train.main(arguments)))


def _reporting(function: Callable[[Trainer], Any], phase: str, report: int) -> Callable[[Trainer], Any]:
    def report_and_call(trainer: Trainer) -> Any:
        os.write(report, f"{phase}\n".encode())
        result = function(trainer)
        os.write(report, b"training\n")
        return result

    return report_and_call


# Killing it.


class Report(NamedTuple):
    """What worker 0 has reported since its start."""

    steps: list[int]  # at the beginning of each update
    phase: str

    @classmethod
    def read(cls, path: Path) -> Report:
        lines = path.read_text(encoding="ascii").splitlines()
        phases = [line for line in lines if not line.isdecimal()]
        return cls([int(line) for line in lines if line.isdecimal()], phases[-1] if phases else "starting")


class KilledRun:
    """A run in a folder, which is killed again and again."""

    def __init__(self, root: Path) -> None:
        self.folder = RunFolder(root / "run")
        self.report = root / "report"
        self.errors = root / "errors"
        self.config = root / "tiny.yaml"
        self.config.write_text(yaml.safe_dump(TINY_RUN), encoding="utf-8")
        self.saved = -1  # steps of the last checkpoint known; -1: none

    def start(self) -> subprocess.Popen[bytes]:
        """Resume the run, or begin it if nothing was saved."""
        new = ["--config", str(self.config), "--out", str(self.folder.path)]
        arguments = new if self.saved < 0 else ["--resume", str(self.folder.path)]
        self.report.write_text("", encoding="ascii")
        command = [sys.executable, "-c", COMMAND, str(self.report), *arguments]
        with self.errors.open("wb") as errors:
            return subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=errors)

    def wait(self, process: subprocess.Popen[bytes], rng: random.Random) -> None:
        """Wait until the moment of the kill, or the end of the run."""
        is_early, is_spared = rng.random() < EARLY_SHARE, rng.random() < SPARED_SHARE
        if is_spared and self.saved >= TINY_RUN["total_steps"]:
            process.wait(START_SECONDS)
            return
        if is_early:
            seconds = rng.uniform(0, EARLY_SECONDS)
        else:
            end = time.monotonic() + START_SECONDS
            while process.poll() is None and not Report.read(self.report).steps and time.monotonic() < end:
                time.sleep(0.01)
            seconds = rng.uniform(0, LATE_SECONDS)
        with suppress(subprocess.TimeoutExpired):
            process.wait(seconds)

    def check_files(self, report: Report) -> Iterator[str]:
        """Yield what is wrong with the folder after a kill; note the steps of the last checkpoint."""
        checkpoints = [path for path in (self.folder.checkpoint, self.folder.previous) if path.exists()]
        steps = [read_checkpoint(path).counters.num_timesteps for path in checkpoints]
        saved = steps[0] if steps else -1
        if saved < self.saved:
            yield f"a checkpoint after {saved} steps; there was one after {self.saved}"
        if report.steps and report.steps[0] != max(self.saved, 0):
            yield f"began after {report.steps[0]} steps; the checkpoint was after {self.saved}"
        if report.steps and report.steps[-1] - max(saved, 0) > STEPS_PER_UPDATE:
            yield f"reached {report.steps[-1]} steps; the checkpoint is after {saved}"
        self.saved = saved
        for path in (self.folder.best, self.folder.last):
            if path.exists():
                load_policy(path)
        if self.folder.progress.exists():
            yield from check_progress(self.folder.progress.read_text(encoding="utf-8"))


def check_progress(text: str) -> Iterator[str]:
    """Yield what is wrong with the contents of progress.csv."""
    head, *lines = text.split("\n")
    rows = [line.split(",") for line in lines[:-1]]
    if lines[-1:] != [""] or any(len(row) != len(head.split(",")) for row in rows):
        yield "progress.csv is not complete"
    steps = [float(row[0]) for row in rows]
    if steps != sorted(set(steps)):
        yield f"progress.csv has the evaluations {steps}"


def find_workers(pid: int) -> list[int]:
    """Return the processes that another one has started."""
    with suppress(OSError):
        return [int(text) for text in Path(f"/proc/{pid}/task/{pid}/children").read_text(encoding="ascii").split()]
    return []


def is_running(pid: int) -> bool:
    """Return whether a process has not ended; a zombie has."""
    with suppress(OSError):
        return Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[0] != "Z"
    return False


def kill(process: subprocess.Popen[bytes], victim: str) -> tuple[str, list[str]]:
    """Kill some of the workers; return who was killed, and what is wrong with those that are left."""
    others = find_workers(process.pid)
    if not others:
        victim = VICTIMS[0]
    killed = {VICTIMS[0]: [process.pid], VICTIMS[1]: others[:1], VICTIMS[2]: [process.pid, *others]}[victim]
    for pid in killed:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    try:
        process.wait(END_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        return victim, [f"worker 0 goes on after a kill of {victim}"]
    end = time.monotonic() + END_SECONDS / 3
    while any(is_running(pid) for pid in others) and time.monotonic() < end:
        time.sleep(0.05)
    return victim, [f"process {pid} goes on after a kill of {victim}" for pid in others if is_running(pid)]


def check_end(status: int, victim: str, errors: str) -> Iterator[str]:
    """Yield what is wrong with how worker 0 ended, if another one was killed."""
    if victim != VICTIMS[1] or status == 0:
        return
    lines = errors.strip().splitlines()
    if status != 2 or "Traceback" in errors or not lines or not lines[-1].startswith("train: "):
        yield f"worker 0 ended with status {status} after a kill of {victim}: {errors[-500:]}"


def kill_once(killed: KilledRun, rng: random.Random) -> tuple[str, str, list[str]]:
    """Start or resume a run and kill it; return who was killed, in which phase, and what is wrong."""
    process = killed.start()
    killed.wait(process, rng)
    victim, problems = "nobody", list[str]()
    if process.poll() is None:
        victim, problems = kill(process, rng.choice(VICTIMS))
    elif process.returncode:
        problems = [f"ended with status {process.returncode}: {killed.errors.read_text(encoding='utf-8')[-500:]}"]
    report = Report.read(killed.report)
    try:
        problems += check_end(process.returncode, victim, killed.errors.read_text(encoding="utf-8"))
        problems += killed.check_files(report)
    except ValueError as error:
        problems.append(str(error))
    return victim, report.phase, problems


def main() -> None:
    """Run the command."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=100, help="number of kills (default: 100)")
    parser.add_argument("--seed", type=int, default=0, help="seed of the moments and victims (default: 0)")
    chosen = parser.parse_args()
    rng, found, num_problems, num_complete = random.Random(chosen.seed), Counter[str](), 0, 0
    while found.total() < chosen.kills:
        with tempfile.TemporaryDirectory() as root:
            killed, victim = KilledRun(Path(root)), ""
            while found.total() < chosen.kills and victim != "nobody":
                victim, phase, problems = kill_once(killed, rng)
                if victim != "nobody":
                    found[f"{victim} while {phase}"] += 1
                print(f"{found.total()}: {victim} while {phase}, saved {killed.saved}: {problems or 'ok'}", flush=True)
                num_problems += bool(problems)
            num_complete += victim == "nobody"
    for name, count in sorted(found.items()):
        print(f"{count:4} kills of {name}")
    print(f"{found.total()} kills, {num_complete} complete runs, {num_problems} problems")
    sys.exit(1 if num_problems else 0)


if __name__ == "__main__":
    main()
