"""Optuna: search for a learning rate of the self-play training.

    pip install ".[train]" optuna
    python examples/optuna_search.py --trials 3

A trial is a complete training run in a folder of its own. Trials of one process share PyTorch's random numbers: run
several processes on one Optuna storage, rather than threads (`n_jobs`), if results must be reproducible.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import optuna

from training.config import parse_settings
from training.run import RunFolder
from training.train import train


def make_settings(learning_rate: float, steps: int) -> dict[str, Any]:
    return {
        "total_steps": steps,
        "workers": 1,
        "num_threads": 1,
        "game": {"num_players": 2},
        "network": {"kind": "mlp", "hidden": [64, 64]},
        "ppo": {"n_envs": 32, "n_steps": 32, "learning_rate": learning_rate, "learning_rate_end": learning_rate},
        "opponents": {"snapshot_every": steps},
        "evaluation": {"every": steps, "games": 200, "opponents": ["random"]},
        "behaviour_cloning": {"agent": None},
    }


def main(argv: Sequence[str] | None = None) -> optuna.Study:
    parser = argparse.ArgumentParser(description="Search for a learning rate with Optuna.")
    parser.add_argument("--trials", type=int, default=3)
    parser.add_argument("--steps", type=int, default=30_720, help="decisions per trial (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args(argv)

    def objective(trial: optuna.Trial) -> float:
        learning_rate = trial.suggest_float("learning_rate", 1e-4, 3e-3, log=True)
        with tempfile.TemporaryDirectory() as folder:
            settings = parse_settings(make_settings(learning_rate, args.steps), "the trial's settings")
            outcome = train(settings, RunFolder(Path(folder) / "run"))
        return outcome.rows[-1]["random"]

    study = optuna.create_study(direction="maximize", sampler=optuna.samplers.TPESampler(seed=args.seed))
    study.optimize(objective, n_trials=args.trials)
    print(f"best: {study.best_value:.0%} wins against random with {study.best_params}")
    return study


if __name__ == "__main__":
    main()
