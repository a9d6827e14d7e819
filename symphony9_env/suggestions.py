"""Parts of error messages: the known name nearest to an unknown one, and wrong values in brief.

>>> suggest("planer", ["greedy", "planner"])
"did you mean 'planner'? "
>>> show([[1, 2], "x" * 1000])
"[[1, 2], 'xxxxxxxxxxxxxxxxxxxxxxxxxxx...xxxxxxxxxxxxxxxxxxxxxxxxxxxx']"
"""

from __future__ import annotations

import difflib
import reprlib
from collections.abc import Iterable
from typing import Any, Final


def suggest(name: str, known: Iterable[str]) -> str:
    """Return a question that names the nearest known name, with a space after it; nothing if none is near."""
    near = difflib.get_close_matches(name, list(known), 1)
    return f"did you mean {near[0]!r}? " if near else ""


def shorten(text: str, limit: int = 200) -> str:
    """Return a text on one line of at most `limit` characters: its beginning and its end, if it is longer."""
    half = limit // 2
    text = " ".join(text.splitlines())
    return text if len(text) <= limit else f"{text[: half - 3]} ... {text[2 - half :]}"


class _BriefRepr(reprlib.Repr):
    """Shortens long and deep values, and whole numbers of thousands of digits, which Python refuses to print."""

    def __init__(self) -> None:
        super().__init__()
        self.maxstring = self.maxother = 60

    def repr_int(self, x: int, level: int) -> str:
        return super().repr_int(x, level) if x.bit_length() < 1000 else f"<a number of {x.bit_length()} bits>"


show: Final[Any] = _BriefRepr().repr  # the `repr` of a value, in brief; for values that somebody else wrote
