"""The commands that play games with workers, with arguments by which they end soon."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import pytest

from evaluation import coalition, exploit
from evaluation.think_variants import TimedAgent
from symphony9_env.arena import benchmark, gate, tournament
from tests.arena.evaluations import SALT, shorten_evaluations

TWO_PLAYERS: Final = ["--num-players", "2"]
COMMANDS: Final[dict[str, tuple[Callable[[list[str]], object], list[str]]]] = {
    "tournament": (
        tournament.main,
        ["--agents", "random,greedy,planner", *TWO_PLAYERS, "--games", "60", "--records", "3"],
    ),
    "gate": (gate.main, ["planner", "greedy", *TWO_PLAYERS, "--h1", "20"]),
    "benchmark": (benchmark.main, ["--task", "2p-full", "--agent", "search:4", "--lite", "--salt", SALT]),
    "exploit": (
        exploit.main,
        ["--agent", "random", "--responses", "greedy,planner", *TWO_PLAYERS, "--trial-games", "8", "--games", "8"],
    ),
    "coalition": (coalition.main, ["greedy", "--num-players", "3", "--members", "search:2", "--games", "6"]),
}


def fix_circumstances(patch: pytest.MonkeyPatch) -> None:
    """Make evaluations short, and the times of decisions, which are measured, the same in every run."""
    shorten_evaluations(patch)
    patch.setattr(TimedAgent, "milliseconds", lambda timed: 1.0)


def run_in(folder: Path, patch: pytest.MonkeyPatch, command: str, *more: str) -> dict[str, Any]:
    """Run a command in a folder of its own, always with the same `--out`; return what may not depend on the workers.

    These are the contents of all files. A sequential test ends after the games that are being played when it is
    decided: its verdict and figures are the same, but not the number of games in its folder.
    """
    folder.mkdir(exist_ok=True)
    patch.chdir(folder)
    main, given = COMMANDS[command]
    main([*given, *more, "--out", "out"])
    files = read_folder(folder / "out")
    return {"gate": json.loads(files["results.json"])["gate"]} if command == "gate" else files


def read_folder(folder: Path) -> dict[str, bytes]:
    """Return the contents of all files in a folder, by their paths."""
    files = [path for path in folder.rglob("*") if path.is_file() and path.name != ".lock"]
    return {str(path.relative_to(folder)): path.read_bytes() for path in files}
