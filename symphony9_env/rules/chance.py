"""The project's own random numbers: splitmix64, the same on every platform and library version.

`generator` is a uint64 array of length one that holds the generator's state.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from symphony9_env.compilation import entry, rule, wrapping

Generator = NDArray[np.uint64]

SEED_BITS: Final = 53  # seeds are 0 ... 2**53 - 1: exact in JSON and in a float64
MAX_SEED: Final = 2**SEED_BITS - 1

_GAMMA: Final = np.uint64(0x9E3779B97F4A7C15)
_MIX_1: Final = np.uint64(0xBF58476D1CE4E5B9)
_MIX_2: Final = np.uint64(0x94D049BB133111EB)
_SHIFT_30, _SHIFT_27, _SHIFT_31 = np.uint64(30), np.uint64(27), np.uint64(31)
_SHIFT_32: Final = np.uint64(32)
_SHIFT_SEED: Final = np.uint64(64 - SEED_BITS)


@wrapping
def mix(value: Any) -> Any:
    """One splitmix64 output for a 64-bit input: a well-mixed hash of it."""
    value = value + _GAMMA
    value = (value ^ (value >> _SHIFT_30)) * _MIX_1
    value = (value ^ (value >> _SHIFT_27)) * _MIX_2
    return value ^ (value >> _SHIFT_31)


@wrapping
def draw(generator: Any) -> Any:
    """The next 64 random bits."""
    bits = mix(generator[0])
    generator[0] = generator[0] + _GAMMA
    return bits


@rule
def draw_below(generator: Any, bound: int) -> int:
    """A random number from 0 to bound - 1, for small bounds (the bias is below bound / 2**32)."""
    return np.int64(((draw(generator) >> _SHIFT_32) * np.uint64(bound)) >> _SHIFT_32)  # type: ignore[return-value]


@rule
def shuffle(generator: Any, items: Any) -> None:
    for last in range(len(items) - 1, 0, -1):
        chosen = draw_below(generator, last + 1)
        item = items[last]
        items[last] = items[chosen]
        items[chosen] = item


@entry
def successor(seed: Any) -> Any:
    """The seed after this one (uint64 in and out)."""
    return mix(seed) >> _SHIFT_SEED


def next_seed(seed: int) -> int:
    """The seed that `reset()` uses after a game with this one: splitmix64 of it, its upper 53 bits.

    >>> next_seed(7)
    3511274219185729
    """
    return int(successor(np.uint64(seed)))
