"""TRL: the tools of a model that plays the game, called by a script.

    pip install ".[trl]"
    python examples/trl_game.py --games 2

To train a model instead, pass the same class and data set to the trainer:

    GRPOTrainer("Qwen/Qwen3-4B", args=GRPOConfig(max_completion_length=100_000),
                train_dataset=make_dataset(1000), environment_factory=Symphony9ToolEnv).train()
"""

from __future__ import annotations

import argparse
import functools
import random
import re
from collections.abc import Sequence

from symphony9_env.integrations.trl import Symphony9ToolEnv, make_dataset


def choose(question: str) -> str:
    """Read a question and pick one of its legal actions: a cube if it can, else anything."""
    names = re.findall(r"\d+ ([a-z][a-z0-9 ]*)", question.rpartition("Legal actions:")[2])
    choice: str = random.Random(question).choice([name for name in names if name.startswith("take")] or names)
    return choice


def main(argv: Sequence[str] | None = None) -> list[float]:
    parser = argparse.ArgumentParser(description="Games of Symphony No. 9 as TRL plays them.")
    parser.add_argument("--games", type=int, default=2)
    parser.add_argument("--seed", type=int, default=7, help="of the first game")
    args = parser.parse_args(argv)

    factory = functools.partial(Symphony9ToolEnv, num_players=2, opponents="planner")
    rewards = []
    for row in make_dataset(args.games, first_seed=args.seed):
        env = factory()
        text, calls = env.reset(**row), 0
        while "Legal actions:" in text:
            text, calls = env.play(action=choose(text)), calls + 1
        rewards.append(env.get_reward())
        print(f"seed {row['seed']}: {env.text_env.game.outcome} after {calls} calls; reward {rewards[-1]:+.2f}")
    return rewards


if __name__ == "__main__":
    main()
