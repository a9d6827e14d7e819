"""The folder of a server: its tables, their files, and who may use them.

A table is two files: `ID.json`, the game's record, for `symphony9 watch` and other programs; and `ID.seats.json`, who
sits where with which secret token. Moves are written to the journal first (`journal.py`); records get them when a game
is over, when a table is closed, when the server stops, and when the journal has grown. At start, the moves in the
journal are added to the records, so that games continue after the server was killed or the power was cut. Only the
owner can read the files: the record of a running game contains all hands.
"""

from __future__ import annotations

import json
import os
import re
import secrets
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any, Final

import numpy as np

from symphony9_env import files, records
from symphony9_env.envs.aec import RawEnv
from symphony9_env.events import Event
from symphony9_env.options import check_seed, draw_seed
from symphony9_env.replay.events import replay_with_events
from symphony9_env.rules.chance import MAX_SEED
from symphony9_env.web.journal import Entry, Journal, list_files, read_entries
from symphony9_env.web.tables import (
    TOKEN_BYTES,
    Permissions,
    RequestError,
    Seat,
    Table,
    compile_rules,
    make_agents,
    make_table,
)

MAX_TABLES: Final = 1000
SEATS_FORMAT: Final = "symphony9-seats/1"
_MAX_BYTES_READ: Final = 1_000_000  # of a file of a table; a record of a whole game has less than 10,000

Texts = dict[Path, str]  # the contents of a table's files


class TableStore:
    """All tables of a server, in a folder that is locked against other servers."""

    def __init__(
        self, folder: str | os.PathLike[str], seed: int | None = None, permissions: Permissions | None = None
    ) -> None:
        """Open a folder and load its tables.

        `seed` determines the deals for which the host gives no seed; None to draw them at random.
        """
        self._seed = None if seed is None else check_seed(seed)
        self.permissions = permissions or Permissions()
        self.folder = _make_private_folder(folder)
        self._lock = files.lock_folder(self.folder, "server")
        self.tables: dict[str, Table] = {}
        self._seats: dict[str, tuple[Table, int]] = {}  # by token
        self._last_number = 0
        self.damaged: list[str] = []  # files that could not be loaded, and why
        self.host_token = self._load_host_token()
        self._load_tables()
        self.journal = Journal(self.folder)

    def close(self) -> None:
        """Release the folder for other servers."""
        self._lock.close()

    def find_seat(self, token: Any) -> tuple[Table, int]:
        """Return the table and the seat that a token belongs to."""
        found = self._seats.get(token) if isinstance(token, str) else None
        if found is None:
            raise RequestError(403, "this link is not known here")
        return found

    def create(self, request: Any) -> Table:
        """Set up a game. The server takes the steps separately, in threads."""
        table_id, seed = self.reserve()
        table = make_table(table_id, seed, request, self.permissions)
        self.save(table)
        self.add(table)
        return table

    def reserve(self) -> tuple[str, int]:
        """Return the id of the next table, and a seed for it."""
        if len(self.tables) >= MAX_TABLES:
            raise RequestError(429, f"there are {MAX_TABLES} games already; close some of them first")
        self._last_number += 1
        while any(map(os.path.lexists, self._list_paths(f"{self._last_number:04d}"))):
            self._last_number += 1
        rng = None if self._seed is None else np.random.default_rng([self._seed, self._last_number])
        seed = draw_seed() if rng is None else int(rng.integers(MAX_SEED + 1))
        return f"{self._last_number:04d}", seed

    def add(self, table: Table) -> None:
        """Make a table known by its id and by the tokens of its seats."""
        self._seats |= {seat.token: (table, number) for number, seat in enumerate(table.seats) if seat.token}
        self.tables[table.id] = table

    def forget(self, table: Table) -> None:
        """Let a table and its tokens be unknown from now on."""
        del self.tables[table.id]
        for seat in table.seats:
            self._seats.pop(seat.token or "", None)

    # Files.

    def _list_paths(self, table_id: str) -> tuple[Path, Path]:
        return self.folder / f"{table_id}.json", self.folder / f"{table_id}.seats.json"

    def format_files(self, table: Table) -> Texts:
        """Return what the files of a table are to contain."""
        components = table.env.options.variant.components
        seats = {
            "format": SEATS_FORMAT,
            "seats": [asdict(seat) for seat in table.seats],
            "components": None if components is None else os.fspath(components),
        }
        record_path, seats_path = self._list_paths(table.id)
        return {record_path: records.dumps(table.record()) + "\n", seats_path: json.dumps(seats)}

    def save(self, table: Table) -> None:
        """Write the files of a table; this waits for the disk."""
        write_files(self.format_files(table))
        table.num_saved = table.turn

    def remove_seats(self, table: Table) -> None:
        """Remove the file with the tokens of a table, so that it is not opened again. Its record stays."""
        self._list_paths(table.id)[1].unlink(missing_ok=True)
        files.sync_folder(self.folder)

    def _load_tables(self) -> None:
        """Load all tables, with the moves in the journal, and write the records that lack some of these moves."""
        journal_files = list_files(self.folder)
        entries: dict[str, list[Entry]] = defaultdict(list)
        try:
            for path in journal_files:
                for entry in read_entries(path):
                    entries[entry["table"]].append(entry)
            for path in sorted(self.folder.glob("*.seats.json")):
                self._load_table(path, entries)
            for table in self.tables.values():
                if table.turn > table.num_saved:
                    self.save(table)
        except (OSError, ValueError) as error:  # the journal can't be read, or a record can't be written
            self.damaged.append(f"{journal_files[0].name if journal_files else ''}: {error}")
        if self.damaged:  # a later start may still need the journal: no new table may get the id of one that is in it
            self._last_number = max((int(table) for table in entries if re.fullmatch(r"\d{4,9}", table)), default=0)
        else:
            for path in journal_files:
                path.unlink()

    def _load_table(self, path: Path, entries: dict[str, list[Entry]]) -> None:
        try:
            permissions = replace(self.permissions, max_playouts=None, folders=None)  # they were checked before
            self.add(_load(path, entries[path.name.removesuffix(".seats.json")], permissions))
        except (ValueError, KeyError, TypeError, OSError, RecursionError) as error:
            self.damaged.append(f"{path.name}: {error}")

    def _load_host_token(self) -> str:
        path = self.folder / "host.json"
        if not path.exists():
            token = secrets.token_urlsafe(TOKEN_BYTES)
            files.write_text(path, json.dumps({"token": token}), is_private=True)
            return token
        try:
            found = json.loads(files.read_bytes(path, _MAX_BYTES_READ))["token"]
        except (ValueError, KeyError, TypeError, OSError, RecursionError):
            found = None
        if not isinstance(found, str) or not found or not found.isascii():
            self.close()
            raise ValueError(f"{path}: the file is damaged; remove it to get a new link for the host")
        return found


