"""Turns a second through `last()` and `step()`: this environment against PettingZoo's classics, in one run.

    python -m benchmarks.aec
    python -m benchmarks.aec --rounds 10 --seconds 1

Random legal play, every observation and mask taken. The environments take turns for a second or so each, for
several rounds, on one pinned core, so that a noisy machine disturbs them alike; figures are medians over
rounds, and the ratios, which carry over to another machine, are medians of each round's ratios.
"""

from __future__ import annotations

import argparse
import os
import random
import statistics
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from symphony9_env import symphony9_v0

Maker = Callable[[], Any]


def contestants() -> dict[str, Maker]:
    from pettingzoo.classic import connect_four_v3, tictactoe_v3

    return {
        "symphony9 raw_env": lambda: symphony9_v0.raw_env(num_players=4),
        "symphony9 env": lambda: symphony9_v0.env(num_players=4),
        "tictactoe raw_env": tictactoe_v3.raw_env,
        "tictactoe env": tictactoe_v3.env,
        "connect_four raw_env": connect_four_v3.raw_env,
        "connect_four env": connect_four_v3.env,
    }


def turns_per_second(env: Any, seconds: float) -> float:
    """Play random legal games for about this long."""
    turns = 0
    env.reset(seed=0)
    start = time.perf_counter()
    while (passed := time.perf_counter() - start) < seconds:
        for _ in range(200):
            observation, _, terminated, truncated, _ = env.last()
            if terminated or truncated:
                env.reset()
                continue
            legal = np.flatnonzero(observation["action_mask"])
            env.step(int(legal[int(random.random() * len(legal))]))
            turns += 1
    return turns / passed


def measure(rounds: int, seconds: float) -> dict[str, list[float]]:
    envs = {name: make() for name, make in contestants().items()}
    for env in envs.values():
        turns_per_second(env, 0.2)  # compiled and warm
    rates: dict[str, list[float]] = {name: [] for name in envs}
    for _ in range(rounds):
        for name, env in envs.items():
            rates[name].append(turns_per_second(env, seconds))
    return rates


def report(rates: dict[str, list[float]]) -> str:
    lines = [f"{'environment':22} {'turns/s':>9}   against tictactoe's of its kind"]
    for name, own in rates.items():
        peer = rates["tictactoe " + name.split()[-1]]
        ratio = statistics.median(mine / theirs for mine, theirs in zip(own, peer, strict=True))
        lines.append(f"{name:22} {statistics.median(own):>9,.0f}   {ratio:.2f}x")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5, help="rounds of all environments (5)")
    parser.add_argument("--seconds", type=float, default=1.0, help="for each environment in a round (1)")
    arguments = parser.parse_args()
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    random.seed(0)
    try:
        import pygame  # noqa: F401
    except ImportError:
        raise SystemExit("PettingZoo's games need pygame: make install brings it") from None
    print(report(measure(arguments.rounds, arguments.seconds)))


if __name__ == "__main__":
    main()
