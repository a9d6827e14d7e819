"""Text output of the commands, progress, and types of their arguments."""

from __future__ import annotations

import argparse
import shlex
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Final, Protocol

from tqdm import tqdm

LINE_SECONDS: Final = 10.0  # between two lines of progress, where there is no terminal for a bar
SILENT_SECONDS: Final = 30.0  # after so long without progress the last line is repeated, with the time
PLACE_OPTIONS: Final = ("--workers", "--address")  # where games are played; each has a value
NO_NOTES: Final[Mapping[str, str]] = {}


class Progress(Protocol):
    """Shows progress: call it with how much was done since the last call, and values to show beside it."""

    def __call__(self, count: int, notes: Mapping[str, str] = NO_NOTES) -> None: ...

    def announce(self, line: str) -> None:
        """Print a line of its own, which stays."""


@contextmanager
def show_progress(total: int, done: int, unit: str = "games", label: str = "") -> Iterator[Progress]:
    """Show on standard error how much of all has been done: a bar on a terminal, else a line now and then.

    Yield a function that takes how much was just done.
    """
    if sys.stderr.isatty():
        with tqdm(total=total, initial=done, unit=f" {unit}", desc=label or None, smoothing=0.1) as bar:
            yield _BarProgress(bar)
    else:
        lines = _LineProgress(total, done, unit, f"{label}: " if label else "")
        with _repeat(lines.show_if_silent, SILENT_SECONDS / 3):
            yield lines


@contextmanager
def _repeat(function: Callable[[], None], seconds: float) -> Iterator[None]:
    """Call a function again and again in a thread."""
    is_over = threading.Event()

    def call() -> None:
        while not is_over.wait(seconds):
            function()

    thread = threading.Thread(target=call, daemon=True)
    thread.start()
    try:
        yield
    finally:
        is_over.set()
        thread.join()


class _BarProgress:
    def __init__(self, bar: tqdm[Any]) -> None:
        self.bar = bar

    def __call__(self, count: int, notes: Mapping[str, str] = NO_NOTES) -> None:
        self.bar.update(count)
        if notes:
            self.bar.set_postfix(notes)

    def announce(self, line: str) -> None:
        self.bar.write(line, file=sys.stderr)


class _LineProgress:
    def __init__(self, total: int, done: int, unit: str, title: str) -> None:
        self.total, self.done, self.unit, self.title = total, done, unit, title
        self.notes: Mapping[str, str] = NO_NOTES
        self.begun = time.monotonic()
        self.shown_at = -LINE_SECONDS
        self(0)

    def __call__(self, count: int, notes: Mapping[str, str] = NO_NOTES) -> None:
        self.done += count
        self.notes = notes
        is_last = count > 0 and self.done == self.total
        if is_last or time.monotonic() - self.begun - self.shown_at >= LINE_SECONDS:
            self._show()

    def show_if_silent(self) -> None:
        """Show the last line again if nothing was shown for a long time."""
        if time.monotonic() - self.begun - self.shown_at >= SILENT_SECONDS * 2 / 3:
            self._show()

    def _show(self) -> None:
        self.shown_at = time.monotonic() - self.begun
        text = "".join(f", {name} {value}" for name, value in self.notes.items())
        self.announce(f"{self.title}{self.done:,} of {self.total:,} {self.unit} after {self.shown_at:.0f} s{text}")

    def announce(self, line: str) -> None:
        print(line, file=sys.stderr, flush=True)


def format_command(command: str, arguments: Sequence[str] | None) -> str:
    """Return a command with its arguments, as a shell takes it; None stands for the arguments of this program.

    Options that say where games are played are left out: they change no result, so they should not change its file.

    >>> format_command("symphony9 tournament", ["--workers", "2", "--out", "runs/a b"])
    "symphony9 tournament --out 'runs/a b'"
    """
    given = iter(sys.argv[1:] if arguments is None else arguments)
    kept = []
    for word in given:
        name, equals, _ = word.partition("=")
        if len(name) > 2 and any(option.startswith(name) for option in PLACE_OPTIONS):  # also if abbreviated
            if not equals:
                next(given, None)
        else:
            kept.append(word)
    return f"{command} {shlex.join(kept)}"


def positive_int(text: str) -> int:
    """Parse a whole number from 1 up, for argparse."""
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r}; allowed: a whole number from 1 up")
    return int(text)


def format_table(head: Sequence[str], rows: Sequence[Sequence[Any]]) -> str:
    """Return rows as aligned text: the first column left-aligned, the others right-aligned."""
    cells = [list(head), *([str(cell) for cell in row] for row in rows)]
    widths = [max(len(row[column]) for row in cells) for column in range(len(head))]
    return "\n".join(
        "  ".join(
            cell.ljust(width) if column == 0 else cell.rjust(width)
            for column, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in cells
    )


def format_percent(share: float) -> str:
    """Return a share as a percentage with one decimal."""
    return f"{100 * share:.1f} %"


def format_interval(interval: Sequence[float], format_number: Callable[[float], str]) -> str:
    """Return the two ends of an interval, each formatted by `format_number`."""
    return f"{format_number(interval[0])} … {format_number(interval[1])}"
