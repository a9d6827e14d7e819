"""The folder of a server: its tables, their files, and who may use them.

A table is two files: `ID.json`, the game's record, for `symphony9 watch` and other programs; and `ID.seats.json`, who
sits where with which secret token. Both are written after every move of a person and when the agents have answered, so
that games continue after the server was stopped or killed. Only the owner can read them: the record of a running game
contains all hands.
"""

from __future__ import annotations

import json
import os
import re
import secrets
from dataclasses import asdict
from pathlib import Path
from typing import Any, Final

import numpy as np

from symphony9_env import files, records
from symphony9_env.envs.aec import RawEnv
from symphony9_env.events import Event
from symphony9_env.options import check_seed, draw_seed
from symphony9_env.replay.events import replay_with_events
from symphony9_env.rules.chance import MAX_SEED
from symphony9_env.web.tables import TOKEN_BYTES, RequestError, Seat, Table, make_agents, make_table

MAX_TABLES: Final = 1000
SEATS_FORMAT: Final = "symphony9-seats/1"


class TableStore:
    """All tables of a server, in a folder that is locked against other servers."""

    def __init__(
        self, folder: str | os.PathLike[str], seed: int | None = None, allow_external_agents: bool = False
    ) -> None:
        """Open a folder and load its tables.

        `seed` determines the deals for which the host gives no seed; None to draw them at random.
        `allow_external_agents` permits agents that run code from outside this package.
        """
        self._seed = None if seed is None else check_seed(seed)
        self.allow_external_agents = allow_external_agents
        self.folder = _make_private_folder(folder)
        self._lock = files.lock_folder(self.folder, "server")
        self.tables: dict[str, Table] = {}
        self._seats: dict[str, tuple[Table, int]] = {}  # by token
        self._last_number = 0
        self.damaged: list[str] = []  # files that could not be loaded, and why
        self.host_token = self._load_host_token()
        for path in sorted(self.folder.glob("*.seats.json")):
            try:
                self.add(_load(path, allow_external_agents))
            except (ValueError, KeyError, TypeError, OSError, RecursionError) as error:
                self.damaged.append(f"{path.name}: {error}")

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
        """Set up a game. The server takes the three steps separately, the second one in a thread."""
        table_id, seed = self.reserve()
        return self.open(make_table(table_id, seed, request, self.allow_external_agents))

    def reserve(self) -> tuple[str, int]:
        """Return the id of the next table, and a seed for it."""
        if len(self.tables) >= MAX_TABLES:
            raise RequestError(429, f"there are {MAX_TABLES} games already; move finished ones out of {self.folder}")
        self._last_number += 1
        while os.path.lexists(self.folder / f"{self._last_number:04d}.json"):
            self._last_number += 1
        rng = None if self._seed is None else np.random.default_rng([self._seed, self._last_number])
        seed = draw_seed() if rng is None else int(rng.integers(MAX_SEED + 1))
        return f"{self._last_number:04d}", seed

    def open(self, table: Table) -> Table:
        """Save a new table and add it."""
        try:
            self.save(table)
        except (ValueError, OSError) as error:
            table.close_agents()
            raise RequestError(507, f"the game could not be saved: {error}") from None
        self.add(table)
        return table

    def add(self, table: Table) -> None:
        """Make a table known by its id and by the tokens of its seats."""
        self._seats |= {seat.token: (table, number) for number, seat in enumerate(table.seats) if seat.token}
        self.tables[table.id] = table

    def save(self, table: Table) -> None:
        """Write a table's two files."""
        components = table.env.options.variant.components
        seats = {
            "format": SEATS_FORMAT,
            "seats": [asdict(seat) for seat in table.seats],
            "components": None if components is None else os.fspath(components),
        }
        _write_private_file(self.folder / f"{table.id}.json", records.dumps(table.record()) + "\n")
        _write_private_file(self.folder / f"{table.id}.seats.json", json.dumps(seats))

    def _load_host_token(self) -> str:
        path = self.folder / "host.json"
        if not path.exists():
            token = secrets.token_urlsafe(TOKEN_BYTES)
            _write_private_file(path, json.dumps({"token": token}))
            return token
        try:
            found = json.loads(path.read_text(encoding="utf-8"))["token"]
        except (ValueError, KeyError, TypeError, OSError, RecursionError):
            found = None
        if not isinstance(found, str) or not found:
            self.close()
            raise ValueError(f"{path}: the file is damaged; remove it to get a new link for the host")
        return found


def _load(path: Path, allow_external_agents: bool) -> Table:
    stored = json.loads(path.read_text(encoding="utf-8"))
    if stored["format"] != SEATS_FORMAT:
        raise ValueError(f"format is {stored['format']!r}; this version reads {SEATS_FORMAT!r}")
    table_id = path.name.removesuffix(".seats.json")
    if not re.fullmatch(r"\d{4,}", table_id):
        raise ValueError("the name of the file must begin with a number of at least four digits")
    record = records.load(path.with_name(f"{table_id}.json"))
    env, events = _replay_to_end(record, stored["components"])
    seats = [Seat(**entry) for entry in stored["seats"]]
    if len(seats) != env.options.num_players:
        raise ValueError(f"there are {len(seats)} seats for {env.options.num_players} players")
    is_over = env.decision == "over"
    seat_agents = {} if is_over else make_agents(seats, env.game_seed or 0, allow_external_agents)
    return Table(table_id, env, seats, seat_agents, events)


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


def _write_private_file(path: Path, text: str) -> None:
    """Write a file that only its owner can read."""

    def fill(draft: Path) -> None:
        draft.touch(mode=0o600)
        draft.write_text(text, encoding="utf-8")

    files.write(path, fill)
