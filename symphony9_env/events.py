"""Events: the effects of a move, read from the kernel's buffer, and what each seat may see of them.

The rules write events into a buffer (`rules/events.py`). An `Event` is complete. What one seat may see of it is a
`SeenEvent`, which only `see` makes. Game logs and messages take `SeenEvent`s, so they can't reveal more.

>>> from symphony9_env import symphony9_v0
>>> env = symphony9_v0.raw_env(num_players=2)
>>> env.event_buffer = EventBuffer()
>>> env.reset(seed=7)
>>> env.step(0)
>>> env.event_buffer.read()[0].kind
'cube_taken'
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Annotated, Final, NewType, NotRequired, TypedDict, cast

from symphony9_env.components import FURNITURE_VALUES, MUSICIANS
from symphony9_env.rules.events import (
    AMOUNT,
    BOARD,
    FURNITURE,
    HAND_CLOSED,
    KIND,
    KINDS,
    MUSICIAN,
    OUTCOME,
    PHASE,
    PLAYER,
    new_event_array,
)
from symphony9_env.rules.state import DECISIONS, NONE, OUTCOMES, States, game_at

# Events whose amount and furniture are known only to the seat that acts, until the hands open. All others are public
# from the moment they happen.
PRIVATE_KINDS: Final = frozenset({KINDS[HAND_CLOSED]})


class EventJson(TypedDict):
    """One effect of a move. Which fields it has depends on its kind."""

    kind: Annotated[str, KINDS]
    phase: Annotated[str, DECISIONS]  # in which it happened, by the name of its decision
    player: NotRequired[int]  # the seat that moved, if the event is a move
    board: NotRequired[int]  # the seat concerned; the number of players for the bot
    musician: NotRequired[Annotated[str, MUSICIANS]]
    amount: NotRequired[int]
    furniture: NotRequired[Annotated[int, FURNITURE_VALUES]]  # the value of a token
    outcome: NotRequired[Annotated[str, OUTCOMES]]  # of a concert


@dataclass(frozen=True)
class Event:
    """One effect of a move, complete. `rules/events.py` says which fields a kind of event has; the others are None."""

    kind: str
    phase: str  # in which it happened, by the name of its decision
    player: int | None = None  # the seat that moved, if the event is a move
    board: int | None = None  # the seat concerned; the number of players for the bot
    musician: str | None = None
    amount: int | None = None
    furniture: int | None = None  # the value of a token
    outcome: str | None = None  # of a concert

    def as_json(self) -> EventJson:
        """Return the fields that the event has, as plain JSON data."""
        return cast("EventJson", {name: value for name, value in vars(self).items() if value is not None})


SeenEvent = NewType("SeenEvent", Event)  # an event without what the seat it is for may not see


class EventBuffer:
    """A buffer that holds the events of the last move until they are read or the next move replaces them."""

    def __init__(self) -> None:
        self.array = new_event_array()

    def read(self) -> list[Event]:
        """Return the events of the last move and clear the buffer."""
        events = [_read_row(row) for row in self.array[1 : int(self.array[0, 0]) + 1].tolist()]
        self.clear()
        return events

    def clear(self) -> None:
        """Forget the events of the last move."""
        self.array[0, 0] = 0


def _read_row(row: list[int]) -> Event:
    return Event(
        kind=KINDS[row[KIND]],
        phase=DECISIONS[row[PHASE]],
        player=_none_if_missing(row[PLAYER]),
        board=_none_if_missing(row[BOARD]),
        musician=None if row[MUSICIAN] == NONE else MUSICIANS[row[MUSICIAN]],
        # A revealed token and a total may be negative: only kinds without an amount have NONE there.
        amount=row[AMOUNT] if KINDS[row[KIND]] in _KINDS_WITH_AMOUNT else None,
        furniture=None if row[FURNITURE] == NONE else FURNITURE_VALUES[row[FURNITURE]],
        outcome=None if row[OUTCOME] == NONE else OUTCOMES[row[OUTCOME]],
    )


_KINDS_WITH_AMOUNT: Final = frozenset(KINDS) - {
    "passed",
    "cube_kept",
    "cube_discarded",
    "cube_returned",
    "musician_died",
    "musician_performed",
    "last_sales_started",
    "game_ended",
}


def _none_if_missing(number: int) -> int | None:
    return None if number == NONE else number


def opening_events(states: States, index: int = 0) -> list[Event]:
    """Return the events of a game as dealt: round one starts."""
    game = game_at(states, index)
    return [Event("round_started", DECISIONS[int(game.phase)], board=int(game.first_start), amount=1)]


def see(events: Iterable[Event], seat: int | None) -> list[SeenEvent]:
    """Return events as a seat may see them; None stands for somebody who sees only what is public."""
    return [_see_event(event, seat) for event in events]


def _see_event(event: Event, seat: int | None) -> SeenEvent:
    if event.kind in PRIVATE_KINDS and event.player != seat:
        event = Event(event.kind, event.phase, player=event.player, board=event.board)
    return SeenEvent(event)
