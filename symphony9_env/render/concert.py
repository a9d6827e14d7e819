"""Draw the royal concert: its classes as a number line, the budget tokens, and who contributed what."""

from __future__ import annotations

from typing import Final

from symphony9_env.components import BUDGET_TOKENS
from symphony9_env.render.drawing import Drawing, Line, Polygon, Rectangle
from symphony9_env.render.pieces import (
    ACCENT,
    FAINT,
    INK,
    Box,
    draw_card,
    draw_mark,
    draw_text,
    draw_token,
    format_hand,
    format_token,
)
from symphony9_env.render.theme import PALETTE
from symphony9_env.rules.state import NUM_ROUNDS
from symphony9_env.views.seat import Board, SeatView

_MORE: Final = 5  # cells of the number line beyond the last class

# Middles of the columns of the contributions, from the card's left edge.
_ANNOUNCED: Final = 152
_HAND: Final = 238
_GAVE: Final = 334
_KEPT: Final = 418


def draw_concert(drawing: Drawing, box: Box, view: SeatView) -> None:
    """Draw the card of the concert."""
    held = f"so far {view.successes} succeeded, {view.performers} performed"
    draw_card(drawing, box, "Royal concert", f"each gives $0–{view.limit}; {held}")
    inner = Box(box.x + 12, box.y, box.width - 24, box.height)
    _draw_number_line(drawing, Box(inner.x, box.y + 34, inner.width, 72), view)
    _draw_tokens(drawing, Box(inner.x, box.y + 118, inner.width, 56), view)
    _draw_contributions(drawing, Box(box.x, box.y + 186, box.width, 140), view)
    _draw_last_concert(drawing, Box(inner.x, box.y + 336, inner.width, 66), view)


def _draw_number_line(drawing: Drawing, box: Box, view: SeatView) -> None:
    """Draw the totals from 0 on, a cell each: where a concert fails, and the classes between."""
    first, last = view.classes[0][1], view.classes[-1][2]
    cell = box.width / (last + 1 + _MORE)
    zones = [(0, first - 1, "fail", "too little", "fails")]
    zones += [(low, high, name, name, f"${income} a cube") for name, low, high, income in view.classes]
    zones += [(last + 1, last + _MORE, "fail", "too much", "fails")]
    for low, high, colour, name, note in zones:
        left, width = box.x + low * cell, (high - low + 1) * cell
        drawing.add(Rectangle(left, box.y, width - 2, 36, PALETTE[colour], radius=3))
        draw_text(drawing, left + width / 2 - 1, box.y + 11, name, 12, INK, "middle", bold=True, fit=width - 6)
        draw_text(drawing, left + width / 2 - 1, box.y + 26, note, 11, INK, "middle", fit=width - 6)
    for total in range(last + _MORE + 1):
        text = f"{total}+" if total == last + _MORE else str(total)
        draw_text(drawing, box.x + (total + 0.5) * cell - 1, box.y + 46, text, 10.5, FAINT, "middle", fit=cell)
    if view.total is not None:
        _draw_pointer(drawing, box.x + (min(max(view.total, 0), last + _MORE) + 0.5) * cell - 1, box, view.total)


def _draw_pointer(drawing: Drawing, x: float, box: Box, total: int) -> None:
    """Point at the last concert's total, with a label on the side that has more room."""
    drawing.add(Polygon([(x, box.y + 54), (x + 7, box.y + 67), (x - 7, box.y + 67)], ACCENT))
    text = f"last total {format_token(total) if total < 0 else total}"
    if x < box.x + box.width / 2:
        draw_text(drawing, x + 12, box.y + 62, text, 12, ACCENT, bold=True)
    else:
        draw_text(drawing, x - 12, box.y + 62, text, 12, ACCENT, "end", bold=True)


