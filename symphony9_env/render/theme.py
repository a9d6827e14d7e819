"""Colours and marks, for images, the browser and exported pages alike.

Every musician has a colour, a two-letter code and a shape, so that nobody needs to tell colours apart. The colours
follow Okabe and Ito's palette for colour-blind readers.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from symphony9_env.components import MUSICIANS


@dataclass(frozen=True)
class Mark:
    """What distinguishes a musician's cubes, track and tiles from the others'."""

    code: str
    colour: str
    ink: str  # of the code on the colour
    shape: str  # one of SHAPES


# Corners on a circle of radius 1, first one upwards where there is one; the circle has none.
SHAPES: Final[dict[str, tuple[tuple[float, float], ...]]] = {
    "circle": (),
    "square": ((-0.82, -0.82), (0.82, -0.82), (0.82, 0.82), (-0.82, 0.82)),
    "triangle": ((0.0, -1.0), (1.0, 0.82), (-1.0, 0.82)),
    "diamond": ((0.0, -1.08), (1.08, 0.0), (0.0, 1.08), (-1.08, 0.0)),
    "pentagon": ((0.0, -1.0), (0.95, -0.31), (0.59, 0.81), (-0.59, 0.81), (-0.95, -0.31)),
    "hexagon": ((0.5, -0.87), (1.0, 0.0), (0.5, 0.87), (-0.5, 0.87), (-1.0, 0.0), (-0.5, -0.87)),
}

MARKS: Final[dict[str, Mark]] = {
    "handel": Mark("Ha", "#0072b2", "#ffffff", "circle"),
    "bach": Mark("Ba", "#c04e00", "#ffffff", "square"),
    "haydn": Mark("Hy", "#007a59", "#ffffff", "triangle"),
    "mozart": Mark("Mo", "#e69f00", "#1d1d1d", "diamond"),
    "beethoven": Mark("Be", "#cc79a7", "#1d1d1d", "pentagon"),
    "schubert": Mark("Sc", "#56b4e9", "#1d1d1d", "hexagon"),
}
assert tuple(MARKS) == MUSICIANS

PALETTE: Final[dict[str, str]] = {
    "paper": "#fbfaf7",
    "card": "#ffffff",
    "shade": "#f1efe8",
    "line": "#d8d3c6",
    "ink": "#222222",
    "faint": "#5f5a50",
    "accent": "#0058a3",
    "gold": "#b8860b",
    "low": "#dbe9f4",  # concert classes, and where a concert fails
    "medium": "#a9cce6",
    "high": "#6aa6d0",
    "fail": "#f3d9c4",
    "royal": "#ecd9a0",
    "glow": "#fff6dc",  # behind what counts now
    "dark-gold": "#7a5900",
    "hover": "#e8f1f8",
    "pressed": "#004580",
    "focus": "#d97900",
    "warn": "#9b3d00",
    "warn-line": "#c98a5a",
}

FONT: Final = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, sans-serif"


# A bar, a dot or a line for each seat, and for the bot; light enough for dark letters.
SEATS: Final = ("#9ec9e2", "#f4c27a", "#a8d5ba", "#e3b4cf", "#c9c3b4")
SEAT_LINES: Final = ("#0072b2", "#b36b00", "#007a59", "#a04a7c")  # the same, dark enough for a line on white


def theme_css() -> str:
    """Return the colours as CSS variables, for pages."""
    named = {**PALETTE, **{f"seat-{number}": colour for number, colour in enumerate(SEATS)}}
    named |= {f"mark-{number}": colour for number, colour in enumerate(SEAT_LINES)}
    return ":root {\n" + "".join(f"  --{name}: {value};\n" for name, value in named.items()) + "}\n"


def fade(colour: str, amount: float = 0.6, towards: str = PALETTE["card"]) -> str:
    """Mix a colour with another: an amount of 0 gives the colour itself, 1 the other.

    >>> fade("#000000", 0.5, "#ffffff")
    '#808080'
    """
    pairs = zip(_split_colour(colour), _split_colour(towards), strict=True)
    return "#" + "".join(f"{round(start + (end - start) * amount):02x}" for start, end in pairs)


def _split_colour(colour: str) -> tuple[int, ...]:
    return tuple(int(colour[start : start + 2], 16) for start in (1, 3, 5))
