"""Measuring side by side: everybody takes a turn in every round, on one core, and ratios are taken round by round."""

from __future__ import annotations

import argparse
import os
import statistics
import time
from collections.abc import Callable

Play = Callable[[], int]  # plays for a short while and returns how many steps that were
Rates = dict[str, list[float]]  # steps a second, by contestant and round


def positive(text: str) -> int:
    """For argparse: a whole number from 1 up."""
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r}; allowed: a whole number from 1 up")
    return int(text)


def pin_to_one_core() -> None:
    """So that libraries with threads get one core too, and nothing wanders. Call it before importing them."""
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})


def steps_per_second(play: Play, seconds: float) -> float:
    steps = 0
    start = time.perf_counter()
    while (passed := time.perf_counter() - start) < seconds:
        steps += play()
    return steps / passed


def measure(contestants: dict[str, Play], rounds: int, seconds: float) -> Rates:
    """Steps a second of everybody, for several rounds; a noisy machine then disturbs them alike."""
    for play in contestants.values():
        play()  # compiled and warm
    rates: Rates = {name: [] for name in contestants}
    for _ in range(rounds):
        for name, play in contestants.items():
            rates[name].append(steps_per_second(play, seconds))
    return rates


def ratio(rates: Rates, one: str, other: str) -> float:
    """The median over rounds of one's speed in units of the other's."""
    return statistics.median(mine / theirs for mine, theirs in zip(rates[one], rates[other], strict=True))


def median(rates: Rates, name: str) -> float:
    return statistics.median(rates[name])
