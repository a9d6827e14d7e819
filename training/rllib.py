"""Train a policy by self-play with RLlib on one or more machines; see docs/scaling.md.

    python -m training.rllib --config configs/quick.yaml --runners 2
    python -m training.rllib --config configs/standard.yaml --out runs/wide --runners 16 --address auto
    python -m training.rllib --resume runs/wide --runners 8 --address auto

The settings are those of `training/config.py`; `python -m training.train --list` shows them. Runners play the games,
on any machine of the cluster; the network is trained in this process. A run saves a checkpoint from time to time and on
Ctrl-C or SIGTERM. The folder contains last.safetensors (the policy), progress.csv, pool/ (snapshots), checkpoint.json
and previous.json, and the folders that these name: the last two checkpoints. RLlib's checkpoints contain pickled Python
objects: resume only runs of your own.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import logging
import math
import os
import shutil
import socket
import sys
import time
from argparse import Namespace
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Final, Literal

import ray
import torch
from pydantic import BaseModel, ConfigDict, Field, ValidationError
from ray.rllib.algorithms.ppo import PPO
from ray.rllib.core import COMPONENT_RL_MODULE
from ray.rllib.utils.metrics import ENV_RUNNER_RESULTS, ENV_RUNNER_SAMPLING_TIMER, LEARNER_UPDATE_TIMER, TIMERS

from symphony9_env import files
from symphony9_env.agents import Card, save_policy
from symphony9_env.agents.networks import Weights
from symphony9_env.arena.console import show_progress
from symphony9_env.arguments import Parser, run
from training import progress
from training.checkpoints import Count, InvalidCheckpointError, RunFolder, describe_kept, resume, use_previous
from training.config import Settings, parse_settings_json
from training.network import export_weights, load_initial_weights, make_card
from training.rllib_modules import DECISIONS, LEARNER, Seats, make_config
from training.stopping import StopSignals
from training.train import add_run_arguments, begin_run, find_run, read_new_settings

MAX_BYTES: Final = 1 << 24  # of the file that names a checkpoint
OUT_PREFIX: Final = "rllib-"
CODE: Final = [str(Path(__file__).parent.parent / name) for name in ("symphony9_env", "evaluation", "training")]


class Saved(BaseModel):
    """The file that names a checkpoint: its folder, the hash of all files there, and what the run counts."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, allow_inf_nan=False)

    format: Literal["symphony9-rllib/2"] = "symphony9-rllib/2"
    checkpoint: Annotated[str, Field(pattern=r"^checkpoint-[0-9-]+$")]
    hash: str
    steps: Count
    seconds: Annotated[float, Field(ge=0)]
    snapshots: Count  # taken so far; the first is the initial policy
    rows: list[progress.Row]  # all evaluations


