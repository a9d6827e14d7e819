"""Train a policy by self-play.

    python -m training.train --config configs/quick.yaml
    python -m training.train --config configs/standard.yaml --out runs/two game.num_players=2 seed=3 workers=1
    python -m training.train --resume runs/two
    python -m training.train --config configs/standard.yaml --out runs/wide --address HOST:6379 workers=8
    python -m training.train --list

The settings are those of `training/config.py`; `--list` shows them. A config contains the settings that differ from
their defaults, and `section.name=value` on the command line overrides it. A run saves a checkpoint from time to time
and on Ctrl-C; `--resume FOLDER` continues from there exactly as if it had not been stopped, or, with another number of
workers, with new games. The folder contains best.safetensors and last.safetensors (policies), progress.csv, curve.png,
and TensorBoard's events. With `--address`, the workers are on the machines of a Ray cluster; see docs/scaling.md.
"""

from __future__ import annotations

import sys
from argparse import Namespace
from pathlib import Path
from typing import Final

from symphony9_env import files
from symphony9_env.arguments import Parser, import_command, run
from training.checkpoints import Checkpoint, read_checkpoint, resume, use_previous
from training.config import MAX_WORKERS, Settings, list_settings, load_settings
from training.progress import format_results
from training.run import LocalRun, Outcome, RunFolder, check_log
from training.stopping import StopSignals
from training.trainer import Trainer
from training.workers import choose_device, count_workers, limit_threads, start_workers

WORKERS: Final = "workers="


def train(
    settings: Settings,
    folder: RunFolder,
    checkpoint: Checkpoint | None = None,
    problem: str = "",
    signals: StopSignals | None = None,
) -> Outcome:
    """Train on this machine, from the start or from a checkpoint, until all steps are done or a signal requests a stop.

    `problem` says why the checkpoint is not the last one. Raise an `InvalidCheckpointError` if it doesn't fit, and a
    ValueError if a worker is lost, an agent outside this package gives no legal action, or the disk is full;
    checkpoints are kept.
    """
    settings = settings.model_copy(update={"workers": count_workers(settings)})
    limit_threads(settings)
    with signals or StopSignals() as active:
        local = LocalRun(settings, folder, active)
        try:
            with start_workers(settings, None if checkpoint is None else checkpoint.path) as group:
                trainer = Trainer(settings, group, local, choose_device(settings, 0))
                try:
                    _train(trainer, local, checkpoint, problem)
                finally:
                    trainer.close()
        except OSError as error:
            raise ValueError(f"{folder.path}: {error}; stopped, and {folder.describe_kept()}") from None
        finally:
            local.close()
    return Outcome(settings, trainer.rows, trainer.saved_steps, trainer.stopped)


def _train(trainer: Trainer, local: LocalRun, checkpoint: Checkpoint | None, problem: str) -> None:
    if checkpoint is None:
        try:
            with local.interruptible():
                trainer.start()
        except KeyboardInterrupt:
            print("\nstopped before the first update; nothing was saved", file=sys.stderr)
            raise
    else:
        trainer.restore(checkpoint)
        if problem:
            use_previous(local.folder.checkpoint, local.folder.previous, problem)
    trainer.train()


def make_parser() -> Parser:
    """Return the parser of the command line."""
    parser = Parser("python -m training.train", __doc__)
    action = parser.add_mutually_exclusive_group(required=True)
    action.add_argument("--list", action="store_true", help="list all settings with their defaults")
    action.add_argument("--config", help="a YAML file with settings, such as configs/quick.yaml")
    action.add_argument("--resume", metavar="FOLDER", help="continue the run in this folder")
    parser.add_argument("--out", help="folder of the run (default: runs/ and the name of the config)")
    parser.add_argument("--seed", help="the same as seed=…")
    parser.add_argument("--address", metavar="HOST:PORT", help="train on a Ray cluster: its address, or auto")
    parser.add_argument("overrides", nargs="*", metavar="name=value", help="settings to override, such as seed=3")
    return parser


