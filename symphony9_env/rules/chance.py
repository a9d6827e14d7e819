"""The project's own random numbers: splitmix64, the same on every platform and library version.

A *stream* is a 64-bit number (uint64); its draws are numbered and each can be had by itself, so nothing needs
to be stored or allocated. Draw number k of stream s is splitmix64's (k+1)-th output for the initial state s.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from symphony9_env.compilation import entry, rule, wrapping
from symphony9_env.options import SEED_BITS

_GAMMA: Final = np.uint64(0x9E3779B97F4A7C15)
_MIX_1: Final = np.uint64(0xBF58476D1CE4E5B9)
_MIX_2: Final = np.uint64(0x94D049BB133111EB)
_SHIFT_30, _SHIFT_27, _SHIFT_31 = np.uint64(30), np.uint64(27), np.uint64(31)
_SHIFT_32: Final = np.uint64(32)
_SHIFT_SEED: Final = np.uint64(64 - SEED_BITS)


@wrapping
def mix(value: Any) -> Any:
    """splitmix64's output for a state: a well-mixed hash of 64 bits."""
    value = value + _GAMMA
    value = (value ^ (value >> _SHIFT_30)) * _MIX_1
    value = (value ^ (value >> _SHIFT_27)) * _MIX_2
    return value ^ (value >> _SHIFT_31)


@wrapping
def advanced(stream: Any, draws: int) -> Any:
    """The stream without its first draws."""
    return stream + np.uint64(draws) * _GAMMA


@rule
def draw_below(stream: Any, number: int, bound: int) -> int:
    """Draw `number` of a stream, as one of 0 ... bound - 1 (for small bounds: the bias is below bound / 2**32)."""
    bits = mix(advanced(stream, number))
    return np.int64(((bits >> _SHIFT_32) * np.uint64(bound)) >> _SHIFT_32)  # type: ignore[return-value]


@rule
def num_members(members: int) -> int:
    """How many members a set has; sets are whole numbers with one bit for each member."""
    count = 0
    while members != 0:
        members &= members - 1  # without the lowest; compiles to one instruction
        count += 1
    return count


@rule
def draw_member(stream: Any, number: int, members: int) -> int:
    """Draw `number` of a stream, as one of the members of a set (not empty), each as likely."""
    for _ in range(draw_below(stream, number, num_members(members))):
        members &= members - 1
    return num_members((members & -members) - 1)


@entry
def successor(seed: Any) -> Any:
    """The seed after this one (uint64 in and out)."""
    return mix(seed) >> _SHIFT_SEED


@wrapping
def seed_of(batch_seed: Any, row: int, number: int) -> Any:
    """The seed of the game that is dealt on a row of a batch as its number-th (uint64)."""
    return mix(mix(mix(batch_seed) + np.uint64(row)) + np.uint64(number)) >> _SHIFT_SEED


def next_seed(seed: int) -> int:
    """The seed that `reset()` uses after a game with this one: splitmix64 of it, its upper 53 bits.

    >>> next_seed(7)
    3511274219185729
    """
    return int(successor(np.uint64(seed)))
