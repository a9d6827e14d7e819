"""Draw the game pieces and other elements, each the same way wherever it occurs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from symphony9_env.render.drawing import Anchor, Circle, Drawing, Line, Polygon, Rectangle, Text, text_width
from symphony9_env.render.theme import MARKS, PALETTE, SHAPES, fade

INK: Final = PALETTE["ink"]
FAINT: Final = PALETTE["faint"]
ACCENT: Final = PALETTE["accent"]

_MIDDLE: Final = 0.36  # from the middle of a line of text down to its baseline, relative to the font size
# How far below its middle a shape has room for its code, and the code's font size, both relative to the radius.
_CODES: Final = {"triangle": (0.3, 0.74), "pentagon": (0.06, 0.84)}
_CODE: Final = (0.0, 0.84)


@dataclass(frozen=True)
class Box:
    """A rectangular part of the image."""

    x: float
    y: float
    width: float
    height: float

    @property
    def right(self) -> float:
        """The right edge."""
        return self.x + self.width

    @property
    def bottom(self) -> float:
        """The bottom edge."""
        return self.y + self.height

    @property
    def middle(self) -> float:
        """The vertical middle."""
        return self.y + self.height / 2


def draw_text(
    drawing: Drawing,
    x: float,
    middle: float,
    text: str,
    size: float = 13,
    fill: str = INK,
    anchor: Anchor = "start",
    bold: bool = False,
    fit: float | None = None,
) -> None:
    """Draw text whose vertical middle is at this height."""
    drawing.add(Text(x, middle + _MIDDLE * size, text, size, fill, anchor, bold, fit))


def wrap_text(text: str, size: float, width: float) -> list[str]:
    """Break text at spaces into lines that are not too wide."""
    lines: list[str] = []
    for word in text.split():
        if lines and text_width(f"{lines[-1]} {word}", size) <= width:
            lines[-1] += f" {word}"
        else:
            lines.append(word)
    return lines


def draw_card(drawing: Drawing, box: Box, title: str, note: str = "") -> None:
    """Draw a white card with its title, and a note at the right."""
    drawing.add(Rectangle(box.x, box.y, box.width, box.height, PALETTE["card"], PALETTE["line"], radius=8))
    draw_text(drawing, box.x + 12, box.y + 17, title, 14, bold=True)
    if note:
        room = box.width - 36 - text_width(title, 14, bold=True)
        draw_text(drawing, box.right - 12, box.y + 17, note, 12, FAINT, "end", fit=room)


def draw_mark(drawing: Drawing, x: float, y: float, radius: float, musician: str, faint: bool = False) -> None:
    """Draw a musician's mark: his colour, shape and code."""
    mark = MARKS[musician]
    fill = fade(mark.colour) if faint else mark.colour
    _draw_shape(drawing, x, y, radius, mark.shape, fill, None)
    ink = INK if faint else mark.ink
    drop, size = _CODES.get(mark.shape, _CODE)
    draw_text(drawing, x, y + drop * radius, mark.code, radius * size, ink, "middle", bold=True)


def draw_cube(drawing: Drawing, x: float, y: float, radius: float, musician: str, hollow: bool = False) -> None:
    """Draw one cube as a small mark; hollow ones are new."""
    mark = MARKS[musician]
    if hollow:
        _draw_shape(drawing, x, y, radius - 0.5, mark.shape, PALETTE["card"], mark.colour)
    else:
        _draw_shape(drawing, x, y, radius, mark.shape, mark.colour, None)


def _draw_shape(drawing: Drawing, x: float, y: float, radius: float, shape: str, fill: str, stroke: str | None) -> None:
    if corners := SHAPES[shape]:
        drawing.add(Polygon([(x + radius * dx, y + radius * dy) for dx, dy in corners], fill, stroke, 1.5))
    else:
        drawing.add(Circle(x, y, radius, fill, stroke, 1.5))


def draw_tag(drawing: Drawing, x: float, middle: float, text: str, fill: str, size: float) -> None:
    """Draw a word on a coloured ground, starting at x."""
    width = text_width(text, size, bold=True) + 12
    drawing.add(Rectangle(x, middle - size * 0.8, width, size * 1.6, fill, radius=size * 0.8))
    draw_text(drawing, x + width / 2, middle, text, size, INK, "middle", bold=True, fit=width - 6)


def draw_token(drawing: Drawing, x: float, y: float, radius: float, value: int | None, now: bool = False) -> None:
    """Draw a budget token; without a value, one that has not been revealed. `now` marks this round's."""
    fill = PALETTE["shade"] if value is None else PALETTE["card"]
    edge = ACCENT if now else PALETTE["line"] if value is None else PALETTE["gold"]
    drawing.add(Circle(x, y, radius, fill, edge, 2.5 if now else 1.5))
    if value is not None:
        draw_text(drawing, x, y, format_token(value), radius * 0.95, INK, "middle", bold=now)
    elif now:
        draw_text(drawing, x, y, "?", radius, ACCENT, "middle", bold=True)


def format_token(value: int) -> str:
    """Return a number with its sign, 0 without."""
    return {-1: "−", 0: "", 1: "+"}[(value > 0) - (value < 0)] + str(abs(value))


def draw_furniture(drawing: Drawing, x: float, middle: float, value: int) -> None:
    """Draw a piece of furniture: a tile 28 wide."""
    drawing.add(Rectangle(x, middle - 10, 28, 20, PALETTE["shade"], PALETTE["gold"], radius=3))
    draw_text(drawing, x + 14, middle, f"${value}", 12, INK, "middle")


def draw_compositions(drawing: Drawing, x: float, middle: float, count: int) -> None:
    """Draw compositions: a stack of music sheets, 20 wide, with their number on top."""
    for back in range(min(count, 3) - 1, -1, -1):
        left, top = x + 2.5 * back, middle - 10 - 2 * back
        drawing.add(Rectangle(left, top, 15, 20, PALETTE["card"], PALETTE["gold"], 1.2, radius=1.5))
    draw_text(drawing, x + 7.5, middle, str(count), 13, INK, "middle", bold=True)


def draw_start_marker(drawing: Drawing, x: float, y: float) -> None:
    """Draw the start player's marker: a flag, 14 high, standing on y."""
    drawing.add(Line((x, y), (x, y - 14), INK, 1.5))
    drawing.add(Polygon([(x + 0.5, y - 14), (x + 11, y - 10.5), (x + 0.5, y - 7)], PALETTE["gold"]))


def format_hand(hand: tuple[int, int | None] | None) -> str:
    """Return a contribution as text: coins, or furniture and coins."""
    if hand is None:
        return "–"
    total, piece = hand
    return f"${total} with ${piece}" if piece else f"${total}"


def format_points(value: float) -> str:
    """Return points with at most two decimals."""
    return f"{round(value, 2):g}"
