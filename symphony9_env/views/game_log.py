"""The log of a game, from the events that a seat may see.

A closed hand is logged without its contents until the hands open. Payments are logged, because they are public;
balances are not.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import groupby
from typing import Final, TypedDict

from symphony9_env.components import CLASSES
from symphony9_env.events import SeenEvent
from symphony9_env.names import BOT_NAME, agent_name
from symphony9_env.views.text import format_token


class LogLine(TypedDict):
    """A line of the log. Pages put the seat's name before the text; the bot's seat is the number of players."""

    kind: str  # round, move, composition, token, gave, concert, income, death, over
    seat: int | None
    text: str


_PASSES: Final = {
    "buy_4": "buys no cube for $4",
    "buy_8": "buys no cube for $8",
    "announce": "stays silent",
    "keep": "keeps no cube",
    "sell": "sells nothing more",
}


def log_lines(events: Sequence[SeenEvent]) -> list[LogLine]:
    """Return the lines of the events of one move, or of a game as dealt."""
    lines: list[LogLine] = []
    performers = [_title(event) for event in events if event.kind == "musician_performed"]
    if any(event.kind == "game_ended" for event in events):  # nobody had furniture left to sell
        events = [event for event in events if event.kind != "last_sales_started"]
    for is_income, group in groupby(events, _is_income):
        if is_income:
            lines += _income_lines(list(group))
        else:
            for event in group:
                lines += _event_lines(event, performers)
    return lines


def format_line(line: LogLine, num_players: int) -> str:
    """Return a line as text, with the player or the bot before it.

    >>> format_line({"kind": "move", "seat": 1, "text": "closes a hand"}, 4)
    'player_1: closes a hand'
    """
    seat, text = line["seat"], line["text"]
    if seat is None:
        return text
    return f"{agent_name(seat) if seat < num_players else BOT_NAME}: {text}"


def _is_income(event: SeenEvent) -> bool:
    return event.kind in ("income_paid", "cube_returned") or (event.kind == "bonus_awarded" and event.amount != 0)


def _income_lines(events: list[SeenEvent]) -> list[LogLine]:
    """Return one line for each board: what it received in all, and the cubes that income took."""
    lines = []
    for board in sorted({event.board for event in events if event.board is not None}):
        own = [event for event in events if event.board == board]
        returned = [_title(event) for event in own if event.kind == "cube_returned"]
        parts = _describe_payments(own)
        parts += [f"gives up a cube of {' and '.join(returned)}"] if returned else []
        lines.append(_line("income", board, ", ".join(parts)))
    return lines


def _describe_payments(events: list[SeenEvent]) -> list[str]:
    """Return what a board received, with the bonus that is part of it; nothing if it received nothing."""
    received = sum(event.amount or 0 for event in events)
    bonus = sum(event.amount or 0 for event in events if event.kind == "bonus_awarded")
    if not bonus:
        return [f"receives ${received}"] if received else []
    part = "" if bonus == received else f"${bonus} of it "
    return [f"receives ${received} ({part}as the medium class bonus)"]


def _event_lines(event: SeenEvent, performers: list[str]) -> list[LogLine]:
    if event.kind == "round_started":
        return [_line("round", None, f"Round {event.amount}"), _line("move", event.board, "is the start player")]
    if event.kind == "concert_resolved":
        return [_line("concert", None, _describe_concert(event, performers))]
    if event.kind not in _TEXTS:
        return []  # performers are named with the concert; bonuses and penalties show in the moves that follow
    kind, describe = _TEXTS[event.kind]
    return [_line(kind, event.player if kind == "move" else event.board, describe(event))]


def _line(kind: str, seat: int | None, text: str) -> LogLine:
    return {"kind": kind, "seat": seat, "text": text}


def _title(event: SeenEvent) -> str:
    assert event.musician is not None
    return event.musician.capitalize()


def _describe_taking(event: SeenEvent) -> str:
    if event.phase == "take_for_bot":
        return f"takes a {_title(event)} cube for the bot"
    if event.phase == "bonus":
        return f"takes a {_title(event)} cube: high class bonus"
    return f"pays ${event.amount} for a {_title(event)} cube" if event.amount else f"takes a {_title(event)} cube"


def _describe_award(event: SeenEvent) -> str:
    cubes = f", gives up {event.amount} {'cube' if event.amount == 1 else 'cubes'}" if event.amount else ""
    return f"gets a composition by {_title(event)}{cubes}"


def _describe_hand(event: SeenEvent) -> str:
    furniture = f", furniture for ${event.furniture} in it" if event.furniture else ""
    return f"gave ${event.amount}{furniture}"


def _describe_concert(event: SeenEvent, performers: list[str]) -> str:
    if event.outcome not in CLASSES:
        blamed = "least" if event.outcome == "too little" else "most"
        return f"Total {event.amount}: {event.outcome}, the concert fails; who gave {blamed} is to blame"
    names = ", ".join(performers[:-1]) + " and " * (len(performers) > 1) + performers[-1]
    return f"Total {event.amount}: a {event.outcome} class concert by {names}"


# The kind of line and its text, by the kind of event.
_TEXTS: Final[dict[str, tuple[str, Callable[[SeenEvent], str]]]] = {
    "cube_taken": ("move", _describe_taking),
    "passed": ("move", lambda event: _PASSES[event.phase]),
    "furniture_sold": ("move", lambda event: f"sells furniture for ${event.amount}"),
    "amount_announced": ("move", lambda event: f"announces ${event.amount}"),
    "hand_closed": ("move", lambda event: "closes a hand"),
    "cube_kept": ("move", lambda event: f"keeps a {_title(event)} cube: low class bonus"),
    "cube_discarded": ("move", lambda event: f"gives up a {_title(event)} cube: the concert failed"),
    "composition_awarded": ("composition", _describe_award),
    "budget_revealed": ("token", lambda event: f"The royal budget: {format_token(event.amount or 0)}"),
    "hand_opened": ("gave", _describe_hand),
    "musician_died": ("death", lambda event: f"{_title(event)} dies: his last cube is gone"),
    "last_sales_started": ("round", lambda event: "The last round is over: furniture may still be sold"),
    "game_ended": ("over", lambda event: "The game is over"),
}
