"""TorchRL: train one masked policy for all seats by self-play with PPO.

    pip install ".[torchrl]"
    python examples/torchrl_ppo.py --frames 40000

A frame is one decision. TorchRL's frames contain every seat, and `mask` marks the one that decides. So each seat's own
decisions are extracted first, as a sequence of their own; the reward of a decision is all that the seat receives until
its next one. The final reward of a game comes to every seat in the same frame, so no seat misses it.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Sequence
from typing import Any, NamedTuple

import gymnasium
import torch
from tensordict import TensorDict, TensorDictBase
from tensordict.nn import TensorDictModule
from torch import nn
from torchrl.collectors import Collector
from torchrl.envs import MarlGroupMapType, PettingZooWrapper
from torchrl.modules import MLP, MaskedCategorical, ProbabilisticActor, ValueOperator
from torchrl.objectives import ClipPPOLoss
from torchrl.objectives.value import GAE

from symphony9_env import symphony9_v0

OBSERVATION, MASK = ("agents", "observation", "observation"), ("agents", "action_mask")  # as TorchRL names them
ACTION, LOG_PROB = ("agents", "action"), ("agents", "log_prob")
FRAMES_PER_BATCH = 2000


class TrainingResult(NamedTuple):
    policy: ProbabilisticActor
    losses: list[float]
    win_rate: float


def make_env(**options: Any) -> PettingZooWrapper:
    """Make the environment with all seats in one group, so that one call of the network serves all seats."""
    env = symphony9_v0.env(**options)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "PettingZoo in TorchRL is tested using version")
        return PettingZooWrapper(env, use_mask=True, group_map=MarlGroupMapType.ALL_IN_ONE_GROUP)


def make_networks(env: PettingZooWrapper) -> tuple[ProbabilisticActor, ValueOperator]:
    num_inputs, num_actions = (env.observation_spec[key].shape[-1] for key in (OBSERVATION, MASK))
    layers = {"in_features": num_inputs, "num_cells": (128, 128), "activation_class": nn.ReLU}
    logits = ("agents", "logits")
    policy = ProbabilisticActor(
        TensorDictModule(MLP(out_features=num_actions, **layers), in_keys=[OBSERVATION], out_keys=[logits]),
        in_keys={"logits": logits, "mask": MASK},
        out_keys=[ACTION],
        distribution_class=MaskedCategorical,
        return_log_prob=True,
        log_prob_key=LOG_PROB,
    )
    return policy, ValueOperator(MLP(out_features=1, **layers), in_keys=[OBSERVATION])


def extract_decisions(frames: TensorDictBase, seat: int) -> TensorDict:
    """Return one seat's decisions but the last, each with the seat's reward until its next decision."""
    turns = frames["agents", "mask"][:, seat].nonzero()[:, 0]
    now, then = turns[:-1], turns[1:]
    rewards, ends = frames["next", "agents", "reward"][:, seat], frames["next", "done"].long()
    rewards, ends = (nn.functional.pad(part.cumsum(0), (0, 0, 1, 0)) for part in (rewards, ends))  # before each frame
    done = ends[then] > ends[now]
    observation = {"observation": frames["agents", "observation"][then, seat]}
    following = {"agents": observation, "reward": rewards[then] - rewards[now], "done": done, "terminated": done}
    return TensorDict({"agents": frames["agents"][now, seat], "next": following}, batch_size=len(now))


def play(policy: ProbabilisticActor, num_players: int, seed: int) -> float:
    """Play a game against random agents; return the policy's reward."""
    env = gymnasium.make("symphony9_env:Symphony9-v0", num_players=num_players, opponents="random")
    observation, info = env.reset(seed=seed)
    terminated = False
    while not terminated:
        seen = {"observation": {"observation": observation}, "action_mask": info["action_mask"].astype(bool)}
        with torch.no_grad():
            action = policy.get_dist(TensorDict({"agents": seen})).sample()
        observation, reward, terminated, _, info = env.step(action.item())
    return float(reward)


def main(argv: Sequence[str] | None = None) -> TrainingResult:
    parser = argparse.ArgumentParser(description="Self-play with TorchRL's PPO.")
    parser.add_argument("--frames", type=int, default=40_000, help="decisions to train on (default: %(default)s)")
    parser.add_argument("--num-players", type=int, default=2, choices=(2, 3, 4))
    parser.add_argument("--games", type=int, default=200, help="games to evaluate on (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args(argv)

    torch.set_num_threads(1)
    torch.manual_seed(args.seed)
    env = make_env(num_players=args.num_players)
    env.set_seed(args.seed)
    policy, critic = make_networks(env)
    advantage = GAE(gamma=1.0, lmbda=0.95, value_network=critic)  # episodes are finite; the only reward is final
    loss = ClipPPOLoss(policy, critic, entropy_coeff=0.003, normalize_advantage=True)
    loss.set_keys(action=ACTION, sample_log_prob=LOG_PROB)
    optimizer = torch.optim.Adam(loss.parameters(), lr=3e-4)
    collector = Collector(
        env,
        policy,
        frames_per_batch=FRAMES_PER_BATCH,
        total_frames=-(-args.frames // FRAMES_PER_BATCH) * FRAMES_PER_BATCH,  # whole batches
        auto_register_policy_transforms=False,
    )
    losses = []
    for batch, frames in enumerate(collector, 1):
        with torch.no_grad():
            data = torch.cat([advantage(extract_decisions(frames, seat)) for seat in range(args.num_players)])
        for _ in range(8):
            for rows in torch.split(torch.randperm(len(data)), 128):
                parts = loss(data[rows])
                total = parts["loss_objective"] + parts["loss_critic"] + parts["loss_entropy"]
                optimizer.zero_grad()
                total.backward()
                nn.utils.clip_grad_norm_(loss.parameters(), 0.5)
                optimizer.step()
                losses.append(total.item())
        print(f"{batch * FRAMES_PER_BATCH} frames: loss {losses[-1]:.3f}, entropy {parts['entropy']:.2f}", flush=True)
    collector.shutdown()

    rewards = torch.tensor([play(policy, args.num_players, args.seed + game) for game in range(args.games)])
    win_rate = (rewards > 0).float().mean().item()
    print(f"mean reward against random {rewards.mean():+.2f}")
    print(f"wins against random: {win_rate:.0%} of {args.games} games; par {1 / args.num_players:.0%}")
    return TrainingResult(policy, losses, win_rate)


if __name__ == "__main__":
    main()
