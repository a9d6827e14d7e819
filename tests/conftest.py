"""Fixtures for all tests."""

from __future__ import annotations

import pytest


@pytest.fixture
def no_display(monkeypatch: pytest.MonkeyPatch) -> None:
    """As on a server: no window can open, and render mode `human` prints."""
    for name in ("DISPLAY", "WAYLAND_DISPLAY", "SDL_VIDEODRIVER"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr("sys.platform", "linux")
