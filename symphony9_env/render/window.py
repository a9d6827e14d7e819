"""A window that shows images, with pygame (`pip install "symphony9-env[render]"`)."""

from __future__ import annotations

import os
import sys
import time
import warnings
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

_INSTALL: Final = 'pip install "symphony9-env[render]"'
_NO_WINDOWS: Final = {"dummy", "evdev", "offscreen"}  # what SDL falls back on where there is no display


class NoWindowError(Exception):
    """No window can open; the message says why and what would help."""


class Window:
    """A window that shows one image at a time. Once a person has closed it, it stays closed and shows nothing."""

    def __init__(self, title: str, frames_per_second: float) -> None:
        self._pygame = _open_display()
        self._title = title
        self._pause = 1 / frames_per_second
        self._next_frame = 0.0
        self._image: Any = None
        self.was_closed = False

    def show(self, image: NDArray[np.uint8]) -> None:
        """Show an image (height by width by 3), waiting until it is time for the next frame."""
        self._handle_events_until(self._next_frame)
        if self.was_closed:
            return
        # pygame's first axis is the horizontal one.
        self._image = self._pygame.surfarray.make_surface(image.swapaxes(0, 1))
        self._next_frame = time.monotonic() + self._pause
        self._draw()
        self._handle_events_until(0.0)

    def close(self) -> None:
        """Close the window for good."""
        self.was_closed = True
        if self._pygame.display.get_init():
            self._pygame.display.quit()

    def _draw(self) -> None:
        """Draw the image as large as the window allows, in its middle."""
        size = self._image.get_size()
        screen = self._open_screen(size)
        scale = min(screen.get_width() / size[0], screen.get_height() / size[1])
        fitted = (max(1, round(size[0] * scale)), max(1, round(size[1] * scale)))
        scaled = self._image if fitted == size else self._pygame.transform.smoothscale(self._image, fitted)
        screen.fill("white")
        screen.blit(scaled, ((screen.get_width() - fitted[0]) // 2, (screen.get_height() - fitted[1]) // 2))
        self._pygame.display.flip()

    def _open_screen(self, size: tuple[int, int]) -> Any:
        """Return the window; open it again if another environment, which shares it, has closed it."""
        display = self._pygame.display
        if not display.get_init():
            display.init()
        if display.get_surface() is None:
            display.set_mode(size, self._pygame.RESIZABLE)
            display.set_caption(self._title)
        return display.get_surface()

    def _handle_events_until(self, moment: float) -> None:
        while not self.was_closed and self._pygame.display.get_init():
            for event in self._pygame.event.get():
                if event.type == self._pygame.QUIT:
                    self.close()
                    return
                if event.type == self._pygame.VIDEORESIZE and self._image is not None:
                    self._draw()
            left = moment - time.monotonic()
            if left <= 0:
                return
            time.sleep(min(left, 0.02))


def _open_display() -> Any:
    """Return pygame, ready to open a window."""
    chosen = os.environ.get("SDL_VIDEODRIVER")
    has_display = any(os.environ.get(name) for name in ("DISPLAY", "WAYLAND_DISPLAY"))
    if sys.platform.startswith("linux") and not (chosen or has_display):
        raise NoWindowError("there is no display")
    os.environ.setdefault("PYGAME_HIDE_SUPPORT_PROMPT", "1")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # those of modules that pygame imports
            import pygame
    except ImportError as error:
        raise NoWindowError(f"pygame is not installed ({_INSTALL})") from error
    try:
        pygame.display.init()
        driver = pygame.display.get_driver()
    except pygame.error as error:
        raise NoWindowError(f"the display can't be used: {error}") from error
    if driver in _NO_WINDOWS and driver != chosen:
        pygame.display.quit()
        raise NoWindowError("there is no display")
    return pygame
