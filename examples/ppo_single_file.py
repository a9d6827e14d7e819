"""PPO in one file: self-play of all seats, with PyTorch and the games of this package only. Copy it and change it.

    pip install ".[train]"
    python examples/ppo_single_file.py --minutes 10

All seats of all games are played by the network that is trained, and every decision of every seat is learned from. The
seats take turns, so the decisions of one seat in one game form a sequence of their own: the reward of a decision is
what the seat receives until its next one, and the advantage is computed along that sequence.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import nn

from symphony9_env import BatchedGames, Symphony9VectorEnv

Array = np.ndarray[Any, np.dtype[Any]]


@dataclass
class Settings:
    num_players: int = 4
    num_games: int = 256  # at a time
    num_steps: int = 128  # decisions of each game in a rollout
    epochs: int = 3
    batch_size: int = 2048
    learning_rate: float = 1e-3
    gae_lambda: float = 0.95  # rewards are not discounted: a game has an end
    clip: float = 0.2
    entropy: float = 0.01
    value_weight: float = 0.5
    max_grad_norm: float = 0.5
    shaping: float = 0.02  # reward for each point that a decision brings; falls to 0 in the first half of the run


class Network(nn.Module):
    """Two hidden layers each for the logits of all actions and for the value: the expected reward from here on."""

    def __init__(self, num_inputs: int, num_actions: int) -> None:
        super().__init__()
        self.policy = make_layers(num_inputs, num_actions, last_gain=0.01)
        self.value = make_layers(num_inputs, 1, last_gain=1.0)

    def forward(self, observation: torch.Tensor, mask: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Return the log-probabilities of all actions, minus infinity for illegal ones, and the values."""
        logits = self.policy(observation).masked_fill(~mask, -torch.inf)
        return logits.log_softmax(-1), self.value(observation)[:, 0]

    @torch.no_grad()
    def act(self, observation: Array, mask: Array) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """Draw an action for each row; return the actions, their log-probabilities and the values."""
        log_probs, values = self(torch.from_numpy(observation), torch.from_numpy(mask == 1))
        actions = torch.multinomial(log_probs.exp(), 1)
        return actions[:, 0], log_probs.gather(1, actions)[:, 0], values


def make_layers(num_inputs: int, num_outputs: int, last_gain: float, size: int = 256) -> nn.Sequential:
    layers = [nn.Linear(num_inputs, size), nn.Linear(size, size), nn.Linear(size, num_outputs)]
    for layer, gain in zip(layers, (2**0.5, 2**0.5, last_gain), strict=True):
        nn.init.orthogonal_(layer.weight, gain)
        nn.init.zeros_(layer.bias)
    return nn.Sequential(layers[0], nn.ReLU(), layers[1], nn.ReLU(), layers[2])


class Rollout(NamedTuple):
    """Consecutive decisions of all games: the first index is the step, the second the game."""

    observation: torch.Tensor
    mask: torch.Tensor
    action: torch.Tensor
    log_prob: torch.Tensor
    value: torch.Tensor
    player: Array  # the seat that decided
    rewards: Array  # of all seats: (step, game, seat)
    ended: Array  # whether the decision ended the game


def collect(games: BatchedGames, network: Network, num_steps: int) -> Rollout:
    """Play all games for some steps; the arrays of `games` change in place, so everything is copied."""
    steps = []
    for _ in range(num_steps):
        observation, mask, player = games.observation.copy(), games.action_mask.copy(), games.player.copy()
        action, log_prob, value = network.act(observation, mask)
        games.step(action.numpy())
        tensors = torch.from_numpy(observation), torch.from_numpy(mask == 1), action, log_prob, value
        steps.append((*tensors, player, games.rewards.copy(), games.terminated.copy()))
    parts = [list(part) for part in zip(*steps, strict=True)]
    stacked: list[Any] = [torch.stack(part) for part in parts[:5]] + [np.stack(part) for part in parts[5:]]
    return Rollout(*stacked)


def compute_advantages(rollout: Rollout, gae_lambda: float) -> tuple[torch.Tensor, torch.Tensor]:
    """Return the advantage of every decision, and which of them can be learned from.

    A seat's last decision in an unfinished game only serves to value the one before it.
    """
    num_steps, num_games, num_players = rollout.rewards.shape
    values = rollout.value.numpy()
    advantages, is_known = np.zeros_like(values), np.zeros(values.shape, bool)
    rows = np.arange(num_games)
    reward = np.zeros((num_games, num_players))  # of each seat after the step that is looked at, up to its next one
    next_value, next_advantage = np.zeros_like(reward), np.zeros_like(reward)
    is_followed = np.zeros((num_games, num_players), bool)  # by another decision of the seat, or by the game's end
    for step in reversed(range(num_steps)):
        ended = rollout.ended[step]
        reward[ended] = next_value[ended] = next_advantage[ended] = 0
        is_followed[ended] = True
        reward += rollout.rewards[step]
        seat = rows, rollout.player[step]
        delta = reward[seat] + next_value[seat] - values[step]
        advantages[step] = np.where(is_followed[seat], delta + gae_lambda * next_advantage[seat], 0)
        is_known[step] = is_followed[seat]
        next_value[seat], next_advantage[seat], reward[seat] = values[step], advantages[step], 0
        is_followed[seat] = True
    return torch.from_numpy(advantages).float(), torch.from_numpy(is_known)


