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

import sys
from argparse import Namespace
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any

import torch
from sb3_contrib import MaskablePPO
from stable_baselines3.common.logger import configure
from threadpoolctl import threadpool_limits

from symphony9_env import files
from symphony9_env.arena.console import show_progress
from symphony9_env.arguments import Parser, run
from training.behaviour_cloning import clone_behaviour
from training.callbacks import TrainingCallback
from training.checkpoints import (
    Checkpoint,
    RunFolder,
    describe_kept,
    read_checkpoint,
    restore_checkpoint,
    resume,
    use_previous,
)
from training.config import Settings, list_settings, load_settings
from training.network import load_initial_weights, policy_class
from training.progress import format_results
from training.stopping import StopSignals
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


def train(
    settings: Settings, folder: RunFolder, checkpoint: Checkpoint | None = None, problem: str = ""
) -> TrainingCallback:
    """Train from the start or from a checkpoint, until all steps are done or a signal requests a stop.

    `problem` says why the checkpoint is not the last one. Raise an `InvalidCheckpointError` if it doesn't fit, and a
    ValueError if an agent outside this package gives no legal action or the disk is full; checkpoints are kept.
    """
    # Opponents decide in small batches, in which more BLAS threads only slow each other down.
    threadpool_limits(1, user_api="blas")
    torch.set_num_threads(settings.num_threads)
    with StopSignals() as signals, closing(SelfPlayVecEnv(settings, folder.pool)) as env:
        model = make_model(settings, env)
        callback = TrainingCallback(settings, folder, env, signals)
        callback.init_callback(model)
        if checkpoint is not None:
            restore_checkpoint(checkpoint, model, env)
            if problem:
                use_previous(folder.checkpoint, folder.previous, problem)
        try:
            _run(callback, checkpoint)
        except OSError as error:
            kept = describe_kept(folder.checkpoint, folder.previous)
            raise ValueError(f"{folder.path}: {error}; stopped, and {kept}") from None
    return callback


def _run(callback: TrainingCallback, checkpoint: Checkpoint | None) -> None:
    """Train, once the checkpoint is known to be valid."""
    model, folder, total = callback.model, callback.folder, callback.settings.total_steps
    files.make_folder(folder.pool)
    model.set_logger(configure(str(folder.path / "tensorboard"), ["tensorboard"]))
    if checkpoint is None:
        _start(callback)
    else:
        callback.restore(checkpoint.counters)
    remaining = total - model.num_timesteps
    with show_progress(total, total - max(remaining, 0), "steps") as callback.advance:
        if remaining > 0:
            model.learn(remaining, callback=callback, reset_num_timesteps=checkpoint is None)
        if not callback.stopped:
            callback.num_timesteps = model.num_timesteps
            callback.finish()


def _start(callback: TrainingCallback) -> None:
    """Run behaviour cloning, unless it is switched off, and give the pool the first policy."""
    settings = callback.settings
    if settings.start_from is None and settings.behaviour_cloning.agent is not None:
        try:
            with callback.signals.interruptible():
                clone_behaviour(callback.model, settings)
        except KeyboardInterrupt:
            print("\nstopped during behaviour cloning; nothing was saved", file=sys.stderr)
            raise
    callback.env.pool.set_latest(*callback.export_policy())


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


def read_new_settings(chosen: Namespace) -> Settings:
    """Return the settings of a new run."""
    seed = [] if chosen.seed is None else [f"seed={chosen.seed}"]
    return load_settings(chosen.config, [*chosen.overrides, *seed])


def find_run(chosen: Namespace, prefix: str = "") -> RunFolder:
    """Return the folder of the run to start or resume."""
    if chosen.resume is None:
        return RunFolder(chosen.out or Path("runs") / f"{prefix}{Path(chosen.config).stem}")
    if chosen.overrides or chosen.out or chosen.seed:
        raise ValueError("--resume cannot be combined with --out, --seed or settings: a run keeps those it has")
    if not Path(chosen.resume).is_dir():
        raise ValueError(f"--resume {chosen.resume}: no such folder")
    return RunFolder(chosen.resume)


def begin_run(settings: Settings, folder: RunFolder) -> None:
    """Write the settings of a new run to its folder, which must not contain one yet."""
    for name in ("checkpoint.*", "previous.*"):  # of this command or of `training.rllib`
        if any(folder.path.glob(name)):
            raise ValueError(f"--out {folder.path}: already contains a run; continue it with --resume {folder.path}")
    try:
        files.write_text(folder.config, settings.model_dump_json(indent=1) + "\n")
    except OSError as error:
        raise ValueError(f"--out {folder.config}: can't be written ({error.strerror or error})") from None


def train_from(folder: RunFolder, path: Path, problem: str) -> TrainingCallback:
    """Continue training from one of the folder's checkpoints; `problem` says why it is not the last one."""
    checkpoint = read_checkpoint(path)
    return train(checkpoint.settings, folder, checkpoint, problem)


def main(arguments: list[str] | None = None) -> None:
    """Run the command."""
    chosen = make_parser().parse_args(arguments)
    if chosen.list:
        print(list_settings())
        return
    settings = None if chosen.resume is not None else read_new_settings(chosen)
    folder = find_run(chosen)
    with folder.lock():
        if settings is None:
            callback = resume(folder.checkpoint, folder.previous, partial(train_from, folder))
        else:
            begin_run(settings, folder)
            callback = train(settings, folder)
    if callback.stopped:
        print(f"saved after {callback.saved_steps:,} steps; continue with:")
        print(f"python -m training.train --resume {folder.path}")
        callback.signals.stop()
    print(format_results(callback.rows[-1], callback.settings.evaluation.opponents))
    print(f"\npolicies: {folder.best}, {folder.last}\nlearning curve: {folder.curve}, data: {folder.progress}")


if __name__ == "__main__":
    sys.exit(run("train", main))
