# kernel: compiled by Numba; a change here changes the key of the compile cache
# mypy: disable-error-code="no-any-return"
"""Action numbers and their names, the same for every number of players.

>>> NAMES[37]
'bid 7 with 6'
>>> number("take mozart")
3
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from symphony9_env.components import FURNITURE_VALUES, MUSICIANS, PLAYER_COUNT_RULES

NUM_MUSICIANS: Final = len(MUSICIANS)
MAX_CONTRIBUTION: Final = max(rules.limit for rules in PLAYER_COUNT_RULES.values())

NO_TOKEN: Final = -1
# Every way to fill a hand: (total, furniture token in it or NO_TOKEN). Two tokens never fit.
HANDS: Final[tuple[tuple[int, int], ...]] = (
    *((total, NO_TOKEN) for total in range(MAX_CONTRIBUTION + 1)),
    *((total, token) for token, value in enumerate(FURNITURE_VALUES) for total in range(value, MAX_CONTRIBUTION + 1)),
)

# First number of each kind of action.
TAKE: Final = 0
KEEP: Final = TAKE + NUM_MUSICIANS
DISCARD: Final = KEEP + NUM_MUSICIANS
PASS: Final = DISCARD + NUM_MUSICIANS
SELL: Final = PASS + 1
BID: Final = SELL + len(FURNITURE_VALUES)
ANNOUNCE: Final = BID + len(HANDS)

NUM_ACTIONS: Final = ANNOUNCE  # without discussion
NUM_ACTIONS_DISCUSSION: Final = ANNOUNCE + MAX_CONTRIBUTION + 1

NAMES: Final[tuple[str, ...]] = (
    *(f"take {name}" for name in MUSICIANS),
    *(f"keep {name}" for name in MUSICIANS),
    *(f"discard {name}" for name in MUSICIANS),
    "pass",
    *(f"sell {value}" for value in FURNITURE_VALUES),
    *(f"bid {total}" if token == NO_TOKEN else f"bid {total} with {FURNITURE_VALUES[token]}" for total, token in HANDS),
    *(f"announce {amount}" for amount in range(MAX_CONTRIBUTION + 1)),
)

_NUMBERS: Final[dict[str, int]] = {name: number for number, name in enumerate(NAMES)}


def num_actions(discussion: bool) -> int:
    """Return the size of the action space."""
    return NUM_ACTIONS_DISCUSSION if discussion else NUM_ACTIONS


def is_bid(action: int) -> bool:
    """Return whether an action closes a hand."""
    return BID <= action < ANNOUNCE


def musician_of(action: int) -> int:
    """Return the musician, by row, of an action that takes, keeps or discards a cube."""
    return action % NUM_MUSICIANS  # each of these kinds has one number per musician, in the same order, from 0


def format_actions(numbers: Iterable[int]) -> str:
    """Return a list of actions by number and name.

    >>> format_actions([3, 18])
    '3 take mozart, 18 pass'
    """
    return ", ".join(f"{action} {NAMES[action]}" for action in numbers)


def number(name: str) -> int:
    """Return the number of a named action."""
    try:
        return _NUMBERS[name]
    except (KeyError, TypeError):
        raise ValueError(f"unknown action {name!r}; symphony9_env.actions.NAMES lists them all") from None
