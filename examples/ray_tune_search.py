"""Ray Tune: search for a learning rate of the self-play training.

    pip install ".[rllib]"
    python examples/ray_tune_search.py --trials 3

A trial is a complete training run (training_trial.py) in a process of its own. Ray Tune runs as many at a time as there
are processors.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Sequence

from ray import tune
from training_trial import run_trial


def main(argv: Sequence[str] | None = None) -> tune.ResultGrid:
    parser = argparse.ArgumentParser(description="Search for a learning rate with Ray Tune.")
    parser.add_argument("--trials", type=int, default=3)
    parser.add_argument("--steps", type=int, default=30_720, help="decisions per trial (default: %(default)s)")
    args = parser.parse_args(argv)

    def measure(config: dict[str, float]) -> dict[str, float]:
        return {"wins": run_trial(config["learning_rate"], args.steps)}

    with tempfile.TemporaryDirectory() as folder:
        tuner = tune.Tuner(
            measure,
            param_space={"learning_rate": tune.loguniform(1e-4, 3e-3)},
            tune_config=tune.TuneConfig(metric="wins", mode="max", num_samples=args.trials),
            run_config=tune.RunConfig(storage_path=folder, verbose=0),
        )
        results = tuner.fit()
    best = results.get_best_result()
    print(f"best: {best.metrics['wins']:.0%} wins against random with {best.config}")
    return results


if __name__ == "__main__":
    main()