def read_new_settings(chosen: Namespace) -> Settings:
    """Return the settings of a new run."""
    seed = [] if chosen.seed is None else [f"seed={chosen.seed}"]
    return load_settings(chosen.config, [*chosen.overrides, *seed])


def read_workers(chosen: Namespace) -> int | None:
    """Return the number of workers to resume a run with; None for as many as before."""
    given = [text for text in chosen.overrides if not text.startswith(WORKERS)]
    if given or chosen.out or chosen.seed:
        raise ValueError(
            "--resume cannot be combined with --out, --seed or settings other than workers: a run keeps those it has"
        )
    if not chosen.overrides:
        return None
    count = chosen.overrides[-1].removeprefix(WORKERS)
    if not count.isdecimal() or not 1 <= int(count) <= MAX_WORKERS:
        raise ValueError(f"{WORKERS}{count}; allowed: a whole number from 1 to {MAX_WORKERS}")
    return int(count)


def find_run(chosen: Namespace) -> RunFolder:
    """Return the folder of the run to start or resume."""
    if chosen.resume is None:
        return RunFolder(chosen.out or Path("runs") / Path(chosen.config).stem)
    if not Path(chosen.resume).is_dir():
        raise ValueError(f"--resume {chosen.resume}: no such folder")
    return RunFolder(chosen.resume)


def begin_run(settings: Settings, folder: RunFolder) -> None:
    """Write the settings of a new run to its folder, which must not contain one yet."""
    if folder.checkpoint.exists() or folder.previous.exists():
        raise ValueError(f"--out {folder.path}: already contains a run; continue it with --resume {folder.path}")
    try:
        files.write_text(folder.config, settings.model_dump_json(indent=1) + "\n")
    except OSError as error:
        raise ValueError(f"--out {folder.config}: can't be written ({error.strerror or error})") from None


def start(
    chosen: Namespace,
    settings: Settings,
    folder: RunFolder,
    signals: StopSignals,
    checkpoint: Checkpoint | None = None,
    problem: str = "",
) -> Outcome:
    """Train on this machine, or on a cluster if its address was given."""
    check_log(settings)
    if chosen.address is None:
        return train(settings, folder, checkpoint, problem, signals)
    cluster = import_command("training.cluster", "cluster")
    outcome: Outcome = cluster.train_on_cluster(chosen.address, settings, folder, checkpoint, problem, signals)
    return outcome


def resume_run(chosen: Namespace, folder: RunFolder, signals: StopSignals) -> Outcome:
    """Continue the run in a folder."""
    workers = read_workers(chosen)

    def continue_from(path: Path, problem: str) -> Outcome:
        checkpoint = read_checkpoint(path)
        settings = checkpoint.settings
        if workers is not None:
            settings = settings.model_copy(update={"workers": workers})
        return start(chosen, settings, folder, signals, checkpoint, problem)

    return resume(folder.checkpoint, folder.previous, continue_from)


def main(arguments: list[str] | None = None) -> None:
    """Run the command."""
    chosen = make_parser().parse_args(arguments)
    if chosen.list:
        print(list_settings())
        return
    settings = None if chosen.resume is not None else read_new_settings(chosen)
    folder, signals = find_run(chosen), StopSignals()
    with folder.lock():
        if settings is None:
            outcome = resume_run(chosen, folder, signals)
        else:
            begin_run(settings, folder)
            outcome = start(chosen, settings, folder, signals)
    if outcome.stopped:
        print(f"saved after {outcome.saved_steps:,} steps; continue with:")
        print(f"python -m training.train --resume {folder.path}")
        signals.stop()
    print(format_results(outcome.rows[-1], outcome.settings.evaluation.opponents))
    print(f"\npolicies: {folder.best}, {folder.last}\nlearning curve: {folder.curve}, data: {folder.progress}")


if __name__ == "__main__":
    sys.exit(run("train", main))
