"""Parse actions from free text, as people and language models write them.

>>> parse_action("I need him badly. [take Mozart]", legal=(0, 3))
3
>>> parse_action("3", legal=(0, 3))
3
"""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import Final

from symphony9_env.actions import NAMES, format_actions

_BRACKETS: Final = re.compile(r"\[([^\[\]]*)\]")
_MINUS: Final = re.compile(r"(?<!\w)-(?=\d)")
_NOISE: Final = re.compile(r"[^a-z0-9]+")
_FILLERS: Final = frozenset({"the", "a", "an", "my", "i", "will", "action", "furniture", "token", "dollars", "dollar"})
_SYNONYMS: Final = {
    "contribute": "bid",
    "give": "bid",
    "choose": "",
    "using": "with",
    "skip": "pass",
    "say": "announce",
}


def parse_action(text: str, legal: Collection[int]) -> int:
    """Return the legal action that a reply names by number or name, in its last square brackets or without any.

    Case, punctuation, dollar signs and filler words are ignored. A reply that names no legal action, or more than one,
    raises a ValueError that lists the legal actions.
    """
    choices = {_normalize(NAMES[action]): action for action in legal}
    found = _BRACKETS.findall(text)
    said = split_speech(found[-1])[0] if found else text
    action = _match(said, choices, legal)
    if action is None and not found:
        action = _search(said, choices)
    if action is None:
        allowed = format_actions(sorted(legal))
        raise ValueError(f"{_shorten(said)!r} is no legal action; answer with one in square brackets, of: {allowed}")
    return action


def split_speech(inside: str) -> tuple[str, str]:
    """Split the text in brackets into the action and the words said with it, as in `announce 4: who joins me?`."""
    action, _, words = inside.partition(":")
    return action, " ".join(words.split())


def parse_speech(text: str) -> str:
    """Return the words that a reply says aloud, or an empty text."""
    found = _BRACKETS.findall(text)
    return split_speech(found[-1])[1] if found else ""


def _match(said: str, choices: dict[str, int], legal: Collection[int]) -> int | None:
    """Return the action that the whole text names."""
    plain = _normalize(said)
    if plain in choices:
        return choices[plain]
    head, _, rest = plain.partition(" ")  # "3", or "3 take mozart" as in the list of legal actions
    number = int(head) if head.isdecimal() and len(head) < 10 else None  # Python refuses thousands of digits
    if number is not None and number in legal and (not rest or rest == _normalize(NAMES[number])):
        return number
    return None


def _search(said: str, choices: dict[str, int]) -> int | None:
    """Return the one action that a sentence names; where two overlap (`bid 6 with 4`, `bid 6`), the longer counts."""
    left = f" {_normalize(said)} "
    named = set()
    for name in sorted(choices, key=len, reverse=True):
        if f" {name} " in left:
            named.add(choices[name])
            left = left.replace(f" {name} ", " | ")
    return named.pop() if len(named) == 1 else None


def _normalize(text: str) -> str:
    """Return a text in lower case, without punctuation and filler words, with the words of the actions' names."""
    words = (_SYNONYMS.get(word, word) for word in _NOISE.split(_MINUS.sub("minus", text.lower())))
    return " ".join(word for word in words if word and word not in _FILLERS)


def _shorten(text: str, limit: int = 80) -> str:
    line = " ".join(text.split())
    return line if len(line) <= limit else line[: limit - 1] + "…"
