"""AgileRL: train all seats with independent PPO (IPPO).

    pip install . agilerl peft      # in its own environment: AgileRL 2.58 needs pettingzoo < 1.27
    python examples/agilerl_ippo.py --steps 20000

IPPO reads masks from the infos, but fails on masks that are arrays, and AgileRL's `PzDummyVecEnv` loses the infos at
the beginning of the second and later games. The two classes below correct both. In each step every seat acts, and only
the action of the seat to decide counts; the others have a mask of ones.

IPPO does not store the masks and learns from probabilities without them, so don't expect it to learn well: see
docs/integrations.md. The policy then plays one seat against random agents.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import gymnasium
import numpy as np
import torch
from agilerl.algorithms import IPPO
from agilerl.training.train_multi_agent_on_policy import train_multi_agent_on_policy
from agilerl.vector.dummy_vec_env import PzDummyVecEnv
from pettingzoo.utils import BaseParallelWrapper

from symphony9_env import symphony9_v0


class TrainingResult(NamedTuple):
    learner: IPPO
    win_rate: float  # of one seat against random agents, with actions sampled from the policy


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


def play(learner: IPPO, num_players: int, seed: int) -> bool:
    """Play a game against random agents; return whether the policy wins."""
    env = gymnasium.make("symphony9_env:Symphony9-v0", num_players=num_players, opponents="random")
    observation, info = env.reset(seed=seed)
    reward: Any = 0
    terminated = False
    while not terminated:
        # All seats share one network. It expects them all, and decides for each by itself.
        seen = dict.fromkeys(learner.agent_ids, observation[None])
        masks = convert_masks(dict.fromkeys(learner.agent_ids, info))
        actions, *_ = learner.get_action(seen, infos=masks)
        observation, reward, terminated, _, info = env.step(int(actions[learner.agent_ids[0]].item()))
    return bool(reward > 0)


def main(argv: Sequence[str] | None = None) -> TrainingResult:
    parser = argparse.ArgumentParser(description="AgileRL's IPPO on all seats of Symphony No. 9.")
    parser.add_argument("--steps", type=int, default=20_000, help="decisions to train on (default: %(default)s)")
    parser.add_argument("--num-players", type=int, default=2, choices=(2, 3, 4))
    parser.add_argument("--games", type=int, default=200, help="games to evaluate on (default: %(default)s)")
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
    win_rate = sum(play(learner, args.num_players, args.seed + game) for game in range(args.games)) / args.games
    print(f"wins against random: {win_rate:.0%} of {args.games} games; par {1 / args.num_players:.0%}")
    return TrainingResult(learner, win_rate)


if __name__ == "__main__":
    main()
