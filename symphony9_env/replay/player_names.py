"""Names of people and agents, as pages show them."""

from __future__ import annotations

import re
import unicodedata
from typing import Final

MAX_NAME: Final = 30
BOT: Final = "the bot"  # as pages call it
# Printable by Unicode's definition, but drawn as blanks or not at all: fillers, joiners, variation selectors, tags.
_INVISIBLE: Final = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2800\u3164\ufe00-\ufe0f\uffa0\ufff0-\ufffb\U0001d159"
    "\U0001d173-\U0001d17a\U000e0000-\U000e0fff]"
)
_MAX_MARKS: Final = 2  # accents on one letter; more of them would cover other lines
# Cyrillic and Greek letters that look like Latin ones.
_LOOKALIKES: Final = str.maketrans("АВЕКМНОРСТХаеорсухіјѕΑΒΕΖΗΙΚΜΝΟΡΤΥΧο", "ABEKMHOPCTXaeopcyxijsABEZHIKMNOPTYXo")


def clean_name(text: str, default: str) -> str:
    """Return a name as one short line of visible characters, or the default if nothing is left of it.

    >>> clean_name("  Ann\\u200b\\n B ", "Player 1")
    'Ann B'
    """
    letters: list[str] = []
    num_marks = _MAX_MARKS  # a mark needs a letter before it
    for letter in unicodedata.normalize("NFC", _INVISIBLE.sub("", text)):
        is_mark = unicodedata.category(letter).startswith("M")
        num_marks = num_marks + 1 if is_mark else 0 if letter.isprintable() and letter != " " else _MAX_MARKS
        if not is_mark or num_marks <= _MAX_MARKS:
            letters.append(letter if letter.isprintable() else " ")
    return " ".join("".join(letters).split())[:MAX_NAME].strip() or default


def looks_like(one: str, other: str) -> bool:
    """Return whether two names can hardly be distinguished.

    >>> looks_like("Ann", "ANN"), looks_like("Ann", "\\u0410nn"), looks_like("Ann", "Anne")
    (True, True, False)
    """
    return _get_shape(one) == _get_shape(other)


def _get_shape(name: str) -> str:
    """Return what is left of a name without case, width, spaces and the alphabet of letters that look the same."""
    plain = unicodedata.normalize("NFKC", name).translate(_LOOKALIKES).casefold()
    return unicodedata.normalize("NFKC", plain).replace(" ", "")


def number_duplicates(names: list[str]) -> list[str]:
    """Return the names by seat; add the seat's number, counted from 1, to names that look the same.

    >>> number_duplicates(["greedy", "Ann", "greedy"])
    ['greedy 1', 'Ann', 'greedy 3']
    """
    shapes = [_get_shape(name) for name in names]
    while len(set(shapes)) < len(names):  # a new name may be one that another seat already has
        names = [
            f"{name[: MAX_NAME - 2]} {seat}" if shapes.count(shape) > 1 else name
            for seat, (name, shape) in enumerate(zip(names, shapes, strict=True), 1)
        ]
        shapes = [_get_shape(name) for name in names]
    return names
