"""Stable-Baselines3: train one seat against scripted agents with sb3-contrib's MaskablePPO.

    pip install ".[sb3]"
    python examples/sb3_plain.py --steps 200000

`Symphony9VecEnv` plays all games of a step in one call. MaskablePPO asks it for `action_masks()`, so no wrapper is
needed. This is the simplest way to start; `python -m training.train` trains by self-play.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import torch
from sb3_contrib import MaskablePPO
from sb3_contrib.common.maskable.evaluation import evaluate_policy

from symphony9_env.integrations.sb3 import Symphony9VecEnv

NUM_ENVS = 64


class TrainingResult(NamedTuple):
    model: MaskablePPO
    win_rate: float  # against the same opponents, with actions sampled from the policy


def main(argv: Sequence[str] | None = None) -> TrainingResult:
    parser = argparse.ArgumentParser(description="MaskablePPO on one seat of Symphony No. 9.")
    parser.add_argument(
        "--steps", type=int, default=200_000, help="decisions of the learner to train on (default: %(default)s)"
    )
    parser.add_argument("--num-players", type=int, default=2, choices=(2, 3, 4))
    parser.add_argument(
        "--opponents", default="random", help="an agent, such as random or greedy (default: %(default)s)"
    )
    parser.add_argument("--games", type=int, default=1000, help="games to evaluate on (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args(argv)

    torch.set_num_threads(1)
    envs = Symphony9VecEnv(NUM_ENVS, num_players=args.num_players, opponents=args.opponents)
    model = MaskablePPO(
        "MlpPolicy",
        envs,
        learning_rate=1e-3,
        n_steps=32,
        batch_size=512,
        n_epochs=4,
        gamma=1.0,  # episodes are finite, and the only reward comes at the end
        ent_coef=0.003,
        policy_kwargs={"net_arch": [128, 128], "activation_fn": torch.nn.ReLU},
        seed=args.seed,
        device="cpu",
        verbose=1,
    )
    model.learn(args.steps, log_interval=10)

    envs.seed(args.seed + 2**32)  # games that were not played in training
    rewards, _ = evaluate_policy(model, envs, args.games, deterministic=False, return_episode_rewards=True, warn=False)
    win_rate = float(np.mean(np.array(rewards) > 0))
    print(f"mean reward {np.mean(rewards):+.2f}")
    print(f"wins against {args.opponents}: {win_rate:.0%} of {args.games} games; par {1 / args.num_players:.0%}")
    return TrainingResult(model, win_rate)


if __name__ == "__main__":
    main()
