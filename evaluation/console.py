"""What the commands of this folder have in common: options, one-line errors, progress, tables."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from typing import Any, NoReturn

from symphony9_env.components import PLAYER_COUNTS
from symphony9_env.options import SCORING, TRACKS, Options


class Parser(argparse.ArgumentParser):
    """With the module's own words as help, and one line for what is wrong."""

    def __init__(self, command: str, about: str | None) -> None:
        super().__init__(
            prog=f"python -m {command}", description=about, formatter_class=argparse.RawDescriptionHelpFormatter
        )

    def error(self, message: str) -> NoReturn:
        self.exit(2, f"{self.prog}: {message} (--help shows what is allowed)\n")


def run(command: str, main: Callable[[], None]) -> int:
    """Run a command: bad input is one line on standard error and exit status 2; Ctrl-C is status 130."""
    try:
        main()
    except (ValueError, OSError) as error:
        print(f"{command}: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        return 130
    return 0


def whole(text: str) -> int:
    """For argparse: a whole number from 1 up."""
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r}; allowed: a whole number from 1 up")
    return int(text)


def add_game_options(parser: argparse.ArgumentParser) -> None:
    game = parser.add_argument_group("the game")
    game.add_argument("--num-players", type=int, default=4, help=f"{', '.join(map(str, PLAYER_COUNTS))} (default: 4)")
    game.add_argument("--tracks", default="historical", help=f"{' or '.join(TRACKS)} (default: historical)")
    game.add_argument("--scoring", default="random", help=f"{', '.join(SCORING)} (default: random)")
    game.add_argument("--discussion", action="store_true", help="play with the discussion")
    game.add_argument("--components", help="an owner's own component file")


def game_options(chosen: argparse.Namespace) -> Options:
    """The options that were chosen, an owner's file included: what is wrong with them is said at once."""
    options = Options(
        num_players=chosen.num_players,
        tracks=chosen.tracks,
        scoring=chosen.scoring,
        discussion=chosen.discussion,
        components=chosen.components,
    )
    options.load_components()
    return options


def table(head: Sequence[str], rows: Sequence[Sequence[Any]]) -> str:
    """Columns under each other: the first to the left, the rest to the right."""
    cells = [list(head), *([str(cell) for cell in row] for row in rows)]
    widths = [max(len(row[column]) for row in cells) for column in range(len(head))]
    return "\n".join(
        "  ".join(
            cell.ljust(width) if place == 0 else cell.rjust(width)
            for place, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in cells
    )


def percent(share: float) -> str:
    return f"{100 * share:.1f} %"


def between(interval: Sequence[float], show: Callable[[float], str]) -> str:
    return f"{show(interval[0])} … {show(interval[1])}"


def shown_matches(title: str, rows: Sequence[dict[str, Any]]) -> str:
    """Win rates of one agent against a table full of another."""
    cells = [
        [
            f"{row['agent']} against {row['against']}",
            percent(row["win_rate"]),
            between(row["win_rate_95"], percent),
            row["games"],
        ]
        for row in rows
    ]
    return table([title, "wins", "95 %", "games"], cells)
