"""Self-play with TorchRL: one masked policy learns all seats by PPO.

    pip install "symphony9-env[torchrl]"
    python examples/torchrl_ppo.py --frames 10000

A frame is one decision. TorchRL shows every seat in every frame, and `mask` names the one that decides. So each seat's
own decisions are taken out first, as a sequence of their own, a decision's reward being all that came to the seat until
its next one. The end of a game pays every seat in the same frame: seats that don't move last get their share too.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Sequence
from typing import Any, NamedTuple

import gymnasium
import torch
from pettingzoo.utils import BaseWrapper
from tensordict import TensorDict, TensorDictBase
from tensordict.nn import TensorDictModule
from torch import nn
from torchrl.collectors import Collector
from torchrl.envs import MarlGroupMapType, PettingZooWrapper
from torchrl.modules import MLP, MaskedCategorical, ProbabilisticActor, ValueOperator
from torchrl.objectives import ClipPPOLoss
from torchrl.objectives.value import GAE

from symphony9_env import symphony9_v0

SEEN, LEGAL = ("agents", "observation", "observation"), ("agents", "action_mask")  # as TorchRL names them
ACTION, LOG_PROB = ("agents", "action"), ("agents", "log_prob")
FRAMES_PER_BATCH = 2000


class WithoutInfos(BaseWrapper[str, Any, int]):
    """TorchRL makes a tensor of every info; ours are words and tables."""

    @property
    def infos(self) -> dict[str, dict[str, Any]]:
        return {agent: {} for agent in self.possible_agents}


class Trained(NamedTuple):
    policy: ProbabilisticActor
    losses: list[float]
    win_rate: float


def make_env(**options: Any) -> PettingZooWrapper:
    """All seats in one group, so that one call of the network decides for all."""
    table = WithoutInfos(symphony9_v0.env(**options))
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "PettingZoo in TorchRL is tested using version")
        return PettingZooWrapper(table, use_mask=True, group_map=MarlGroupMapType.ALL_IN_ONE_GROUP)


def make_networks(env: PettingZooWrapper) -> tuple[ProbabilisticActor, ValueOperator]:
    num_inputs, num_actions = (env.observation_spec[key].shape[-1] for key in (SEEN, LEGAL))
    layers = {"in_features": num_inputs, "num_cells": (128, 128), "activation_class": nn.ReLU}
    logits = ("agents", "logits")
    policy = ProbabilisticActor(
        TensorDictModule(MLP(out_features=num_actions, **layers), in_keys=[SEEN], out_keys=[logits]),
        in_keys={"logits": logits, "mask": LEGAL},
        out_keys=[ACTION],
        distribution_class=MaskedCategorical,
        return_log_prob=True,
        log_prob_key=LOG_PROB,
    )
    return policy, ValueOperator(MLP(out_features=1, **layers), in_keys=[SEEN])


def own_decisions(frames: TensorDictBase, seat: int) -> TensorDict:
    """One seat's decisions, each with what came of it until the seat's next; without the last, as that is not known."""
    turns = frames["agents", "mask"][:, seat].nonzero()[:, 0]
    now, then = turns[:-1], turns[1:]
    paid, ended = frames["next", "agents", "reward"][:, seat], frames["next", "done"].long()
    paid, ended = (nn.functional.pad(part.cumsum(0), (0, 0, 1, 0)) for part in (paid, ended))  # before each frame
    over = ended[then] > ended[now]
    seen = {"observation": frames["agents", "observation"][then, seat]}
    followed = {"agents": seen, "reward": paid[then] - paid[now], "done": over, "terminated": over}
    return TensorDict({"agents": frames["agents"][now, seat], "next": followed}, batch_size=len(now))


def play(policy: ProbabilisticActor, num_players: int, seed: int) -> float:
    """The policy's reward in one game at a table of random players."""
    env = gymnasium.make("symphony9_env:Symphony9-v0", num_players=num_players, opponents="random")
    observation, info = env.reset(seed=seed)
    terminated = False
    while not terminated:
        seen = {"observation": {"observation": observation}, "action_mask": info["action_mask"].astype(bool)}
        with torch.no_grad():
            action = policy.get_dist(TensorDict({"agents": seen})).sample()
        observation, reward, terminated, _, info = env.step(action.item())
    return float(reward)


def main(argv: Sequence[str] | None = None) -> Trained:
    parser = argparse.ArgumentParser(description="Self-play with TorchRL's PPO.")
    parser.add_argument("--frames", type=int, default=10_000, help="decisions to learn from (default: %(default)s)")
    parser.add_argument("--num-players", type=int, default=2, choices=(2, 3, 4))
    parser.add_argument("--games", type=int, default=200, help="to measure the win rate by (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args(argv)

    torch.manual_seed(args.seed)
    env = make_env(num_players=args.num_players)
    env.set_seed(args.seed)
    policy, critic = make_networks(env)
    advantage = GAE(gamma=1.0, lmbda=0.95, value_network=critic)  # a game ends by itself, and only its end pays
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
            data = torch.cat([advantage(own_decisions(frames, seat)) for seat in range(args.num_players)])
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
    won = (rewards > 0).float().mean().item()
    print(f"mean reward against random {rewards.mean():+.2f}")
    print(f"wins against random: {won:.0%} of {args.games} games; by chance {1 / args.num_players:.0%}")
    return Trained(policy, losses, won)


if __name__ == "__main__":
    main()
