"""kaggle-environments: a game of an agent of your own against agents of this package.

    pip install ".[kaggle]" && pip install --no-deps "kaggle-environments>=1.33"
    python examples/kaggle_game.py --opponent planner --players 2

`decide` is what you would submit: a function of the observation.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Sequence
from typing import Any

import kaggle_environments

from symphony9_env.integrations.kaggle import NO_ACTION, environment_name, make_agent


def decide(observation: Any) -> dict[str, int]:
    """Take the cubes that cost nothing, bid 2 to 5, and pass otherwise."""
    if "legalActions" not in observation:  # before the deal
        return NO_ACTION
    named = dict(zip(observation.legalActionStrings, observation.legalActions, strict=True))
    wanted = [name for name in named if re.fullmatch(r"bid [2-5]|keep .*|pass", name)]
    return {"submission": named[(wanted or list(named))[-1]]}


def main(argv: Sequence[str] | None = None) -> list[float]:
    parser = argparse.ArgumentParser(description="A game of Symphony No. 9 in kaggle-environments.")
    parser.add_argument("--opponent", default="planner", help="an agent as `symphony9 tournament` takes it")
    parser.add_argument("--players", type=int, default=2, choices=(2, 3, 4))
    args = parser.parse_args(argv)

    env = kaggle_environments.make(environment_name(args.players))
    opponents = [make_agent(args.opponent, seed) for seed in range(args.players - 1)]
    final = env.run([decide, *opponents])[-1]
    print(final[0].observation.observationString)
    rewards = [one.reward for one in final]
    print(f"\nrewards: {rewards}; steps: {len(env.steps)}")
    return rewards


if __name__ == "__main__":
    main()
