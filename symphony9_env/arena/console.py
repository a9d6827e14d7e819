"""Text output of the commands, progress, and types of their arguments."""

from __future__ import annotations

import argparse
import shlex
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Final

from tqdm import tqdm

LINE_SECONDS: Final = 10.0  # between two lines of progress, where there is no terminal for a bar


@contextmanager
def show_progress(total: int, done: int) -> Iterator[Callable[[int], None]]:
    """Show on standard error how many games of all have been played: a bar on a terminal, else a line now and then.

    Yield a function that takes the number of games just played.
    """
    if sys.stderr.isatty():
        with tqdm(total=total, initial=done, unit=" games", smoothing=0.1) as bar:
            yield bar.update
        return
    begun = time.monotonic()
    shown_at = -LINE_SECONDS

    def advance(count: int) -> None:
        nonlocal done, shown_at
        done += count
        passed = time.monotonic() - begun
        if done == total or passed - shown_at >= LINE_SECONDS:
            shown_at = passed
            print(f"{done} of {total} games after {passed:.0f} s", file=sys.stderr, flush=True)

    advance(0)
    yield advance


def format_command(command: str, arguments: Sequence[str] | None) -> str:
    """Return a command with its arguments, as a shell takes it; None stands for the arguments of this program."""
    return f"{command} {shlex.join(sys.argv[1:] if arguments is None else arguments)}"


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
