"""Hints in error messages: the known name nearest to an unknown one.

>>> suggest("planer", ["greedy", "planner"])
"did you mean 'planner'? "
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable


def suggest(name: str, known: Iterable[str]) -> str:
    """Return a question that names the nearest known name, with a space after it; nothing if none is near."""
    near = difflib.get_close_matches(name, list(known), 1)
    return f"did you mean {near[0]!r}? " if near else ""
