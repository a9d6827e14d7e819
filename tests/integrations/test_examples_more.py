"""The examples of BenchMARL, AgileRL and Optuna, each in an environment of its own, run briefly."""

from __future__ import annotations

import importlib.util
import math
import sys
from pathlib import Path
from typing import Any

import pytest

EXAMPLES = Path(__file__).parents[2] / "examples"


def main_of(example: str, monkeypatch: pytest.MonkeyPatch) -> Any:
    spec = importlib.util.spec_from_file_location(example, EXAMPLES / f"{example}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, example, module)  # BenchMARL pickles the example's classes
    spec.loader.exec_module(module)
    return module.main


@pytest.mark.filterwarnings("ignore")
def test_benchmarl_task(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("benchmarl")
    assert main_of("benchmarl_task", monkeypatch)(["--algorithms", "ippo", "--frames", "2000"]) == {"ippo": 2000}


@pytest.mark.filterwarnings("ignore")
def test_agilerl_ppo(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("agilerl.algorithms")
    assert math.isfinite(main_of("agilerl_ppo", monkeypatch)(["--steps", "2048"]))


@pytest.mark.filterwarnings("ignore")
def test_optuna_search(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("optuna")
    study = main_of("optuna_search", monkeypatch)(["--trials", "2", "--steps", "2048"])
    assert len(study.trials) == 2
    assert all(0 <= trial.value <= 1 for trial in study.trials)