class Run:
    """A run: RLlib's algorithm with snapshots, evaluations and checkpoints between its updates."""

    def __init__(self, settings: Settings, folder: RunFolder, runners: int, saved: Saved | None = None) -> None:
        self.settings = settings
        self.folder = folder
        self.runners = self.healthy_runners = runners
        self.num_timesteps = saved.steps if saved else 0
        self.snapshots = saved.snapshots if saved else 1
        self.rows = list(saved.rows) if saved else []
        self.times = {"playing": 0.0, "learning": 0.0}  # seconds per update, smoothed
        self.updates = [0, 0.0]  # steps and seconds of the updates since the start or resumption
        self.signals = StopSignals()
        self.stopped = False
        self._start_time = time.monotonic() - (saved.seconds if saved else 0)  # as if the run had not been stopped
        self._saved_steps = -1
        torch.set_num_threads(settings.num_threads)
        self.past = Seats(settings.opponents, settings.game.num_players).past
        self.algorithm: PPO = make_config(settings, runners, self.num_timesteps).build_algo()
        if saved is None:
            self._start()
        else:
            self._restore(folder.path / saved.checkpoint)

    def _start(self) -> None:
        learner = self.algorithm.get_module(LEARNER)
        load_initial_weights(learner.policy, self.settings)
        self._set_weights(dict.fromkeys([LEARNER, *self.past], learner.get_state()))

    def _set_weights(self, weights: dict[str, Any]) -> None:
        """Set the weights of modules, here and on all runners; RLlib's own method may leave out busy runners."""
        self.algorithm.learner_group.set_weights(weights)
        state = ray.put({COMPONENT_RL_MODULE: weights})
        group = self.algorithm.env_runner_group
        group.foreach_env_runner(lambda runner: runner.set_state(ray.get(state)), timeout_seconds=60)

    def train(self) -> None:
        """Train until all steps are done or a signal requests a stop; save a checkpoint in either case."""
        total = self.settings.total_steps
        progress.write_progress(self.folder.progress, self.rows)  # it may have later evaluations than the checkpoint
        with self.signals, show_progress(total, min(self.num_timesteps, total), "steps") as advance:
            save_time = -math.inf
            while self.num_timesteps < total and self.signals.received is None:
                if time.monotonic() - save_time > self.settings.save_every:
                    self.save()
                    save_time = time.monotonic()
                before = self.num_timesteps
                self._train_once()
                notes = progress.format_win_rates(self.rows[-1]) if self.rows else {}
                advance(min(self.num_timesteps, total) - before, {**notes, "saved": f"{self._saved_steps:,}"})
            self.stopped = self.num_timesteps < total or not self._evaluate_last()
            self.save()

    def _train_once(self) -> None:
        self.update()
        if self.num_timesteps >= self.snapshots * self.settings.opponents.snapshot_every:
            self.take_snapshot()
        if self.num_timesteps >= (len(self.rows) + 1) * self.settings.evaluation.every:
            self.evaluate()

    def _evaluate_last(self) -> bool:
        return (bool(self.rows) and self.rows[-1]["steps"] >= self.num_timesteps) or self.evaluate()

    def update(self) -> None:
        """Run one update; report runners that were lost or came back."""
        start = time.monotonic()
        result = self.algorithm.train()
        count = result.get(ENV_RUNNER_RESULTS, {}).get(DECISIONS, 0)
        steps = 0 if math.isnan(count) else int(count)  # NaN: there was no runner
        self.num_timesteps += steps
        self.updates = [self.updates[0] + steps, self.updates[1] + time.monotonic() - start]
        for name, timer in (("playing", ENV_RUNNER_SAMPLING_TIMER), ("learning", LEARNER_UPDATE_TIMER)):
            self.times[name] = float(result.get(TIMERS, {}).get(timer, self.times[name]))
        healthy = self.algorithm.env_runner_group.num_healthy_remote_workers()
        if healthy != self.healthy_runners:
            consequence = "training continues" if healthy else "waiting for a runner"
            print(f"\n{healthy} of {self.runners} runners are available; {consequence}", file=sys.stderr)
        self.healthy_runners = healthy

    def take_snapshot(self) -> None:
        """Save a snapshot and put it into the next frozen module; modules repeat snapshots until there are enough."""
        files.make_folder(self.folder.pool)
        save_policy(self.folder.pool / f"step-{self.num_timesteps}.safetensors", *self.export_policy())
        weights = {name: self.algorithm.get_module(name).get_state() for name in [LEARNER, *self.past]}
        if self.past:
            weights[self.past[self.snapshots % len(self.past)]] = weights[LEARNER]
            known = self.past[: self.snapshots + 1]
            self._set_weights({name: weights[known[number % len(known)]] for number, name in enumerate(self.past)})
        self.snapshots += 1

    def export_policy(self) -> tuple[Card, Weights]:
        """Return the current policy as a policy file contains it."""
        about = {"steps": self.num_timesteps, "seconds": round(self.elapsed_seconds()), "runners": self.runners}
        card = make_card(self.settings, {**about, "settings": self.settings.model_dump(mode="json")})
        return card, export_weights(self.algorithm.get_module(LEARNER).policy)

    def elapsed_seconds(self) -> float:
        """Return the duration of the run, the time before it was resumed included."""
        return time.monotonic() - self._start_time

    def evaluate(self) -> bool:
        """Evaluate the current policy; return False if a signal stopped the evaluation."""
        policy = self.export_policy()
        try:
            with self.signals.interruptible():
                row = progress.evaluate(self.settings, self.num_timesteps, self.elapsed_seconds(), *policy)
        except KeyboardInterrupt:
            if self.signals.received is None:
                raise
            return False
        self.rows.append(row)
        progress.write_progress(self.folder.progress, self.rows)
        return True

    def save(self) -> None:
        """Write a checkpoint to a new folder, then name it in checkpoint.json; keep the checkpoint before.

        A kill at any moment leaves the previous one.
        """
        if self.num_timesteps == self._saved_steps:
            return
        target = self.folder.path.resolve() / f"checkpoint-{self.num_timesteps}-{time.time_ns()}"
        try:
            self.algorithm.save_to_path(target)
            self._name(target)
        except OSError as error:
            kept = describe_kept(*pointer_paths(self.folder))
            raise ValueError(f"{target}: can't be written ({error}); {kept}") from None
        save_policy(self.folder.last, *self.export_policy())
        self._saved_steps = self.num_timesteps

    def _name(self, target: Path) -> None:
        """Name a checkpoint that was just written, and remove all but the last two."""
        saved = Saved(
            checkpoint=target.name,
            hash=sync_and_hash(target),
            steps=self.num_timesteps,
            seconds=self.elapsed_seconds(),
            snapshots=self.snapshots,
            rows=self.rows,
        )
        last, previous = pointer_paths(self.folder)
        files.write(last, lambda draft: draft.write_text(json.dumps(saved.model_dump())), previous)
        kept = {json.loads(path.read_bytes())["checkpoint"] for path in (last, previous) if path.exists()}
        for other in target.parent.glob("checkpoint-*"):
            if other.name not in kept:
                shutil.rmtree(other, ignore_errors=True)

    def _restore(self, checkpoint: Path) -> None:
        try:
            self.algorithm.restore_from_path(checkpoint.resolve())
            self._set_weights(self.algorithm.learner_group.get_weights())
        except Exception as error:
            self.close()
            raise _invalid(checkpoint, error) from None

    def close(self) -> None:
        """Stop RLlib's algorithm."""
        self.algorithm.stop()
        with contextlib.suppress(OSError):
            os.rmdir(self.algorithm.logdir)  # Ray creates it in the home folder and leaves it empty


