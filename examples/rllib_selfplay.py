"""RLlib: train one masked policy for all seats by self-play with PPO.

    pip install ".[rllib]"
    python examples/rllib_selfplay.py --steps 100000

A step is one decision. Three settings matter for this game: `complete_episodes` (a game cut in the middle loses the
pending rewards of the waiting seats), `FreshDealsEnv` (otherwise every batch has the same deals), and
`disable_env_checking` (RLlib's check ignores the mask). `python -m training.train` is faster, also on many machines,
and its policies can play in tournaments.
"""

from __future__ import annotations

import argparse
import logging
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import ray
import torch
from ray.rllib.algorithms.ppo import PPOConfig
from ray.rllib.core.columns import Columns
from ray.rllib.core.rl_module.default_model_config import DefaultModelConfig
from ray.rllib.core.rl_module.multi_rl_module import MultiRLModuleSpec
from ray.rllib.core.rl_module.rl_module import RLModuleSpec
from ray.rllib.examples.rl_modules.classes.action_masking_rlm import ActionMaskingTorchRLModule

from symphony9_env.integrations.rllib import FreshDealsEnv, Symphony9MultiAgentEnv

SHARED = "all_seats"


class TrainingResult(NamedTuple):
    module: Any
    steps: int
    win_rate: float  # of one seat against random agents, with actions sampled from the policy


def make_config(num_players: int, num_runners: int, seed: int) -> PPOConfig:
    layers = DefaultModelConfig(fcnet_hiddens=[128, 128], fcnet_activation="relu")
    spec = RLModuleSpec(module_class=ActionMaskingTorchRLModule, model_config=layers)
    return (
        PPOConfig()
        .environment(FreshDealsEnv, env_config={"num_players": num_players}, disable_env_checking=True)
        .env_runners(num_env_runners=num_runners, num_envs_per_env_runner=16, batch_mode="complete_episodes")
        .multi_agent(policies={SHARED}, policy_mapping_fn=lambda *_, **__: SHARED)
        .rl_module(rl_module_spec=MultiRLModuleSpec(rl_module_specs={SHARED: spec}))
        .training(
            train_batch_size_per_learner=2000,
            minibatch_size=128,
            num_epochs=8,
            lr=3e-4,
            gamma=1.0,  # episodes are finite, and the only reward comes at the end
            lambda_=0.95,
            entropy_coeff=0.003,
            use_kl_loss=False,
        )
        .debugging(seed=seed, log_level="ERROR")
    )


def play(module: Any, num_players: int, seed: int) -> bool:
    """Play a game against random agents; return whether the policy wins."""
    rng = np.random.default_rng(seed)
    env = Symphony9MultiAgentEnv({"num_players": num_players})
    own = env.possible_agents[seed % num_players]
    observations, infos = env.reset(seed=seed)
    while observations:
        ((agent, observation),) = observations.items()
        action = rng.choice(np.flatnonzero(observation["action_mask"]))
        if agent == own:
            batch = {name: torch.from_numpy(values[None]) for name, values in observation.items()}
            logits = module.forward_inference({Columns.OBS: batch})[Columns.ACTION_DIST_INPUTS]
            action = torch.multinomial(torch.softmax(logits, dim=1), 1).item()
        observations, *_, infos = env.step({agent: action})
    return bool(infos[own]["rank"] == 1)


def main(argv: Sequence[str] | None = None) -> TrainingResult:
    parser = argparse.ArgumentParser(description="Self-play with RLlib's PPO.")
    parser.add_argument("--steps", type=int, default=100_000, help="decisions to train on (default: %(default)s)")
    parser.add_argument("--num-players", type=int, default=2, choices=(2, 3, 4))
    parser.add_argument(
        "--runners", type=int, default=0, help="processes that play; 0 for this one (default: %(default)s)"
    )
    parser.add_argument("--games", type=int, default=500, help="games to evaluate on (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args(argv)

    torch.set_num_threads(1)  # here, where the learner is; the runners are told by a variable
    environment = {"env_vars": {"OMP_NUM_THREADS": "1"}}
    cores = max(args.runners, 1)
    ray.init("local", num_cpus=cores, include_dashboard=False, logging_level=logging.ERROR, runtime_env=environment)
    algorithm = make_config(args.num_players, args.runners, args.seed).build_algo()
    steps = 0
    while steps < args.steps:
        result = algorithm.train()
        steps = int(result["env_runners"]["num_env_steps_sampled_lifetime"])
        print(f"{steps} steps: entropy {result['learners'][SHARED]['entropy']:.2f}", flush=True)
    module = algorithm.get_module(SHARED)
    win_rate = float(np.mean([play(module, args.num_players, args.seed + game) for game in range(args.games)]))
    print(f"wins against random: {win_rate:.0%} of {args.games} games; par {1 / args.num_players:.0%}")
    algorithm.stop()
    ray.shutdown()
    return TrainingResult(module, steps, win_rate)


if __name__ == "__main__":
    main()
