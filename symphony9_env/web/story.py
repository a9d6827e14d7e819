"""What happened, told from one position to the next: the log of a game. Open things alone, the same for every seat.

A closed hand is told as such; who gave what comes when the hands open. Of money only payments are told, which
everybody at the table sees; what somebody owns is not.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final, TypedDict

import numpy as np

from symphony9_env.actions import ANNOUNCE, BID, DISCARD, KEEP, PASS, SELL, TAKE
from symphony9_env.compilation import as_python
from symphony9_env.components import FURNITURE_VALUES, PLAYER_COUNT_RULES
from symphony9_env.render.theme import title
from symphony9_env.rules.game import price
from symphony9_env.rules.state import (
    BUY_4,
    BUY_8,
    CONTRIBUTE,
    DISCUSS,
    KEEP_CUBE,
    NONE,
    OUTCOMES,
    OVER,
    SELL_LAST,
    TAKE_BONUS,
    TAKE_FOR_BOT,
    TOO_LITTLE,
    States,
    game_at,
)

_PASSES: Final = {
    BUY_4: "buys no cube for $4",
    BUY_8: "buys no cube for $8",
    DISCUSS: "stays silent",
    KEEP_CUBE: "keeps no cube",
    SELL_LAST: "sells nothing more",
}


class Event(TypedDict):
    """A line of the log. The page puts the name of who sits there (the bot has the seat after the last) before it."""

    kind: str  # round, move, composition, token, concert, gave, income, death, over
    seat: int | None
    text: str


def opening(games: States) -> list[Event]:
    """The first lines: a game as dealt."""
    return list(_begin_round(game_at(games)))


def tell(before: States, action: int, after: States) -> list[Event]:
    """The lines that one move adds: the move, and what it set off."""
    old, new = game_at(before), game_at(after)
    events = [_event("move", int(old.player), _move(old, action))]
    events += _compositions(old, new, action)
    events += _token(old, new)
    opened = bool(old.phase == CONTRIBUTE and action >= BID and new.phase != CONTRIBUTE)
    if opened:
        events += _concert(new)
    events += _income(old, new, action, opened)
    events += _deaths(old, new)
    if new.round_index != old.round_index:
        events += _begin_round(new)
    if new.phase == SELL_LAST and old.phase != SELL_LAST:
        events.append(_event("round", None, "The last round is over: furniture may still be sold"))
    if new.phase == OVER:
        events.append(_event("over", None, "The game is over"))
    return events


def _event(kind: str, seat: int | None, text: str) -> Event:
    return {"kind": kind, "seat": seat, "text": text}


def _musicians(game: Any) -> tuple[str, ...]:
    return tuple(title(name) for name in PLAYER_COUNT_RULES[int(game.num_players)].musicians)


def _begin_round(game: Any) -> Iterator[Event]:
    yield _event("round", None, f"Round {game.round_index + 1}")
    yield _event("move", int(game.start), "is the start player")


def _move(game: Any, action: int) -> str:
    names = _musicians(game)
    if action >= ANNOUNCE:
        return f"announces ${action - ANNOUNCE}"
    if action >= BID:
        return "closes a hand"
    if action >= SELL:
        return f"sells furniture for ${FURNITURE_VALUES[action - SELL]}"
    if action == PASS:
        return _PASSES[int(game.phase)]
    if action >= DISCARD:
        return f"gives up a {names[action - DISCARD]} cube: the concert failed"
    if action >= KEEP:
        return f"keeps a {names[action - KEEP]} cube: low class bonus"
    return _taking(game, names[action - TAKE])


def _taking(game: Any, name: str) -> str:
    if game.phase == TAKE_FOR_BOT:
        return f"takes a {name} cube for the bot"
    if game.phase == TAKE_BONUS:
        return f"takes a {name} cube: high class bonus"
    cost = as_python(price)(game)
    return f"pays ${cost} for a {name} cube" if cost else f"takes a {name} cube"


def _given_up(old: Any, new: Any, action: int) -> Any:
    """Cubes that each board lost by what a move set off (boards, musicians); the move's own cube apart."""
    held = np.asarray(old.earlier_cubes, np.int64) + np.asarray(old.new_cubes)
    if action < KEEP:
        held[new.num_players if old.phase == TAKE_FOR_BOT else old.player, action - TAKE] += 1
    elif DISCARD <= action < PASS:
        held[old.player, action - DISCARD] -= 1
    return held - np.asarray(new.earlier_cubes) - np.asarray(new.new_cubes)


