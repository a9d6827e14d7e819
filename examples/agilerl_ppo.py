"""AgileRL: train one seat against random agents with PPO.

    pip install . agilerl peft      # in its own environment: AgileRL 2.58 needs pettingzoo < 1.27
    python examples/agilerl_ppo.py --steps 60000

AgileRL takes the masks from the infos of the batched vector environment. Its IPPO does not work with masks yet: see
docs/integrations.md.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import Any

import gymnasium
import torch
from agilerl.algorithms import PPO
from agilerl.training.train_on_policy import train_on_policy

NUM_ENVS = 16
LAYERS = {"encoder_config": {"hidden_size": [128]}, "head_config": {"hidden_size": [128]}}
SETTINGS: dict[str, Any] = {
    "net_config": LAYERS,
    "batch_size": 256,
    "lr": 1e-3,
    "learn_step": 2048,
    "gamma": 1.0,  # episodes are finite, and the only reward comes at the end
    "ent_coef": 0.003,
}


def train_ppo(num_players: int, steps: int) -> float:
    """Train one seat; return its mean reward in games after training."""
    env = gymnasium.make_vec(
        "symphony9_env:Symphony9-v0", num_envs=NUM_ENVS, num_players=num_players, opponents="random"
    )
    learner = PPO(env.single_observation_space, env.single_action_space, num_envs=NUM_ENVS, **SETTINGS)
    train_on_policy(
        env, "Symphony9-v0", "PPO", [learner], max_steps=steps, evo_steps=SETTINGS["learn_step"], verbose=False
    )
    return float(learner.test(env, loop=10))


def main(argv: Sequence[str] | None = None) -> float:
    parser = argparse.ArgumentParser(description="AgileRL's PPO on one seat of Symphony No. 9.")
    parser.add_argument("--steps", type=int, default=60_000, help="decisions to train on (default: %(default)s)")
    parser.add_argument("--num-players", type=int, default=2, choices=(2, 3, 4))
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args(argv)

    torch.set_num_threads(1)
    torch.manual_seed(args.seed)
    reward = train_ppo(args.num_players, args.steps)
    print(f"PPO: mean reward against random {reward:+.2f}")
    return reward


if __name__ == "__main__":
    main()
