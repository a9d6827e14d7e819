"""Fixtures for all tests."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from typing import Any

import pytest

from symphony9_env.agents import registry
from tests.web.report import LINES

# Shells let background jobs ignore Ctrl-C, and the processes that tests start and stop would inherit that.
signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """Print the measurements that tests reported."""
    for line in LINES:
        terminalreporter.write_line(line)


@pytest.fixture(autouse=True)
def no_agents_registered_by_other_tests() -> Iterator[None]:
    """Forget the agents that a test, or an example in the docs, registers."""
    before = dict(registry._registered)
    yield
    registry._registered.clear()
    registry._registered.update(before)


@pytest.fixture
def no_display(monkeypatch: pytest.MonkeyPatch) -> None:
    """Imitate a server: no window can open, so render mode `human` prints."""
    for name in ("DISPLAY", "WAYLAND_DISPLAY", "SDL_VIDEODRIVER"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr("sys.platform", "linux")
