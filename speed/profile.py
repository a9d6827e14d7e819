"""Where the time of a batched step goes: sampling, the check of the actions, rules, observation, legality.

    python -m speed.profile
    python -m speed.profile --num-games 16384

Each part is timed by itself in a compiled loop over the same games in the middle of random play, on one pinned
core, in interleaved rounds; figures are medians in nanoseconds for each game and step. The bound can't be beaten:
copying a finished observation.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable
from typing import Any

import numba
import numpy as np

from speed.rounds import pin_to_one_core, positive
from symphony9_env import BatchedGames
from symphony9_env.engine import first_illegal, sample_rows, step_rows
from symphony9_env.rules.game import apply, legal_set, mark_legal
from symphony9_env.setup_format import pack_box
from symphony9_env.views.vector import encode

compiled = numba.njit(error_model="numpy", nogil=True)
Timed = Callable[[], object]


@compiled
def observe_rows(games: Any, observation: Any) -> None:
    for row in range(len(games)):
        game = games[row]
        encode(game, int(game.player), observation[row])


@compiled
def mark_rows(games: Any, mask: Any) -> None:
    for row in range(len(games)):
        mark_legal(legal_set(games[row]), mask[row])


@compiled
def apply_rows(games: Any, actions: Any) -> None:
    for row in range(len(games)):
        apply(games[row], actions[row], None)


@compiled
def copy_rows(source: Any, target: Any) -> None:
    for row in range(len(source)):
        for spot in range(source.shape[1]):
            target[row, spot] = source[row, spot]


def parts(games: BatchedGames, actions: Any, spare: Any) -> dict[str, Timed]:
    """Each part as a call; `measure` puts everything back after it."""
    box, seed, rows = pack_box(games.options.variant), np.uint64(games.seed), np.arange(games.num_games)
    buffers = games.buffers
    ended = games.final_states
    return {
        "whole step": lambda: step_rows(box, seed, games.states, ended, buffers, rows, actions, 0, False),
        "sampling": lambda: sample_rows(buffers.legal, buffers.stream, rows, actions),
        "check of the actions": lambda: first_illegal(buffers.legal, rows, actions),
        "rules": lambda: apply_rows(games.states, actions),
        "observation": lambda: observe_rows(games.states, games.observation),
        "legality": lambda: mark_rows(games.states, games.action_mask),
        "bound: copy of the observation": lambda: copy_rows(games.observation, spare),
    }


def moved(games: BatchedGames) -> list[Any]:
    """What a part changes, and the next must find as it was."""
    return [games.states, *games.buffers]


def measure(num_games: int, rounds: int) -> dict[str, float]:
    games = BatchedGames(num_games, num_players=4, seed=0)
    actions = games.sample_actions()
    spare = games.observation.copy()
    times: dict[str, list[float]] = {}
    for moment in range(rounds):
        games.sample_actions(out=actions)
        games.step(actions)
        for name, call in parts(games, actions, spare).items():
            games.sample_actions(out=actions)
            kept = [array.copy() for array in moved(games)]
            start = time.perf_counter()
            call()
            passed = time.perf_counter() - start
            for array, before in zip(moved(games), kept, strict=True):
                array[:] = before
            if moment > 1:  # compiled and warm
                times.setdefault(name, []).append(passed / num_games * 1e9)
    return {name: statistics.median(values) for name, values in times.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--num-games", type=positive, default=1024, help="games in the batch (1024)")
    parser.add_argument("--rounds", type=positive, default=400, help="steps to take apart (400)")
    arguments = parser.parse_args()
    pin_to_one_core()
    times = measure(arguments.num_games, arguments.rounds)
    for name, nanoseconds in times.items():
        print(f"{name:32} {nanoseconds:7.0f} ns")
    whole = times["whole step"] + times["sampling"] + times["check of the actions"]
    print(f"{'a step with sampling and check':32} {whole:7.0f} ns = {1e3 / whole:.2f} M steps/s")


if __name__ == "__main__":
    main()
