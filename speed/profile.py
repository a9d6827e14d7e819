"""Measure where the time of a batched step goes: sampling, check of the actions, rules, observation, legality.

    python -m speed.profile
    python -m speed.profile --num-games 16384

Each part is timed in a compiled loop of its own over the same games in the middle of random play, on one pinned core,
in interleaved rounds. The figures are medians in nanoseconds per game and step. The whole step includes the check of
the actions. The last part is a lower bound: it copies a finished observation.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from typing import Any

import numba
import numpy as np

from speed.rounds import pin_to_one_core
from symphony9_env import BatchedGames
from symphony9_env.arena.console import positive_int
from symphony9_env.arguments import Parser
from symphony9_env.engine import first_illegal, sample_rows
from symphony9_env.rules.game import apply, legal_set, mark_legal
from symphony9_env.views.vector import encode

compile_loop = numba.njit(error_model="numpy", nogil=True)
STEP, SAMPLING = "whole step", "sampling"
WARM_UP_ROUNDS = 2  # compile, and fill the caches


@compile_loop
def encode_rows(games: Any, observation: Any) -> None:
    """Write the observation of the deciding seat of each game."""
    for row in range(len(games)):
        game = games[row]
        encode(game, int(game.player), observation[row])


@compile_loop
def mark_rows(games: Any, legal: Any, mask: Any) -> None:
    """Write the legal actions of each game, as sets and as masks."""
    for row in range(len(games)):
        legal[row] = legal_set(games[row])
        mark_legal(legal[row], mask[row])


@compile_loop
def apply_rows(games: Any, actions: Any) -> None:
    """Play an action in each game."""
    for row in range(len(games)):
        apply(games[row], actions[row], None)


@compile_loop
def copy_rows(source: Any, target: Any) -> None:
    """Copy an array row by row."""
    for row in range(len(source)):
        for column in range(source.shape[1]):
            target[row, column] = source[row, column]


def list_parts(games: BatchedGames, actions: Any, spare: Any) -> dict[str, Callable[[], object]]:
    """Return each part as a function, to be called once and in this order.

    They work on copies, so that all parts start from the same games. `spare` is an array for the copied observation.
    """
    batch, states = games.copy(), games.states.copy()
    observation, mask, spare_actions = games.observation.copy(), games.action_mask.copy(), actions.copy()
    rows, legal, streams = np.arange(len(states)), np.empty(len(states), np.int64), games.seeds.astype(np.uint64)
    return {
        "legality": lambda: mark_rows(states, legal, mask),  # before the parts that use its result
        STEP: lambda: batch.step(actions),
        SAMPLING: lambda: sample_rows(legal, streams, rows, spare_actions),
        "check of the actions": lambda: first_illegal(legal, rows, actions),
        "observation": lambda: encode_rows(states, observation),
        "rules": lambda: apply_rows(states, actions),  # after the other parts that use the states: it changes them
        "bound: copy of the observation": lambda: copy_rows(games.observation, spare),
    }


def measure(num_games: int, rounds: int) -> dict[str, float]:
    """Return the median time of each part, in nanoseconds per game."""
    games = BatchedGames(num_games, num_players=4, seed=0)
    actions, spare = games.sample_actions(), games.observation.copy()
    times: dict[str, list[float]] = {}
    for number in range(rounds + WARM_UP_ROUNDS):
        games.step(actions)
        games.sample_actions(out=actions)
        for name, call in list_parts(games, actions, spare).items():
            start = time.perf_counter()
            call()
            passed = time.perf_counter() - start
            if number >= WARM_UP_ROUNDS:
                times.setdefault(name, []).append(passed / num_games * 1e9)
    return {name: statistics.median(values) for name, values in times.items()}


def main() -> None:
    """Run the command."""
    parser = Parser("python -m speed.profile", __doc__)
    parser.add_argument("--num-games", type=positive_int, default=1024, help="games in the batch (default: 1024)")
    parser.add_argument("--rounds", type=positive_int, default=400, help="steps to measure (default: 400)")
    arguments = parser.parse_args()
    pin_to_one_core()
    times = measure(arguments.num_games, arguments.rounds)
    for name, nanoseconds in times.items():
        print(f"{name:32} {nanoseconds:7.0f} ns")
    total = times[STEP] + times[SAMPLING]
    print(f"{'a step with sampling':32} {total:7.0f} ns = {1e3 / total:.2f} M steps/s")


if __name__ == "__main__":
    main()
