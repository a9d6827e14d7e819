"""Draw the career tracks: a row for each musician, with his rank, his spaces and his scoring tile."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from symphony9_env.components import scoring_method
from symphony9_env.render.drawing import Drawing, Line, Rectangle
from symphony9_env.render.pieces import (
    ACCENT,
    FAINT,
    INK,
    Box,
    draw_card,
    draw_cube,
    draw_mark,
    draw_tag,
    draw_text,
    format_points,
    wrap_text,
)
from symphony9_env.render.theme import MARKS, PALETTE, fade
from symphony9_env.views.seat import Musician, SeatView

_HEAD: Final = 30  # height of the title line, which names the columns too

# Columns, from the card's left edge.
_NAME: Final = 62
_RANK: Final = 176
_FAME: Final = 196
_REPUTATION: Final = 284
_SPACES: Final = (310, 806)
_TILE: Final = 820
_METHOD: Final = (856, 1022)
_LEVELS: Final = (1030, 1060, 1090)
_OWN: Final = 1142

_MOST_CUBES: Final = 6  # of a space that are drawn one by one


@dataclass(frozen=True)
class Space:
    """A space of a track."""

    reputation: int
    cubes: int
    is_covered: bool
    is_current: bool


def list_spaces(musician: Musician) -> list[Space]:
    """Return a track's spaces from left to right, derived from how many cubes must be taken to uncover each."""
    last = len(musician.uncovered) - 1
    track = [Space(reputation, 0, False, index == last) for index, reputation in enumerate(musician.uncovered)]
    gone = 0
    for until, reputation in musician.ahead:
        track.append(Space(reputation, until - gone, True, False))
        gone = until
    return track


def draw_tracks(drawing: Drawing, box: Box, view: SeatView) -> None:
    """Draw the card with all career tracks."""
    draw_card(drawing, box, "Career tracks")
    _draw_header(drawing, box)
    height = (box.height - _HEAD - 6) / len(view.musicians)
    longest = max(7, *(len(musician.uncovered) + len(musician.ahead) for musician in view.musicians))
    width = (_SPACES[1] - _SPACES[0]) / longest
    for row, musician in enumerate(view.musicians):
        line = Box(box.x, box.y + _HEAD + row * height, box.width, height)
        drawing.add(Line((box.x + 8, line.y), (box.right - 8, line.y), PALETTE["line"]))
        _draw_musician(drawing, line, musician)
        for index, space in enumerate(list_spaces(musician)):
            box_of_space = Box(line.x + _SPACES[0] + index * width, line.middle - 18, width - 5, 36)
            _draw_space(drawing, box_of_space, musician.name, space)
        _draw_tile(drawing, line, musician, view.boards[0].compositions[row], view.points.breakdown[musician.name])


def _draw_header(drawing: Drawing, box: Box) -> None:
    middle = box.y + 17
    for x, text in ((_RANK, "rank"), (_FAME + 32, "fame"), (_REPUTATION, "rep."), (_OWN, "yours")):
        draw_text(drawing, box.x + x, middle, text, 12, FAINT, "middle")
    draw_text(
        drawing,
        box.x + _SPACES[0],
        middle,
        "each space's reputation, and the cubes that cover it; the next to go lie left",
        12,
        FAINT,
    )
    draw_text(drawing, box.x + _TILE, middle, "scoring tile: points for each, at level 1, 2, 3", 12, FAINT)


