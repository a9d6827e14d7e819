"""Helpers of the commands: arguments, one-line errors, text output."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from symphony9_env.arguments import INTERRUPTED, Parser, add_variant_arguments, format_variant, read_variant, run

if TYPE_CHECKING:
    from symphony9_env.arena.results import MatchResult

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


def format_matches(title: str, matches: Sequence[MatchResult]) -> str:
    """Return the win rates of agents alone against opponents who are all the same agent, as a text table."""
    rows = [
        [
            f"{match['agent']} against {match['against']}",
            format_percent(match["win_rate"]),
            format_interval(match["win_rate_95"], format_percent),
            match["games"],
        ]
        for match in matches
    ]
    return format_table([title, "win rate", "95 %", "games"], rows)
