"""Draw the boards of the players and the bot, the visible money and furniture, and the points."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from symphony9_env.names import BOT_NAME
from symphony9_env.render.drawing import Drawing, Line, Rectangle, text_width
from symphony9_env.render.pieces import (
    ACCENT,
    FAINT,
    INK,
    Box,
    draw_card,
    draw_compositions,
    draw_cube,
    draw_furniture,
    draw_mark,
    draw_start_marker,
    draw_text,
    format_points,
)
from symphony9_env.render.theme import PALETTE, fade
from symphony9_env.scores import Points
from symphony9_env.views.seat import Board, SeatView

_HEAD: Final = 58  # height of the title and the row of marks
_NAMES: Final = 112  # width of the first column, and of the last one
_PURSE: Final = 196
_SCORE_LINE: Final = 26
_CUBES_HEIGHT: Final = 60  # the least height of a board's line for drawing its cubes one by one, in two rows
_MOST_CUBES: Final = 10
_OTHER_POINTS: Final = ("furniture", "money", "last works", "total")
_POINTS_WIDTH: Final = _PURSE / len(_OTHER_POINTS)


@dataclass(frozen=True)
class _Columns:
    """The horizontal positions of the musicians' columns and of the column for money and furniture."""

    first: float
    width: float
    purse: float

    def middle(self, row: int) -> float:
        """Return the middle of a musician's column."""
        return self.first + (row + 0.5) * self.width


def draw_boards(drawing: Drawing, box: Box, view: SeatView) -> None:
    """Draw the card with all boards and the points."""
    draw_card(drawing, box, "Boards", "cubes from earlier rounds + new ones; music sheets: compositions")
    first = box.x + 12 + _NAMES
    purse = box.right - 12 - _PURSE
    columns = _Columns(first, (purse - first) / len(view.musicians), purse)
    for row, musician in enumerate(view.musicians):
        draw_mark(drawing, columns.middle(row), box.y + 43, 12, musician.name)
    draw_text(drawing, purse + 8, box.y + 43, "money and furniture", 12, FAINT)
    lines: Mapping[str, Points] = view.score_sheet or {view.name: view.points}
    scores = 30 + _SCORE_LINE * len(lines)
    height = (box.height - _HEAD - scores - 8) / len(view.boards)
    for row, board in enumerate(view.boards):
        _draw_board(drawing, Box(box.x, box.y + _HEAD + row * height, box.width, height), board, columns, view)
    _draw_scores(drawing, Box(box.x, box.bottom - scores - 4, box.width, scores), lines, columns, view)


def _draw_board(drawing: Drawing, line: Box, board: Board, columns: _Columns, view: SeatView) -> None:
    if board.name == view.name:
        drawing.add(Rectangle(line.x + 6, line.y + 2, line.width - 12, line.height - 4, fade(ACCENT, 0.93), radius=6))
    drawing.add(Line((line.x + 8, line.y), (line.right - 8, line.y), PALETTE["line"]))
    if board.name == view.to_decide:
        drawing.add(Rectangle(line.x + 1, line.y + 4, 5, line.height - 8, ACCENT, radius=2))
    _draw_name(drawing, line, board, view)
    for row, musician in enumerate(view.musicians):
        cell = Box(columns.first + row * columns.width, line.y, columns.width, line.height)
        _draw_cubes(
            drawing, cell, musician.name, board.earlier_cubes[row], board.new_cubes[row], board.compositions[row]
        )
    _draw_purse(drawing, Box(columns.purse, line.y, _PURSE, line.height), board)


def _draw_name(drawing: Drawing, line: Box, board: Board, view: SeatView) -> None:
    left = line.x + 14
    roles = {"you": view.name, "starts": view.start_player, "decides": view.to_decide}
    notes = [note for note, name in roles.items() if name == board.name]
    middle = line.middle - (9 if notes else 0)
    draw_text(drawing, left, middle, board.name, 15, INK, bold=True, fit=76)
    if board.name == view.start_player:
        draw_start_marker(drawing, left + 82, middle + 7)
    ink = ACCENT if board.name == view.to_decide else FAINT
    draw_text(drawing, left, line.middle + 10, " · ".join(notes), 12, ink, bold=ink == ACCENT, fit=_NAMES - 8)


