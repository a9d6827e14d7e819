"""Cut the power at random moments, and check that nothing is lost that a program had reported as saved.

    sudo .venv/bin/python -m tools.power_cuts training --cuts 100
    sudo .venv/bin/python -m tools.power_cuts tournament --cuts 100

The program works on a file system of its own: ext4 in an image file, mounted through a loop device. At random moments
it is paused and the image is copied. The copy contains what had reached the disk, as after a power cut, but nothing
that was only in memory. Each copy is checked with e2fsck, which first replays the journal, and mounted; then the
program continues there. After ten cuts, a new run begins. Needs Linux, root and e2fsprogs.

To add a scenario, write two functions and name them in SCENARIOS. `work` runs the program in a folder until it is
killed, and calls `report` with what has just been saved. `check` continues in the folder as it is after the power cut;
it takes the last report, or None, and returns what is wrong, or an empty text.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import random
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import redirect_stderr
from io import StringIO
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, Final, NamedTuple

from symphony9_env import records
from symphony9_env.agents import load_policy
from symphony9_env.arena import game_loop, tournament
from symphony9_env.arena.games_csv import CsvRow
from symphony9_env.arena.tournament_folder import TournamentFolder
from symphony9_env.options import Variant
from tools.disk_images import copy_image, make_image, mount, repair
from training import train
from training.checkpoints import read_checkpoint, resume
from training.config import parse_settings
from training.run import LocalRun, Outcome, RunFolder
from training.trainer import Trainer

IMAGE_SIZE: Final = "200M"
CUTS_PER_RUN: Final = 10  # then a new run begins in an empty folder
MAX_WAIT: Final = 1.5  # seconds between two cuts
START_TIMEOUT: Final = 300  # seconds until the first report
FORK: Final = multiprocessing.get_context("fork")  # a child starts without importing PyTorch again

Report = Callable[[object], None]


class Scenario(NamedTuple):
    """A program that saves something."""

    work: Callable[[Path, Report], None]
    check: Callable[[Path, Any], str]


# Training.

TINY_RUN: Final[dict[str, Any]] = {
    "total_steps": 10**9,
    "workers": 1,
    "num_threads": 1,
    "save_every": 0.01,
    "game": {"num_players": 3},
    "network": {"hidden": [8, 8, 8]},
    "ppo": {"n_envs": 16, "n_steps": 16, "batch_size": 64, "n_epochs": 2},
    "opponents": {"snapshot_every": 1024, "max_snapshots": 2},
    "evaluation": {"every": 1024, "games": 6, "opponents": ["random"]},
    "behaviour_cloning": {"agent": None},
}


def work_on_training(folder: Path, report: Report) -> None:
    """Train, and report the steps of every checkpoint."""
    save = Trainer.save

    def save_and_report(trainer: Trainer) -> None:
        save(trainer)
        report(trainer.saved_steps)

    Trainer.save = save_and_report  # type: ignore[assignment,method-assign]
    train.train(parse_settings(TINY_RUN, "power cuts"), RunFolder(folder / "run"))


def check_training(folder: Path, saved: int | None) -> str:
    """Resume the run for one update."""
    run = RunFolder(folder / "run")
    save, started = Trainer.save, []

    def save_and_stop(trainer: Trainer) -> None:
        started.append(trainer.num_timesteps)
        save(trainer)
        assert isinstance(trainer.run, LocalRun)
        trainer.run.signals.received = signal.SIGINT  # stops after the next update

    def continue_from(path: Path, problem: str) -> Outcome:
        checkpoint = read_checkpoint(path)
        return train.train(checkpoint.settings, run, checkpoint, problem)

    Trainer.save = save_and_stop  # type: ignore[assignment,method-assign]
    resume(run.checkpoint, run.previous, continue_from)
    if saved is not None and started[0] < saved:
        return f"resumed after {started[0]} steps; {saved} were saved"
    steps = [line.split(",")[0] for line in run.progress.read_text(encoding="utf-8").splitlines()]
    if len(set(steps)) < len(steps):
        return "progress.csv has a row twice"
    for path in (run.best, run.last):
        load_policy(path)
    return ""


# Tournaments.


def open_tournament(folder: Path) -> tournament.Tournament:
    """Open the tournament in a folder, or begin it."""
    recipes = tournament.list_recipes(["random", "greedy"], seed=1)
    return tournament.Tournament(recipes, Variant(num_players=2), str(folder / "run"), seed=1)


def work_on_tournament(folder: Path, report: Report) -> None:
    """Play games in short batches, and report how many are counted as finished after each."""
    add = TournamentFolder.add

    def add_and_report(self: TournamentFolder, items: Sequence[CsvRow]) -> None:
        add(self, items)
        report(len(self.items) // 2)

    TournamentFolder.add = add_and_report  # type: ignore[method-assign]
    game_loop.CHUNK_SECONDS = 0.02  # type: ignore[misc]
    open_tournament(folder).play(10**9)


def check_tournament(folder: Path, saved: int | None) -> str:
    """Continue the tournament, and compare its first games with those of one that was not stopped."""
    continued = open_tournament(folder)
    num_played = continued.num_played
    if num_played < (saved or 0):
        return f"continued after {num_played} games; {saved} were saved"
    continued.play(num_played + 2)
    continued.results()
    straight = open_tournament(folder / "straight")
    straight.play(40)
    num_compared = 2 * min(straight.num_played, continued.num_played)
    if straight.folder.items[:num_compared] != continued.folder.items[:num_compared]:
        return "games.csv differs from that of a tournament without a stop"
    for path in sorted((continued.folder.path / "records").glob("*.json")):
        list(records.replay(records.load(path)))
    return ""


SCENARIOS: Final = {
    "training": Scenario(work_on_training, check_training),
    "tournament": Scenario(work_on_tournament, check_tournament),
}


# Cutting the power.


def start(function: Callable[..., None], *arguments: Any) -> tuple[Any, Connection]:
    """Call a function in a new process with one end of a pipe, and return the process and the other end."""
    own, other = FORK.Pipe(duplex=False)
    process = FORK.Process(target=function, args=(*arguments, other))
    process.start()
    other.close()
    return process, own


def _work(scenario: Scenario, folder: Path, pipe: Connection) -> None:
    with redirect_stderr(StringIO()):
        scenario.work(folder, pipe.send)


def _check(scenario: Scenario, folder: Path, report: object, pipe: Connection) -> None:
    with redirect_stderr(StringIO()) as said:
        try:
            problem = scenario.check(folder, report)
        except Exception as error:
            problem = f"{type(error).__name__}: {error}"
    pipe.send((problem, said.getvalue()))


def check_copy(scenario: Scenario, image: Path, folder: Path, report: object) -> str:
    """Return what is wrong after a power cut, or an empty text."""
    if not repair(image):
        return "e2fsck found damage"
    with mount(image, folder):
        process, pipe = start(_check, scenario, folder, report)
        problem, said = pipe.recv() if pipe.poll(START_TIMEOUT) else ("hangs", "")
        process.kill()
        process.join()
    if "continuing from" in said:
        print(said.splitlines()[0])
    return str(problem)


def cut(scenario: Scenario, cuts: int, rng: random.Random, root: Path) -> Counter[str]:
    """Cut the power of one run so many times; print and count what happened."""
    image, copy = root / "image", root / "copy"
    make_image(image, IMAGE_SIZE)
    found: Counter[str] = Counter()
    with mount(image, root / "disk") as disk:
        process, pipe = start(_work, scenario, disk)
        try:
            report = pipe.recv() if pipe.poll(START_TIMEOUT) else None
            for _ in range(cuts):
                time.sleep(rng.uniform(0, MAX_WAIT))
                os.kill(process.pid, signal.SIGSTOP)
                os.waitpid(process.pid, os.WUNTRACED)
                while pipe.poll():
                    report = pipe.recv()
                copy_image(image, copy)
                os.kill(process.pid, signal.SIGCONT)
                problem = check_copy(scenario, copy, root / "restored", report)
                found["lost or failed" if problem else "nothing lost"] += 1
                print(f"last report {report}: {problem or 'nothing lost'}", flush=True)
        finally:
            process.kill()
            process.join()
    return found


def main() -> None:
    """Run the command."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("scenario", choices=SCENARIOS)
    parser.add_argument("--cuts", type=int, default=30, help="number of power cuts (default: 30)")
    parser.add_argument("--seed", type=int, default=0, help="seed of the moments (default: 0)")
    chosen = parser.parse_args()
    rng, found = random.Random(chosen.seed), Counter[str]()
    for first in range(0, chosen.cuts, CUTS_PER_RUN):
        with tempfile.TemporaryDirectory() as root:
            num_cuts = min(CUTS_PER_RUN, chosen.cuts - first)
            found += cut(SCENARIOS[chosen.scenario], num_cuts, rng, Path(root))
        print(f"{first + num_cuts} of {chosen.cuts} power cuts", flush=True)
    print(f"{chosen.scenario}: {chosen.cuts} power cuts; " + ", ".join(f"{text}: {n}" for text, n in found.items()))
    sys.exit(1 if found["lost or failed"] else 0)


if __name__ == "__main__":
    main()