def pointer_paths(folder: RunFolder) -> tuple[Path, Path]:
    """Return the paths of the files that name the last checkpoint and the one before."""
    return folder.path / "checkpoint.json", folder.path / "previous.json"


def sync_and_hash(folder: Path) -> str:
    """Make sure that a folder with all that it contains is on disk; return a hash of it."""
    digest = hashlib.sha256()
    for path in sorted(folder.rglob("*")):
        contents = b"" if path.is_dir() else path.read_bytes()
        digest.update(repr((path.relative_to(folder).as_posix(), len(contents))).encode() + contents)
        if path.is_dir():
            files.sync_folder(path)
        else:
            with path.open("rb+") as file:
                os.fsync(file.fileno())
    files.sync_folder(folder)
    return digest.hexdigest()


def read_checkpoint(folder: RunFolder, path: Path) -> tuple[Settings, Saved]:
    """Return a run's settings and one of its checkpoints; raise an `InvalidCheckpointError` if it can't be resumed."""
    try:
        settings = parse_settings_json(folder.config.read_text(encoding="utf-8"), str(folder.config))
        saved = Saved.model_validate(json.loads(files.read_bytes(path, MAX_BYTES)))
        progress.check_rows(saved.rows, settings)
        if sync_and_hash(folder.path / saved.checkpoint) != saved.hash:
            raise ValueError(f"{saved.checkpoint} is damaged: its contents do not match their hash")
    except ValidationError as error:
        first = error.errors()[0]
        raise _invalid(path, f"{'.'.join(map(str, first['loc']))}: {first['msg']}") from None
    except (OSError, ValueError, RecursionError) as error:
        raise _invalid(path, error) from None
    return settings, saved


def _invalid(path: Path, reason: object) -> InvalidCheckpointError:
    return InvalidCheckpointError(f"{path}: can't be used ({' '.join(str(reason).split())[:300]})")


# The command.


