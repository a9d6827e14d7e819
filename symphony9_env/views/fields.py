# kernel: compiled by Numba; a change here changes the key of the compile cache
# mypy: disable-error-code="no-any-return"
"""What stands where in the observation and the state vector: one table of named fields.

The table part, which every seat sees alike, comes first; then what is told from the observer's seat. Seats
run clockwise with the observer first; in a 2-player game the bot has the third place. `ledger` fields come
last, so that the base layout is the same with and without them.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from math import prod
from typing import Final

import numpy as np

from symphony9_env.actions import MAX_CONTRIBUTION
from symphony9_env.components import (
    BUDGET_TOKENS,
    FURNITURE_VALUES,
    MAX_REPUTATION,
    MAX_SPACES,
    MAX_TRACK_CUBES,
    MUSICIANS,
    PLAYER_COUNT_RULES,
    PLAYER_COUNTS,
    SCORING_METHODS,
)
from symphony9_env.components.tracks import MAX_BOT_AMOUNT
from symphony9_env.rules.state import DECISIONS, NUM_BOARDS, NUM_CLASSES, NUM_ROUNDS, OUTCOMES
from symphony9_env.rules.turns import FREE_CUBES

LAYOUT_VERSION: Final = 1

# One unit of an observed number is this much of the real one.
MONEY_UNIT: Final = 40
CUBES_UNIT: Final = 6  # on a board
TILES_UNIT: Final = 4
TOTAL_UNIT: Final = 16  # of a concert
SEEN_UNIT: Final = 4  # budget tokens of one kind
PERFORMERS_UNIT: Final = 18
TOKEN_UNIT: Final = 2  # of a budget token's value
MONEY_SHOWN: Final = 200  # more than this looks like this much

BUDGET_VALUES: Final = tuple(sorted(set(BUDGET_TOKENS)))  # -2, 0, 2
MAX_COLOUR: Final = MAX_TRACK_CUBES + 1  # cubes of one colour in a game
MOST_CUBES: Final = float(np.float32(MAX_COLOUR) * np.float32(1 / CUBES_UNIT))  # as the encoder rounds it
MAX_TOTAL: Final = (
    2 * PLAYER_COUNT_RULES[2].limit + MAX_BOT_AMOUNT + max(BUDGET_TOKENS)
)  # more than four players can give


@dataclass(frozen=True)
class Field:
    """A named part of the vector: `vector[field.slice].reshape(field.shape)`."""

    name: str
    start: int
    shape: tuple[int, ...]
    low: float
    high: float
    meaning: str

    @property
    def size(self) -> int:
        return prod(self.shape)

    @property
    def stop(self) -> int:
        return self.start + self.size

    @property
    def slice(self) -> slice:
        return slice(self.start, self.stop)

    @property
    def range(self) -> tuple[float, float]:
        return self.low, self.high


_M, _S, _F = len(MUSICIANS), NUM_BOARDS, len(FURNITURE_VALUES)
_Row = tuple[str, tuple[int, ...], float, float, str]

# What every seat sees alike. The musicians first: the encoder writes all of that, and may leave it un-zeroed.
_MUSICIAN_ROWS: Final[list[_Row]] = [
    ("reputation", (_M,), 0, 1, f"of each musician now, / {MAX_REPUTATION}"),
    ("seniority", (_M,), 0, 1, f"uncovered spaces on his track, / {MAX_SPACES}"),
    ("place", (_M,), 0, 1, f"his place in the ranking: 1 for the first, / {_M} less for each place below"),
    ("dead", (_M,), 0, 1, "1 if he is dead"),
    ("cubes_left", (_M,), 0, 1, f"on his track, / {MAX_COLOUR}"),
    ("ahead_reputation", (_M, MAX_SPACES), 0, 1, f"of the next spaces to be uncovered, / {MAX_REPUTATION}"),
    (
        "ahead_cubes",
        (_M, MAX_SPACES),
        0,
        1,
        f"how many more cubes must go until that space is uncovered, / {MAX_COLOUR}; 0 where no space is left",
    ),
]

_TABLE_ROWS: Final[list[_Row]] = [
    ("num_players", (len(PLAYER_COUNTS),), 0, 1, "one-hot: 2, 3, 4 players"),
    ("bot", (1,), 0, 1, "1 if the third place is the bot's (2 players)"),
    ("discussion", (1,), 0, 1, "1 if the discussion is played"),
    ("round", (NUM_ROUNDS,), 0, 1, "one-hot"),
    ("decision", (len(DECISIONS),), 0, 1, "one-hot: what is asked now (" + ", ".join(DECISIONS) + ")"),
    ("pending", (1,), 0, 1, f"decisions left in this turn, this one included, / {FREE_CUBES}"),
    ("fame", (_M, NUM_CLASSES), 0, 1, "one-hot: low, medium, high"),
    ("scoring", (_M, len(SCORING_METHODS)), 0, 1, "one-hot: what his scoring tile counts (1, 2A, 2B ... 5B, 6)"),
    ("budget_token", (len(BUDGET_VALUES),), 0, 1, "one-hot: this round's token, -2, 0, +2; zeros before it is shown"),
    ("budget_seen", (len(BUDGET_VALUES),), 0, 1, f"tokens shown so far of -2, 0, +2, / {SEEN_UNIT}"),
    ("successes", (1,), 0, 1, f"successful concerts so far, / {NUM_ROUNDS}"),
    ("performers", (1,), 0, 1, f"performers so far, / {PERFORMERS_UNIT}"),
    ("outcome", (len(OUTCOMES),), 0, 1, "one-hot: last concert (" + ", ".join(OUTCOMES) + "); zeros before it"),
    ("total", (1,), -2 / TOTAL_UNIT, MAX_TOTAL / TOTAL_UNIT, f"total of the last concert, / {TOTAL_UNIT}"),
]

# What is told from the observer's seat. The boards last: the encoder writes all of that too.
_SEAT_ROWS: Final[list[_Row]] = [
    ("to_decide", (_S,), 0, 1, "one-hot by seat: who is asked; zeros when the game is over"),
    ("start_player", (_S,), 0, 1, "one-hot by seat: this round's start player"),
    ("hand", (2,), 0, 1, f"own closed hand: 1 if there is one, its total / {MAX_CONTRIBUTION}"),
    ("hand_token", (_F,), 0, 1, "the token in it"),
    ("sales", (_S, _F), 0, 1, "furniture sold this round, by seat"),
    ("announced", (_S, 2), 0, 1, f"by seat: 1 if an amount was announced this round, the amount / {MAX_CONTRIBUTION}"),
    ("kept", (_S, _M), 0, 1, "cube that the low bonus saves, until income is paid"),
    ("contribution_token", (_S, _F), 0, 1, "furniture in it"),
]

_BOARD_ROWS: Final[list[_Row]] = [
    (
        "money",
        (1,),
        0,
        MONEY_SHOWN / MONEY_UNIT,
        f"own, / {MONEY_UNIT}; more than {MONEY_SHOWN} looks like {MONEY_SHOWN}",
    ),
    ("furniture", (_F,), 0, 1, "own unsold tokens: $4, $6, $8"),
    (
        "earlier_cubes",
        (_S, _M),
        0,
        MOST_CUBES,
        f"by seat and musician, from earlier rounds, / {CUBES_UNIT}",
    ),
    ("new_cubes", (_S, _M), 0, MOST_CUBES, f"by seat and musician, of this round, / {CUBES_UNIT}"),
    ("compositions", (_S, _M), 0, NUM_ROUNDS / TILES_UNIT, f"by seat and musician, / {TILES_UNIT}"),
    (
        "contribution",
        (_S,),
        0,
        MAX_BOT_AMOUNT / MAX_CONTRIBUTION,
        f"to the last concert, by seat, / {MAX_CONTRIBUTION}",
    ),
]

_LEDGER_ROWS: Final[list[_Row]] = [
    ("others_money", (_S - 1,), 0, MONEY_SHOWN / MONEY_UNIT, "of the other seats, clockwise, as `money`"),
    ("others_furniture", (_S - 1, _F), 0, 1, "their unsold tokens: $4, $6, $8"),
]

_HIDDEN_ROWS: Final[list[_Row]] = [
    ("all_hands", (_S, 2), 0, 1, f"every seat's closed hand: 1 if there is one, its total / {MAX_CONTRIBUTION}"),
    ("all_hand_tokens", (_S, _F), 0, 1, "the token in it"),
    ("all_budget", (NUM_ROUNDS,), -1, 1, f"every round's token, / {TOKEN_UNIT}, those to come too"),
    ("all_bot_tiles", (NUM_ROUNDS, NUM_CLASSES), 0, MAX_BOT_AMOUNT / MAX_CONTRIBUTION, f"/ {MAX_CONTRIBUTION}"),
]


def _lay_out(rows: list[_Row], start: int) -> tuple[Field, ...]:
    fields = []
    for name, shape, low, high, meaning in rows:
        field = Field(name, start, shape, low, high, meaning)
        fields.append(field)
        start = field.stop
    return tuple(fields)


FIELDS: Final = _lay_out(_MUSICIAN_ROWS + _TABLE_ROWS + _SEAT_ROWS + _BOARD_ROWS, 0)
OBSERVATION_SIZE: Final = FIELDS[-1].stop
LEDGER_FIELDS: Final = _lay_out(_LEDGER_ROWS, OBSERVATION_SIZE)
LEDGER_SIZE: Final = LEDGER_FIELDS[-1].stop
# The state: the observation of player_0 with the ledger, then what is hidden from everybody.
STATE_FIELDS: Final = (*FIELDS, *LEDGER_FIELDS, *_lay_out(_HIDDEN_ROWS, LEDGER_SIZE))
STATE_SIZE: Final = STATE_FIELDS[-1].stop

_STARTS: Final = {field.name: field.start for field in STATE_FIELDS}


def observation_fields(ledger: bool = False) -> tuple[Field, ...]:
    """Return the fields of the observation vector, in order.

    >>> from symphony9_env import observation_fields, symphony9_v0
    >>> env = symphony9_v0.raw_env(num_players=2)
    >>> env.reset(seed=7)
    >>> field = {field.name: field for field in observation_fields()}["round"]
    >>> env.observe("player_0")["observation"][field.slice].reshape(field.shape)
    array([1., 0., 0., 0., 0., 0.], dtype=float32)
    """
    return (*FIELDS, *LEDGER_FIELDS) if ledger else FIELDS


def observation_size(ledger: bool = False) -> int:
    return LEDGER_SIZE if ledger else OBSERVATION_SIZE


def layout_hash(ledger: bool = False) -> str:
    """Changes whenever a field's name, place or range does; a saved policy keeps it.

    A field that comes to mean something else without that: raise LAYOUT_VERSION.
    """
    rows = [(field.name, field.start, field.shape, field.low, field.high) for field in observation_fields(ledger)]
    return hashlib.sha256(repr((LAYOUT_VERSION, rows)).encode()).hexdigest()[:16]


def at(name: str) -> int:
    """Where a field starts."""
    return _STARTS[name]
