"""Fixtures for the tests of training runs."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.training.runs import SHORT, settings
from training import train
from training.checkpoints import read_checkpoint
from training.run import RunFolder


@pytest.fixture(scope="session")
def short(tmp_path_factory: pytest.TempPathFactory) -> RunFolder:
    """A complete short run."""
    folder = RunFolder(tmp_path_factory.mktemp("runs") / "short")
    train.train(settings(**SHORT), folder)
    return folder


@pytest.fixture
def copied(short: RunFolder, tmp_path: Path) -> RunFolder:
    """A copy of the short run, whose checkpoints are after 512 and after 256 steps."""
    shutil.copytree(short.path, tmp_path / "copy")
    folder = RunFolder(tmp_path / "copy")
    assert read_checkpoint(folder.checkpoint).counters.num_timesteps == 512
    assert read_checkpoint(folder.previous).counters.num_timesteps == 256
    return folder
