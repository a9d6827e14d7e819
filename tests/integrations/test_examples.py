"""The examples of OpenSpiel, Kaggle, Inspect, TextArena, Minari, and of a process as an agent; each runs briefly."""

from __future__ import annotations

import re
import runpy
import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from symphony9_env.arena import benchmark

EXAMPLES = Path(__file__).parents[2] / "examples"


def main_of(example: str) -> Any:
    return runpy.run_path(str(EXAMPLES / example))["main"]


def test_openspiel_learners() -> None:
    pytest.importorskip("pyspiel")
    pytest.importorskip("torch")
    returns = main_of("openspiel_learners.py")(["--episodes", "10", "--simulations", "2", "--games", "4"])
    assert sorted(returns) in ([-1, 1], [0, 0])


@pytest.mark.parametrize("players", ["2", "3"])
def test_kaggle_game(players: str) -> None:
    pytest.importorskip("pyspiel")
    pytest.importorskip("kaggle_environments")
    rewards = main_of("kaggle_game.py")(["--opponent", "greedy", "--players", players])
    assert len(rewards) == int(players)
    assert sum(rewards) == pytest.approx(0)


@pytest.mark.parametrize("more", [[], ["--discussion", "--players", "2"]])
def test_textarena_game(more: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("textarena")
    rewards = main_of("textarena_game.py")(more)
    assert sum(rewards.values()) == pytest.approx(0)
    assert max(rewards.values()) > 0 or not any(rewards.values())
    assert ('says: "shall we?"' in capsys.readouterr().out) == bool(more)


def test_inspect_benchmark(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("inspect_ai")
    monkeypatch.setattr(benchmark, "LITE_GAMES", 2)
    monkeypatch.setattr(benchmark, "OPPONENTS", ("random",))
    row = main_of("inspect_benchmark.py")(["--logs", str(tmp_path)])
    assert (row["agent"], row["games"], row["forfeits"]) == ("mockllm/model", 2, 0)


def test_minari_dataset() -> None:
    pytest.importorskip("minari")
    pytest.importorskip("h5py")
    agreed = main_of("minari_dataset.py")(["--games", "5"])
    assert agreed > 0.4  # of some ten legal actions each


@pytest.mark.parametrize("library", ["torchrl", "d3rlpy"])
def test_offline_learners(library: str, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("minari")
    pytest.importorskip("h5py")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the libraries' own
        pytest.importorskip(library)
    monkeypatch.syspath_prepend(EXAMPLES)
    arguments = ["--games", "20", "--steps", "150", "--evaluate", "3"]
    losses, win_rate = main_of(f"{library}_offline.py")(arguments)
    assert np.mean(losses[-20:]) < 0.8 * np.mean(losses[:5])
    assert 0 <= win_rate <= 1


@pytest.mark.parametrize("library", ["kaggle_environments", "openenv", "pyspiel", "textarena", "trl", "verifiers"])
def test_the_code_in_the_docs_runs(library: str) -> None:
    pytest.importorskip(library)
    blocks = re.findall(r"```python\n(.*?)```", (EXAMPLES.parent / "docs" / "integrations.md").read_text(), flags=re.S)
    (block,) = [block for block in blocks if library in block]
    exec(block, {})


def test_stdio_agent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(benchmark, "LITE_GAMES", 2)
    monkeypatch.setattr(benchmark, "OPPONENTS", ("random",))
    agent = f"stdio:{sys.executable} {EXAMPLES / 'stdio_agent.py'}"
    with benchmark.Benchmark("2p-discussion", agent, tmp_path, lite=True, timeout=60) as made:
        made.play()
    assert [outcome.forfeit for outcome in made.outcomes] == [None, None]
