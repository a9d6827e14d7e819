"""Train a policy by self-play with RLlib on Ray, for those who outgrow one machine; docs/scaling.md tells how.

    python -m training.rllib --config configs/quick.yaml --runners 2
    python -m training.rllib --config configs/standard.yaml --out runs/wide --runners 16 --address auto
    python -m training.rllib --resume runs/wide --runners 8 --address auto

Settings are those of `training/config.py` (`python -m training.train --list` shows them). Runners play the games, on
any machine of the cluster; the network is trained in this process. Ctrl-C saves, and so does the run itself now and
then. In the folder: last.safetensors (the policy), progress.csv, pool/ (snapshots), checkpoint.json and its folder.
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
from symphony9_env.arena.console import Parser, run
from training.checkpoints import RunFolder
from training.config import Settings, load_settings
from training.network import begin_from, make_card, weights_of
from training.progress import Row, measured, read_progress, told, write_progress
from training.rllib_modules import DECISIONS, LEARNER, Seats, make_config
from training.train import shown, stop_on_interrupt

FORMAT: Final = "symphony9-rllib/1"
CODE: Final = [str(Path(__file__).parent.parent / name) for name in ("symphony9_env", "evaluation", "training")]


class Run:
    """RLlib's algorithm, and what happens between its updates: snapshots, evaluations, checkpoints."""

    def __init__(
        self, settings: Settings, folder: RunFolder, runners: int, saved: dict[str, Any] | None = None
    ) -> None:
        begun: dict[str, Any] = saved or {"steps": 0, "seconds": 0.0, "snapshots": 1}
        self.settings = settings
        self.folder = folder
        self.runners = self.up = runners
        self.num_timesteps: int = begun["steps"]
        self.seconds: float = begun["seconds"]  # spent training, over all sessions
        self.snapshots: int = begun["snapshots"]  # taken so far; the first is how the learner began
        self.rows = read_progress(folder.progress, self.num_timesteps)
        self.times = {"playing": 0.0, "learning": 0.0}  # seconds of an update, smoothed
        self.updates = [0, 0.0]  # decisions and seconds of this session's updates
        self.stop_asked = False
        self._begun = time.monotonic()
        self._saved_steps = -1
        torch.set_num_threads(settings.num_threads)
        self.past = Seats(settings.opponents, settings.game.num_players).past
        self.algorithm: PPO = make_config(settings, runners, self.num_timesteps).build_algo()
        if saved is None:
            self._begin()
        else:
            self._restore(folder.path / saved["checkpoint"])

    def _begin(self) -> None:
        learner = self.algorithm.get_module(LEARNER)
        begin_from(learner.policy, self.settings)
        self._put(dict.fromkeys([LEARNER, *self.past], learner.get_state()))

    def _put(self, weights: dict[str, Any]) -> None:
        """Give modules these weights, here and on all runners. RLlib's own way may leave out busy runners."""
        self.algorithm.learner_group.set_weights(weights)
        state = ray.put({COMPONENT_RL_MODULE: weights})
        group = self.algorithm.env_runner_group
        group.foreach_env_runner(lambda runner: runner.set_state(ray.get(state)), timeout_seconds=60)

    def train(self) -> None:
        """Until all decisions are made, or Ctrl-C asked to stop; saved in either case."""
        settings, saved_at = self.settings, -math.inf
        bar = tqdm(total=settings.total_steps, initial=self.num_timesteps, unit=" steps", unit_scale=True, disable=None)
        with bar, stop_on_interrupt(self):  # type: ignore[arg-type]
            while self.num_timesteps < settings.total_steps and not self.stop_asked:
                if time.monotonic() - saved_at > settings.save_every:
                    self.save()
                    saved_at = time.monotonic()
                self.update()
                if self.num_timesteps >= self.snapshots * settings.opponents.snapshot_every:
                    self.take_snapshot()
                if self.num_timesteps >= (len(self.rows) + 1) * settings.evaluation.every:
                    self.evaluate()
                bar.update(min(self.num_timesteps, settings.total_steps) - bar.n)
                bar.set_postfix(told(self.rows[-1]) if self.rows else {})
            if not self.stop_asked and (not self.rows or self.rows[-1]["steps"] < self.num_timesteps):
                self.evaluate()
            self.save()

    def update(self) -> None:
        """One update; runners that are lost, or back, are told."""
        begun = time.monotonic()
        result = self.algorithm.train()
        made = result.get(ENV_RUNNER_RESULTS, {}).get(DECISIONS, 0)
        decisions = 0 if math.isnan(made) else int(made)  # no number: no runner was there
        self.num_timesteps += decisions
        self.updates = [self.updates[0] + decisions, self.updates[1] + time.monotonic() - begun]
        for name, timer in (("playing", ENV_RUNNER_SAMPLING_TIMER), ("learning", LEARNER_UPDATE_TIMER)):
            self.times[name] = float(result.get(TIMERS, {}).get(timer, self.times[name]))
        up = self.algorithm.env_runner_group.num_healthy_remote_workers()
        if up != self.up:
            what = "training goes on with them" if up else "waiting for one"
            tqdm.write(f"{up} of {self.runners} runners are there; {what}", file=sys.stderr)
        self.up = up

    def take_snapshot(self) -> None:
        """Snapshots fill the frozen modules in turn; as long as there are too few of them, modules repeat them."""
        save_policy(self.folder.pool / f"step-{self.num_timesteps}.safetensors", *self.exported())
        weights = {name: self.algorithm.get_module(name).get_state() for name in [LEARNER, *self.past]}
        if self.past:
            weights[self.past[self.snapshots % len(self.past)]] = weights[LEARNER]
            known = self.past[: self.snapshots + 1]
            self._put({name: weights[known[place % len(known)]] for place, name in enumerate(self.past)})
        self.snapshots += 1

    def exported(self) -> tuple[Card, Weights]:
        """The learner as a policy."""
        about = {"steps": self.num_timesteps, "seconds": round(self.spent()), "runners": self.runners}
        card = make_card(self.settings, {**about, "settings": self.settings.model_dump(mode="json")})
        return card, weights_of(self.algorithm.get_module(LEARNER).policy)

    def spent(self) -> float:
        return self.seconds + time.monotonic() - self._begun

    def evaluate(self) -> None:
        """Matches against the fixed opponents on deals that are never trained on."""
        row: Row = {"steps": float(self.num_timesteps), "seconds": round(self.spent(), 1)}
        self.rows.append(row | measured(self.settings, *self.exported()))
        write_progress(self.folder.progress, self.rows)

    def save(self) -> None:
        """Into a folder of its own, to which checkpoint.json points when it is whole: a kill leaves the save before."""
        if self.num_timesteps == self._saved_steps:
            return
        target = self.folder.path.resolve() / f"checkpoint-{self.num_timesteps}-{time.time_ns()}"
        counts = {"steps": self.num_timesteps, "seconds": self.spent(), "snapshots": self.snapshots}
        try:
            self.algorithm.save_to_path(target)
            files.write_text(pointer(self.folder), json.dumps({"format": FORMAT, "checkpoint": target.name, **counts}))
        except OSError as error:
            raise ValueError(f"{target}: can't be written ({error}); the save before stands") from None
        save_policy(self.folder.last, *self.exported())
        self._saved_steps = self.num_timesteps
        for other in target.parent.glob("checkpoint-*"):
            if other != target:
                shutil.rmtree(other, ignore_errors=True)

    def _restore(self, checkpoint: Path) -> None:
        try:
            self.algorithm.restore_from_path(checkpoint.resolve())
            self._put(self.algorithm.learner_group.get_weights())
        except Exception as error:
            raise ValueError(f"--resume {checkpoint}: can't be read ({' '.join(str(error).split())[:200]})") from None

    def close(self) -> None:
        self.algorithm.stop()
        with contextlib.suppress(OSError):
            os.rmdir(self.algorithm.logdir)  # Ray makes it in the home folder and leaves it empty


