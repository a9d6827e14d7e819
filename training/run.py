"""A run as the user sees it: its folder, its progress on the terminal, its log, and the wish to stop.

Worker 0 uses it. On a cluster, worker 0 may be on another machine than the user: `training/cluster.py` then forwards
these calls to the machine on which the run was started.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack
from importlib.util import find_spec
from io import FileIO
from typing import Any, Final, NamedTuple, Protocol

from stable_baselines3.common.logger import KVWriter, Logger, TensorBoardOutputFormat

from symphony9_env import files
from symphony9_env.arena.console import Progress, show_progress
from training.config import Settings
from training.progress import Row
from training.stopping import StopSignals

CHECKPOINT: Final = "checkpoint.pt"
PREVIOUS: Final = "previous.pt"
BEST: Final = "best.safetensors"
LAST: Final = "last.safetensors"
PROGRESS: Final = "progress.csv"
CURVE: Final = "curve.png"


class RunFolder:
    """The files of a run; TensorBoard's events are in `tensorboard/`."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = files.make_folder(path)
        self.config = self.path / "config.json"
        self.checkpoint = self.path / CHECKPOINT
        self.previous = self.path / PREVIOUS
        self.best = self.path / BEST
        self.last = self.path / LAST
        self.progress = self.path / PROGRESS
        self.curve = self.path / CURVE

    def lock(self) -> FileIO:
        """Lock the folder against other runs until the file returned is closed; remove what killed runs left."""
        return files.lock_folder(self.path, "training run")

    def write(self, name: str, contents: bytes, previous: str | None = None) -> None:
        """Write a file atomically and durably; keep what was in it as `previous`, if that is given."""
        kept = None if previous is None else self.path / previous
        try:
            files.write(self.path / name, lambda draft: draft.write_bytes(contents), kept)
        except OSError as error:
            reason = f"can't be written ({error.strerror or error})"
            raise ValueError(f"{self.path / name}: {reason}; {self.describe_kept()}") from None

    def describe_kept(self) -> str:
        """Return what there is to resume after a failure, for its message."""
        is_kept = self.checkpoint.exists() or self.previous.exists()
        return "the last checkpoint is unchanged" if is_kept else "nothing is saved"


class Outcome(NamedTuple):
    """How a run, or a part of it, ended."""

    settings: Settings
    rows: Sequence[Row]  # all evaluations
    saved_steps: int  # steps at the last checkpoint
    stopped: bool  # whether it was stopped before its end


class Run(Protocol):
    """What worker 0 needs of a run."""

    def write(self, name: str, contents: bytes, previous: str | None = None) -> None:
        """Write a file of the run's folder atomically and durably, as `RunFolder.write` does."""

    def remove(self, name: str) -> None:
        """Remove a file of the run's folder, if it is there."""

    def log(self, values: dict[str, Any], step: int) -> None:
        """Write values to the log."""

    def begin(self, total: int, done: int, unit: str, label: str = "") -> None:
        """Begin to show the progress of a part of the run."""

    def show(self, done: int, notes: Mapping[str, str]) -> None:
        """Show how much of the current part has been done."""

    def announce(self, line: str) -> None:
        """Show a line besides the progress."""

    def should_stop(self) -> bool:
        """Return whether the user wants the run to stop."""

    def interruptible(self) -> AbstractContextManager[None]:
        """Let a wish to stop raise KeyboardInterrupt in this block at once."""


class LocalRun:
    """A run whose worker 0 is in the process that the user started."""

    def __init__(self, settings: Settings, folder: RunFolder, signals: StopSignals) -> None:
        self.folder = folder
        self.signals = signals
        self._display = ExitStack()
        self._progress: Progress | None = None
        self._shown = 0
        self._settings = settings
        self._writers: list[KVWriter] | None = None  # made when something is logged

    def write(self, name: str, contents: bytes, previous: str | None = None) -> None:
        self.folder.write(name, contents, previous)

    def remove(self, name: str) -> None:
        (self.folder.path / name).unlink(missing_ok=True)

    def log(self, values: dict[str, Any], step: int) -> None:
        if self._writers is None:
            self._writers = make_writers(self._settings, self.folder)
        for writer in self._writers:
            writer.write(values, dict.fromkeys(values, ()), step)

    def begin(self, total: int, done: int, unit: str, label: str = "") -> None:
        self.signals.has_begun = True
        self._display.close()
        self._progress = self._display.enter_context(show_progress(total, done, unit, label))
        self._shown = done

    def show(self, done: int, notes: Mapping[str, str]) -> None:
        if self._progress is not None:
            self._progress(done - self._shown, notes)
        self._shown = done

    def announce(self, line: str) -> None:
        if self._progress is None:
            print(line, file=sys.stderr, flush=True)
        else:
            self._progress.announce(line)

    def should_stop(self) -> bool:
        return self.signals.received is not None

    def interruptible(self) -> AbstractContextManager[None]:
        return self.signals.interruptible()

    def close(self) -> None:
        """Close the display and the log."""
        self._display.close()
        for writer in self._writers or ():
            writer.close()


class RunOutput(KVWriter):
    """stable-baselines3's output format that writes to a run."""

    def __init__(self, run: Run) -> None:
        self._run = run

    def write(self, key_values: dict[str, Any], key_excluded: dict[str, tuple[str, ...]], step: int = 0) -> None:
        self._run.log(key_values, step)

    def close(self) -> None:
        """The run closes its log itself."""


class WandbOutput(KVWriter):
    """stable-baselines3's output format for Weights & Biases."""

    def __init__(self, project: str, settings: Settings, folder: RunFolder) -> None:
        import wandb

        self._run = wandb.init(
            project=project, name=folder.path.name, dir=str(folder.path), config=settings.model_dump(mode="json")
        )

    def write(self, key_values: dict[str, Any], key_excluded: dict[str, tuple[str, ...]], step: int = 0) -> None:
        self._run.log(key_values, step=step)

    def close(self) -> None:
        self._run.finish()


def check_log(settings: Settings) -> None:
    """Raise a ValueError if what the settings want for the log is not installed."""
    if settings.wandb is not None and find_spec("wandb") is None:
        raise ValueError(f"wandb={settings.wandb}: Weights & Biases is not installed; pip install wandb")


def make_writers(settings: Settings, folder: RunFolder) -> list[KVWriter]:
    """Return what writes a run's log: TensorBoard, and Weights & Biases if the settings name a project."""
    check_log(settings)
    writers: list[KVWriter] = []
    if settings.wandb is not None:
        writers.append(WandbOutput(settings.wandb, settings, folder))
    return [TensorBoardOutputFormat(str(folder.path / "tensorboard")), *writers]


def make_logger(run: Run | None) -> Logger:
    """Return stable-baselines3's logger for a worker: to the run if it is worker 0, else to nowhere."""
    return Logger(None, [] if run is None else [RunOutput(run)])
