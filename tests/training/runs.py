"""Short training runs, for their tests."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from symphony9_env import agents
from symphony9_env.arguments import run
from training import train
from training.config import Settings, parse_settings
from training.run import RunFolder

TINY: dict[str, Any] = {
    "total_steps": 1024,
    "workers": 1,
    "num_threads": 1,
    "game": {"num_players": 3},
    "network": {"hidden": [8, 8, 8]},
    "ppo": {"n_envs": 16, "n_steps": 16, "batch_size": 64, "n_epochs": 2},
    "opponents": {"snapshot_every": 256, "max_snapshots": 2},
    "evaluation": {"every": 512, "games": 6, "opponents": ["random"]},
    "behaviour_cloning": {"agent": None},
}
SHORT: dict[str, Any] = {"total_steps": 512, "save_every": 1e-9}  # two updates, with a checkpoint before each


def settings(**changes: Any) -> Settings:
    return parse_settings({**TINY, **changes}, "test")


def weights(path: Path) -> dict[str, Any]:
    return agents.load_policy(path)[1]


def same(one: Path, other: Path) -> bool:
    first, second = weights(one), weights(other)
    return all(np.array_equal(first[name], second[name]) for name in first)


def steps(folder: RunFolder) -> list[str]:
    """The first column of progress.csv."""
    head, *lines = folder.progress.read_text().splitlines()
    assert head == "steps,seconds,random,random_low,random_high"
    assert all(line.count(",") == 4 for line in lines)
    return [line.split(",")[0] for line in lines]


def resume(folder: Path, capsys: pytest.CaptureFixture[str]) -> tuple[int, str]:
    """Resume a run in this process; return the exit status and what it said on standard error."""
    capsys.readouterr()
    status = run("train", lambda: train.main(["--resume", str(folder)]))
    return status, capsys.readouterr().err


def read_tree(folder: Path) -> dict[str, bytes]:
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file() and path.name != ".lock"
    }


class FakeWandb:
    """A module `wandb` in a folder, which keeps how it is called in a file, because a cluster has other processes."""

    _CODE = """
import json
from pathlib import Path

def note(*call):
    with Path(__file__).with_name("calls.txt").open("a") as file:
        file.write(json.dumps(call, default=float) + "\\n")

class Run:
    def log(self, values, step):
        note("log", values, step)

    def finish(self):
        note("finish")

def init(**options):
    note("init", options)
    return Run()
"""

    def __init__(self, folder: Path) -> None:
        self._calls = folder / "calls.txt"
        (folder / "wandb.py").write_text(self._CODE)

    def calls(self) -> list[Any]:
        """Return the calls so far: the name of the function and its arguments."""
        return [json.loads(line) for line in self._calls.read_text().splitlines()]
