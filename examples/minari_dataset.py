"""Minari: record games of the planner, export them as a dataset, and learn to imitate the winners.

    pip install "symphony9-env[minari]"
    python examples/minari_dataset.py --games 50

A linear softmax over the observation, fitted with NumPy: enough to see that the data is what it should be.
"""

from __future__ import annotations

import argparse
import os
import tempfile
from collections.abc import Sequence

import minari
import numpy as np

from symphony9_env import agents, symphony9_v0
from symphony9_env.integrations.minari import export
from symphony9_env.records import Record

DATASET = "symphony9/planner-v0"


def played(num_players: int, seed: int) -> Record:
    """A game of planners."""
    env = symphony9_v0.raw_env(num_players=num_players)
    env.reset(seed=seed)
    planner = agents.make("planner", seed=seed)
    while not env.terminations["player_0"]:
        env.step(planner.choose(env))
    return env.record()


def main(argv: Sequence[str] | None = None) -> float:
    parser = argparse.ArgumentParser(description="Symphony No. 9 as a Minari dataset.")
    parser.add_argument("--games", type=int, default=50, help="to record (default: %(default)s)")
    parser.add_argument("--num-players", type=int, default=3, choices=(2, 3, 4))
    parser.add_argument("--keep", action="store_true", help="in Minari's own folder, rather than a temporary one")
    args = parser.parse_args(argv)
    if not args.keep:
        os.environ["MINARI_DATASETS_PATH"] = tempfile.mkdtemp(prefix="minari-")

    export([played(args.num_players, seed) for seed in range(args.games)], DATASET, seats="winners", ledger=True)
    dataset = minari.load_dataset(DATASET)
    print(f"{dataset.total_episodes} episodes, {dataset.total_steps} decisions in {dataset.storage.data_path}")

    seen, masks, actions = [], [], []
    for episode in dataset.iterate_episodes():
        seen.append(episode.observations["observation"][:-1])
        masks.append(episode.observations["action_mask"][:-1])
        actions.append(episode.actions)
    agreed = imitate(np.concatenate(seen), np.concatenate(masks) == 1, np.concatenate(actions))
    print(f"agrees with the planner in {agreed:.0%} of the decisions it was fitted to")
    return agreed


def imitate(
    seen: np.ndarray[tuple[int, int], np.dtype[np.float32]],
    masks: np.ndarray[tuple[int, int], np.dtype[np.bool_]],
    actions: np.ndarray[tuple[int], np.dtype[np.int64]],
    steps: int = 200,
    rate: float = 0.5,
) -> float:
    """Softmax regression by gradient descent; returns how often its favourite is what was played."""
    weights = np.zeros((seen.shape[1], masks.shape[1]))
    chosen = np.eye(masks.shape[1])[actions]
    for step in range(steps + 1):
        logits = np.where(masks, seen @ weights, -np.inf)
        if step == steps:
            break
        odds = np.exp(logits - logits.max(axis=1, keepdims=True))
        odds /= odds.sum(axis=1, keepdims=True)
        weights += rate * seen.T @ (chosen - odds) / len(seen)
    return float((logits.argmax(axis=1) == actions).mean())


if __name__ == "__main__":
    main()
