"""AgileRL: train one seat against random agents with PPO.

    pip install . agilerl peft      # in its own environment: AgileRL 2.58 needs pettingzoo < 1.27
    python examples/agilerl_ppo.py --steps 200000
    python examples/agilerl_ppo.py --use-gae       # what AgileRL does by default, and why not to

AgileRL takes the masks from the infos of the batched vector environment. Two settings matter here, where the only
reward comes at the end of a game:

- `use_gae=False`: AgileRL's generalized advantages end a game one decision too early, so that only the last decision
  would be rewarded, and with the value of the next game. Its returns without them are right. `--use-gae` shows the
  difference.
- `evo_steps`: AgileRL begins new games in all environments after this many decisions.
"""

from __future__ import annotations

import argparse
import functools
from collections.abc import Sequence
from typing import Any, NamedTuple

import gymnasium
import numpy as np
import torch
from agilerl.algorithms import PPO
from agilerl.training.train_on_policy import train_on_policy

NUM_ENVS = 64
LAYERS = {"encoder_config": {"hidden_size": [128]}, "head_config": {"hidden_size": [128]}}
SETTINGS: dict[str, Any] = {
    "net_config": LAYERS,
    "batch_size": 512,
    "lr": 1e-3,
    "learn_step": 2048,
    "gamma": 1.0,  # episodes are finite, and the only reward comes at the end
    "ent_coef": 0.003,
}


class TrainingResult(NamedTuple):
    learner: PPO
    win_rate: float  # against the same opponents, with actions sampled from the policy


def train(env: Any, steps: int, use_gae: bool) -> PPO:
    buffer = {"use_gae": use_gae}
    spaces = env.single_observation_space, env.single_action_space
    learner = PPO(*spaces, num_envs=env.num_envs, rollout_buffer_config=buffer, **SETTINGS)
    train_on_policy(env, "Symphony9-v0", "PPO", [learner], max_steps=steps, evo_steps=steps, verbose=False)
    return learner


def evaluate(learner: PPO, env: Any, games: int, seed: int) -> float:
    """Return the share of games in which the learner wins: the first game of each of as many environments."""
    observations, infos = env.reset(seed=seed)
    wins, is_over = np.zeros(games, bool), np.zeros(games, bool)
    while not is_over.all():
        actions, *_ = learner.get_action(observations, action_mask=infos["action_mask"])
        observations, rewards, ended, _, infos = env.step(actions)
        wins |= ended & ~is_over & (rewards > 0)
        is_over |= ended
    return float(wins.mean())


def main(argv: Sequence[str] | None = None) -> TrainingResult:
    parser = argparse.ArgumentParser(description="AgileRL's PPO on one seat of Symphony No. 9.")
    parser.add_argument("--steps", type=int, default=200_000, help="decisions to train on (default: %(default)s)")
    parser.add_argument("--num-players", type=int, default=2, choices=(2, 3, 4))
    parser.add_argument("--games", type=int, default=1000, help="games to evaluate on (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--use-gae", action="store_true", help="use AgileRL's generalized advantages")
    args = parser.parse_args(argv)

    torch.set_num_threads(1)
    torch.manual_seed(args.seed)
    np.random.seed(args.seed)  # AgileRL shuffles with it
    make_env = functools.partial(gymnasium.make_vec, "symphony9_env:Symphony9-v0", num_players=args.num_players)
    env = make_env(num_envs=NUM_ENVS)
    env.reset(seed=args.seed)  # AgileRL begins games without a seed
    learner = train(env, args.steps, args.use_gae)
    win_rate = evaluate(learner, make_env(num_envs=args.games), args.games, args.seed + 2**32)
    print(f"wins against random: {win_rate:.0%} of {args.games} games; par {1 / args.num_players:.0%}")
    return TrainingResult(learner, win_rate)


if __name__ == "__main__":
    main()
