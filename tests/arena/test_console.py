"""Progress of long commands."""

from __future__ import annotations

import io
import itertools
import sys
import threading
import time
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext

import pytest

from symphony9_env.arena import console
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


def test_a_line_comes_at_least_every_30_seconds_also_without_progress(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    now, times, repeated = 0.0, [], []

    def keep(function: Callable[[], None], seconds: float) -> AbstractContextManager[None]:
        repeated.append((function, seconds))
        return nullcontext()

    monkeypatch.setattr(time, "monotonic", lambda: now)
    monkeypatch.setattr(console, "_repeat", keep)
    with show_progress(100, 0) as advance:
        ((look, seconds),) = repeated
        for number in range(1, 31):
            now = number * seconds + 0.01
            if number in (11, 12):
                advance(1, {"random": "50%"})
            look()
            times += [now] * len(capsys.readouterr().err.splitlines())
    assert len(times) > 10
    assert max(after - before for before, after in itertools.pairwise([0.0, *times])) <= 30


def test_a_repeated_line_has_the_last_notes(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(console, "SILENT_SECONDS", 0.03)
    with show_progress(100, 0) as advance:
        advance(7, {"random": "50%"})
        end = time.monotonic() + 30
        while "7 of 100 games after 0 s, random 50%\n" not in capsys.readouterr().err:
            assert time.monotonic() < end
            time.sleep(0.02)
        advance.announce("an evaluation")
    assert "an evaluation\n" in capsys.readouterr().err
    assert not [thread for thread in threading.enumerate() if "call" in thread.name]  # nothing is shown any more
