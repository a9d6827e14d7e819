# kernel: compiled by Numba; a change here changes the key of the compile cache
# mypy: disable-error-code="no-any-return"
"""Events: the effects of a move, written by the rules into an optional buffer that the caller owns.

Functions of the rules take `events`, a buffer or None. Compiled for None, `emit` is empty and costs nothing.
`symphony9_env/events.py` reads a buffer from Python and says who may see which event.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from symphony9_env.compilation import rule
from symphony9_env.rules.state import NONE, NUM_BOARDS, NUM_MUSICIANS, Game

# Every kind of event with the fields it has. The moves themselves, from `cube_taken` to `cube_discarded`, also have
# `player`, the seat that made the move, and `board`, which is the same but for a cube taken for the bot.
KINDS: Final[tuple[str, ...]] = (
    "round_started",  # board: the start player; amount: the number of the round
    "cube_taken",  # musician; amount: the price paid
    "passed",
    "furniture_sold",  # furniture; amount: the money received
    "amount_announced",  # amount
    "hand_closed",  # amount and furniture: hidden from the others until the hands open
    "cube_kept",  # musician: the cube that the low bonus saves from income
    "cube_discarded",  # musician: a penalty
    "composition_awarded",  # board, musician; amount: the cubes returned for it
    "budget_revealed",  # amount: the token
    "hand_opened",  # board; amount: the contribution; furniture: the token in it
    "concert_resolved",  # amount: the total; outcome
    "musician_performed",  # musician: in a concert that succeeded
    "bonus_awarded",  # board; amount: the money of a medium class bonus, else 0; only if the bonus has an effect
    "penalty_imposed",  # board; amount: the cubes to discard
    "income_paid",  # board, musician; amount
    "cube_returned",  # board, musician: a cube given up for income
    "musician_died",  # musician
    "last_sales_started",
    "game_ended",
)
(
    ROUND_STARTED,
    CUBE_TAKEN,
    PASSED,
    FURNITURE_SOLD,
    AMOUNT_ANNOUNCED,
    HAND_CLOSED,
    CUBE_KEPT,
    CUBE_DISCARDED,
    COMPOSITION_AWARDED,
    BUDGET_REVEALED,
    HAND_OPENED,
    CONCERT_RESOLVED,
    MUSICIAN_PERFORMED,
    BONUS_AWARDED,
    PENALTY_IMPOSED,
    INCOME_PAID,
    CUBE_RETURNED,
    MUSICIAN_DIED,
    LAST_SALES_STARTED,
    GAME_ENDED,
) = range(len(KINDS))

# The columns of a buffer. Row 0 holds the number of events in its first column; the events follow.
COLUMNS: Final = ("kind", "phase", "player", "board", "musician", "amount", "furniture", "outcome")
KIND, PHASE, PLAYER, BOARD, MUSICIAN, AMOUNT, FURNITURE, OUTCOME = range(len(COLUMNS))
# The most events that one move sets off. That is the bid that completes a medium class concert of four players in
# the last round: the hand is closed and all hands open; the concert is resolved; each of the medium musicians (all but
# one of high and two of low fame) performs, pays every board and takes a cube from it; everybody ties for the bonus;
# all musicians die; the last sales start and the game ends. In a low or high class concert fewer perform, a failed one
# pays nothing, and the end of the third turn awards one composition for each musician at most.
MAX_EVENTS: Final = 1 + NUM_BOARDS + 1 + (NUM_MUSICIANS - 3) * (1 + 2 * NUM_BOARDS) + NUM_BOARDS + NUM_MUSICIANS + 2


def new_event_array() -> NDArray[np.int16]:
    """Return an empty buffer for the events of one move."""
    return np.zeros((MAX_EVENTS + 1, len(COLUMNS)), np.int16)


@rule
def clear_events(events: Any) -> None:
    """Empty a buffer before a move: compiled code does not notice if it writes past the end of an array."""
    events[0, 0] = 0


@rule
def emit(events: Any, game: Game, kind: int, board: int, musician: int, amount: int, furniture: int) -> None:
    """Append an event to the buffer, if there is one. Pass NONE for what a kind of event does not have."""
    if events is not None:
        row = events[0, 0] + 1
        events[0, 0] = row
        events[row, KIND] = kind
        events[row, PHASE] = game.phase
        events[row, PLAYER] = game.player if CUBE_TAKEN <= kind <= CUBE_DISCARDED else NONE
        events[row, BOARD] = board
        events[row, MUSICIAN] = musician
        events[row, AMOUNT] = amount
        events[row, FURNITURE] = furniture
        events[row, OUTCOME] = game.outcome if kind == CONCERT_RESOLVED else NONE
