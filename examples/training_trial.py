"""A short training run as a trial, for the searches of optuna_search.py and ray_tune_search.py."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

from training.config import parse_settings
from training.run import RunFolder
from training.train import train


def make_settings(learning_rate: float, steps: int) -> dict[str, Any]:
    return {
        "total_steps": steps,
        "workers": 1,
        "game": {"num_players": 2},
        "network": {"kind": "mlp", "hidden": [64, 64]},
        "ppo": {"n_envs": 32, "n_steps": 32, "learning_rate": learning_rate, "learning_rate_end": learning_rate},
        "opponents": {"snapshot_every": steps},
        "evaluation": {"every": steps, "games": 200, "opponents": ["random"]},
        "behaviour_cloning": {"agent": None},
    }


def run_trial(learning_rate: float, steps: int) -> float:
    """Train in a folder of its own; return the share of games that are won against `random`."""
    with tempfile.TemporaryDirectory() as folder:
        settings = parse_settings(make_settings(learning_rate, steps), "the trial's settings")
        return float(train(settings, RunFolder(Path(folder) / "run")).rows[-1]["random"])
