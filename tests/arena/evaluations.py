"""Evaluations of the benchmark, for its tests."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from symphony9_env.arena import benchmark
from symphony9_env.arena.benchmark import Benchmark

SALT = "00ff"


def shorten_evaluations(patch: pytest.MonkeyPatch) -> None:
    """Make an evaluation one of four games, until the patch is undone."""
    patch.setattr(benchmark, "LITE_GAMES", 2)
    patch.setattr(benchmark, "OPPONENTS", ("greedy", "random"))


def evaluate(agent: str, out: Path, timeout: float = 20.0, salt: str | None = None) -> Benchmark:
    with Benchmark("2p", agent, out, lite=True, timeout=timeout, salt=salt) as made:
        made.run()
    return made


def read_results(folder: Path) -> dict[str, object]:
    results: dict[str, object] = json.loads((folder / "results.json").read_text())
    return results
