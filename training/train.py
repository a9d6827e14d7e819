"""Train a policy by self-play.

    python -m training.train --config configs/quick.yaml
    python -m training.train --config configs/standard.yaml --out runs/two game.num_players=2 seed=3
    python -m training.train --resume runs/two
    python -m training.train --list

The settings are those of `training/config.py`; `--list` shows them. A config contains the settings that differ from
their defaults, and `section.name=value` on the command line overrides it. A run saves a checkpoint from time to time
and on Ctrl-C; `--resume FOLDER` continues from there exactly as if it had not been stopped. The folder contains
best.safetensors and last.safetensors (policies), progress.csv, curve.png, and TensorBoard's events.
"""

from __future__ import annotations

import signal
import sys
from argparse import Namespace
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from types import FrameType
from typing import Any, Protocol

import torch
from sb3_contrib import MaskablePPO
from stable_baselines3.common.logger import configure
from threadpoolctl import threadpool_limits
from tqdm import tqdm

from symphony9_env import files
from symphony9_env.arguments import Parser, run
from training.behaviour_cloning import clone_behaviour
from training.callbacks import TrainingCallback
from training.checkpoints import RunFolder, read_checkpoint, read_settings, restore_checkpoint
from training.config import Settings, list_settings, load_settings
from training.network import load_initial_weights, policy_class
from training.progress import format_results
from training.vec_env import SelfPlayVecEnv


def make_model(settings: Settings, env: SelfPlayVecEnv) -> MaskablePPO:
    """Return a new model, with the weights of `start_from` if it is set."""
    ppo = settings.ppo
    decay = ppo.learning_rate - ppo.learning_rate_end
    policy, policy_kwargs = policy_class(settings)
    model = MaskablePPO(
        policy,
        env,
        learning_rate=lambda remaining: ppo.learning_rate_end + decay * remaining,
        n_steps=ppo.n_steps,
        batch_size=ppo.batch_size,
        n_epochs=ppo.n_epochs,
        gamma=ppo.gamma,
        gae_lambda=ppo.gae_lambda,
        clip_range=ppo.clip_range,
        ent_coef=ppo.ent_coef,
        vf_coef=ppo.vf_coef,
        max_grad_norm=ppo.max_grad_norm,
        target_kl=ppo.target_kl,
        policy_kwargs=policy_kwargs,
        seed=settings.seed % 2**32,
        device="cpu",
    )
    load_initial_weights(model.policy, settings)
    return model


def train(settings: Settings, folder: RunFolder, checkpoint: dict[str, Any] | None = None) -> TrainingCallback:
    """Train from the start or from a checkpoint, until all steps are done or Ctrl-C requests a stop.

    Raise a ValueError if an agent outside this package gives no legal action; the last checkpoint is kept.
    """
    # Opponents decide in small batches, in which more BLAS threads only slow each other down.
    threadpool_limits(1, user_api="blas")
    torch.set_num_threads(settings.num_threads)
    with (
        closing(SelfPlayVecEnv(settings, folder.pool)) as env,
        tqdm(total=settings.total_steps, unit=" steps", unit_scale=True, disable=None, smoothing=0.05) as bar,
    ):
        model = make_model(settings, env)
        model.set_logger(configure(str(folder.path / "tensorboard"), ["tensorboard"]))
        callback = TrainingCallback(settings, folder, env, bar)
        callback.init_callback(model)
        if checkpoint is None:
            _start(model, callback, settings)
        else:
            callback.load_state_dict(restore_checkpoint(checkpoint, model, env), model.num_timesteps)
        with stop_on_interrupt(callback):
            remaining = settings.total_steps - model.num_timesteps
            if remaining > 0:
                model.learn(remaining, callback=callback, reset_num_timesteps=checkpoint is None)
            if not callback.stopped:
                callback.num_timesteps = model.num_timesteps
                callback.finish()
    return callback


