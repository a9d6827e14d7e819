"""Render a view in the render modes of an environment."""

from __future__ import annotations

import sys
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from symphony9_env.render.layout import draw
from symphony9_env.render.pixels import require_pillow, to_array
from symphony9_env.render.svg import to_html
from symphony9_env.render.window import NoWindowError, Window
from symphony9_env.views.seat import SeatView
from symphony9_env.views.text import describe

RENDER_MODES: Final = ("human", "ansi", "rgb_array")

Rendered = str | NDArray[np.uint8] | None

_reported: set[str] = set()  # reasons for printing text that were reported already, once in a process


def check_render_mode(mode: str | None) -> str | None:
    """Return a render mode, or raise a ValueError."""
    if mode is not None and mode not in RENDER_MODES:
        raise ValueError(f"render_mode={mode!r}; allowed: {', '.join(map(repr, (None, *RENDER_MODES)))}")
    return mode


def to_notebook_html(view: SeatView | None) -> str:
    """Return a view as HTML for a notebook; None stands for a game not dealt yet."""
    return "<p>Symphony No. 9: no game has been dealt yet; call reset().</p>" if view is None else to_html(draw(view))


class Renderer:
    """Renders views as text, as pixels, or to people: in a window, or else as printed text.

    A copy starts without a window.
    """

    def __init__(self, frames_per_second: float) -> None:
        self._frames_per_second = frames_per_second
        self._window: Window | None = None
        self._has_no_window = False

    def __reduce__(self) -> tuple[Any, ...]:
        return Renderer, (self._frames_per_second,)

    def render(self, view: SeatView, mode: str | None) -> Rendered:
        """Render a view as text or pixels, or show it to a person."""
        if mode == "ansi":
            return describe(view)
        if mode == "rgb_array":
            return to_array(draw(view))
        if mode == "human":
            self._show_to_people(view)
        return None

    def close(self) -> None:
        """Close the window, if one is open; the next view opens another."""
        if self._window is not None:
            self._window.close()
        self._window = None

    def _show_to_people(self, view: SeatView) -> None:
        if self._window is None and not self._has_no_window:
            self._open()
        if self._window is None:
            print(describe(view) + "\n", flush=True)
        elif not self._window.was_closed:
            self._window.show(to_array(draw(view)))

    def _open(self) -> None:
        try:
            require_pillow()
            self._window = Window("Symphony No. 9", self._frames_per_second)
        except (ImportError, NoWindowError) as reason:
            self._has_no_window = True
            if str(reason) not in _reported:
                _reported.add(str(reason))
                print(f"symphony9_env: printing text instead of opening a window: {reason}", file=sys.stderr)
