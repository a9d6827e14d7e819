"""One seat against scripted players, with Tianshou's PPO.

    pip install "symphony9-env[tianshou]"
    python examples/tianshou_ppo.py --steps 30000

Why one seat and not Tianshou's PettingZooEnv: its on-policy algorithms read a seat's rewards, and the end of the game,
off that seat's own steps. This game pays at its end, so every seat but the one that moved last would learn that
nothing happens. (Off-policy, a DQN whose return horizon is longer than any game gets all rewards right, but learns
this game slowly.) The Gymnasium environment adds up what comes to its seat between two own decisions.

Tianshou's PPO knows no masks: the actor here takes the probability of illegal actions away by itself.
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
    """The mask goes where the actor finds it. Infos stay out: Tianshou's buffer takes words for missing numbers."""

    def reset(self, **kwargs: Any) -> tuple[dict[str, Any], dict[str, Any]]:
        observation, info = self.env.reset(**kwargs)
        return {"obs": observation, "mask": info["action_mask"]}, {}

    def step(self, action: np.int64) -> tuple[dict[str, Any], float, bool, bool, dict[str, Any]]:
        observation, reward, terminated, truncated, info = self.env.step(action)
        return {"obs": observation, "mask": info["action_mask"]}, float(reward), terminated, truncated, {}


class Layers(Net):
    """Looks at what the seat sees, not at the mask beside it."""

    def forward(self, obs: Any, state: Any = None, info: Any = None) -> tuple[torch.Tensor, Any]:
        features, state = super().forward(obs.obs, state, info)
        return features, state


class MaskedActor(DiscreteActor):
    def forward(self, obs: Any, state: Any = None, info: Any = None) -> tuple[torch.Tensor, Any]:
        logits, state = super().forward(obs, state, info)
        return logits.masked_fill(~torch.as_tensor(obs.mask).bool(), -torch.inf), state


class Trained(NamedTuple):
    policy: DiscreteActorPolicy
    losses: list[float]
    win_rate: float  # against the same opponents, actions drawn from the policy


def make_envs(num_players: int, opponents: str, seed: int) -> DummyVectorEnv:
    def make() -> MaskInObservation:
        return MaskInObservation(
            gymnasium.make("symphony9_env:Symphony9-v0", num_players=num_players, opponents=opponents, seat="random")
        )

    envs = DummyVectorEnv([make] * NUM_ENVS)
    envs.seed(seed)
    return envs


def main(argv: Sequence[str] | None = None) -> Trained:
    parser = argparse.ArgumentParser(description="Tianshou's PPO on one seat of Symphony No. 9.")
    parser.add_argument("--steps", type=int, default=30_000, help="own decisions to learn from (default: %(default)s)")
    parser.add_argument("--num-players", type=int, default=2, choices=(2, 3, 4))
    parser.add_argument("--opponents", default="random", help="random, greedy, ... (default: %(default)s)")
    parser.add_argument("--games", type=int, default=200, help="to measure the win rate by (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args(argv)

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
        gamma=1.0,  # a game ends by itself, and only its end pays
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
    won = float(np.mean(rewards > 0))
    print(f"mean reward {np.mean(rewards):+.2f}")
    print(f"wins against {args.opponents}: {won:.0%} of {args.games} games; by chance {1 / args.num_players:.0%}")
    return Trained(policy, losses, won)


if __name__ == "__main__":
    main()
