"""Draw a whole game as one seat may know it, from its view alone."""

from __future__ import annotations

from typing import Final

from symphony9_env.render.boards import draw_boards
from symphony9_env.render.concert import draw_concert
from symphony9_env.render.drawing import Circle, Drawing, Rectangle
from symphony9_env.render.pieces import ACCENT, FAINT, INK, Box, draw_text
from symphony9_env.render.theme import PALETTE
from symphony9_env.render.tracks import draw_tracks
from symphony9_env.rules.state import NUM_ROUNDS
from symphony9_env.views.seat import SeatView
from symphony9_env.views.text import QUESTIONS, describe_winners

WIDTH: Final = 1200
HEIGHT: Final = 800

_HEADING: Final = Box(16, 8, 1168, 52)
_TRACKS: Final = Box(16, 68, 1168, 304)
_CONCERT: Final = Box(16, 382, 456, 410)
_BOARDS: Final = Box(482, 382, 702, 410)


def draw(view: SeatView) -> Drawing:
    """Return a drawing of the game as this seat may know it."""
    drawing = Drawing(
        WIDTH, HEIGHT, f"Symphony No. 9, round {view.round}, as {view.name} sees it. {_describe_waiting(view)}"
    )
    drawing.add(Rectangle(0, 0, WIDTH, HEIGHT, PALETTE["paper"]))
    _draw_heading(drawing, _HEADING, view)
    draw_tracks(drawing, _TRACKS, view)
    draw_concert(drawing, _CONCERT, view)
    draw_boards(drawing, _BOARDS, view)
    return drawing


def _draw_heading(drawing: Drawing, box: Box, view: SeatView) -> None:
    draw_text(drawing, box.x + 4, box.y + 17, "Symphony No. 9", 22, bold=True, fit=190)
    draw_text(drawing, box.x + 4, box.y + 41, f"as {view.name} sees it", 13, FAINT)
    draw_text(drawing, box.x + 206, box.y + 17, f"Round {view.round} of {NUM_ROUNDS}", 16, bold=True, fit=124)
    for number in range(1, NUM_ROUNDS + 1):
        fill = INK if number < view.round else ACCENT if number == view.round else PALETTE["card"]
        drawing.add(
            Circle(box.x + 213 + 19 * (number - 1), box.y + 41, 5.5, fill, FAINT if number > view.round else fill)
        )
    _draw_question(drawing, Box(box.x + 344, box.y + 4, box.width - 344, box.height - 8), view)


def _draw_question(drawing: Drawing, box: Box, view: SeatView) -> None:
    """Draw the decision to make and whose it is, on a dark ground if it is the observer's."""
    is_asked = view.to_decide == view.name
    ground, ink = (ACCENT, "#ffffff") if is_asked else (PALETTE["shade"], INK)
    drawing.add(Rectangle(box.x, box.y, box.width, box.height, ground, radius=8))
    pending = f" ({view.pending} left)" if view.pending > 1 else ""
    question = f"{QUESTIONS[view.decision]}{pending}"
    head, text = ("Your decision:", question) if is_asked else ("", _describe_waiting(view))
    left = box.x + 16
    if head:
        draw_text(drawing, left, box.middle, head, 15, ink, bold=True, fit=112)
        left += 122
    draw_text(drawing, left, box.middle, text, 15, ink, bold=not head, fit=box.right - 16 - left)


def _describe_waiting(view: SeatView) -> str:
    if view.score_sheet is not None:
        return f"The game is over: {describe_winners(view.score_sheet)}"
    return f"Waiting for {view.to_decide}: {view.decision.replace('_', ' ')}"
