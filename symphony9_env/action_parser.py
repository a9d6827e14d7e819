"""Actions out of free text, as people and language models write them.

>>> parse_action("I need him badly. [take Mozart]", legal=(0, 3))
3
>>> parse_action("3", legal=(0, 3))
3
"""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import Final

from symphony9_env.actions import NAMES

_BRACKETS: Final = re.compile(r"\[([^\[\]]*)\]")
_MINUS: Final = re.compile(r"(?<!\w)-(?=\d)")
_NOISE: Final = re.compile(r"[^a-z0-9]+")
_FILLERS: Final = frozenset({"the", "a", "an", "my", "i", "will", "action", "furniture", "token", "dollars", "dollar"})
_SAME: Final = {"contribute": "bid", "give": "bid", "choose": "", "using": "with", "skip": "pass", "say": "announce"}


def parse_action(text: str, legal: Collection[int]) -> int:
    """The legal action that a reply means: a number or a name, in the last square brackets or standing alone.

    Case, punctuation, dollar signs and small words don't matter. A reply that means none, or more than one, is a
    ValueError that lists what is legal.
    """
    choices = {_plain(NAMES[action]): action for action in legal}
    found = _BRACKETS.findall(text)
    said = split_speech(found[-1])[0] if found else text
    action = _exactly(said, choices, legal)
    if action is None and not found:
        action = _within(said, choices)
    if action is None:
        allowed = ", ".join(f"{number} {NAMES[number]}" for number in sorted(legal))
        raise ValueError(f"{_short(said)!r} is no legal action; answer with one in square brackets, of: {allowed}")
    return action


def split_speech(inside: str) -> tuple[str, str]:
    """What stands in brackets, as the action and the words said with it: `announce 4: who joins me?`."""
    action, _, words = inside.partition(":")
    return action, " ".join(words.split())


def parse_speech(text: str) -> str:
    """The words that a reply in brackets says aloud, if any."""
    found = _BRACKETS.findall(text)
    return split_speech(found[-1])[1] if found else ""


def _exactly(said: str, choices: dict[str, int], legal: Collection[int]) -> int | None:
    plain = _plain(said)
    if plain in choices:
        return choices[plain]
    head, _, rest = plain.partition(" ")  # "3", or as the question lists it: "3 take mozart"
    if head.isdecimal() and int(head) in legal and (not rest or rest == _plain(NAMES[int(head)])):
        return int(head)
    return None


def _within(said: str, choices: dict[str, int]) -> int | None:
    """The one action that a sentence names; of two that overlap (`bid 6 with 4`, `bid 6`) the longer."""
    left = f" {_plain(said)} "
    named = set()
    for name in sorted(choices, key=len, reverse=True):
        if f" {name} " in left:
            named.add(choices[name])
            left = left.replace(f" {name} ", " | ")
    return named.pop() if len(named) == 1 else None


def _plain(text: str) -> str:
    words = (_SAME.get(word, word) for word in _NOISE.split(_MINUS.sub("minus", text.lower())))
    return " ".join(word for word in words if word and word not in _FILLERS)


def _short(text: str, limit: int = 80) -> str:
    line = " ".join(text.split())
    return line if len(line) <= limit else line[: limit - 1] + "…"
