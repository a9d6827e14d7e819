"""TorchRL, offline: read recorded games into a replay buffer, learn to imitate them, and play.

    pip install ".[minari,torchrl]"
    python examples/torchrl_offline.py --games 200

The games are those of the planner against itself, exported as a Minari dataset (see minari_dataset.py). Don't use
TorchRL's own reader of such datasets: the `MinariExperienceReplay` of TorchRL 0.14.1 returns zeros only, whatever the
dataset contains. `fill_buffer` takes a few lines instead.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import Any, NamedTuple

import gymnasium
import minari
import torch
from minari_dataset import play, temporary_datasets
from tensordict import TensorDict
from torch.nn.functional import cross_entropy
from torchrl.data import LazyTensorStorage, TensorDictReplayBuffer
from torchrl.modules import MLP

from symphony9_env.integrations.minari import export

DATASET = "symphony9/planner-v0"
BATCH = 256


class TrainingResult(NamedTuple):
    losses: list[float]
    win_rate: float


def main(argv: Sequence[str] | None = None) -> TrainingResult:
    parser = argparse.ArgumentParser(description="Imitate recorded games of Symphony No. 9 with TorchRL.")
    parser.add_argument("--games", type=int, default=200, help="games to record (default: %(default)s)")
    parser.add_argument("--steps", type=int, default=1000, help="batches to learn from (default: %(default)s)")
    parser.add_argument("--num-players", type=int, default=2, choices=(2, 3, 4))
    parser.add_argument("--evaluate", type=int, default=200, help="games against random (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args(argv)
    torch.set_num_threads(1)
    torch.manual_seed(args.seed)

    with temporary_datasets():
        export((play(args.num_players, seed) for seed in range(args.games)), DATASET)
        buffer = fill_buffer(minari.load_dataset(DATASET))
    print(f"{len(buffer)} decisions")
    network, losses = imitate(buffer, args.steps)
    env = gymnasium.make("symphony9_env:Symphony9-v0", num_players=args.num_players)
    win_rate = evaluate(network, env, args.evaluate)
    print(f"loss {losses[0]:.2f} to {losses[-1]:.2f}")
    print(f"wins against random: {win_rate:.0%} of {args.evaluate} games; par {1 / args.num_players:.0%}")
    return TrainingResult(losses, win_rate)


def fill_buffer(dataset: Any) -> Any:
    """Return a replay buffer with the transitions of all episodes."""
    buffer = TensorDictReplayBuffer(storage=LazyTensorStorage(dataset.total_steps), batch_size=BATCH)
    for episode in dataset.iterate_episodes():
        seen = TensorDict(episode.observations, [len(episode) + 1])
        after = {
            "observation": seen[1:],
            "reward": torch.as_tensor(episode.rewards)[:, None],
            "terminated": torch.as_tensor(episode.terminations)[:, None],
            "done": torch.as_tensor(episode.terminations)[:, None],
        }
        buffer.extend(
            TensorDict(
                {"observation": seen[:-1], "action": torch.as_tensor(episode.actions), "next": after},
                [len(episode)],
            )
        )
    return buffer


def imitate(buffer: Any, steps: int) -> tuple[Any, list[float]]:
    """Fit a network to the recorded actions; return it and its losses."""
    seen = buffer.sample()["observation"]
    inputs, outputs = seen["observation"].shape[-1], seen["action_mask"].shape[-1]
    network = MLP(in_features=inputs, out_features=outputs, num_cells=[128, 128])
    optimizer = torch.optim.Adam(network.parameters(), lr=1e-3)
    losses = []
    for _ in range(steps):
        batch = buffer.sample()
        logits = masked(network(batch["observation", "observation"]), batch["observation", "action_mask"])
        loss = cross_entropy(logits, batch["action"])
        optimizer.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        optimizer.step()
        losses.append(loss.item())
    return network, losses


def masked(logits: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
    """Exclude illegal actions."""
    return logits.masked_fill(~mask.bool(), -torch.inf)


@torch.no_grad()
def evaluate(network: Any, env: gymnasium.Env[Any, Any], games: int) -> float:
    """Return the share of games that the network wins with its first choices."""
    wins = 0
    for seed in range(games):
        observation, info = env.reset(seed=seed)
        is_over = False
        while not is_over:
            logits = masked(network(torch.as_tensor(observation)), torch.as_tensor(info["action_mask"]))
            observation, reward, is_over, _, info = env.step(int(logits.argmax()))
        wins += float(reward) > 0
    return wins / games


if __name__ == "__main__":
    main()