def _compositions(old: Any, new: Any, action: int) -> Iterator[Event]:
    gained = np.asarray(new.compositions) - np.asarray(old.compositions)
    lost = _given_up(old, new, action)
    for musician, name in enumerate(_musicians(new)):
        for board in range(new.num_boards):
            if gained[board, musician] > 0:
                count = int(lost[board, musician])
                price = f", gives up {count} {'cube' if count == 1 else 'cubes'}" if count else ""
                yield _event("composition", board, f"gets a composition by {name}{price}")


def _token(old: Any, new: Any) -> Iterator[Event]:
    """The royal budget is shown when the concert begins."""
    if old.phase < DISCUSS <= new.phase and old.round_index == new.round_index:
        amount = int(new.budget[new.round_index])
        yield _event("token", None, f"The royal budget: {amount:+d}" if amount else "The royal budget: 0")


def _concert(game: Any) -> Iterator[Event]:
    for board in range(game.num_boards):
        token = game.contribution_token[board]
        furniture = f", furniture for ${FURNITURE_VALUES[token]} in it" if token != NONE else ""
        yield _event("gave", board, f"gave ${game.contribution[board]}{furniture}")
    if game.outcome >= TOO_LITTLE:
        blamed = "least" if game.outcome == TOO_LITTLE else "most"
        told = f"Total {game.total}: {OUTCOMES[game.outcome]}, the concert fails; who gave {blamed} is to blame"
        yield _event("concert", None, told)
        return
    players = [name for row, name in enumerate(_musicians(game)) if game.performing[row]]
    by = ", ".join(players[:-1]) + " and " * (len(players) > 1) + players[-1]
    yield _event("concert", None, f"Total {game.total}: a {OUTCOMES[game.outcome]} class concert by {by}")


def _income(old: Any, new: Any, action: int, opened: bool) -> Iterator[Event]:
    """What each received beyond what this move itself paid or earned (income, the medium bonus), and the cubes that
    income took."""
    names = _musicians(new)
    lost = _given_up(old, new, action) if old.phase >= CONTRIBUTE else np.zeros((new.num_boards, len(names)), np.int64)
    for board in range(new.num_boards):
        parts = []
        if received := _received(old, new, action, opened, board):
            parts.append(f"receives ${received}")
        if cubes := [name for row, name in enumerate(names) if lost[board, row] > 0]:
            parts.append(f"gives up a cube of {' and '.join(cubes)}")
        if parts:
            yield _event("income", board, ", ".join(parts))


def _received(old: Any, new: Any, action: int, opened: bool, board: int) -> int:
    """Of money only the changes: what somebody owns cancels out."""
    if board >= new.num_players:
        return 0
    received = int(new.money[board]) - int(old.money[board])
    if opened and new.outcome < TOO_LITTLE:
        token = new.contribution_token[board]
        received += int(new.contribution[board]) - (FURNITURE_VALUES[token] if token != NONE else 0)
    if board == old.player and SELL <= action < BID:
        received -= FURNITURE_VALUES[action - SELL]
    if board == old.player and action < KEEP:
        received += as_python(price)(old)
    return received


def _deaths(old: Any, new: Any) -> Iterator[Event]:
    for musician, name in enumerate(_musicians(new)):
        if new.dead[musician] and not old.dead[musician]:
            yield _event("death", None, f"{name} dies: his last cube is gone")
