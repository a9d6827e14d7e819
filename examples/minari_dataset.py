"""Minari: record games of the planner, export them as a dataset, and learn to imitate the winners.

    pip install ".[minari]"
    python examples/minari_dataset.py --games 50

The imitator is a linear softmax over the observation, fitted with NumPy: enough to see that the data is sound.
"""

from __future__ import annotations

import argparse
import os
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from unittest.mock import patch

import minari
import numpy as np

from symphony9_env import agents, symphony9_v0
from symphony9_env.integrations.minari import export
from symphony9_env.records import Record

DATASET = "symphony9/planner-v0"


def play(num_players: int, seed: int) -> Record:
    """Play a game with a planner in every seat."""
    env = symphony9_v0.raw_env(num_players=num_players)
    env.reset(seed=seed)
    planner = agents.make("planner", seed=seed)
    while not env.terminations["player_0"]:
        env.step(planner.choose(env))
    return env.record()


@contextmanager
def temporary_datasets() -> Iterator[None]:
    """Let Minari keep its datasets in a folder that is deleted at the end of the block."""
    with tempfile.TemporaryDirectory(prefix="minari-") as folder, patch.dict(os.environ, MINARI_DATASETS_PATH=folder):
        yield


def main(argv: Sequence[str] | None = None) -> float:
    parser = argparse.ArgumentParser(description="Symphony No. 9 as a Minari dataset.")
    parser.add_argument("--games", type=int, default=50, help="games to record (default: %(default)s)")
    parser.add_argument("--num-players", type=int, default=3, choices=(2, 3, 4))
    parser.add_argument(
        "--keep", action="store_true", help="write the dataset to Minari's own folder, not to a temporary one"
    )
    args = parser.parse_args(argv)
    with nullcontext() if args.keep else temporary_datasets():
        return learn([play(args.num_players, seed) for seed in range(args.games)])


def learn(games: list[Record]) -> float:
    """Export the games, read them back and imitate the winners."""
    export(games, DATASET, seats="winners", ledger=True)
    dataset = minari.load_dataset(DATASET)
    print(f"{dataset.total_episodes} episodes, {dataset.total_steps} decisions in {dataset.storage.data_path}")

    episodes = list(dataset.iterate_episodes())
    observations = np.concatenate([episode.observations["observation"][:-1] for episode in episodes])
    masks = np.concatenate([episode.observations["action_mask"][:-1] for episode in episodes])
    agreement = imitate(observations, masks == 1, np.concatenate([episode.actions for episode in episodes]))
    print(f"agrees with the planner in {agreement:.0%} of the decisions it was fitted to")
    return agreement


def imitate(
    observations: np.ndarray[tuple[int, int], np.dtype[np.float32]],
    masks: np.ndarray[tuple[int, int], np.dtype[np.bool_]],
    actions: np.ndarray[tuple[int], np.dtype[np.int64]],
    steps: int = 200,
    rate: float = 0.5,
) -> float:
    """Fit a softmax regression by gradient descent; return how often its first choice is the action that was played."""
    weights = np.zeros((observations.shape[1], masks.shape[1]))
    chosen = np.eye(masks.shape[1])[actions]
    for _ in range(steps):
        logits = np.where(masks, observations @ weights, -np.inf)
        probabilities = np.exp(logits - logits.max(axis=1, keepdims=True))
        probabilities /= probabilities.sum(axis=1, keepdims=True)
        weights += rate * observations.T @ (chosen - probabilities) / len(observations)
    first_choices = np.where(masks, observations @ weights, -np.inf).argmax(axis=1)
    return float((first_choices == actions).mean())


if __name__ == "__main__":
    main()
