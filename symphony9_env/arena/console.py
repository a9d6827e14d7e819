"""Helpers of the commands: arguments, one-line errors, text output."""

from __future__ import annotations

import argparse
import shlex
import sys
from collections.abc import Callable, Sequence
from typing import Any

from symphony9_env import arguments
from symphony9_env.arguments import INTERRUPTED, WRONG_USE


class Parser(arguments.Parser):
    """A parser that shows the module's docstring as help and reports an error in one line."""

    def __init__(self, command: str, about: str | None) -> None:
        super().__init__(prog=command, description=about)


def run(command: str, main: Callable[[], None]) -> int:
    """Run a command; report bad input in one line with exit status 2, and return 130 after Ctrl-C."""
    try:
        main()
    except (ValueError, OSError) as error:
        print(f"{command}: {error}", file=sys.stderr)
        return WRONG_USE
    except KeyboardInterrupt:
        return INTERRUPTED
    return 0


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