def _start(model: MaskablePPO, callback: TrainingCallback, settings: Settings) -> None:
    """Run behaviour cloning, unless it is switched off, and give the pool the first policy."""
    if settings.start_from is None and settings.behaviour_cloning.agent is not None:
        try:
            clone_behaviour(model, settings)
        except KeyboardInterrupt:
            print("\nstopped during behaviour cloning; nothing was saved", file=sys.stderr)
            raise
    callback.env.pool.set_latest(*callback.export_policy())


class Stoppable(Protocol):
    """A run that checks between two updates whether to stop."""

    stop_requested: bool


@contextmanager
def stop_on_interrupt(training: Stoppable) -> Iterator[None]:
    """Stop after the current update on the first Ctrl-C, and at once on the second."""

    def handle(_signal: int, _frame: FrameType | None) -> None:
        if training.stop_requested:
            raise KeyboardInterrupt
        training.stop_requested = True
        print("\nstopping after this update; press Ctrl-C again to stop at once without saving", file=sys.stderr)

    previous = signal.signal(signal.SIGINT, handle)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, previous)


def make_parser() -> Parser:
    """Return the parser of the command line."""
    parser = Parser("python -m training.train", __doc__)
    action = parser.add_mutually_exclusive_group(required=True)
    action.add_argument("--list", action="store_true", help="list all settings with their defaults")
    add_run_arguments(parser, action)
    return parser


def add_run_arguments(parser: Parser, action: Any, prefix: str = "") -> None:
    """Add the arguments that start or resume a run; `action` is the group of those that say what to do.

    By default the folder of a run has the name of the config, after the prefix.
    """
    action.add_argument("--config", help="a YAML file with settings, such as configs/quick.yaml")
    action.add_argument("--resume", metavar="FOLDER", help="continue the run in this folder")
    parser.add_argument("--out", help=f"folder of the run (default: runs/{prefix} and the name of the config)")
    parser.add_argument("--seed", help="the same as seed=…")
    parser.add_argument("overrides", nargs="*", metavar="name=value", help="settings to override, such as seed=3")


def start_run(chosen: Namespace, prefix: str = "") -> tuple[Settings, RunFolder]:
    """Return the settings of a new run and its folder, in which the settings are written."""
    seed = [] if chosen.seed is None else [f"seed={chosen.seed}"]
    settings = load_settings(chosen.config, [*chosen.overrides, *seed])
    folder = RunFolder(chosen.out or Path("runs") / f"{prefix}{Path(chosen.config).stem}")
    if any(folder.path.glob("checkpoint.*")):  # of this command or of `training.rllib`
        raise ValueError(f"--out {folder.path}: already contains a run; continue it with --resume {folder.path}")
    files.write_text(folder.config, settings.model_dump_json(indent=1) + "\n")
    return settings, folder


def find_run(chosen: Namespace) -> RunFolder:
    """Return the folder of the run to resume."""
    if chosen.overrides or chosen.out or chosen.seed:
        raise ValueError("--resume cannot be combined with --out, --seed or settings: a run keeps those it has")
    if not Path(chosen.resume).is_dir():
        raise ValueError(f"--resume {chosen.resume}: no such folder")
    return RunFolder(chosen.resume)


def main(arguments: list[str] | None = None) -> None:
    """Run the command."""
    chosen = make_parser().parse_args(arguments)
    if chosen.list:
        print(list_settings())
        return
    checkpoint = None
    if chosen.resume is not None:
        folder = find_run(chosen)
        checkpoint = read_checkpoint(folder)
        settings = read_settings(checkpoint, folder)
    else:
        settings, folder = start_run(chosen)
    callback = train(settings, folder, checkpoint)
    if callback.stopped:
        print(f"saved after {callback.saved_steps:,} steps; continue with:")
        print(f"python -m training.train --resume {folder.path}")
        raise KeyboardInterrupt
    print(format_results(callback.rows[-1], settings.evaluation.opponents))
    print(f"\npolicies: {folder.best}, {folder.last}\nlearning curve: {folder.curve}, data: {folder.progress}")


if __name__ == "__main__":
    sys.exit(run("train", main))
