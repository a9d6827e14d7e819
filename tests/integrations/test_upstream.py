"""Errors of other libraries that examples work around.

A test that fails here says that a library has corrected its error: then remove the work-around in the example, and what
docs/integrations.md says about it.
"""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from symphony9_env import records

minari = pytest.importorskip("minari")
pytest.importorskip("h5py")

from symphony9_env.integrations.minari import export  # noqa: E402

DATASET = "symphony9/test-v0"
RECORD = Path(__file__).parents[1] / "records" / "2p-0.json"

pytestmark = pytest.mark.filterwarnings("ignore")  # of the libraries


def import_library(name: str) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return pytest.importorskip(name)


@pytest.fixture
def dataset(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """A dataset of one game, with plain observations: two episodes."""
    monkeypatch.setenv("MINARI_DATASETS_PATH", str(tmp_path / "minari"))
    (tmp_path / "minari").mkdir()
    export([records.load(RECORD)], DATASET, box=True)
    return minari.load_dataset(DATASET)


def test_the_reader_of_torchrl_returns_only_zeros(dataset: Any, tmp_path: Path) -> None:
    """When this fails, TorchRL reads datasets: use its reader in examples/torchrl_offline.py."""
    library = import_library("torchrl.data.datasets.minari_data")
    read = library.MinariExperienceReplay(
        DATASET, batch_size=4, root=tmp_path / "torchrl", load_from_local_minari=True, download=False
    )
    assert len(read) == dataset.total_steps
    assert not read[:]["observation"].any()
    assert not read[:]["action"].any()
    assert not read[:]["next", "reward"].any()
    assert any(episode.actions.any() for episode in dataset.iterate_episodes())


def test_the_reader_of_d3rlpy_shifts_observations(dataset: Any) -> None:
    """When this fails, d3rlpy reads datasets: use `get_minari` in examples/d3rlpy_offline.py."""
    library = import_library("d3rlpy.datasets")
    read, _ = library.get_minari(DATASET)
    first, second = dataset.iterate_episodes()
    assert np.array_equal(read.episodes[0].observations, first.observations[:-1])
    assert np.array_equal(read.episodes[1].actions[:, 0], second.actions)
    assert np.array_equal(read.episodes[1].observations[0], first.observations[-1])
    assert np.array_equal(read.episodes[1].observations[1:], second.observations[: len(second) - 1])
