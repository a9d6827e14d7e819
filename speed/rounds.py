"""Compare speeds in one run: every workload takes a turn in every round, on one core, and ratios are per round."""

from __future__ import annotations

import os
import statistics
import time
from collections.abc import Callable

from symphony9_env.arena.console import positive_int
from symphony9_env.arguments import Parser

Workload = Callable[[], int]  # plays for a short time and returns the number of steps
Rates = dict[str, list[float]]  # steps per second of each workload, by round


def make_parser(command: str, about: str | None, rounds: int) -> Parser:
    """Return a command-line parser with the number of rounds, which has this default, and the length of a turn."""
    parser = Parser(command, about)
    parser.add_argument("--rounds", type=positive_int, default=rounds, help=f"number of rounds (default: {rounds})")
    parser.add_argument("--seconds", type=float, default=1.0, help="length of a turn (default: 1)")
    return parser


def pin_to_one_core() -> None:
    """Pin the process to one core, where the system supports it.

    Call this before importing libraries that start threads, so that they use one core as well.
    """
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})


def measure_rate(workload: Workload, seconds: float) -> float:
    """Return the steps per second of a workload."""
    steps = 0
    start = time.perf_counter()
    while (passed := time.perf_counter() - start) < seconds:
        steps += workload()
    return steps / passed


def measure_rates(workloads: dict[str, Workload], rounds: int, seconds: float) -> Rates:
    """Return the steps per second of all workloads in several rounds, so that noise affects all of them equally."""
    for workload in workloads.values():
        workload()  # compile and warm up
    rates: Rates = {name: [] for name in workloads}
    for _ in range(rounds):
        for name, workload in workloads.items():
            rates[name].append(measure_rate(workload, seconds))
    return rates


def median_rate(rates: Rates, name: str) -> float:
    """Return a workload's median over rounds."""
    return statistics.median(rates[name])


def median_ratio(rates: Rates, name: str, reference: str) -> float:
    """Return the median over rounds of the ratio of two workloads' rates."""
    return statistics.median(own / other for own, other in zip(rates[name], rates[reference], strict=True))
