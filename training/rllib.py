"""Train a policy by self-play with RLlib on one or more machines; see docs/scaling.md.

    python -m training.rllib --config configs/quick.yaml --runners 2
    python -m training.rllib --config configs/standard.yaml --out runs/wide --runners 16 --address auto
    python -m training.rllib --resume runs/wide --runners 8 --address auto

The settings are those of `training/config.py`; `python -m training.train --list` shows them. Runners play the games,
on any machine of the cluster; the network is trained in this process. A run saves a checkpoint from time to time and on
Ctrl-C. The folder contains last.safetensors (the policy), progress.csv, pool/ (snapshots), checkpoint.json and the
folder that it names.
"""

from __future__ import annotations

import contextlib
import json
import logging
import math
import os
import shutil
import socket
import sys
import time
from pathlib import Path
from typing import Any, Final

import ray
import torch
from ray.rllib.algorithms.ppo import PPO
from ray.rllib.core import COMPONENT_RL_MODULE
from ray.rllib.utils.metrics import ENV_RUNNER_RESULTS, ENV_RUNNER_SAMPLING_TIMER, LEARNER_UPDATE_TIMER, TIMERS
from tqdm import tqdm

from symphony9_env import files
from symphony9_env.agents import Card, save_policy
from symphony9_env.agents.networks import Weights
from symphony9_env.arguments import Parser, run
from training import progress
from training.checkpoints import RunFolder
from training.config import Settings, parse_settings_json
from training.network import export_weights, load_initial_weights, make_card
from training.rllib_modules import DECISIONS, LEARNER, Seats, make_config
from training.train import add_run_arguments, find_run, start_run, stop_on_interrupt

FORMAT: Final = "symphony9-rllib/1"
OUT_PREFIX: Final = "rllib-"
CODE: Final = [str(Path(__file__).parent.parent / name) for name in ("symphony9_env", "evaluation", "training")]


class Run:
    """A run: RLlib's algorithm with snapshots, evaluations and checkpoints between its updates."""

    def __init__(
        self, settings: Settings, folder: RunFolder, runners: int, saved: dict[str, Any] | None = None
    ) -> None:
        counts: dict[str, Any] = saved or {"steps": 0, "seconds": 0.0, "snapshots": 1}
        self.settings = settings
        self.folder = folder
        self.runners = self.healthy_runners = runners
        self.num_timesteps: int = counts["steps"]
        self.snapshots: int = counts["snapshots"]  # taken so far; the first is the initial policy
        self.rows = progress.read_progress(folder.progress, self.num_timesteps)
        self.times = {"playing": 0.0, "learning": 0.0}  # seconds per update, smoothed
        self.updates = [0, 0.0]  # steps and seconds of the updates since the start or resumption
        self.stop_requested = False
        self._start_time: float = time.monotonic() - counts["seconds"]  # as if the run had not been stopped
        self._saved_steps = -1
        torch.set_num_threads(settings.num_threads)
        self.past = Seats(settings.opponents, settings.game.num_players).past
        self.algorithm: PPO = make_config(settings, runners, self.num_timesteps).build_algo()
        if saved is None:
            self._start()
        else:
            self._restore(folder.path / saved["checkpoint"])

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
        """Train until all steps are done or Ctrl-C requests a stop; save a checkpoint in either case."""
        settings, save_time = self.settings, -math.inf
        bar = tqdm(total=settings.total_steps, initial=self.num_timesteps, unit=" steps", unit_scale=True, disable=None)
        with bar, stop_on_interrupt(self):
            while self.num_timesteps < settings.total_steps and not self.stop_requested:
                if time.monotonic() - save_time > settings.save_every:
                    self.save()
                    save_time = time.monotonic()
                self.update()
                if self.num_timesteps >= self.snapshots * settings.opponents.snapshot_every:
                    self.take_snapshot()
                if self.num_timesteps >= (len(self.rows) + 1) * settings.evaluation.every:
                    self.evaluate()
                bar.update(min(self.num_timesteps, settings.total_steps) - bar.n)
                bar.set_postfix(progress.format_win_rates(self.rows[-1]) if self.rows else {})
            if not self.stop_requested and (not self.rows or self.rows[-1]["steps"] < self.num_timesteps):
                self.evaluate()
            self.save()

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
            tqdm.write(f"{healthy} of {self.runners} runners are available; {consequence}", file=sys.stderr)
        self.healthy_runners = healthy

    def take_snapshot(self) -> None:
        """Save a snapshot and put it into the next frozen module; modules repeat snapshots until there are enough."""
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

    def evaluate(self) -> None:
        """Evaluate the current policy."""
        seconds = self.elapsed_seconds()
        self.rows.append(progress.evaluate(self.settings, self.num_timesteps, seconds, *self.export_policy()))
        progress.write_progress(self.folder.progress, self.rows)

    def save(self) -> None:
        """Write a checkpoint to a new folder, then name it in checkpoint.json: a kill leaves the previous one."""
        if self.num_timesteps == self._saved_steps:
            return
        target = self.folder.path.resolve() / f"checkpoint-{self.num_timesteps}-{time.time_ns()}"
        counts = {"steps": self.num_timesteps, "seconds": self.elapsed_seconds(), "snapshots": self.snapshots}
        try:
            self.algorithm.save_to_path(target)
            files.write_text(
                pointer_path(self.folder), json.dumps({"format": FORMAT, "checkpoint": target.name, **counts})
            )
        except OSError as error:
            raise ValueError(f"{target}: cannot be written ({error}); the previous checkpoint is unchanged") from None
        save_policy(self.folder.last, *self.export_policy())
        self._saved_steps = self.num_timesteps
        for other in target.parent.glob("checkpoint-*"):
            if other != target:
                shutil.rmtree(other, ignore_errors=True)

    def _restore(self, checkpoint: Path) -> None:
        try:
            self.algorithm.restore_from_path(checkpoint.resolve())
            self._set_weights(self.algorithm.learner_group.get_weights())
        except Exception as error:
            raise ValueError(f"--resume {checkpoint}: cannot be read ({' '.join(str(error).split())[:200]})") from None

    def close(self) -> None:
        """Stop RLlib's algorithm."""
        self.algorithm.stop()
        with contextlib.suppress(OSError):
            os.rmdir(self.algorithm.logdir)  # Ray creates it in the home folder and leaves it empty


