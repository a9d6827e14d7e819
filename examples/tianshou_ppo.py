"""Tianshou: train one seat against scripted agents with PPO.

    pip install ".[tianshou]"
    python examples/tianshou_ppo.py --steps 60000

This example does not use Tianshou's PettingZooEnv, because Tianshou's on-policy algorithms take a seat's rewards and
the end of the game only from that seat's own steps. The reward of this game comes at its end, so every seat except the
last to move would see none. (A DQN with a return horizon longer than any game handles the rewards correctly.) The
Gymnasium environment adds up the rewards between two decisions of its seat.

Tianshou's PPO has no action masks, so the actor in this example masks illegal actions itself.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import Any, NamedTuple

import gymnasium
import numpy as np
import torch
from tianshou.algorithm.modelfree.ppo import PPO
from tianshou.algorithm.modelfree.reinforce import DiscreteActorPolicy
from tianshou.algorithm.optim import AdamOptimizerFactory
from tianshou.data import Collector, CollectStats, VectorReplayBuffer
from tianshou.env import DummyVectorEnv
from tianshou.trainer import OnPolicyTrainerParams
from tianshou.utils.net.common import Net
from tianshou.utils.net.discrete import DiscreteActor, DiscreteCritic

NUM_ENVS = 8
STEPS_PER_UPDATE = 1024


class MaskInObservation(gymnasium.Wrapper[dict[str, Any], np.int64, Any, np.int64]):
    """Put the mask into the observation, where the actor below finds it."""

    def reset(self, **kwargs: Any) -> tuple[dict[str, Any], dict[str, Any]]:
        observation, info = self.env.reset(**kwargs)
        return {"obs": observation, "mask": info["action_mask"]}, info

    def step(self, action: np.int64) -> tuple[dict[str, Any], float, bool, bool, dict[str, Any]]:
        observation, reward, terminated, truncated, info = self.env.step(action)
        return {"obs": observation, "mask": info["action_mask"]}, float(reward), terminated, truncated, info


class Layers(Net):
    """A network whose input is the observation without the mask."""

    def forward(self, obs: Any, state: Any = None, info: Any = None) -> tuple[torch.Tensor, Any]:
        features, state = super().forward(obs.obs, state, info)
        return features, state


class MaskedActor(DiscreteActor):
    """An actor that gives illegal actions a probability of zero."""

    def forward(self, obs: Any, state: Any = None, info: Any = None) -> tuple[torch.Tensor, Any]:
        logits, state = super().forward(obs, state, info)
        return logits.masked_fill(~torch.as_tensor(obs.mask).bool(), -torch.inf), state


class TrainingResult(NamedTuple):
    policy: DiscreteActorPolicy
    losses: list[float]
    win_rate: float  # against the same opponents, with actions sampled from the policy


def make_envs(num_players: int, opponents: str, seed: int) -> DummyVectorEnv:
    def make() -> MaskInObservation:
        return MaskInObservation(
            gymnasium.make("symphony9_env:Symphony9-v0", num_players=num_players, opponents=opponents, seat="random")
        )

    envs = DummyVectorEnv([make] * NUM_ENVS)
    envs.seed(seed)
    return envs


def main(argv: Sequence[str] | None = None) -> TrainingResult:
    parser = argparse.ArgumentParser(description="Tianshou's PPO on one seat of Symphony No. 9.")
    parser.add_argument(
        "--steps", type=int, default=60_000, help="decisions of the learner to train on (default: %(default)s)"
    )
    parser.add_argument("--num-players", type=int, default=2, choices=(2, 3, 4))
    parser.add_argument(
        "--opponents", default="random", help="an agent, such as random or greedy (default: %(default)s)"
    )
    parser.add_argument("--games", type=int, default=200, help="games to evaluate on (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args(argv)

    torch.set_num_threads(1)
    np.random.seed(args.seed)
    torch.manual_seed(args.seed)
    envs = make_envs(args.num_players, args.opponents, args.seed)
    shape, actions = envs.observation_space[0].shape, envs.action_space[0]
    actor, critic = (Layers(state_shape=shape, hidden_sizes=(128, 128)) for _ in range(2))
    policy = DiscreteActorPolicy(
        actor=MaskedActor(preprocess_net=actor, action_shape=actions.n, softmax_output=False), action_space=actions
    )
    ppo = PPO(
        policy=policy,
        critic=DiscreteCritic(preprocess_net=critic),
        optim=AdamOptimizerFactory(lr=3e-4),
        gamma=1.0,  # episodes are finite, and the only reward comes at the end
        ent_coef=0.003,
        max_grad_norm=0.5,
    )
    trainer = ppo.create_trainer(
        OnPolicyTrainerParams(
            training_collector=Collector[CollectStats](policy, envs, VectorReplayBuffer(STEPS_PER_UPDATE, NUM_ENVS)),
            epoch_num_steps=STEPS_PER_UPDATE,
            collection_step_num_env_steps=STEPS_PER_UPDATE,
            batch_size=128,
            update_step_num_repetitions=8,
            show_progress=False,
        )
    )
    trainer.reset()
    losses = []
    for steps in range(STEPS_PER_UPDATE, args.steps + STEPS_PER_UPDATE, STEPS_PER_UPDATE):
        stats = trainer.execute_epoch().training_stat
        assert stats is not None
        parts = stats.get_loss_stats_dict()
        losses.append(parts["loss"])
        print(f"{steps} decisions: loss {parts['loss']:.3f}, entropy {parts['ent_loss']:.2f}", flush=True)

    test = Collector[CollectStats](policy, make_envs(args.num_players, args.opponents, args.seed + NUM_ENVS))
    rewards = test.collect(n_episode=args.games, reset_before_collect=True).returns
    win_rate = float(np.mean(rewards > 0))
    print(f"mean reward {np.mean(rewards):+.2f}")
    print(f"wins against {args.opponents}: {win_rate:.0%} of {args.games} games; par {1 / args.num_players:.0%}")
    return TrainingResult(policy, losses, win_rate)


if __name__ == "__main__":
    main()
