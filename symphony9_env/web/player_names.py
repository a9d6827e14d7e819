"""Names of people and agents, as a page shows them."""

from __future__ import annotations

from typing import Final

MAX_NAME: Final = 30
_BLANK: Final = "\u115f\u1160\u2800\u3164\uffa0"  # letters that show nothing


def clean_name(text: str, otherwise: str) -> str:
    """One line, not too long; `otherwise` if nothing is left of it."""
    letters = "".join(letter if letter.isprintable() and letter not in _BLANK else " " for letter in text)
    return " ".join(letters.split())[:MAX_NAME].strip() or otherwise


def told_apart(names: list[str]) -> list[str]:
    """Two of a name get their seats' numbers."""
    return [f"{name[: MAX_NAME - 2]} {seat}" if names.count(name) > 1 else name for seat, name in enumerate(names, 1)]
