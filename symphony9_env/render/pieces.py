"""The pieces that lie on the table, each drawn the same way wherever it lies."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from symphony9_env.render.drawing import Anchor, Drawing, text_width
from symphony9_env.render.theme import MARKS, PALETTE, SHAPES, faded

INK: Final = PALETTE["ink"]
FAINT: Final = PALETTE["faint"]
ACCENT: Final = PALETTE["accent"]

_MIDDLE: Final = 0.36  # of its size: from the middle of a line of words down to where they stand
# How much lower than its middle a shape has room for its code, and how large that is, in parts of its radius.
_CODES: Final = {"triangle": (0.3, 0.74), "pentagon": (0.06, 0.84)}
_CODE: Final = (0.0, 0.84)


@dataclass(frozen=True)
class Box:
    """A part of the picture."""

    x: float
    y: float
    width: float
    height: float

    @property
    def right(self) -> float:
        return self.x + self.width

    @property
    def bottom(self) -> float:
        return self.y + self.height

    @property
    def middle(self) -> float:
        return self.y + self.height / 2


def words(
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
    """Words whose middle is at this height."""
    drawing.text(x, middle + _MIDDLE * size, text, size, fill, anchor, bold, fit)


def wrapped(text: str, size: float, width: float) -> list[str]:
    """Words in lines that are not too wide, broken at spaces."""
    lines: list[str] = []
    for word in text.split():
        if lines and text_width(f"{lines[-1]} {word}", size) <= width:
            lines[-1] += f" {word}"
        else:
            lines.append(word)
    return lines


def card(drawing: Drawing, box: Box, title: str, note: str = "") -> None:
    """A white card with its title, and a note at the right."""
    drawing.rectangle(box.x, box.y, box.width, box.height, PALETTE["card"], PALETTE["line"], radius=8)
    words(drawing, box.x + 12, box.y + 17, title, 14, bold=True)
    if note:
        room = box.width - 36 - text_width(title, 14, bold=True)
        words(drawing, box.right - 12, box.y + 17, note, 12, FAINT, "end", fit=room)


def mark(
    drawing: Drawing, x: float, y: float, radius: float, musician: str, code: bool = True, faint: bool = False
) -> None:
    """A musician's mark: his colour and shape, and his code if there is room."""
    look = MARKS[musician]
    fill = faded(look.colour) if faint else look.colour
    _shape(drawing, x, y, radius, look.shape, fill, None)
    if code:
        ink = INK if faint else look.ink
        drop, size = _CODES.get(look.shape, _CODE)
        words(drawing, x, y + drop * radius, look.code, radius * size, ink, "middle", bold=True)


def cube(drawing: Drawing, x: float, y: float, radius: float, musician: str, hollow: bool = False) -> None:
    """One cube as a little mark; hollow ones are new."""
    look = MARKS[musician]
    if hollow:
        _shape(drawing, x, y, radius - 0.5, look.shape, PALETTE["card"], look.colour)
    else:
        _shape(drawing, x, y, radius, look.shape, look.colour, None)


def _shape(drawing: Drawing, x: float, y: float, radius: float, shape: str, fill: str, stroke: str | None) -> None:
    if corners := SHAPES[shape]:
        drawing.polygon([(x + radius * dx, y + radius * dy) for dx, dy in corners], fill, stroke, 1.5)
    else:
        drawing.circle(x, y, radius, fill, stroke, 1.5)


def tag(drawing: Drawing, x: float, middle: float, text: str, fill: str, ink: str = INK, size: float = 11) -> float:
    """A word on a coloured ground, from x on; returns where it ends."""
    width = text_width(text, size, bold=True) + 12
    drawing.rectangle(x, middle - size * 0.8, width, size * 1.6, fill, radius=size * 0.8)
    words(drawing, x + width / 2, middle, text, size, ink, "middle", bold=True, fit=width - 6)
    return x + width


def coin(drawing: Drawing, x: float, y: float, radius: float, value: int | None, now: bool = False) -> None:
    """A budget token; without a value one that is not shown yet. `now` is this round's."""
    fill = PALETTE["shade"] if value is None else PALETTE["card"]
    edge = ACCENT if now else PALETTE["line"] if value is None else PALETTE["gold"]
    drawing.circle(x, y, radius, fill, edge, 2.5 if now else 1.5)
    if value is not None:
        words(drawing, x, y, token_name(value), radius * 0.95, INK, "middle", bold=now)
    elif now:
        words(drawing, x, y, "?", radius, ACCENT, "middle", bold=True)


def token_name(value: int) -> str:
    return {-1: "−", 0: "", 1: "+"}[(value > 0) - (value < 0)] + str(abs(value))


def furniture(drawing: Drawing, x: float, middle: float, value: int) -> None:
    """A piece of furniture: a tile 28 wide."""
    drawing.rectangle(x, middle - 10, 28, 20, PALETTE["shade"], PALETTE["gold"], radius=3)
    words(drawing, x + 14, middle, f"${value}", 12, INK, "middle")


def sheets(drawing: Drawing, x: float, middle: float, count: int) -> None:
    """Compositions: a stack of music sheets 20 wide with their number on top."""
    for back in range(min(count, 3) - 1, -1, -1):
        left, top = x + 2.5 * back, middle - 10 - 2 * back
        drawing.rectangle(left, top, 15, 20, PALETTE["card"], PALETTE["gold"], 1.2, radius=1.5)
    words(drawing, x + 7.5, middle, str(count), 13, INK, "middle", bold=True)


def flag(drawing: Drawing, x: float, y: float) -> None:
    """The start player's marker, 14 high, standing on y."""
    drawing.line((x, y), (x, y - 14), INK, 1.5)
    drawing.polygon([(x + 0.5, y - 14), (x + 11, y - 10.5), (x + 0.5, y - 7)], PALETTE["gold"])


def amount(hand: tuple[int, int | None] | None) -> str:
    """What was given: coins, or furniture and coins."""
    if hand is None:
        return "–"
    total, piece = hand
    return f"${total} with ${piece}" if piece else f"${total}"


def points(value: float) -> str:
    return f"{round(value, 2):g}"
