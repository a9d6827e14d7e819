"""Stable-Baselines3: train one seat against scripted agents with sb3-contrib's MaskablePPO.

    pip install ".[train]"
    python examples/sb3_plain.py --steps 50000

MaskablePPO calls `action_masks()` of the environment, so no wrapper is needed. This is the simplest way to start;
`python -m training.train` trains by self-play on batched games, many times as fast.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from sb3_contrib import MaskablePPO
from sb3_contrib.common.maskable.evaluation import evaluate_policy
from stable_baselines3.common.env_util import make_vec_env
from stable_baselines3.common.vec_env import VecEnv
from torch import nn

NUM_ENVS = 8


class TrainingResult(NamedTuple):
    model: MaskablePPO
    win_rate: float  # against the same opponents, with actions sampled from the policy


def make_envs(num_players: int, opponents: str, seed: int) -> VecEnv:
    """Make a DummyVecEnv; each environment is wrapped in a Monitor and has a seed of its own."""
    options = {"num_players": num_players, "opponents": opponents, "seat": "random"}
    return make_vec_env("symphony9_env:Symphony9-v0", n_envs=NUM_ENVS, seed=seed, env_kwargs=options)


def main(argv: Sequence[str] | None = None) -> TrainingResult:
    parser = argparse.ArgumentParser(description="MaskablePPO on one seat of Symphony No. 9.")
    parser.add_argument(
        "--steps", type=int, default=50_000, help="decisions of the learner to train on (default: %(default)s)"
    )
    parser.add_argument("--num-players", type=int, default=2, choices=(2, 3, 4))
    parser.add_argument(
        "--opponents", default="random", help="an agent, such as random or greedy (default: %(default)s)"
    )
    parser.add_argument("--games", type=int, default=200, help="games to evaluate on (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args(argv)

    envs = make_envs(args.num_players, args.opponents, args.seed)
    model = MaskablePPO(
        "MlpPolicy",
        envs,
        n_steps=128,
        batch_size=128,
        n_epochs=8,
        gamma=1.0,  # episodes are finite, and the only reward comes at the end
        ent_coef=0.003,
        policy_kwargs={"net_arch": [128, 128], "activation_fn": nn.ReLU},
        seed=args.seed,
        device="cpu",
        verbose=1,
    )
    model.learn(args.steps, log_interval=10)

    fresh = make_envs(args.num_players, args.opponents, args.seed + NUM_ENVS)
    rewards, _ = evaluate_policy(model, fresh, args.games, deterministic=False, return_episode_rewards=True)
    win_rate = float(np.mean(np.array(rewards) > 0))
    print(f"mean reward {np.mean(rewards):+.2f}")
    print(f"wins against {args.opponents}: {win_rate:.0%} of {args.games} games; par {1 / args.num_players:.0%}")
    return TrainingResult(model, win_rate)


if __name__ == "__main__":
    main()