def connect(address: str | None, runners: int) -> None:
    """Start Ray on this machine, or connect to a cluster and send it our code."""
    logging.getLogger("ray.rllib").setLevel(logging.ERROR)
    quiet: dict[str, Any] = {"logging_level": logging.ERROR, "log_to_driver": False}
    if address is None:
        ray.init("local", num_cpus=max(runners, 1), include_dashboard=False, **quiet)
    else:
        try:
            host, _, port = address.rpartition(":")
            if port.isdecimal():  # Ray itself would retry for minutes
                socket.create_connection((host.rpartition("/")[2], int(port)), timeout=10).close()
            ray.init(address=address, runtime_env={"py_modules": CODE}, **quiet)
        except (OSError, RuntimeError, ValueError) as error:
            raise ValueError(f"--address {address}: no Ray cluster there ({str(error).splitlines()[0]})") from None
    cores = ray.cluster_resources().get("CPU", 0)
    if runners > cores:
        raise ValueError(f"--runners {runners}: the cluster has {cores:g} cores, and each runner needs one")


def list_unsupported(settings: Settings) -> list[str]:
    """Return the names of the settings given that only `training.train` supports."""
    given = {
        "opponents.fixed": any(settings.opponents.fixed.values()),
        "behaviour_cloning": settings.behaviour_cloning.agent is not None and settings.start_from is None,
        "reward.shaping_coef": settings.reward.shaping_coef > 0,
        "ppo.target_kl": settings.ppo.target_kl is not None,
    }
    return [name for name, is_given in given.items() if is_given]


def make_parser() -> Parser:
    """Return the parser of the command line."""
    parser = Parser("python -m training.rllib", __doc__)
    add_run_arguments(parser, parser.add_mutually_exclusive_group(required=True), OUT_PREFIX)
    parser.add_argument(
        "--runners", type=int, default=2, help="number of processes that play games; 0: only this process (default: 2)"
    )
    parser.add_argument(
        "--address", help="address of an existing Ray cluster, or auto (default: start Ray on this machine)"
    )
    return parser


def _train_from(chosen: Namespace, folder: RunFolder, path: Path, problem: str) -> Run:
    settings, saved = read_checkpoint(folder, path)
    return _train(chosen, settings, folder, saved, problem)


def _train(
    chosen: Namespace, settings: Settings, folder: RunFolder, saved: Saved | None = None, problem: str = ""
) -> Run:
    if names := list_unsupported(settings):
        print(f"ignored, not supported with RLlib: {', '.join(names)}", file=sys.stderr)
    if not ray.is_initialized():
        connect(chosen.address, chosen.runners)
    training = Run(settings, folder, chosen.runners, saved)
    if problem:
        use_previous(*pointer_paths(folder), problem)
    training.train()
    training.close()
    return training


def main(arguments: list[str] | None = None) -> None:
    """Run the command."""
    chosen = make_parser().parse_args(arguments)
    if chosen.runners < 0:
        raise ValueError(f"--runners {chosen.runners}; allowed: 0 or more")
    settings = None if chosen.resume is not None else read_new_settings(chosen)
    folder = find_run(chosen, OUT_PREFIX)
    try:
        with folder.lock():
            if settings is None:
                training = resume(*pointer_paths(folder), partial(_train_from, chosen, folder))
            else:
                begin_run(settings, folder)
                training = _train(chosen, settings, folder)
    finally:
        ray.shutdown()
    if training.stopped:
        print(f"saved after {training.num_timesteps:,} steps; continue with:")
        print(f"python -m training.rllib --resume {folder.path} --runners {chosen.runners}")
        training.signals.stop()
    print(progress.format_results(training.rows[-1], training.settings.evaluation.opponents))
    print(f"\npolicy: {folder.last}, data: {folder.progress}")
    steps, seconds = training.updates
    if steps:
        times = ", ".join(f"{duration:.1f} s {name}" for name, duration in training.times.items())
        print(f"{steps / seconds:,.0f} steps/s; an update takes {times}")


if __name__ == "__main__":
    from training.rllib import main as start  # import by name: other processes look up its classes there

    sys.exit(run("rllib", start))
