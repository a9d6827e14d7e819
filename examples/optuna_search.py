"""Optuna: search for a learning rate of the self-play training.

    pip install ".[train]" optuna
    python examples/optuna_search.py --trials 3

A trial is a complete training run in a folder of its own (training_trial.py). Trials of one process share PyTorch's
random numbers: run several processes on one Optuna storage, rather than threads (`n_jobs`), if results must be
reproducible.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence

import optuna
from training_trial import run_trial


def main(argv: Sequence[str] | None = None) -> optuna.Study:
    parser = argparse.ArgumentParser(description="Search for a learning rate with Optuna.")
    parser.add_argument("--trials", type=int, default=3)
    parser.add_argument("--steps", type=int, default=30_720, help="decisions per trial (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args(argv)

    study = optuna.create_study(direction="maximize", sampler=optuna.samplers.TPESampler(seed=args.seed))
    study.optimize(
        lambda trial: run_trial(trial.suggest_float("learning_rate", 1e-4, 3e-3, log=True), args.steps),
        n_trials=args.trials,
    )
    print(f"best: {study.best_value:.0%} wins against random with {study.best_params}")
    return study


if __name__ == "__main__":
    main()