def _draw_tokens(drawing: Drawing, box: Box, view: SeatView) -> None:
    draw_text(drawing, box.x, box.y + 8, f"budget tokens, round 1 to {NUM_ROUNDS}", 12, FAINT)
    for number in range(1, NUM_ROUNDS + 1):
        value = view.budget_seen[number - 1] if number <= len(view.budget_seen) else None
        now = number == view.round and view.score_sheet is None
        draw_token(drawing, box.x + 18 + 37 * (number - 1), box.y + 36, 15, value, now)
    start = box.right - 22 * len(BUDGET_TOKENS)
    never = len(BUDGET_TOKENS) - NUM_ROUNDS
    draw_text(drawing, start, box.y + 8, f"not shown yet ({never} never are)", 12, FAINT, fit=box.right - start)
    for index, value in enumerate(sorted(view.budget_left, reverse=True)):
        draw_token(drawing, start + 11 + 22 * index, box.y + 36, 10, value)


def _draw_contributions(drawing: Drawing, box: Box, view: SeatView) -> None:
    """Draw a line for each board: what was announced, whether a hand is closed, and the last contribution."""
    for x, text in ((_ANNOUNCED, "announced"), (_HAND, "hand now"), (_GAVE, "gave last"), (_KEPT, "keeps")):
        draw_text(drawing, box.x + x, box.y + 8, text, 12, FAINT, "middle")
    height = (box.height - 20) / len(view.boards)
    for row, board in enumerate(view.boards):
        line = Box(box.x, box.y + 20 + row * height, box.width, height)
        drawing.add(Line((box.x + 8, line.y), (box.right - 8, line.y), PALETTE["line"]))
        _draw_contribution(drawing, line, board, view)


def _draw_contribution(drawing: Drawing, line: Box, board: Board, view: SeatView) -> None:
    is_own = board.name == view.name
    draw_text(drawing, line.x + 12, line.middle, board.name, 14, INK, bold=is_own, fit=96)
    said = "–" if board.announced is None else f"${board.announced}"
    _draw_cell(drawing, line.x + _ANNOUNCED, line.middle, said, 70)
    if is_own and view.hand is not None:
        _draw_cell(drawing, line.x + _HAND, line.middle, format_hand(view.hand), 90)
    elif board.has_closed_hand:
        drawing.add(Rectangle(line.x + _HAND - 28, line.middle - 10, 56, 20, INK, radius=4))
        draw_text(drawing, line.x + _HAND, line.middle, "closed", 12, "#ffffff", "middle", fit=50)
    else:
        _draw_cell(drawing, line.x + _HAND, line.middle, "–", 90)
    _draw_cell(drawing, line.x + _GAVE, line.middle, format_hand(board.last_contribution), 90)
    if board.kept is None:
        _draw_cell(drawing, line.x + _KEPT, line.middle, "–", 40)
    else:
        draw_mark(drawing, line.x + _KEPT, line.middle, 11, board.kept)


def _draw_cell(drawing: Drawing, x: float, middle: float, text: str, room: float) -> None:
    draw_text(drawing, x, middle, text, 14, FAINT if text == "–" else INK, "middle", fit=room)


def _draw_last_concert(drawing: Drawing, box: Box, view: SeatView) -> None:
    drawing.add(Rectangle(box.x, box.y, box.width, box.height, PALETTE["shade"], radius=6))
    if view.outcome is None:
        draw_text(drawing, box.x + 12, box.middle, "No concert yet.", 13, FAINT)
        return
    failed = view.outcome not in [name for name, *_ in view.classes]
    ended = f"failed, {view.outcome}" if failed else f"{view.outcome} class"
    draw_text(
        drawing, box.x + 12, box.y + 20, f"Last concert: {ended}, total {view.total}", 14, INK, bold=True, fit=280
    )
    if view.bot_tiles_seen:
        tile = "/".join(str(value) for value in view.bot_tiles_seen[-1])
        draw_text(drawing, box.right - 12, box.y + 20, f"bot's tile {tile}", 13, FAINT, "end", fit=120)
    if failed:
        draw_text(drawing, box.x + 12, box.y + 46, "nobody performed", 13, FAINT)
        return
    draw_text(drawing, box.x + 12, box.y + 46, "performed by", 13, FAINT, fit=80)
    for index, name in enumerate(view.performing):
        draw_mark(drawing, box.x + 112 + 32 * index, box.y + 45, 13, name)
