"""A view as JSON data for the page: what is fixed for the game, what stands on the table, and what may be chosen.

Made from a `SeatView` alone, so it can't hold more than that seat may know.
"""

from __future__ import annotations

from dataclasses import asdict
from typing import Any, Final

from symphony9_env.actions import ANNOUNCE, BID, DISCARD, HANDS, KEEP, NAMES, NO_TOKEN, PASS, SELL, TAKE
from symphony9_env.components import FURNITURE_POINTS, FURNITURE_VALUES, scoring_method
from symphony9_env.render.theme import MARKS, SHAPES, title
from symphony9_env.rules.game import SECOND_TURN_PRICE, THIRD_TURN_PRICE
from symphony9_env.rules.state import NUM_ROUNDS
from symphony9_env.views import Board, Musician, SeatView
from symphony9_env.views.text import QUESTIONS

Json = dict[str, Any]

_PASSES: Final = {
    "buy_4": "Buy nothing",
    "buy_8": "Buy nothing",
    "announce": "Stay silent",
    "keep": "Keep none",
    "sell": "Sell nothing more",
}
_PRICES: Final = {"buy_4": SECOND_TURN_PRICE, "buy_8": THIRD_TURN_PRICE}


def setting(view: SeatView) -> Json:
    """What does not change during a game, and how things look."""
    return {
        "num_players": view.num_players,
        "rounds": NUM_ROUNDS,
        "limit": view.limit,
        "classes": [
            {"name": name, "from": low, "to": high, "income": income} for name, low, high, income in view.classes
        ],
        "furniture": dict(zip(map(str, FURNITURE_VALUES), FURNITURE_POINTS, strict=True)),
        "musicians": [
            {
                "name": title(musician.name),
                "key": musician.name,
                **asdict(MARKS[musician.name]),
                "tile": musician.scoring_tile,
                "counts": scoring_method(musician.scoring_tile),
                "points": musician.scoring_points,
            }
            for musician in view.musicians
        ],
        "shapes": SHAPES,
    }


def scene(view: SeatView) -> Json:
    """The table now. Boards stand in seating order, the bot last."""
    return {
        "round": view.round,
        "start": _seat(view.start_player),
        "decision": view.decision,
        "question": QUESTIONS[view.decision],
        "to_decide": None if view.to_decide is None else _seat(view.to_decide),
        "pending": view.pending,
        "token": view.budget_token,
        "tokens_seen": view.budget_seen,
        "tokens_left": view.budget_left,
        "successes": view.successes,
        "performers": view.performers,
        "outcome": view.outcome,
        "total": view.total,
        "performing": view.performing,
        "bot_tile": view.bot_tiles_seen[-1] if view.bot_tiles_seen else None,
        "musicians": [_musician(musician) for musician in view.musicians],
        "boards": sorted((_board(board, view.num_players) for board in view.boards), key=lambda board: board["seat"]),
        "sheet": None if view.score_sheet is None else [asdict(line) for line in view.score_sheet.values()],
    }


def own(view: SeatView) -> Json:
    """What only this seat knows, besides its purse: the closed hand, and its points if the game ended now."""
    return {"hand": view.hand, "points": asdict(view.points)}


def choices(view: SeatView) -> list[Json]:
    """What this seat may do now, each with a label, what it costs or brings, and where on the page it belongs."""
    return [{"action": action, "name": NAMES[action], **_choice(view, action)} for action in view.legal]


def _seat(name: str) -> int:
    return int(name.removeprefix("player_"))


def _musician(musician: Musician) -> Json:
    fields = ("reputation", "fame", "place", "cubes_left", "uncovered", "ahead")
    return {**{name: getattr(musician, name) for name in fields}, "dead": musician.is_dead}


def _board(board: Board, num_players: int) -> Json:
    return {
        "seat": num_players if board.name == "bot" else _seat(board.name),
        "earlier": board.earlier_cubes,
        "new": board.new_cubes,
        "compositions": board.compositions,
        "sold": board.sold_this_round,
        "announced": board.announced,
        "closed": board.has_closed_hand,
        "kept": board.kept,
        "gave": board.last_contribution,
        "money": board.money,
        "furniture": board.furniture,
    }


def _choice(view: SeatView, action: int) -> Json:
    if action >= ANNOUNCE:
        return {"kind": "announce", "amount": action - ANNOUNCE, "label": f"Announce ${action - ANNOUNCE}", "note": ""}
    if action >= BID:
        return _bid(*HANDS[action - BID])
    if action >= SELL:
        value, points = FURNITURE_VALUES[action - SELL], FURNITURE_POINTS[action - SELL]
        note = f"you get ${value} and lose {points} points"
        return {"kind": "sell", "value": value, "label": f"Sell furniture for ${value}", "note": note}
    if action == PASS:
        return {"kind": "pass", "label": _PASSES[view.decision], "note": ""}
    return _cube(view, action)


def _bid(total: int, token: int) -> Json:
    bid: Json = {"kind": "bid", "amount": total, "value": None, "label": f"Give ${total}"}
    if token == NO_TOKEN:
        return {**bid, "note": f"${total} in coins, paid if the concert takes place" if total else "nothing"}
    value, points = FURNITURE_VALUES[token], FURNITURE_POINTS[token]
    coins = f" and ${total - value} in coins" if total > value else ""
    note = f"the ${value} furniture ({points} points){coins}, paid if the concert takes place"
    return {**bid, "value": value, "label": f"Give ${total} with the ${value} furniture", "note": note}


def _cube(view: SeatView, action: int) -> Json:
    row = action % KEEP
    musician, board = view.musicians[row], view.boards[0]
    name = title(musician.name)
    held = board.earlier_cubes[row] + board.new_cubes[row]
    if action >= DISCARD:
        return {"kind": "discard", "row": row, "label": f"Give up a {name} cube", "note": f"you hold {held}"}
    if action >= KEEP:
        return {"kind": "keep", "row": row, "label": f"Keep a {name} cube", "note": f"you hold {held}"}
    cost = _PRICES.get(view.decision, 0)
    notes = [f"${cost}" if cost else "free"]
    if musician.cubes_left == 1:
        notes.append("his last cube")
    if musician.ahead and musician.ahead[0][0] == 1:
        notes.append(f"reputation {musician.reputation} → {_next_reputation(musician)}")
    whose = " for the bot" if view.decision == "take_for_bot" else ""
    verb = f"Buy a {name} cube" if cost else f"Take a {name} cube{whose}"
    return {"kind": "take", "row": TAKE + row, "label": verb, "note": ", ".join(notes)}


def _next_reputation(musician: Musician) -> int:
    """After one cube: the rightmost of the spaces that it uncovers (spaces without cubes of their own come along)."""
    return [reputation for to_go, reputation in musician.ahead if to_go == 1][-1]