def pointer(folder: RunFolder) -> Path:
    return folder.path / "checkpoint.json"


def read(folder: RunFolder) -> tuple[Settings, dict[str, Any]]:
    """A run's settings and last save; a ValueError says why there is none to go on from."""
    try:
        saved = json.loads(pointer(folder).read_text())
        if saved["format"] != FORMAT:
            raise ValueError(f"is no save of this version, {FORMAT}")
        return Settings.model_validate_json(folder.config.read_text()), saved
    except FileNotFoundError as error:
        raise ValueError(f"--resume {folder.path}: no {Path(error.filename).name} there") from None
    except (OSError, KeyError, TypeError, ValueError) as error:
        raise ValueError(f"--resume {pointer(folder)}: can't be read ({' '.join(str(error).split())[:200]})") from None


# The command.


def connect(address: str | None, runners: int) -> None:
    """Start Ray on this machine, or join a cluster and send our code to it."""
    logging.getLogger("ray.rllib").setLevel(logging.ERROR)
    quiet: dict[str, Any] = {"logging_level": logging.ERROR, "log_to_driver": False}
    if address is None:
        ray.init("local", num_cpus=max(runners, 1), include_dashboard=False, **quiet)
    else:
        try:
            host, _, port = address.rpartition(":")
            if port.isdecimal():  # Ray itself would try for minutes
                socket.create_connection((host.rpartition("/")[2], int(port)), timeout=10).close()
            ray.init(address=address, runtime_env={"py_modules": CODE}, **quiet)
        except (OSError, RuntimeError, ValueError) as error:
            raise ValueError(f"--address {address}: no Ray cluster there ({str(error).splitlines()[0]})") from None
    cores = ray.cluster_resources().get("CPU", 0)
    if runners > cores:
        raise ValueError(f"--runners {runners}: each needs a core; the cluster has {cores:g}")


