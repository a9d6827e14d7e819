"""The career tracks: a row for each musician, with his place, his spaces and his scoring tile."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from symphony9_env.components import scoring_method
from symphony9_env.render.drawing import Drawing
from symphony9_env.render.pieces import ACCENT, FAINT, INK, Box, card, cube, mark, points, tag, words, wrapped
from symphony9_env.render.theme import MARKS, PALETTE, faded, title
from symphony9_env.views.seat import Musician, SeatView

_HEAD: Final = 30  # height of the title line, which names the columns too

# Columns, from the card's left edge.
_NAME: Final = 62
_PLACE: Final = 176
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
    """One space of a track."""

    reputation: int
    cubes: int
    is_covered: bool
    is_current: bool


def spaces(musician: Musician) -> list[Space]:
    """A track from left to right, read off what the view tells: how many cubes must go until each is uncovered."""
    last = len(musician.uncovered) - 1
    track = [Space(reputation, 0, False, place == last) for place, reputation in enumerate(musician.uncovered)]
    gone = 0
    for until, reputation in musician.ahead:
        track.append(Space(reputation, until - gone, True, False))
        gone = until
    return track


def draw_tracks(drawing: Drawing, box: Box, view: SeatView) -> None:
    card(drawing, box, "Career tracks")
    _head(drawing, box)
    height = (box.height - _HEAD - 6) / len(view.musicians)
    longest = max(7, *(len(musician.uncovered) + len(musician.ahead) for musician in view.musicians))
    for row, musician in enumerate(view.musicians):
        line = Box(box.x, box.y + _HEAD + row * height, box.width, height)
        drawing.line((box.x + 8, line.y), (box.right - 8, line.y), PALETTE["line"])
        _musician(drawing, line, musician)
        _spaces(drawing, line, musician, longest)
        _tile(drawing, line, musician, view.boards[0].compositions[row], view.points.breakdown[musician.name])


def _head(drawing: Drawing, box: Box) -> None:
    middle = box.y + 17
    for x, text in ((_PLACE, "rank"), (_FAME + 32, "fame"), (_REPUTATION, "rep."), (_OWN, "yours")):
        words(drawing, box.x + x, middle, text, 12, FAINT, "middle")
    words(
        drawing,
        box.x + _SPACES[0],
        middle,
        "each space's reputation, and the cubes that cover it; the next to go lie left",
        12,
        FAINT,
    )
    words(drawing, box.x + _TILE, middle, "scoring tile: points for each, at level 1, 2, 3", 12, FAINT)


def _musician(drawing: Drawing, line: Box, musician: Musician) -> None:
    faint = musician.is_dead
    ink = FAINT if faint else INK
    mark(drawing, line.x + 34, line.middle, 16, musician.name, faint=faint)
    drop = 9 if faint else 0
    words(drawing, line.x + _NAME, line.middle - drop, title(musician.name), 16, ink, bold=True, fit=96)
    if faint:
        tag(drawing, line.x + _NAME, line.middle + 11, "dead", PALETTE["fail"], INK, 10)
    words(drawing, line.x + _PLACE, line.middle, _ordinal(musician.rank), 15, INK, "middle")
    drawing.rectangle(line.x + _FAME, line.middle - 10, 64, 20, PALETTE[musician.fame], radius=10)
    words(drawing, line.x + _FAME + 32, line.middle, musician.fame, 13, INK, "middle", fit=58)
    words(drawing, line.x + _REPUTATION, line.middle, str(musician.reputation), 22, INK, "middle", bold=True)


def _spaces(drawing: Drawing, line: Box, musician: Musician, longest: int) -> None:
    width = (_SPACES[1] - _SPACES[0]) / longest
    for place, space in enumerate(spaces(musician)):
        _space(drawing, Box(line.x + _SPACES[0] + place * width, line.middle - 18, width - 5, 36), musician.name, space)


def _space(drawing: Drawing, box: Box, musician: str, space: Space) -> None:
    colour = MARKS[musician].colour
    if space.is_current:
        drawing.rectangle(box.x, box.y, box.width, box.height, faded(colour, 0.75), colour, 2.5, radius=4)
    elif space.is_covered:
        drawing.rectangle(box.x, box.y, box.width, box.height, PALETTE["card"], faded(FAINT, 0.4), radius=4)
    else:
        drawing.rectangle(box.x, box.y, box.width, box.height, PALETTE["shade"], radius=4)
    ink = INK if space.is_current or space.is_covered else faded(FAINT, 0.3)
    if not space.is_covered:
        middle = box.x + box.width / 2
        words(drawing, middle, box.middle, str(space.reputation), 18, ink, "middle", bold=space.is_current)
        return
    words(drawing, box.x + 15, box.middle, str(space.reputation), 18, ink, "middle")
    _cubes(drawing, Box(box.x + 26, box.y, box.width - 29, box.height), musician, space.cubes)


def _cubes(drawing: Drawing, box: Box, musician: str, count: int) -> None:
    """In two rows; a number where there are too many."""
    if count > _MOST_CUBES:
        cube(drawing, box.x + 7, box.middle, 5.5, musician)
        words(drawing, box.x + 14, box.middle, f"×{count}", 12, INK, fit=box.width - 14)
        return
    across = 2 if count <= 4 else 3
    gap = box.width / across
    rows = -(-count // across)
    for number in range(count):
        row, place = divmod(number, across)
        x = box.x + gap * (place + 0.5)
        cube(drawing, x, box.middle + 14 * (row - (rows - 1) / 2), 5.5, musician)


def _tile(drawing: Drawing, line: Box, musician: Musician, compositions: int, own: float) -> None:
    method = scoring_method(musician.scoring_tile)
    x = line.x + _TILE
    drawing.rectangle(x, line.middle - 11, 28, 22, PALETTE["shade"], PALETTE["gold"], radius=3)
    words(drawing, x + 14, line.middle, musician.scoring_tile, 13, INK, "middle", bold=True)
    room = _METHOD[1] - _METHOD[0]
    lines = wrapped(method, 12, room)
    for row, text in enumerate(lines):
        words(drawing, line.x + _METHOD[0], line.middle + 15 * (row - (len(lines) - 1) / 2), text, 12, INK, fit=room)
    counts_levels = not method.startswith("place")
    for level, (left, value) in enumerate(zip(_LEVELS, musician.scoring_points, strict=True), start=1):
        reached = counts_levels and min(compositions, 3) == level
        if reached:
            drawing.rectangle(line.x + left, line.middle - 11, 28, 22, faded(ACCENT, 0.85), ACCENT, 1.5, radius=4)
        words(drawing, line.x + left + 14, line.middle, points(value), 13, INK, "middle", bold=reached, fit=25)
    ink = INK if own else FAINT
    words(drawing, line.x + _OWN, line.middle, points(own), 16, ink, "middle", bold=bool(own), fit=40)


def _ordinal(place: int) -> str:
    return f"{place}{ {1: 'st', 2: 'nd', 3: 'rd'}.get(place, 'th') }"
