"""Helpers of the commands: arguments, one-line errors, text output."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Final, NoReturn

from symphony9_env.options import VARIANT_FIELDS, Variant

if TYPE_CHECKING:
    from symphony9_env.arena.results import MatchResult

INTERRUPTED: Final = 130  # exit status after Ctrl-C


class Parser(argparse.ArgumentParser):
    """An argument parser that prints the module's docstring as help and reports an error in one line."""

    def __init__(self, command: str, about: str | None) -> None:
        super().__init__(prog=command, description=about, formatter_class=argparse.RawDescriptionHelpFormatter)

    def error(self, message: str) -> NoReturn:
        """Print the error in one line and exit with status 2."""
        self.exit(2, f"{self.prog}: {message} (--help shows what is allowed)\n")


def run(command: str, main: Callable[[], None]) -> int:
    """Run a command; report bad input in one line with exit status 2, and return 130 after Ctrl-C."""
    try:
        main()
    except (ValueError, OSError) as error:
        print(f"{command}: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        return INTERRUPTED
    return 0


def format_variant(variant: Variant) -> list[str]:
    """Return the arguments from which `read_variant` reads this variant."""
    given: list[str] = []
    for name, value in variant.as_json().items():
        flag = f"--{name.replace('_', '-')}"
        if isinstance(value, bool):
            given += [flag] if value else []
        elif value is not None:
            given += [flag, str(value)]
    return given


def positive_int(text: str) -> int:
    """Parse a whole number from 1 up, for argparse."""
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r}; allowed: a whole number from 1 up")
    return int(text)


def add_variant_arguments(parser: argparse.ArgumentParser) -> None:
    """Add an argument for every option of a `Variant`."""
    group = parser.add_argument_group("the game")
    for option in VARIANT_FIELDS:
        flag = f"--{option.name.replace('_', '-')}"
        about, choices = option.metadata["help"], option.metadata["choices"]
        if isinstance(option.default, bool):
            group.add_argument(flag, action="store_true", help=about)
            continue
        allowed = f": {', '.join(map(str, choices))}" if choices else ""
        default = "" if option.default is None else f" (default: {option.default})"
        kind = int if isinstance(option.default, int) else str
        group.add_argument(flag, type=kind, default=option.default, help=f"{about}{allowed}{default}")


def read_variant(arguments: argparse.Namespace) -> Variant:
    """Return the chosen variant; read its component file at once, so that an error in it is reported early."""
    variant = Variant(**{option.name: getattr(arguments, option.name) for option in VARIANT_FIELDS})
    variant.load_components()
    return variant


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
