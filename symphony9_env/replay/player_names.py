"""Names of people and agents, as pages show them."""

from __future__ import annotations

from typing import Final

MAX_NAME: Final = 30
_INVISIBLE: Final = "\u115f\u1160\u2800\u3164\uffa0"  # printable by Unicode's definition, but drawn as blanks


def clean_name(text: str, default: str) -> str:
    """Return a name as one short line of visible characters, or the default if nothing is left of it."""
    visible = "".join(letter if letter.isprintable() and letter not in _INVISIBLE else " " for letter in text)
    return " ".join(visible.split())[:MAX_NAME].strip() or default


def number_duplicates(names: list[str]) -> list[str]:
    """Return the names by seat; add the seat's number, counted from 1, to names that occur more than once.

    >>> number_duplicates(["greedy", "Ann", "greedy"])
    ['greedy 1', 'Ann', 'greedy 3']
    """
    while len(set(names)) < len(names):  # a new name may be one that another seat already has
        is_repeated = [names.count(name) > 1 for name in names]
        names = [
            f"{name[: MAX_NAME - 2]} {seat}" if repeated else name
            for seat, (name, repeated) in enumerate(zip(names, is_repeated, strict=True), 1)
        ]
    return names
