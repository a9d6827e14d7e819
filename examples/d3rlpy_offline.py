"""d3rlpy: learn from recorded games with conservative Q-learning (discrete CQL), and play.

    pip install ".[minari]" click colorama dataclasses-json gym scikit-learn structlog torch tqdm
    pip install --no-deps d3rlpy==2.8.1
    python examples/d3rlpy_offline.py --games 200

d3rlpy requires exactly Gymnasium 1.0.0, which is older than what this package needs, but it works with newer versions:
hence `--no-deps`. Don't use its own reader of Minari datasets, `d3rlpy.datasets.get_minari`: it takes the observation
after the last action of an episode for the first one of the next. `read_episodes` leaves that observation out.

d3rlpy has no masks. This example takes the legal action with the greatest value.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import Any, NamedTuple

import d3rlpy
import minari
import numpy as np
import torch
from minari_dataset import play, temporary_datasets

from symphony9_env.integrations.minari import export

DATASET = "symphony9/planner-box-v0"


class TrainingResult(NamedTuple):
    losses: list[float]
    win_rate: float


def main(argv: Sequence[str] | None = None) -> TrainingResult:
    parser = argparse.ArgumentParser(description="Discrete CQL on recorded games of Symphony No. 9.")
    parser.add_argument("--games", type=int, default=200, help="games to record (default: %(default)s)")
    parser.add_argument("--steps", type=int, default=2000, help="batches to learn from (default: %(default)s)")
    parser.add_argument("--num-players", type=int, default=2, choices=(2, 3, 4))
    parser.add_argument("--evaluate", type=int, default=100, help="games against random (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args(argv)
    torch.set_num_threads(1)
    d3rlpy.seed(args.seed)

    with temporary_datasets():
        export((play(args.num_players, seed) for seed in range(args.games)), DATASET, box=True)
        dataset = minari.load_dataset(DATASET)
        episodes = read_episodes(dataset)
        env = dataset.recover_environment()
    learner = d3rlpy.algos.DiscreteCQLConfig(gamma=1.0, batch_size=256, learning_rate=3e-4).create(device="cpu")
    learner.build_with_dataset(episodes)
    losses = [learner.update(episodes.sample_transition_batch(256))["loss"] for _ in range(args.steps)]
    win_rate = evaluate(learner, env, args.evaluate)
    print(f"loss {losses[0]:.2f} to {losses[-1]:.2f}")
    print(f"wins against random: {win_rate:.0%} of {args.evaluate} games; par {1 / args.num_players:.0%}")
    return TrainingResult(losses, win_rate)


def read_episodes(dataset: Any) -> Any:
    """Return a Minari dataset as d3rlpy's, with one observation for each action."""
    episodes = list(dataset.iterate_episodes())
    return d3rlpy.dataset.MDPDataset(
        observations=np.concatenate([episode.observations[:-1] for episode in episodes]),
        actions=np.concatenate([episode.actions for episode in episodes]),
        rewards=np.concatenate([episode.rewards for episode in episodes]),
        terminals=np.concatenate([episode.terminations for episode in episodes]),
        action_space=d3rlpy.ActionSpace.DISCRETE,
        action_size=int(dataset.action_space.n),
    )


def evaluate(learner: Any, env: Any, games: int) -> float:
    """Return the share of games in which the learner wins with the legal actions of the greatest value."""
    wins = 0
    for seed in range(games):
        observation, info = env.reset(seed=seed)
        is_over = False
        while not is_over:
            legal = np.flatnonzero(info["action_mask"])
            values = learner.predict_value(np.repeat(observation[None], len(legal), axis=0), legal)
            observation, reward, is_over, _, info = env.step(legal[values.argmax()])
        wins += reward > 0
    return wins / games


if __name__ == "__main__":
    main()
