"""The examples of BenchMARL, AgileRL, Optuna and Ray Tune run briefly, each where its library is installed."""

from __future__ import annotations

import importlib.util
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from symphony9_env.envs.checked import CheckedEnv
from symphony9_env.envs.single import SingleSeatEnv
from symphony9_env.envs.vector import Symphony9VectorEnv

EXAMPLES = Path(__file__).parents[2] / "examples"

pytestmark = pytest.mark.filterwarnings("ignore")  # of the libraries


def main_of(example: str, library: str, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Return the `main` of an example; an installed library that can't be imported fails the test."""
    if importlib.util.find_spec(library) is None:
        pytest.skip(f"{library} is not installed")
    spec = importlib.util.spec_from_file_location(example, EXAMPLES / f"{example}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    monkeypatch.syspath_prepend(EXAMPLES)  # some import each other
    monkeypatch.setitem(sys.modules, example, module)  # BenchMARL pickles the example's classes
    spec.loader.exec_module(module)
    return module.main


def refuse_illegal_moves(step: Any) -> Any:
    """Return `SingleSeatEnv.step` with a check; the environment would end the game at -1."""

    def checked(env: SingleSeatEnv, action: Any) -> Any:
        assert env.action_masks()[action], f"action {action} is illegal"
        return step(env, action)

    return checked


def test_benchmarl_task(monkeypatch: pytest.MonkeyPatch) -> None:
    main = main_of("benchmarl_task", "benchmarl", monkeypatch)
    monkeypatch.setattr(SingleSeatEnv, "step", refuse_illegal_moves(SingleSeatEnv.step))
    results = main(["--algorithms", "mappo,ippo,iql", "--frames", "2000", "--games", "4"])
    assert list(results) == ["mappo", "ippo", "iql"]
    for result in results.values():
        assert result.frames == 2000
        assert 0 <= result.win_rate <= 1


def test_agilerl_ppo(monkeypatch: pytest.MonkeyPatch) -> None:
    main = main_of("agilerl_ppo", "agilerl", monkeypatch)
    find_illegal = Symphony9VectorEnv._find_illegal

    def find_none(env: Symphony9VectorEnv, actions: Any) -> Any:
        found = find_illegal(env, actions)
        assert not found.any()
        return found

    monkeypatch.setattr(Symphony9VectorEnv, "_find_illegal", find_none)
    assert 0 <= main(["--steps", "4096", "--games", "20"]).win_rate <= 1


def test_agilerl_ippo(monkeypatch: pytest.MonkeyPatch) -> None:
    main = main_of("agilerl_ippo", "agilerl", monkeypatch)

    def refuse(env: CheckedEnv) -> None:
        raise AssertionError(f"{env.agent_selection} made an illegal move")

    monkeypatch.setattr(CheckedEnv, "_end_by_illegal_move", refuse)
    monkeypatch.setattr(SingleSeatEnv, "step", refuse_illegal_moves(SingleSeatEnv.step))
    result = main(["--steps", "512", "--games", "4"])
    assert result.learner.steps == 512  # several games
    assert 0 <= result.win_rate <= 1


def test_optuna_search(monkeypatch: pytest.MonkeyPatch) -> None:
    study = main_of("optuna_search", "optuna", monkeypatch)(["--trials", "2", "--steps", "2048"])
    assert len(study.trials) == 2
    assert all(0 <= trial.value <= 1 for trial in study.trials)


def test_ray_tune_search() -> None:
    """As a script, because Ray's processes import what it imports from its folder."""
    if importlib.util.find_spec("ray") is None:
        pytest.skip("ray is not installed")
    command = [sys.executable, str(EXAMPLES / "ray_tune_search.py"), "--trials", "1", "--steps", "2048"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert re.search(r"best: \d+% wins against random with {'learning_rate': 0\.00", done.stdout)
