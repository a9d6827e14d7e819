"""The legal actions of a seat explained: what each costs or brings, for people and language models."""

from __future__ import annotations

from typing import Final, TypedDict

from symphony9_env.actions import ANNOUNCE, BID, DISCARD, HANDS, KEEP, NAMES, NO_TOKEN, PASS, SELL, musician_of
from symphony9_env.components import FURNITURE_POINTS, FURNITURE_VALUES, MUSICIANS
from symphony9_env.rules.game import SECOND_TURN_PRICE, THIRD_TURN_PRICE
from symphony9_env.views.seat import Musician, SeatView

_PASS_LABELS: Final = {
    "buy_4": "Buy nothing",
    "buy_8": "Buy nothing",
    "announce": "Stay silent",
    "keep": "Keep none",
    "sell": "Sell nothing more",
}
_PRICES: Final = {"buy_4": SECOND_TURN_PRICE, "buy_8": THIRD_TURN_PRICE}


class ChoiceJson(TypedDict):
    """A legal action: its number and name, and how to present it."""

    action: int
    name: str
    kind: str
    label: str
    note: str
    musician: str | None
    amount: int | None
    furniture: int | None


def describe_choice(view: SeatView, action: int) -> ChoiceJson:
    """Explain one of the view's legal actions."""
    if action >= ANNOUNCE:
        return _make_choice(action, f"Announce ${action - ANNOUNCE}", amount=action - ANNOUNCE)
    if action >= BID:
        return _describe_bid(action)
    if action >= SELL:
        value, points = FURNITURE_VALUES[action - SELL], FURNITURE_POINTS[action - SELL]
        note = f"you get ${value} and lose {points} points"
        return _make_choice(action, f"Sell furniture for ${value}", note, furniture=value)
    if action == PASS:
        return _make_choice(action, _PASS_LABELS[view.decision])
    return _describe_cube(view, action)


def _make_choice(
    action: int,
    label: str,
    note: str = "",  # what it costs or brings
    musician: str | None = None,
    amount: int | None = None,  # of a bid or an announcement
    furniture: int | None = None,  # the value of the token that is sold or part of the bid
) -> ChoiceJson:
    return {
        "action": action,
        "name": NAMES[action],
        "kind": NAMES[action].partition(" ")[0],
        "label": label,
        "note": note,
        "musician": musician,
        "amount": amount,
        "furniture": furniture,
    }


def _describe_bid(action: int) -> ChoiceJson:
    total, token = HANDS[action - BID]
    if token == NO_TOKEN:
        note = f"${total} in coins, paid if the concert takes place" if total else "nothing"
        return _make_choice(action, f"Give ${total}", note, amount=total)
    value, points = FURNITURE_VALUES[token], FURNITURE_POINTS[token]
    coins = f" and ${total - value} in coins" if total > value else ""
    note = f"the ${value} furniture ({points} points){coins}, paid if the concert takes place"
    return _make_choice(action, f"Give ${total} with the ${value} furniture", note, amount=total, furniture=value)


def _describe_cube(view: SeatView, action: int) -> ChoiceJson:
    row = musician_of(action)
    cube = f"a {MUSICIANS[row].capitalize()} cube"
    if action >= KEEP:
        label = f"Give up {cube}" if action >= DISCARD else f"Keep {cube}"
        note = f"you hold {view.boards[0].earlier_cubes[row] + view.boards[0].new_cubes[row]}"
    else:
        price = _PRICES.get(view.decision, 0)
        for_bot = " for the bot" if view.decision == "take_for_bot" else ""
        label = f"Buy {cube}" if price else f"Take {cube}{for_bot}"
        note = _describe_taking(view.musicians[row], price)
    return _make_choice(action, label, note, musician=MUSICIANS[row])


def _describe_taking(musician: Musician, price: int) -> str:
    notes = [f"${price}" if price else "free"]
    if musician.cubes_left == 1:
        notes.append("his last cube")
    if musician.ahead and musician.ahead[0][0] == 1:
        # Spaces without cubes of their own are uncovered together with the one before them.
        after = [reputation for cubes_to_go, reputation in musician.ahead if cubes_to_go == 1][-1]
        notes.append(f"reputation {musician.reputation} → {after}")
    return ", ".join(notes)
