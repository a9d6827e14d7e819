# kernel: compiled by Numba; a change here changes the key of the compile cache
# mypy: disable-error-code="no-any-return"
"""The layout of the observation and the state vector: named fields with their shapes, ranges and meanings.

What is the same for every seat comes first, then what is relative to the observer. Seats run clockwise with the
observer first; in a 2-player game the third seat is the bot's. `ledger` fields come last, so that the base layout is
the same with and without them.
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
    MAX_BOT_AMOUNT,
    MAX_REPUTATION,
    MAX_SPACES,
    MAX_TRACK_CUBES,
    MUSICIANS,
    PLAYER_COUNT_RULES,
    PLAYER_COUNTS,
    SCORING_METHODS,
)
from symphony9_env.rules.state import DECISIONS, NUM_BOARDS, NUM_CLASSES, NUM_ROUNDS, OUTCOMES
from symphony9_env.rules.turns import FREE_CUBES

LAYOUT_VERSION: Final = 1

# The observed number is the real one divided by its unit.
MONEY_UNIT: Final = 40
CUBES_UNIT: Final = 6  # cubes of one colour on a board
TILES_UNIT: Final = 4
TOTAL_UNIT: Final = 16  # a concert's total
SEEN_UNIT: Final = 4  # budget tokens of one kind
PERFORMERS_UNIT: Final = 18
TOKEN_UNIT: Final = 2  # a budget token's value
MONEY_SHOWN: Final = 200  # larger amounts are observed as this much

BUDGET_VALUES: Final = tuple(sorted(set(BUDGET_TOKENS)))  # -2, 0, 2
MAX_COLOUR: Final = MAX_TRACK_CUBES + 1  # cubes of one colour in a game
MOST_CUBES: Final = float(np.float32(MAX_COLOUR) * np.float32(1 / CUBES_UNIT))  # rounded as the encoder does
# The largest total of two players and the bot, which is more than four players can give.
MAX_TOTAL: Final = 2 * PLAYER_COUNT_RULES[2].limit + MAX_BOT_AMOUNT + max(BUDGET_TOKENS)


@dataclass(frozen=True)
class Field:
    """A named part of a vector: `vector[field.slice].reshape(field.shape)`."""

    name: str
    start: int
    shape: tuple[int, ...]
    low: float
    high: float
    meaning: str

    @property
    def size(self) -> int:
        """How many numbers the field has."""
        return prod(self.shape)

    @property
    def stop(self) -> int:
        """The index after the field's last number."""
        return self.start + self.size

    @property
    def slice(self) -> slice:
        """The field's part of the vector."""
        return slice(self.start, self.stop)

    @property
    def range(self) -> tuple[float, float]:
        """The lowest and the highest value."""
        return self.low, self.high


_M, _S, _F = len(MUSICIANS), NUM_BOARDS, len(FURNITURE_VALUES)
_Row = tuple[str, tuple[int, ...], float, float, str]

# What is the same for every seat. The musicians come first: the encoder writes all of their numbers, so it need not
# set them to zero before.
_MUSICIAN_ROWS: Final[list[_Row]] = [
    ("reputation", (_M,), 0, 1, f"of each musician now, / {MAX_REPUTATION}"),
    ("seniority", (_M,), 0, 1, f"uncovered spaces on his track, / {MAX_SPACES}"),
    ("place", (_M,), 0, 1, f"his rank: 1 for the first, 1/{_M} less for each rank below"),
    ("dead", (_M,), 0, 1, "1 if he is dead"),
    ("cubes_left", (_M,), 0, 1, f"on his track, / {MAX_COLOUR}"),
    ("ahead_reputation", (_M, MAX_SPACES), 0, 1, f"of the next spaces to be uncovered, / {MAX_REPUTATION}"),
    (
        "ahead_cubes",
        (_M, MAX_SPACES),
        0,
        1,
        f"cubes to be taken until that space is uncovered, / {MAX_COLOUR}; 0 where no space is left",
    ),
]

_COMMON_ROWS: Final[list[_Row]] = [
    ("num_players", (len(PLAYER_COUNTS),), 0, 1, "one-hot: 2, 3, 4 players"),
    ("bot", (1,), 0, 1, "1 if the third seat is the bot's (2 players)"),
    ("discussion", (1,), 0, 1, "1 if the game is played with the discussion"),
    ("round", (NUM_ROUNDS,), 0, 1, "one-hot"),
    ("decision", (len(DECISIONS),), 0, 1, "one-hot: the decision to make now (" + ", ".join(DECISIONS) + ")"),
    ("pending", (1,), 0, 1, f"decisions left in this turn, this one included, / {FREE_CUBES}"),
    ("fame", (_M, NUM_CLASSES), 0, 1, "one-hot: low, medium, high"),
    ("scoring", (_M, len(SCORING_METHODS)), 0, 1, "one-hot: what his scoring tile counts (1, 2A, 2B ... 5B, 6)"),
    (
        "budget_token",
        (len(BUDGET_VALUES),),
        0,
        1,
        "one-hot: this round's royal budget token, -2, 0, +2; zeros before it is revealed",
    ),
    ("budget_seen", (len(BUDGET_VALUES),), 0, 1, f"budget tokens revealed so far of -2, 0, +2, / {SEEN_UNIT}"),
    ("successes", (1,), 0, 1, f"successful concerts so far, / {NUM_ROUNDS}"),
    ("performers", (1,), 0, 1, f"performers so far, / {PERFORMERS_UNIT}"),
    ("outcome", (len(OUTCOMES),), 0, 1, "one-hot: last concert (" + ", ".join(OUTCOMES) + "); zeros before it"),
    ("total", (1,), -2 / TOTAL_UNIT, MAX_TOTAL / TOTAL_UNIT, f"total of the last concert, / {TOTAL_UNIT}"),
]

