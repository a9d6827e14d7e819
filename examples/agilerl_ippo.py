"""AgileRL: train all seats with independent PPO (IPPO).

    pip install . agilerl peft      # in its own environment: AgileRL 2.58 needs pettingzoo < 1.27
    python examples/agilerl_ippo.py --steps 20000

IPPO reads masks from the infos, but fails on masks that are arrays, and AgileRL's `PzDummyVecEnv` loses the infos at
the beginning of the second and later games. The two classes below correct both. In each step every seat acts, and only
the action of the seat to decide counts; the others have a mask of ones.

IPPO does not store the masks and learns from probabilities without them, so don't expect it to learn well: see
docs/integrations.md.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch
from agilerl.algorithms import IPPO
from agilerl.training.train_multi_agent_on_policy import train_multi_agent_on_policy
from agilerl.vector.dummy_vec_env import PzDummyVecEnv
from pettingzoo.utils import BaseParallelWrapper

from symphony9_env import symphony9_v0


class ListMasks(BaseParallelWrapper[Any, Any, Any]):
    """Gives masks as lists, and keeps the newest infos."""

    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, Any]:
        observations, infos = super().reset(seed, options)
        self.newest = convert_masks(infos)
        return observations, self.newest

    def step(self, actions: dict[str, Any]) -> tuple[Any, Any, Any, Any, Any]:
        *results, infos = super().step(actions)
        self.newest = convert_masks(infos)
        return (*results, self.newest)


class MaskedVecEnv(PzDummyVecEnv):
    """One game after the other, with the masks of the game that has just begun."""

    def step(self, actions: Mapping[str, Any], *more: Any, **options: Any) -> tuple[Any, Any, Any, Any, Any]:
        *results, _ = super().step(actions, *more, **options)
        return (*results, self._env.newest)


def convert_masks(infos: dict[str, Any]) -> dict[str, Any]:
    return {agent: {"action_mask": info["action_mask"].tolist()} for agent, info in infos.items()}


def main(argv: Sequence[str] | None = None) -> IPPO:
    parser = argparse.ArgumentParser(description="AgileRL's IPPO on all seats of Symphony No. 9.")
    parser.add_argument("--steps", type=int, default=20_000, help="decisions to train on (default: %(default)s)")
    parser.add_argument("--num-players", type=int, default=2, choices=(2, 3, 4))
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args(argv)

    torch.set_num_threads(1)
    torch.manual_seed(args.seed)
    np.random.seed(args.seed)
    env = MaskedVecEnv(ListMasks(symphony9_v0.parallel_env(num_players=args.num_players, mask="info")))
    names = env.possible_agents
    learner = IPPO(
        [env.single_observation_space(name) for name in names],
        [env.single_action_space(name) for name in names],
        agent_ids=names,
        learn_step=min(1024, args.steps),
        batch_size=256,
        gamma=1.0,  # episodes are finite, and the only reward comes at the end
    )
    train_multi_agent_on_policy(
        env, "symphony9_v0", "IPPO", [learner], max_steps=args.steps, evo_steps=args.steps, verbose=False
    )
    print(f"IPPO: trained on {learner.steps} decisions")
    return learner


if __name__ == "__main__":
    main()
