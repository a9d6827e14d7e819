"""A drawing: shapes and text at positions, the later ones on top. It knows nothing of the game."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final, Literal

Anchor = Literal["start", "middle", "end"]
Point = tuple[float, float]

# Widths of letters relative to the font size, as in Arial and similar fonts. The reader's font is not known when a
# drawing is made.
_WIDTHS: Final = {
    letter: width
    for width, letters in {
        0.22: "ijl'|·",
        0.28: " .,:;!/\\[]Ift",
        0.34: "()-r`",
        0.37: '"*',
        0.5: "ckszxyvJ",
        0.58: "+=<>–−×",
        0.67: "ABEKPSVXY&",
        0.72: "CDHNRUw",
        0.78: "GOQ",
        0.83: "mM",
        0.95: "W@%",
        1.0: "…",
    }.items()
    for letter in letters
}
_OTHER_WIDTH: Final = 0.56
_BOLD: Final = 1.07


@dataclass(frozen=True)
class Rectangle:
    """A rectangle, with round corners if it has a radius."""

    x: float
    y: float
    width: float
    height: float
    fill: str | None = None
    stroke: str | None = None
    stroke_width: float = 1.0
    radius: float = 0.0


@dataclass(frozen=True)
class Circle:
    """A circle."""

    x: float
    y: float
    radius: float
    fill: str | None = None
    stroke: str | None = None
    stroke_width: float = 1.0


@dataclass(frozen=True)
class Polygon:
    """A polygon."""

    points: Sequence[Point]
    fill: str | None = None
    stroke: str | None = None
    stroke_width: float = 1.0


@dataclass(frozen=True)
class Line:
    """A straight line."""

    start: Point
    end: Point
    stroke: str
    stroke_width: float = 1.0


@dataclass(frozen=True)
class Text:
    """A line of text: `x` is its start, middle or end, as `anchor` says; `y` is its baseline."""

    x: float
    y: float
    text: str
    size: float
    fill: str
    anchor: Anchor = "start"
    bold: bool = False
    fit: float | None = None  # the largest width: longer text is set in a smaller size

    @property
    def width(self) -> float:
        """The approximate width at full size."""
        return text_width(self.text, self.size, self.bold)

    @property
    def fitted_size(self) -> float:
        """The font size at which the text fits."""
        if self.fit is None or self.width <= self.fit:
            return self.size
        return self.size * self.fit / self.width


Primitive = Rectangle | Circle | Polygon | Line | Text


def text_width(text: str, size: float, bold: bool = False) -> float:
    """Return the approximate width of text in a plain sans-serif font."""
    return sum(_WIDTHS.get(letter, _OTHER_WIDTH) for letter in text) * size * (_BOLD if bold else 1.0)


@dataclass
class Drawing:
    """An image of fixed size. What is added later is on top."""

    width: int
    height: int
    title: str = ""  # a description of the image, for screen readers
    primitives: list[Primitive] = field(default_factory=list)

    def add(self, shape: Primitive) -> None:
        """Add a shape or text on top."""
        self.primitives.append(shape)
