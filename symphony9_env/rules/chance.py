# kernel: compiled by Numba; a change here changes the key of the compile cache
# mypy: disable-error-code="no-any-return"
"""Random numbers by splitmix64: the same on every platform and with every library version.

A *stream* is a 64-bit number (uint64). Its draws are numbered and each can be computed by itself, so there is no
generator state to store. Draw number k of stream s is splitmix64's (k+1)-th output for the initial state s.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from symphony9_env.compilation import entry, rule, wrapping_rule

SEED_BITS: Final = 53  # seeds are 0 ... 2**53 - 1: exact in JSON and in a float64
MAX_SEED: Final = 2**SEED_BITS - 1

_GAMMA: Final = np.uint64(0x9E3779B97F4A7C15)
_MIX_1: Final = np.uint64(0xBF58476D1CE4E5B9)
_MIX_2: Final = np.uint64(0x94D049BB133111EB)
_SHIFT_30, _SHIFT_27, _SHIFT_31 = np.uint64(30), np.uint64(27), np.uint64(31)
_SHIFT_32: Final = np.uint64(32)
_SHIFT_SEED: Final = np.uint64(64 - SEED_BITS)


@wrapping_rule
def mix(value: Any) -> Any:
    """Return splitmix64's output for a state: a well-mixed 64-bit hash."""
    value = value + _GAMMA
    value = (value ^ (value >> _SHIFT_30)) * _MIX_1
    value = (value ^ (value >> _SHIFT_27)) * _MIX_2
    return value ^ (value >> _SHIFT_31)


@wrapping_rule
def skip_draws(stream: Any, draws: int) -> Any:
    """Return the stream without its first draws."""
    return stream + np.uint64(draws) * _GAMMA


@rule
def draw_below(stream: Any, number: int, bound: int) -> int:
    """Return draw `number` of a stream as one of 0 ... bound - 1; for small bounds the bias is below bound / 2**32."""
    bits = mix(skip_draws(stream, number))
    return np.int64(((bits >> _SHIFT_32) * np.uint64(bound)) >> _SHIFT_32)  # type: ignore[return-value]


@rule
def num_members(members: int) -> int:
    """Count the members of a set; sets are whole numbers with one bit for each member."""
    count = 0
    while members != 0:
        members &= members - 1  # remove the lowest member; the loop compiles to one instruction
        count += 1
    return count


@rule
def draw_member(stream: Any, number: int, members: int) -> int:
    """Return draw `number` of a stream as a member of a non-empty set, uniformly."""
    for _ in range(draw_below(stream, number, num_members(members))):
        members &= members - 1
    return num_members((members & -members) - 1)


@entry
def follow_seed(seed: Any) -> Any:
    """Return the seed that follows this one (uint64 in and out)."""
    return mix(seed) >> _SHIFT_SEED


@wrapping_rule
def derive_seed(batch_seed: Any, row: int, number: int) -> Any:
    """Return the seed (uint64) of game `number` on a row of a batch."""
    return mix(mix(mix(batch_seed) + np.uint64(row)) + np.uint64(number)) >> _SHIFT_SEED


def next_seed(seed: int) -> int:
    """Return the seed that `reset()` uses after a game with this one: the upper 53 bits of splitmix64's output for it.

    >>> next_seed(7)
    3511274219185729
    """
    return int(follow_seed(np.uint64(seed)))
