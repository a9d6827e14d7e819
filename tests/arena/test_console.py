"""Progress of long commands."""

from __future__ import annotations

import io
import sys
import time

import pytest

from symphony9_env.arena.console import show_progress


def test_progress_is_lines_where_standard_error_is_no_terminal(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    now = 0.0
    monkeypatch.setattr(time, "monotonic", lambda: now)
    with show_progress(100, 20) as advance:
        for _ in range(80):
            now += 1
            advance(1)
    lines = capsys.readouterr().err.splitlines()
    assert lines[0] == "20 of 100 games after 0 s"
    assert lines[1] == "30 of 100 games after 10 s"
    assert lines[-1] == "100 of 100 games after 80 s"
    assert len(lines) == 9


def test_progress_is_a_bar_on_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = io.StringIO()
    monkeypatch.setattr(terminal, "isatty", lambda: True)
    monkeypatch.setattr(sys, "stderr", terminal)
    with show_progress(10, 0) as advance:
        advance(10)
    assert "10/10" in terminal.getvalue()
