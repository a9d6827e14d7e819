"""One seat against scripted players, with sb3-contrib's MaskablePPO as it comes.

    pip install "symphony9-env[train]"
    python examples/sb3_plain.py --steps 50000

sb3-contrib asks the environment for `action_masks()`, so nothing has to be wrapped. This is the short way to start:
`python -m training.train` learns by self-play over batched games, many times as fast.
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


class Trained(NamedTuple):
    model: MaskablePPO
    win_rate: float  # against the same opponents, actions drawn from the policy


def make_envs(num_players: int, opponents: str, seed: int) -> VecEnv:
    """A DummyVecEnv; each environment is in a Monitor and has a seed of its own."""
    options = {"num_players": num_players, "opponents": opponents, "seat": "random"}
    return make_vec_env("symphony9_env:Symphony9-v0", n_envs=NUM_ENVS, seed=seed, env_kwargs=options)


def main(argv: Sequence[str] | None = None) -> Trained:
    parser = argparse.ArgumentParser(description="MaskablePPO on one seat of Symphony No. 9.")
    parser.add_argument("--steps", type=int, default=50_000, help="own decisions to learn from (default: %(default)s)")
    parser.add_argument("--num-players", type=int, default=2, choices=(2, 3, 4))
    parser.add_argument("--opponents", default="random", help="random, greedy, ... (default: %(default)s)")
    parser.add_argument("--games", type=int, default=200, help="to measure the win rate by (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args(argv)

    envs = make_envs(args.num_players, args.opponents, args.seed)
    model = MaskablePPO(
        "MlpPolicy",
        envs,
        n_steps=128,  # of each environment between updates
        batch_size=128,
        n_epochs=8,
        gamma=1.0,  # a game ends by itself, and only its end pays
        ent_coef=0.003,
        policy_kwargs={"net_arch": [128, 128], "activation_fn": nn.ReLU},
        seed=args.seed,
        device="cpu",
        verbose=1,
    )
    model.learn(args.steps, log_interval=10)

    fresh = make_envs(args.num_players, args.opponents, args.seed + NUM_ENVS)
    rewards, _ = evaluate_policy(model, fresh, args.games, deterministic=False, return_episode_rewards=True)
    won = float(np.mean(np.array(rewards) > 0))
    print(f"mean reward {np.mean(rewards):+.2f}")
    print(f"wins against {args.opponents}: {won:.0%} of {args.games} games; by chance {1 / args.num_players:.0%}")
    return Trained(model, won)


if __name__ == "__main__":
    main()