# What is relative to the observer. The boards come last: the encoder writes all of their numbers, too.
_SEAT_ROWS: Final[list[_Row]] = [
    ("to_decide", (_S,), 0, 1, "one-hot by seat: who is to decide; zeros when the game is over"),
    ("start_player", (_S,), 0, 1, "one-hot by seat: this round's start player"),
    ("hand", (2,), 0, 1, f"own closed hand: 1 if there is one, its total / {MAX_CONTRIBUTION}"),
    ("hand_token", (_F,), 0, 1, "the piece of furniture in it: $4, $6, $8"),
    ("sales", (_S, _F), 0, 1, "furniture sold this round, by seat"),
    ("announced", (_S, 2), 0, 1, f"by seat: 1 if an amount was announced this round, the amount / {MAX_CONTRIBUTION}"),
    ("kept", (_S, _M), 0, 1, "cube that the low bonus saves, until income is paid"),
    ("contribution_token", (_S, _F), 0, 1, "by seat: the piece of furniture in the contribution to the last concert"),
]

_BOARD_ROWS: Final[list[_Row]] = [
    ("money", (1,), 0, MONEY_SHOWN / MONEY_UNIT, f"own, / {MONEY_UNIT}; at most {MONEY_SHOWN} is shown"),
    ("furniture", (_F,), 0, 1, "own unsold furniture: $4, $6, $8"),
    ("earlier_cubes", (_S, _M), 0, MOST_CUBES, f"by seat and musician, from earlier rounds, / {CUBES_UNIT}"),
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
    ("others_furniture", (_S - 1, _F), 0, 1, "their unsold furniture: $4, $6, $8"),
]

_HIDDEN_ROWS: Final[list[_Row]] = [
    ("all_hands", (_S, 2), 0, 1, f"every seat's closed hand: 1 if there is one, its total / {MAX_CONTRIBUTION}"),
    ("all_hand_tokens", (_S, _F), 0, 1, "the piece of furniture in it: $4, $6, $8"),
    ("all_budget", (NUM_ROUNDS,), -1, 1, f"every round's budget token, those to come too, / {TOKEN_UNIT}"),
    (
        "all_bot_tiles",
        (NUM_ROUNDS, NUM_CLASSES),
        0,
        MAX_BOT_AMOUNT / MAX_CONTRIBUTION,
        f"every round's bot tile, / {MAX_CONTRIBUTION}",
    ),
]


def _lay_out(rows: list[_Row], start: int) -> tuple[Field, ...]:
    fields = []
    for name, shape, low, high, meaning in rows:
        field = Field(name, start, shape, low, high, meaning)
        fields.append(field)
        start = field.stop
    return tuple(fields)


FIELDS: Final = _lay_out(_MUSICIAN_ROWS + _COMMON_ROWS + _SEAT_ROWS + _BOARD_ROWS, 0)
OBSERVATION_SIZE: Final = FIELDS[-1].stop
LEDGER_FIELDS: Final = _lay_out(_LEDGER_ROWS, OBSERVATION_SIZE)
LEDGER_SIZE: Final = LEDGER_FIELDS[-1].stop
# The state: the observation of player_0 with the ledger, then what is hidden from everybody.
STATE_FIELDS: Final = (*FIELDS, *LEDGER_FIELDS, *_lay_out(_HIDDEN_ROWS, LEDGER_SIZE))
STATE_SIZE: Final = STATE_FIELDS[-1].stop
HIDDEN_SIZE: Final = STATE_SIZE - LEDGER_SIZE

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
    """Return the length of the observation vector."""
    return LEDGER_SIZE if ledger else OBSERVATION_SIZE


def layout_hash(ledger: bool = False) -> str:
    """Return a hash of the names, positions, shapes and ranges of the fields, which a saved policy stores.

    Raise LAYOUT_VERSION if a field comes to mean something else while all of these stay the same.
    """
    rows = [(field.name, field.start, field.shape, field.low, field.high) for field in observation_fields(ledger)]
    return hashlib.sha256(repr((LAYOUT_VERSION, rows)).encode()).hexdigest()[:16]


def at(name: str) -> int:
    """Return the index at which a field starts."""
    return _STARTS[name]