def pointer_path(folder: RunFolder) -> Path:
    """Return the path of the file that names the current checkpoint."""
    return folder.path / "checkpoint.json"


def read_checkpoint(folder: RunFolder) -> tuple[Settings, dict[str, Any]]:
    """Return a run's settings and last checkpoint; raise a ValueError if it cannot be resumed."""
    path = pointer_path(folder)
    try:
        saved = json.loads(path.read_text())
        if saved["format"] != FORMAT:
            raise ValueError(f"not in the format {FORMAT}")
        settings = folder.config.read_text()
    except FileNotFoundError as error:
        raise ValueError(f"--resume {folder.path}: the folder contains no {Path(error.filename).name}") from None
    except (OSError, KeyError, TypeError, ValueError) as error:
        raise ValueError(f"--resume {path}: cannot be read ({' '.join(str(error).split())[:200]})") from None
    return parse_settings_json(settings, f"--resume {folder.config}"), saved


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


def main(arguments: list[str] | None = None) -> None:
    """Run the command."""
    chosen = make_parser().parse_args(arguments)
    if chosen.runners < 0:
        raise ValueError(f"--runners {chosen.runners}; allowed: 0 or more")
    saved = None
    if chosen.resume is not None:
        folder = find_run(chosen)
        settings, saved = read_checkpoint(folder)
    else:
        settings, folder = start_run(chosen, OUT_PREFIX)
    if names := list_unsupported(settings):
        print(f"ignored, not supported with RLlib: {', '.join(names)}", file=sys.stderr)
    try:
        connect(chosen.address, chosen.runners)
        training = Run(settings, folder, chosen.runners, saved)
        training.train()
        training.close()
    finally:
        ray.shutdown()
    if training.stop_requested:
        print(f"saved after {training.num_timesteps:,} steps; continue with:")
        print(f"python -m training.rllib --resume {folder.path} --runners {chosen.runners}")
        raise KeyboardInterrupt
    print(progress.format_results(training.rows[-1], settings.evaluation.opponents))
    print(f"\npolicy: {folder.last}, data: {folder.progress}")
    steps, seconds = training.updates
    if steps:
        times = ", ".join(f"{duration:.1f} s {name}" for name, duration in training.times.items())
        print(f"{steps / seconds:,.0f} steps/s; an update takes {times}")


if __name__ == "__main__":
    from training.rllib import main as start  # import by name: other processes look up its classes there

    sys.exit(run("rllib", start))