def unused(settings: Settings) -> list[str]:
    """Settings that only `training.train` can follow."""
    given = {
        "opponents.fixed": any(settings.opponents.fixed.values()),
        "warm_start": settings.warm_start.agent is not None and settings.start_from is None,
        "reward.shaping": settings.reward.shaping > 0,
        "ppo.target_kl": settings.ppo.target_kl is not None,
    }
    return [name for name, is_given in given.items() if is_given]


def parser() -> Parser:
    made = Parser("python -m training.rllib", __doc__)
    what = made.add_mutually_exclusive_group(required=True)
    what.add_argument("--config", help="a YAML file with settings, such as configs/quick.yaml")
    what.add_argument("--resume", metavar="FOLDER", help="go on with the run in this folder")
    made.add_argument("--out", help="folder for the run (default: runs/rllib- and the name of the config)")
    made.add_argument("--runners", type=int, default=2, help="processes that play games; 0: this one (default: 2)")
    made.add_argument("--address", help="of an existing Ray cluster, or auto (default: Ray on this machine alone)")
    made.add_argument("changes", nargs="*", metavar="name=value", help="settings to change, such as seed=3")
    return made


def main(arguments: list[str] | None = None) -> None:
    chosen = parser().parse_args(arguments)
    if chosen.runners < 0:
        raise ValueError(f"--runners {chosen.runners}; allowed: 0 or more")
    saved = None
    if chosen.resume is not None:
        if chosen.changes or chosen.out:
            raise ValueError("--resume takes no settings and no --out: the run goes on as it began")
        if not Path(chosen.resume).is_dir():
            raise ValueError(f"--resume {chosen.resume}: no such folder")
        folder = RunFolder(chosen.resume)
        settings, saved = read(folder)
    else:
        settings = load_settings(chosen.config, chosen.changes)
        folder = RunFolder(chosen.out or Path("runs") / f"rllib-{Path(chosen.config).stem}")
        if pointer(folder).exists() or folder.checkpoint.exists():
            raise ValueError(f"--out {folder.path}: holds a run; --resume {folder.path} goes on with it")
        files.write_text(folder.config, settings.model_dump_json(indent=1) + "\n")
    if names := unused(settings):
        print(f"not used with RLlib: {', '.join(names)}", file=sys.stderr)
    try:
        connect(chosen.address, chosen.runners)
        training = Run(settings, folder, chosen.runners, saved)
        training.train()
        training.close()
    finally:
        ray.shutdown()
    if training.stop_asked:
        again = f"python -m training.rllib --resume {folder.path} --runners {chosen.runners}"
        print(f"saved after {training.num_timesteps:,} decisions; go on with: {again}")
        raise KeyboardInterrupt
    print(shown(training))  # type: ignore[arg-type]
    print(f"\npolicy: {folder.last}; figures: {folder.progress}")
    decisions, seconds = training.updates
    if decisions:
        times = ", ".join(f"{spent:.1f} s {name}" for name, spent in training.times.items())
        print(f"{decisions / seconds:,.0f} decisions/s; an update takes {times}")


if __name__ == "__main__":
    from training.rllib import main as start  # by its own name: other processes look for its classes there

    sys.exit(run("rllib", start))
