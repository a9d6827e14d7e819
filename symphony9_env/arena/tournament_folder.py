"""A tournament's folder: `tournament.json` and `games.csv`, which has one row for each seat of each game."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from typing import Any, Final

from symphony9_env.arena.games_csv import (
    COLUMNS,
    CORRECTION_COLUMNS,
    MEAN_SHARE_COLUMN,
    ROUNDS,
    TILE_COLUMNS,
    CsvRow,
)
from symphony9_env.arena.run_folder import RunFolder, folder_error
from symphony9_env.components import FURNITURE_VALUES
from symphony9_env.rules.chance import MAX_SEED

TEXT_COLUMNS: Final = frozenset({"agent", *(f"outcome_{number}" for number in ROUNDS)})
EMPTY_CELLS: Final = frozenset((name, None) for name in (*TILE_COLUMNS, MEAN_SHARE_COLUMN, *CORRECTION_COLUMNS))


class TournamentFolder(RunFolder[CsvRow]):
    """The folder of one tournament; its items are the rows of `games.csv`."""

    user = what = "tournament"
    settings_name = "tournament.json"
    games_name = "games.csv"
    header = ",".join(COLUMNS) + "\n"

    def _parse(self, text: str) -> tuple[list[CsvRow], bool]:
        num_seats = self.settings["num_players"]
        reader = csv.DictReader(io.StringIO(text))
        try:
            rows = [self._check_row(_parse_row(row)) for row in reader]
        except (ValueError, TypeError, csv.Error):
            raise folder_error(self.path, f"games.csv, line {reader.line_num}: not a row of a game") from None
        kept = rows[: len(rows) // num_seats * num_seats]
        if [row["game"] for row in kept] != [index // num_seats for index in range(len(kept))]:
            raise folder_error(self.path, "games.csv does not hold the games in order from 0; it was changed")
        return kept, bool(text) and kept == rows

    def _format(self, items: Sequence[CsvRow]) -> str:
        out = io.StringIO()
        writer = csv.DictWriter(out, COLUMNS, lineterminator="\n")
        writer.writerows([{name: _format_cell(value) for name, value in row.items()} for row in items])
        return out.getvalue()

    def _check_row(self, row: CsvRow) -> CsvRow:
        """Return a row that was read; raise a ValueError or TypeError if results can't be computed from it."""
        numbers = [row[name] for name in COLUMNS if name not in TEXT_COLUMNS and (name, row[name]) not in EMPTY_CELLS]
        is_known = row["agent"] in self.settings["agents"] and row["rank"] in range(1, self.settings["num_players"] + 1)
        is_possible = 0 <= row["win_share"] <= 1 and row["furniture_sold"] in range(len(FURNITURE_VALUES) + 1)
        if not is_known or not is_possible or not all(abs(number) <= MAX_SEED for number in numbers):
            raise ValueError
        return row

    def add(self, items: Sequence[CsvRow]) -> None:
        """Append the rows of games, with values as they would be read from the file."""
        super().add([_parse_row({name: str(value) for name, value in row.items()}) for row in items])


def _parse_row(row: dict[str, str]) -> CsvRow:
    """Convert the numbers of a row; an empty cell becomes None.

    Raise a ValueError if the row was read with too few or too many cells.
    """
    if set(row) != set(COLUMNS) or None in row.values():
        raise ValueError
    return {name: value if name in TEXT_COLUMNS else float(value) if value else None for name, value in row.items()}


def _format_cell(value: Any) -> Any:
    """Convert whole floats to integers, so that a file that is read and written again stays the same."""
    return int(value) if isinstance(value, float) and value.is_integer() else value
