"""A tournament's folder: what it is, its games so far, and the figures made from them.

`tournament.json` says what is played, `games.csv` has every seat of every game, in order. Both are enough to go on
after a stop: games are added in whole batches, and what a kill left half-written is dropped when the folder is opened.
"""

from __future__ import annotations

import csv
import io
import json
import os
from pathlib import Path
from typing import Any, Final

from symphony9_env.arena.games_csv import COLUMNS, Line
from symphony9_env.files import make_folder, write_text

TEXT: Final = {"agent", *(f"outcome_{number}" for number in range(1, 7))}


class Folder:
    """Opens or makes a tournament's folder; a ValueError says what is wrong with it."""

    def __init__(self, path: str | os.PathLike[str], settings: dict[str, Any]) -> None:
        self.path = make_folder(path)
        self.settings = settings
        self.games = self.path / "games.csv"
        self._check_settings()
        self.lines = self._read_games()

    def _check_settings(self) -> None:
        """A folder belongs to one tournament; only its length may change."""
        file = self.path / "tournament.json"
        if not file.exists():
            if self.games.exists():
                raise ValueError(f"--out {self.path}: has a games.csv but no tournament.json; choose another folder")
            write_text(file, json.dumps(self.settings, indent=2) + "\n")
            return
        try:
            before = json.loads(file.read_text())
        except (OSError, ValueError) as error:
            raise ValueError(f"--out {self.path}: its tournament.json can't be read ({error})") from None
        if not isinstance(before, dict):
            raise ValueError(f"--out {self.path}: its tournament.json is none; choose another folder")
        for name, value in self.settings.items():
            if before.get(name) != value:
                found = f"{name} {before.get(name)!r}, not {value!r}"
                raise ValueError(f"--out {self.path}: holds another tournament ({found}); choose another folder")

    def _read_games(self) -> list[Line]:
        """The games so far; a last one that is not whole is cut off."""
        if not self.games.exists() or self.games.stat().st_size == 0:
            write_text(self.games, _as_csv([], header=True))
            return []
        text = self.games.read_text()
        whole = text[: text.rfind("\n") + 1]
        lines = [_typed(line) for line in csv.DictReader(io.StringIO(whole)) if None not in line.values()]
        seats = self.settings["num_players"]
        kept = lines[: len(lines) // seats * seats]
        if [line["game"] for line in kept] != [number // seats for number in range(len(kept))]:
            raise ValueError(f"--out {self.path}: its games.csv was changed; choose another folder")
        if text != whole or kept != lines:
            write_text(self.games, _as_csv(kept, header=True))
        return kept

    def add(self, lines: list[Line]) -> None:
        """Add games, all of them safe on disk when this returns."""
        with self.games.open("a", newline="") as file:
            file.write(_as_csv(lines))
            file.flush()
            os.fsync(file.fileno())
        self.lines += [_typed({name: str(value) for name, value in line.items()}) for line in lines]

    def write(self, name: str, text: str) -> Path:
        file = self.path / name
        write_text(file, text)
        return file


def _typed(line: dict[str, str]) -> Line:
    """Numbers as numbers; what is empty stays None."""
    return {name: value if name in TEXT else float(value) if value else None for name, value in line.items()}


def _as_csv(lines: list[Line], header: bool = False) -> str:
    out = io.StringIO()
    writer = csv.DictWriter(out, COLUMNS, lineterminator="\n")
    if header:
        writer.writeheader()
    writer.writerows([{name: _shown(value) for name, value in line.items()} for line in lines])
    return out.getvalue()


def _shown(value: Any) -> Any:
    """Whole numbers without a point, so that a file written again stays the same."""
    return int(value) if isinstance(value, float) and value.is_integer() else value
