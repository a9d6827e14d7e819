"""Measure turns per second through `last()` and `step()`: this environment and PettingZoo's classic games in one run.

    python -m speed.aec
    python -m speed.aec --rounds 10 --seconds 1

All environments play random legal moves and read every observation and mask. They take turns of about a second, for
several rounds, on one pinned core. The figures are medians over rounds; so are the ratios.
"""

from __future__ import annotations

import random
from typing import Any

import numpy as np

from speed.rounds import Rates, Workload, make_parser, measure_rates, median_rate, median_ratio, pin_to_one_core
from symphony9_env import symphony9_v0


def make_aec_workload(env: Any, turns: int = 1000) -> Workload:
    """Return a workload that plays random legal moves through PettingZoo's AEC interface."""
    env.reset(seed=0)

    def play() -> int:
        played = 0
        for _ in range(turns):
            observation, _, terminated, truncated, _ = env.last()
            if terminated or truncated:
                env.reset()
                continue
            legal = np.flatnonzero(observation["action_mask"])
            env.step(int(legal[int(random.random() * len(legal))]))
            played += 1
        return played

    return play


def make_workloads() -> dict[str, Workload]:
    """Return a workload for each environment, with and without PettingZoo's wrappers."""
    from pettingzoo.classic import connect_four_v3, tictactoe_v3

    return {
        "symphony9 raw_env": make_aec_workload(symphony9_v0.raw_env(num_players=4)),
        "symphony9 env": make_aec_workload(symphony9_v0.env(num_players=4)),
        "tictactoe raw_env": make_aec_workload(tictactoe_v3.raw_env()),
        "tictactoe env": make_aec_workload(tictactoe_v3.env()),
        "connect_four raw_env": make_aec_workload(connect_four_v3.raw_env()),
        "connect_four env": make_aec_workload(connect_four_v3.env()),
    }


def format_rates(rates: Rates) -> str:
    """Return the rates as a text table, each with its ratio to tictactoe with the same wrappers."""
    lines = [f"{'environment':22} {'turns/s':>9}   ratio to tictactoe with the same wrappers"]
    for name in rates:
        reference = "tictactoe " + name.split()[-1]
        lines.append(f"{name:22} {median_rate(rates, name):>9,.0f}   {median_ratio(rates, name, reference):.2f}")
    return "\n".join(lines)


def main() -> None:
    """Run the command."""
    arguments = make_parser("python -m speed.aec", __doc__, rounds=5).parse_args()
    pin_to_one_core()
    random.seed(0)
    try:
        workloads = make_workloads()
    except ImportError as error:
        raise SystemExit(f"PettingZoo's classic games can't be imported ({error}); run `make install`") from error
    print(format_rates(measure_rates(workloads, arguments.rounds, arguments.seconds)))


if __name__ == "__main__":
    main()
