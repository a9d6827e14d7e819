"""Turns a second through `last()` and `step()`: this environment against PettingZoo's classics, in one run.

    python -m speed.aec
    python -m speed.aec --rounds 10 --seconds 1

Random legal play, every observation and mask taken. The environments take turns for a second or so each, for
several rounds, on one pinned core; figures are medians over rounds, and so are the ratios of each round.
"""

from __future__ import annotations

import argparse
import random
from typing import Any

import numpy as np

from speed.rounds import Play, Rates, measure, median, pin_to_one_core, positive, ratio
from symphony9_env import symphony9_v0


def aec_player(env: Any, turns: int = 1000) -> Play:
    """Random legal play through PettingZoo's AEC interface."""
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


def contestants() -> dict[str, Play]:
    from pettingzoo.classic import connect_four_v3, tictactoe_v3

    return {
        "symphony9 raw_env": aec_player(symphony9_v0.raw_env(num_players=4)),
        "symphony9 env": aec_player(symphony9_v0.env(num_players=4)),
        "tictactoe raw_env": aec_player(tictactoe_v3.raw_env()),
        "tictactoe env": aec_player(tictactoe_v3.env()),
        "connect_four raw_env": aec_player(connect_four_v3.raw_env()),
        "connect_four env": aec_player(connect_four_v3.env()),
    }


def report(rates: Rates) -> str:
    lines = [f"{'environment':22} {'turns/s':>9}   against tictactoe's of its kind"]
    for name in rates:
        peer = "tictactoe " + name.split()[-1]
        lines.append(f"{name:22} {median(rates, name):>9,.0f}   {ratio(rates, name, peer):.2f}x")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=positive, default=5, help="rounds of all environments (5)")
    parser.add_argument("--seconds", type=float, default=1.0, help="for each environment in a round (1)")
    arguments = parser.parse_args()
    pin_to_one_core()
    random.seed(0)
    try:
        players = contestants()
    except ImportError as error:
        raise SystemExit(f"PettingZoo's games need more than is installed ({error}): make install brings it") from error
    print(report(measure(players, arguments.rounds, arguments.seconds)))


if __name__ == "__main__":
    main()
