"""What the commands have in common: arguments, one-line errors, text tables."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from typing import Any

from symphony9_env import arguments
from symphony9_env.arguments import INTERRUPTED, WRONG_USE, add_variant_arguments, format_variant, read_variant

__all__ = [
    "INTERRUPTED",
    "Parser",
    "add_variant_arguments",
    "format_interval",
    "format_matches",
    "format_percent",
    "format_table",
    "format_variant",
    "positive_int",
    "read_variant",
    "run",
]


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
    return f"{100 * share:.1f} %"


def format_interval(interval: Sequence[float], show: Callable[[float], str]) -> str:
    return f"{show(interval[0])} … {show(interval[1])}"


def format_matches(title: str, rows: Sequence[dict[str, Any]]) -> str:
    """Return the win rates of one agent against tables full of another, as text."""
    cells = [
        [
            f"{row['agent']} against {row['against']}",
            format_percent(row["win_rate"]),
            format_interval(row["win_rate_95"], format_percent),
            row["games"],
        ]
        for row in rows
    ]
    return format_table([title, "wins", "95 %", "games"], cells)