def update(network: Network, optimizer: torch.optim.Optimizer, rollout: Rollout, settings: Settings) -> float:
    """Improve the network with the decisions of a rollout; return the mean entropy of the policy."""
    advantage, is_known = compute_advantages(rollout, settings.gae_lambda)
    target = advantage + rollout.value
    data = [part[is_known] for part in (*rollout[:4], advantage, target)]
    entropies = []
    for _ in range(settings.epochs):
        for rows in torch.split(torch.randperm(len(data[0])), settings.batch_size):
            observation, mask, action, old_log_prob, gain, wanted = (part[rows] for part in data)
            log_probs, value = network(observation, mask)
            ratio = (log_probs.gather(1, action[:, None])[:, 0] - old_log_prob).exp()
            gain = (gain - gain.mean()) / (gain.std() + 1e-8)
            policy_loss = -torch.min(ratio * gain, ratio.clamp(1 - settings.clip, 1 + settings.clip) * gain).mean()
            entropy = -(log_probs.exp() * log_probs.masked_fill(~mask, 0)).sum(1).mean()
            value_loss = nn.functional.mse_loss(value, wanted)
            loss = policy_loss + settings.value_weight * value_loss - settings.entropy * entropy
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(network.parameters(), settings.max_grad_norm)
            optimizer.step()
            entropies.append(entropy.item())
    return float(np.mean(entropies))


def evaluate(network: Network, num_players: int, opponents: str, games: int, seed: int) -> float:
    """Return how often the network, alone against copies of an agent, wins; a shared win counts its share."""
    env = Symphony9VectorEnv(64, num_players=num_players, opponents=opponents)
    observation, infos = env.reset(seed=seed)
    shares: list[float] = []
    while len(shares) < games:
        action, _, _ = network.act(observation, infos["action_mask"])
        observation, reward, terminated, _, infos = env.step(action.numpy())
        # The winners share +1 and the others share -1, so a win alone is 1 and a shared one less.
        shares += [max(0.0, float(share)) for share in reward[terminated]]
    env.close()
    return float(np.mean(shares[:games]))


def main(argv: Sequence[str] | None = None) -> float:
    parser = argparse.ArgumentParser(description="PPO for Symphony No. 9 in one file.")
    parser.add_argument("--minutes", type=float, default=10, help="how long to train (default: %(default)s)")
    parser.add_argument("--num-players", type=int, default=4, choices=(2, 3, 4))
    parser.add_argument("--opponents", default="greedy", help="agent to evaluate against (default: %(default)s)")
    parser.add_argument("--games", type=int, default=400, help="games to evaluate on (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", help="file for the network's weights")
    args = parser.parse_args(argv)

    torch.set_num_threads(1)
    torch.manual_seed(args.seed)
    settings = Settings(num_players=args.num_players)
    games = BatchedGames(settings.num_games, num_players=settings.num_players, seed=args.seed)
    network = Network(games.observation.shape[1], games.action_mask.shape[1])
    optimizer = torch.optim.Adam(network.parameters(), settings.learning_rate, eps=1e-5)
    start, num_decisions, updates = time.monotonic(), 0, 0
    while (done := (time.monotonic() - start) / (60 * args.minutes)) < 1:
        optimizer.param_groups[0]["lr"] = settings.learning_rate * (1 - done)
        games.set_shaping(settings.shaping * max(0.0, 1 - 2 * done))
        entropy = update(network, optimizer, collect(games, network, settings.num_steps), settings)
        num_decisions += settings.num_games * settings.num_steps
        updates += 1
        if updates % 10 == 0:
            rate = num_decisions / (time.monotonic() - start)
            print(f"{num_decisions:,} decisions ({rate:,.0f} a second), entropy {entropy:.2f}", flush=True)
    win_rate = evaluate(network, settings.num_players, args.opponents, args.games, seed=9_000_000)
    print(f"wins against {args.opponents}: {win_rate:.0%} of {args.games} games; par {1 / settings.num_players:.0%}")
    if args.out:
        torch.save(network.state_dict(), args.out)
    return win_rate


if __name__ == "__main__":
    main()