def _draw_cubes(drawing: Drawing, cell: Box, musician: str, earlier: int, new: int, compositions: int) -> None:
    """Draw numbers and compositions; where there is room, the cubes themselves below."""
    drawing.add(Line((cell.x, cell.y + 5), (cell.x, cell.bottom - 5), PALETTE["line"]))
    if not earlier + new + compositions:
        draw_text(drawing, cell.x + cell.width / 2, cell.middle, "–", 14, FAINT, "middle")
        return
    left, right = cell.x + 7, cell.right - 23
    has_room = cell.height >= _CUBES_HEIGHT
    middle = cell.middle - (11 if has_room else 0)
    width = min(18.0, text_width(str(earlier), 16, bold=True))
    if earlier + new:
        draw_text(drawing, left, middle, str(earlier), 16, INK if earlier else FAINT, bold=bool(earlier), fit=width)
    if new:
        start = left + width + 1
        draw_text(drawing, start, middle, f"+{new}", 15, ACCENT, bold=True, fit=right - 2 - start)
    if compositions:
        draw_compositions(drawing, right, middle, compositions)
    if has_room:
        for number in range(min(earlier + new, _MOST_CUBES)):
            row, column = divmod(number, _MOST_CUBES // 2)
            x, y = left + 4 + 9.5 * column, cell.middle + 12 + 10 * row
            draw_cube(drawing, x, y, 4.3, musician, hollow=number >= earlier)


def _draw_purse(drawing: Drawing, cell: Box, board: Board) -> None:
    left = cell.x + 8
    middle = cell.middle - (9 if board.sold_this_round else 0)
    if board.money is not None:
        draw_text(drawing, left, middle, f"${board.money}", 17, INK, bold=True)
        for index, value in enumerate(board.furniture or ()):
            draw_furniture(drawing, left + 58 + 34 * index, middle, value)
    else:
        draw_text(drawing, left, middle, "none" if board.name == BOT_NAME else "hidden", 13, FAINT)
    if board.sold_this_round:
        sold = ", ".join(f"${value}" for value in board.sold_this_round)
        draw_text(drawing, left, cell.middle + 13, f"sold this round: {sold}", 12, INK, fit=_PURSE - 12)


def _draw_scores(drawing: Drawing, box: Box, lines: Mapping[str, Points], columns: _Columns, view: SeatView) -> None:
    """Draw points by source: everybody's at the end, before that the observer's own."""
    heading = "Final score" if view.score_sheet else "Your points if the game ended now"
    drawing.add(Line((box.x + 8, box.y), (box.right - 8, box.y), FAINT))
    draw_text(drawing, box.x + 14, box.y + 15, heading, 14, INK, bold=True)
    for column, source in enumerate(_OTHER_POINTS):
        middle = columns.purse + (column + 0.5) * _POINTS_WIDTH
        draw_text(drawing, middle, box.y + 16, source, 11, FAINT, "middle", fit=_POINTS_WIDTH - 4)
    for row, (player, line) in enumerate(lines.items()):
        line_box = Box(box.x, box.y + 28 + row * _SCORE_LINE, box.width, _SCORE_LINE)
        _draw_score_line(drawing, line_box, player, line, columns, view)


def _draw_score_line(drawing: Drawing, box: Box, player: str, line: Points, columns: _Columns, view: SeatView) -> None:
    won = view.score_sheet is not None and view.score_sheet[player].rank == 1
    if won:
        drawing.add(
            Rectangle(box.x + 6, box.y + 1, box.width - 12, box.height - 2, fade(PALETTE["gold"], 0.75), radius=5)
        )
    name = f"{player} wins" if won else player
    draw_text(drawing, box.x + 14, box.middle, name, 14, INK, bold=won or player == view.name, fit=_NAMES - 6)
    for row, musician in enumerate(view.musicians):
        _draw_points(drawing, columns.middle(row), box.middle, line.breakdown[musician.name], columns.width)
    others = {**line.breakdown, "total": line.total}
    for column, source in enumerate(_OTHER_POINTS):
        middle, value = columns.purse + (column + 0.5) * _POINTS_WIDTH, others[source.replace(" ", "_")]
        _draw_points(drawing, middle, box.middle, value, _POINTS_WIDTH, bold=source == "total")


def _draw_points(drawing: Drawing, x: float, middle: float, value: float, room: float, bold: bool = False) -> None:
    draw_text(
        drawing, x, middle, format_points(value), 16 if bold else 14, INK if value else FAINT, "middle", bold, room - 6
    )
