"""The examples of BenchMARL, AgileRL and Optuna, each in an environment of its own, run briefly."""

from __future__ import annotations

import math
import runpy
from pathlib import Path
from typing import Any

import pytest

EXAMPLES = Path(__file__).parents[2] / "examples"


def main_of(example: str) -> Any:
    return runpy.run_path(str(EXAMPLES / example))["main"]


@pytest.mark.filterwarnings("ignore")
def test_benchmarl_task() -> None:
    pytest.importorskip("benchmarl")
    assert main_of("benchmarl_task.py")(["--algorithms", "ippo", "--frames", "2000"]) == {"ippo": 2000}


@pytest.mark.filterwarnings("ignore")
def test_agilerl_ppo() -> None:
    pytest.importorskip("agilerl.algorithms")
    assert math.isfinite(main_of("agilerl_ppo.py")(["--steps", "2048"]))


@pytest.mark.filterwarnings("ignore")
def test_optuna_search() -> None:
    pytest.importorskip("optuna")
    study = main_of("optuna_search.py")(["--trials", "2", "--steps", "2048"])
    assert len(study.trials) == 2
    assert all(0 <= trial.value <= 1 for trial in study.trials)
