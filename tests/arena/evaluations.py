"""Evaluations of the benchmark, for its tests."""

from __future__ import annotations

import json
from pathlib import Path

from symphony9_env.arena.benchmark import Benchmark

SALT = "00ff"


def evaluate(agent: str, out: Path, timeout: float = 20.0, salt: str | None = None) -> Benchmark:
    with Benchmark("2p", agent, out, lite=True, timeout=timeout, salt=salt) as made:
        made.run()
    return made


def read_results(folder: Path) -> dict[str, object]:
    results: dict[str, object] = json.loads((folder / "results.json").read_text())
    return results
