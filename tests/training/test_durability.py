"""Runs survive kills, power cuts and full disks, and a folder takes one run at a time."""

from __future__ import annotations

import errno
import os
import shutil
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import yaml

from symphony9_env.arguments import run
from symphony9_env.options import Variant
from tests.power_cut import record_syncs
from tests.training.runs import SHORT, TINY, read_tree, resume, same, settings, steps
from training import best_response, progress, train, trainer
from training.checkpoints import read_checkpoint
from training.run import RunFolder
from training.trainer import Trainer

linux_only = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="uses /proc")


@linux_only
def test_a_kill_or_power_cut_at_any_moment_loses_nothing_that_was_saved(
    short: RunFolder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    root = tmp_path / "disk"
    root.mkdir()
    saved = [-1]
    moments: list[tuple[Path, int]] = []
    save, replace = Trainer.save, os.replace

    def record_save(trainer: Trainer) -> None:
        save(trainer)
        saved.append(trainer.saved_steps)

    with record_syncs(root) as disk:
        sync = disk.sync

        def keep(copy: Path) -> None:
            moments.append((copy, saved[-1]))

        def record_power_cut(descriptor: int) -> None:
            sync(descriptor)
            keep(disk.restore(tmp_path / f"power cut {len(moments)}"))

        def record_kill(source: Any, target: Any) -> None:
            replace(source, target)
            keep(shutil.copytree(root, tmp_path / f"kill {len(moments)}"))

        disk.sync = record_power_cut  # type: ignore[method-assign]
        monkeypatch.setattr(os, "replace", record_kill)
        monkeypatch.setattr(Trainer, "save", record_save)
        train.train(settings(**SHORT), RunFolder(root / "run"))
    monkeypatch.undo()
    assert saved == [-1, 0, 256, 512]
    assert len(moments) > 30
    different = {key: (copy, steps_saved) for copy, steps_saved in moments if (key := resumed_files(copy / "run"))}
    assert len(different) == 5  # three checkpoints, and twice between two renamings only the previous one
    for copy, steps_saved in different.values():  # of equal ones the last, when most had been acknowledged
        if steps_saved >= 0:
            check_resumed(copy / "run", steps_saved, short, capsys)


def resumed_files(folder: Path) -> frozenset[tuple[str, bytes]]:
    """What resuming depends on."""
    return frozenset(item for item in read_tree(folder).items() if item[0].endswith(".pt"))


def check_resumed(copy: Path, steps_saved: int, short: RunFolder, capsys: pytest.CaptureFixture[str]) -> None:
    folder = RunFolder(copy)
    last = folder.checkpoint if folder.checkpoint.exists() else folder.previous
    assert read_checkpoint(last).counters.num_timesteps >= steps_saved, copy
    status, error = resume(copy, capsys)
    assert status == 0, error
    assert same(folder.last, short.last)
    assert steps(folder) == ["0.0", "512.0"]
    assert not list(copy.rglob("*.tmp"))


@pytest.mark.parametrize("num_writes", range(0, 22, 3))
def test_a_full_disk_stops_a_run_in_one_line_and_leaves_its_checkpoint(
    short: RunFolder,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    num_writes: int,
) -> None:
    folder = RunFolder(tmp_path / "run")
    config = tmp_path / "tiny.yaml"
    config.write_text(yaml.safe_dump({**TINY, **SHORT}))
    saved = [-1]
    num_left = num_writes
    save, sync = Trainer.save, os.fsync

    def fill_up(descriptor: int) -> None:
        nonlocal num_left
        if num_left == 0:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        num_left -= 1
        sync(descriptor)

    def record_save(trainer: Trainer) -> None:
        save(trainer)
        saved.append(trainer.saved_steps)

    monkeypatch.setattr(os, "fsync", fill_up)
    monkeypatch.setattr(Trainer, "save", record_save)
    assert run("train", lambda: train.main(["--config", str(config), "--out", str(folder.path)])) == 2
    monkeypatch.undo()
    *_, line = capsys.readouterr().err.splitlines()
    assert "No space left on device" in line
    assert str(folder.path) in line
    if saved[-1] >= 0:
        check_resumed(folder.path, saved[-1], short, capsys)


@pytest.mark.parametrize(("module", "name"), [(trainer, "pack"), (progress, "format_progress")])
def test_a_disk_that_is_full_before_the_first_checkpoint_leaves_nothing_and_the_error_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, module: ModuleType, name: str
) -> None:
    def fill_up(*_: Any) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(module, name, fill_up)
    with pytest.raises(ValueError, match=r"No space left on device.*nothing is saved$"):
        train.train(settings(**SHORT), RunFolder(tmp_path / "run"))


@pytest.mark.parametrize("is_finished", [False, True])
def test_progress_is_that_of_the_checkpoint(
    short: RunFolder, copied: RunFolder, capsys: pytest.CaptureFixture[str], is_finished: bool
) -> None:
    """Rows that were written after the checkpoint, or only in part, are gone after resuming."""
    if not is_finished:
        os.replace(copied.previous, copied.checkpoint)
    copied.progress.write_text(copied.progress.read_text() + "768.0,1.0,0.5,0.4,0.6\n768.0,1.")
    status, error = resume(copied.path, capsys)
    assert status == 0, error
    assert steps(copied) == steps(short)


def test_a_second_run_in_the_same_folder_is_refused(copied: RunFolder, tmp_path: Path) -> None:
    config = tmp_path / "tiny.yaml"
    config.write_text(yaml.safe_dump(TINY))
    before = read_tree(copied.path)
    with copied.lock():
        for start in (
            lambda: train.main(["--resume", str(copied.path)]),
            lambda: train.main(["--config", str(config), "--out", str(copied.path)]),
            lambda: best_response.train_response("greedy", Variant(num_players=3), copied.path, 256, 0),
        ):
            with pytest.raises(ValueError, match="another training run is using this folder"):
                start()
    assert read_tree(copied.path) == before


def test_resuming_removes_the_temporary_files_of_runs_that_were_killed(
    copied: RunFolder, capsys: pytest.CaptureFixture[str]
) -> None:
    (copied.path / ".last.safetensors.0123abcd.tmp").touch()
    status, error = resume(copied.path, capsys)
    assert status == 0, error
    assert not list(copied.path.rglob("*.tmp"))
