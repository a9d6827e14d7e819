"""Measure how many games per second a tournament plays with several workers, in units of one worker.

    python -m speed.evaluation
    python -m speed.evaluation --workers 2,4,8 --agent search:800 --num-players 4 --games 200

One worker and several take turns in every round of one run, with the same deals, and the ratios are per round. The
agent, search:100 by default, has all seats. One worker is the process of the command itself. Each number of workers
plays a few games before anything is measured, to start its processes and to load the compiled code. Saving the games is
part of the measurement; the report is not. The figures mean something on idle cores only.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from contextlib import ExitStack, redirect_stderr
from io import StringIO
from typing import Final

from speed.rounds import Rates, median_rate, median_ratio
from symphony9_env.arena.console import format_table, positive_int
from symphony9_env.arena.game_loop import WorkerPool
from symphony9_env.arena.tournament import Tournament, list_recipes
from symphony9_env.arena.worker_pools import open_pool
from symphony9_env.arguments import Parser, run
from symphony9_env.components import PLAYER_COUNTS
from symphony9_env.options import Variant
from symphony9_env.processes import count_cores

PROG: Final = "python -m speed.evaluation"
WARM_UP_GAMES: Final = 8  # for each worker


def measure_rate(pool: WorkerPool, agent: str, num_players: int, num_games: int, seed: int) -> float:
    """Play a tournament in a folder of its own with the workers of a pool; return the games per second."""
    with tempfile.TemporaryDirectory(prefix="symphony9-speed-") as folder, redirect_stderr(StringIO()):
        recipes = list_recipes([agent], seed)
        variant = Variant(num_players=num_players)
        with Tournament(recipes, variant, folder, seed=seed, num_records=0, pool=pool) as tournament:
            start = time.perf_counter()
            tournament.play(num_games)
            return tournament.num_played / (time.perf_counter() - start)


def measure_rates(counts: list[int], agent: str, num_players: int, num_games: int, rounds: int) -> Rates:
    """Return the games per second with each number of workers, in several rounds."""
    rates: Rates = {str(count): [] for count in counts}
    with ExitStack() as stack:
        pools = {count: stack.enter_context(open_pool(count, None, [agent])) for count in counts}
        for count, pool in pools.items():
            measure_rate(pool, agent, num_players, WARM_UP_GAMES * count, seed=0)
        for number in range(1, rounds + 1):
            for count, pool in pools.items():
                rates[str(count)].append(measure_rate(pool, agent, num_players, num_games, seed=number))
    return rates


def parse_counts(text: str) -> list[int]:
    """Parse numbers of workers, separated by commas, for argparse."""
    return [positive_int(part.strip()) for part in text.split(",")]


def make_parser() -> Parser:
    """Return the parser of the command line."""
    parser = Parser(PROG, __doc__)
    parser.add_argument("--agent", default="search:100", help="the agent in all seats (default: search:100)")
    parser.add_argument(
        "--workers", type=parse_counts, default=[2], metavar="N,…", help="numbers of workers (default: 2)"
    )
    parser.add_argument("--num-players", type=int, default=2, choices=PLAYER_COUNTS, help="default: 2")
    parser.add_argument("--games", type=positive_int, default=120, help="games of a turn (default: 120)")
    parser.add_argument("--rounds", type=positive_int, default=5, help="number of rounds (default: 5)")
    return parser


def format_rates(rates: Rates) -> str:
    """Return the rates as text, each in units of the first."""
    one = next(iter(rates))
    rows = [
        [
            f"{count} worker{'s' if count != '1' else ''}",
            f"{median_rate(rates, count):.2f}",
            f"{median_ratio(rates, count, one):.2f}",
            f"{min(own / other for own, other in zip(rates[count], rates[one], strict=True)):.2f}",
        ]
        for count in rates
    ]
    return format_table(["", "games/s", "in units of one worker", "lowest of all rounds"], rows)


def main(arguments: list[str] | None = None) -> None:
    """Run the command."""
    chosen: argparse.Namespace = make_parser().parse_args(arguments)
    counts = [1, *(count for count in chosen.workers if count != 1)]
    print(f"{chosen.agent}, {chosen.num_players} players, {count_cores()} cores")
    print(format_rates(measure_rates(counts, chosen.agent, chosen.num_players, chosen.games, chosen.rounds)))


if __name__ == "__main__":
    sys.exit(run("speed.evaluation", main))