def _draw_musician(drawing: Drawing, line: Box, musician: Musician) -> None:
    faint = musician.is_dead
    ink = FAINT if faint else INK
    draw_mark(drawing, line.x + 34, line.middle, 16, musician.name, faint=faint)
    drop = 9 if faint else 0
    draw_text(drawing, line.x + _NAME, line.middle - drop, musician.name.capitalize(), 16, ink, bold=True, fit=96)
    if faint:
        draw_tag(drawing, line.x + _NAME, line.middle + 11, "dead", PALETTE["fail"], 10)
    draw_text(drawing, line.x + _RANK, line.middle, _format_ordinal(musician.rank), 15, INK, "middle")
    drawing.add(Rectangle(line.x + _FAME, line.middle - 10, 64, 20, PALETTE[musician.fame], radius=10))
    draw_text(drawing, line.x + _FAME + 32, line.middle, musician.fame, 13, INK, "middle", fit=58)
    draw_text(drawing, line.x + _REPUTATION, line.middle, str(musician.reputation), 22, INK, "middle", bold=True)


def _draw_space(drawing: Drawing, box: Box, musician: str, space: Space) -> None:
    colour, middle, text = MARKS[musician].colour, box.x + box.width / 2, str(space.reputation)
    if space.is_current:
        drawing.add(Rectangle(box.x, box.y, box.width, box.height, fade(colour, 0.75), colour, 2.5, radius=4))
        draw_text(drawing, middle, box.middle, text, 18, INK, "middle", bold=True)
    elif space.is_covered:
        drawing.add(Rectangle(box.x, box.y, box.width, box.height, PALETTE["card"], fade(FAINT, 0.4), radius=4))
        draw_text(drawing, box.x + 15, box.middle, text, 18, INK, "middle")
        _draw_cubes(drawing, Box(box.x + 26, box.y, box.width - 29, box.height), musician, space.cubes)
    else:
        drawing.add(Rectangle(box.x, box.y, box.width, box.height, PALETTE["shade"], radius=4))
        draw_text(drawing, middle, box.middle, text, 18, fade(FAINT, 0.3), "middle")


def _draw_cubes(drawing: Drawing, box: Box, musician: str, count: int) -> None:
    """Draw the cubes of a space in two rows, or their number if there are too many."""
    if count > _MOST_CUBES:
        draw_cube(drawing, box.x + 7, box.middle, 5.5, musician)
        draw_text(drawing, box.x + 14, box.middle, f"×{count}", 12, INK, fit=box.width - 14)
        return
    across = 2 if count <= 4 else 3
    gap = box.width / across
    rows = -(-count // across)
    for number in range(count):
        row, column = divmod(number, across)
        x = box.x + gap * (column + 0.5)
        draw_cube(drawing, x, box.middle + 14 * (row - (rows - 1) / 2), 5.5, musician)


def _draw_tile(drawing: Drawing, line: Box, musician: Musician, compositions: int, own: float) -> None:
    method = scoring_method(musician.scoring_tile)
    x = line.x + _TILE
    drawing.add(Rectangle(x, line.middle - 11, 28, 22, PALETTE["shade"], PALETTE["gold"], radius=3))
    draw_text(drawing, x + 14, line.middle, musician.scoring_tile, 13, INK, "middle", bold=True)
    room = _METHOD[1] - _METHOD[0]
    lines = wrap_text(method, 12, room)
    for row, text in enumerate(lines):
        draw_text(
            drawing, line.x + _METHOD[0], line.middle + 15 * (row - (len(lines) - 1) / 2), text, 12, INK, fit=room
        )
    counts_levels = not method.startswith("place")
    for level, (left, value) in enumerate(zip(_LEVELS, musician.scoring_points, strict=True), start=1):
        reached = counts_levels and min(compositions, 3) == level
        if reached:
            drawing.add(Rectangle(line.x + left, line.middle - 11, 28, 22, fade(ACCENT, 0.85), ACCENT, 1.5, radius=4))
        draw_text(
            drawing, line.x + left + 14, line.middle, format_points(value), 13, INK, "middle", bold=reached, fit=25
        )
    ink = INK if own else FAINT
    draw_text(drawing, line.x + _OWN, line.middle, format_points(own), 16, ink, "middle", bold=bool(own), fit=40)


def _format_ordinal(rank: int) -> str:
    return f"{rank}{ {1: 'st', 2: 'nd', 3: 'rd'}.get(rank, 'th') }"