def write_files(texts: Texts) -> None:
    """Write files that only their owner can read, unless they have these contents; each takes about 10 ms."""
    for path, text in texts.items():
        if not path.is_file() or path.read_bytes() != text.encode():
            files.write_text(path, text, is_private=True)


def _load(path: Path, entries: Sequence[Entry], permissions: Permissions) -> Table:
    """Load a table, and add the moves of the journal that its record does not have."""
    stored = json.loads(files.read_bytes(path, _MAX_BYTES_READ))
    if stored["format"] != SEATS_FORMAT:
        raise ValueError(f"format is {stored['format']!r}; this version reads {SEATS_FORMAT!r}")
    table_id = path.name.removesuffix(".seats.json")
    if not re.fullmatch(r"\d{4,}", table_id):
        raise ValueError("the name of the file must begin with a number of at least four digits")
    record = records.load(path.with_name(f"{table_id}.json"))
    compile_rules()
    num_saved = len(record["actions"])
    _add_moves(record, entries)
    env, events = _replay_to_end(record, stored["components"])
    seats = [Seat(**entry) for entry in stored["seats"]]
    if len(seats) != env.options.num_players:
        raise ValueError(f"there are {len(seats)} seats for {env.options.num_players} players")
    is_over = env.decision == "over"
    seat_agents = {} if is_over else make_agents(seats, env.game_seed or 0, permissions)
    table = Table(table_id, env, seats, seat_agents, events)
    table.num_saved = num_saved
    return table


def _add_moves(record: records.Record, entries: Sequence[Entry]) -> None:
    for entry in entries:
        num_moves = len(record["actions"])
        if entry["turn"] > num_moves:
            raise ValueError(f"the journal lacks turn {num_moves}; the record has the moves before it")
        if entry["turn"] == num_moves:
            record["actions"].append(entry["move"])


def _replay_to_end(record: records.Record, components: str | None) -> tuple[RawEnv, list[list[Event]]]:
    """Return a record's game where it stopped, and its events by move."""
    try:
        frames = list(replay_with_events(record, components=components))
    except ValueError:
        # The record contains the deal. Without the component file only the bot tiles that search draws may differ.
        if components is None:
            raise
        return _replay_to_end(record, None)
    return frames[-1][0], [events for _, events in frames]


def _make_private_folder(path: str | os.PathLike[str]) -> Path:
    """Return a folder for the files of a server; a new one can be read by its owner only."""
    is_new = not os.path.lexists(path)
    folder = files.make_folder(path, "--games")
    if is_new:
        folder.chmod(0o700)
    return folder
