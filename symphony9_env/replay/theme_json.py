"""The part of the theme that pages need as JSON data: how each musician's name and mark are drawn.

Colours of everything else reach the pages as CSS variables (`render.theme.theme_css`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypedDict

from symphony9_env.render.theme import MARKS, SHAPES


class MarkJson(TypedDict):
    """A musician's name as it is written, and his mark: code, colours and the name of a shape."""

    title: str
    code: str
    colour: str
    ink: str
    shape: str


class ThemeJson(TypedDict):
    """How to draw the musicians: marks by name, and the corners of the shapes (none for the circle)."""

    musicians: dict[str, MarkJson]
    shapes: dict[str, Sequence[tuple[float, float]]]


def theme_json() -> ThemeJson:
    """Return the theme as plain JSON data."""
    musicians = {
        name: MarkJson(title=name.capitalize(), code=mark.code, colour=mark.colour, ink=mark.ink, shape=mark.shape)
        for name, mark in MARKS.items()
    }
    return {"musicians": musicians, "shapes": {**SHAPES}}
