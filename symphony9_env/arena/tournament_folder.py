"""A tournament's folder: its settings, its games so far, and the files made from them.

`tournament.json` holds the settings, and `games.csv` one row for each seat of each game, in the order of the games. A
tournament that was stopped continues from these two files. The settings may change as long as there is no game. Games
are appended in whole batches; a game that is incomplete because the process was killed is removed when the folder is
opened. The folder is locked while it is open.
"""

from __future__ import annotations

import csv
import io
import os
from typing import Any, Final

from symphony9_env.arena.games_csv import (
    COLUMNS,
    CORRECTION_COLUMNS,
    MEAN_SHARE_COLUMN,
    ROUNDS,
    TILE_COLUMNS,
    CsvRow,
)
from symphony9_env.arena.settings_file import check_settings, folder_error, read_games
from symphony9_env.components import FURNITURE_VALUES
from symphony9_env.files import append_text, lock_folder, make_folder, write_text
from symphony9_env.rules.chance import MAX_SEED

TEXT_COLUMNS: Final = frozenset({"agent", *(f"outcome_{number}" for number in ROUNDS)})
EMPTY_CELLS: Final = frozenset((name, None) for name in (*TILE_COLUMNS, MEAN_SHARE_COLUMN, *CORRECTION_COLUMNS))


class Folder:
    """The folder of one tournament, opened or created; a ValueError says why it cannot be used."""

    def __init__(self, path: str | os.PathLike[str], settings: dict[str, Any]) -> None:
        self.path = make_folder(path)
        self.settings = settings
        self.games = self.path / "games.csv"
        self._lock = lock_folder(self.path, "tournament")
        try:
            self.rows = self._open()
        except ValueError:
            self.close()
            raise

    def close(self) -> None:
        """Unlock the folder."""
        self._lock.close()

    def _open(self) -> list[CsvRow]:
        """Return the rows of the games so far, after a check of the settings."""
        text = read_games(self.games)
        has_games = not _format_csv([], header=True).startswith(text)
        check_settings(self.path / "tournament.json", self.settings, self.games, has_games=has_games, what="tournament")
        return self._read_games(text)

    def _read_games(self, text: str) -> list[CsvRow]:
        """Return the rows of all complete games; remove the rest from the file."""
        complete = text[: text.rfind("\n") + 1]
        num_seats = self.settings["num_players"]
        reader = csv.DictReader(io.StringIO(complete))
        try:
            rows = [self._check_row(_parse_row(row)) for row in reader]
        except (ValueError, TypeError, csv.Error):
            raise folder_error(self.path, f"games.csv, line {reader.line_num}: not a row of a game") from None
        kept = rows[: len(rows) // num_seats * num_seats]
        if [row["game"] for row in kept] != [index // num_seats for index in range(len(kept))]:
            raise folder_error(self.path, "games.csv does not hold the games in order from 0; it was changed")
        if not text or text != complete or kept != rows:
            write_text(self.games, _format_csv(kept, header=True))
        return kept

    def _check_row(self, row: CsvRow) -> CsvRow:
        """Return a row that was read; raise a ValueError or TypeError if results can't be computed from it."""
        numbers = [row[name] for name in COLUMNS if name not in TEXT_COLUMNS and (name, row[name]) not in EMPTY_CELLS]
        is_known = row["agent"] in self.settings["agents"] and row["rank"] in range(1, self.settings["num_players"] + 1)
        is_possible = 0 <= row["win_share"] <= 1 and row["furniture_sold"] in range(len(FURNITURE_VALUES) + 1)
        if not is_known or not is_possible or not all(abs(number) <= MAX_SEED for number in numbers):
            raise ValueError
        return row

    def add(self, rows: list[CsvRow]) -> None:
        """Append the rows of games; they are on disk when this returns."""
        append_text(self.games, _format_csv(rows))
        self.rows += [_parse_row({name: str(value) for name, value in row.items()}) for row in rows]


def _parse_row(row: dict[str, str]) -> CsvRow:
    """Convert the numbers of a row; an empty cell becomes None.

    Raise a ValueError if the row was read with too few or too many cells.
    """
    if set(row) != set(COLUMNS) or None in row.values():
        raise ValueError
    return {name: value if name in TEXT_COLUMNS else float(value) if value else None for name, value in row.items()}


def _format_csv(rows: list[CsvRow], header: bool = False) -> str:
    out = io.StringIO()
    writer = csv.DictWriter(out, COLUMNS, lineterminator="\n")
    if header:
        writer.writeheader()
    writer.writerows([{name: _format_cell(value) for name, value in row.items()} for row in rows])
    return out.getvalue()


def _format_cell(value: Any) -> Any:
    """Convert whole floats to integers, so that a file that is read and written again stays the same."""
    return int(value) if isinstance(value, float) and value.is_integer() else value
