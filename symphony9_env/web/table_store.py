"""The folder of a server: its tables, their files, and who may use it.

A table is two files: `ID.json`, the game's record, for `symphony9 watch` and everybody; and `ID.seats.json`, who
sits where with which secret, for the owner of the folder alone. Both are written after every move of a person and
when the agents have answered, so that a server that is stopped or killed finds its games again.
"""

from __future__ import annotations

import json
import os
import re
import secrets
import sys
from dataclasses import asdict
from pathlib import Path
from typing import IO, Any, Final

import numpy as np

from symphony9_env import files, records
from symphony9_env.envs.aec import RawEnv
from symphony9_env.options import check_seed, draw_seed
from symphony9_env.rules.chance import MAX_SEED
from symphony9_env.web.story import Event, opening, tell
from symphony9_env.web.tables import TOKEN_BYTES, RequestError, Seat, Table, make_table

MAX_TABLES: Final = 1000
SEATS_FORMAT: Final = "symphony9-seats/1"


class Tables:
    """All tables of a server, in a folder that no other server uses at the time."""

    def __init__(self, folder: str | os.PathLike[str], seed: int | None = None) -> None:
        """`seed`: of the deals, where the host gives none; else they are drawn by chance."""
        self._seed = None if seed is None else check_seed(seed)
        self.folder = _private_folder(folder)
        self._lock = _locked(self.folder)
        self.by_id: dict[str, Table] = {}
        self._by_token: dict[str, tuple[Table, int]] = {}
        self._last_number = 0
        self.damaged: list[str] = []  # what could not be read again, and why
        self.host_token = self._host_token()
        for path in sorted(self.folder.glob("*.seats.json")):
            try:
                self.add(_load(path))
            except (ValueError, KeyError, TypeError, OSError, RecursionError) as error:
                self.damaged.append(f"{path.name}: {error}")

    def close(self) -> None:
        """Another server may use the folder now."""
        if self._lock is not None:
            self._lock.close()

    def seat_of(self, token: Any) -> tuple[Table, int]:
        """Whose link it is."""
        found = self._by_token.get(token) if isinstance(token, str) else None
        if found is None:
            raise RequestError(403, "this link is not known here")
        return found

    def create(self, wish: Any) -> Table:
        """Set up a game; a server does the three steps apart, the second in a thread."""
        number, seed = self.reserve()
        return self.open(make_table(number, seed, wish))

    def reserve(self) -> tuple[str, int]:
        """The number of the next table, and a seed for it."""
        if len(self.by_id) >= MAX_TABLES:
            raise RequestError(429, f"there are {MAX_TABLES} games already; move finished ones out of {self.folder}")
        self._last_number += 1
        while os.path.lexists(self.folder / f"{self._last_number:04d}.json"):
            self._last_number += 1
        chance = None if self._seed is None else np.random.default_rng([self._seed, self._last_number])
        seed = draw_seed() if chance is None else int(chance.integers(MAX_SEED + 1))
        return f"{self._last_number:04d}", seed

    def open(self, table: Table) -> Table:
        """From now on it is played at."""
        try:
            self.save(table)
        except (ValueError, OSError) as error:
            raise RequestError(507, f"the game could not be saved: {error}") from None
        self.add(table)
        return table

    def add(self, table: Table) -> None:
        self._by_token |= {seat.token: (table, number) for number, seat in enumerate(table.seats) if seat.token}
        self.by_id[table.id] = table

    def save(self, table: Table) -> None:
        components = table.env.options.variant.components
        about = {
            "format": SEATS_FORMAT,
            "seats": [asdict(seat) for seat in table.seats],
            "components": None if components is None else os.fspath(components),
        }
        records.save(table.record(), self.folder / f"{table.id}.json")
        _write_secret(self.folder / f"{table.id}.seats.json", json.dumps(about))

    def _host_token(self) -> str:
        path = self.folder / "host.json"
        if not path.exists():
            token = secrets.token_urlsafe(TOKEN_BYTES)
            _write_secret(path, json.dumps({"token": token}))
            return token
        try:
            found = json.loads(path.read_text(encoding="utf-8"))["token"]
        except (ValueError, KeyError, TypeError, OSError, RecursionError):
            found = None
        if not isinstance(found, str) or not found:
            raise ValueError(f"{path}: is damaged; remove it to get a new link for the host")
        return found


def _load(path: Path) -> Table:
    about = json.loads(path.read_text(encoding="utf-8"))
    if about["format"] != SEATS_FORMAT:
        raise ValueError(f"format is {about['format']!r}; this version reads {SEATS_FORMAT!r}")
    number = path.name.removesuffix(".seats.json")
    if not re.fullmatch(r"\d{4,}", number):
        raise ValueError("its name is no number")
    record = records.load(path.with_name(f"{number}.json"))
    try:
        env, log = _played_again(record, about["components"])
    except (
        ValueError
    ):  # the record has the deal; without the component file only search would guess bot tiles otherwise
        env, log = _played_again(record, None)
    return Table(number, env, [Seat(**entry) for entry in about["seats"]], log)


def _played_again(record: records.Record, components: str | None) -> tuple[RawEnv, list[Event]]:
    """A record's game, moved to where it stopped, and its log."""
    steps = records.replay(record, components=components)
    env = next(steps)
    log = opening(env.states)
    before = env.states.copy()
    for env in steps:
        log += tell(before, env.history[-1][1], env.states)
        before = env.states.copy()
    return env, log


def _private_folder(path: str | os.PathLike[str]) -> Path:
    """Made for its owner alone: records of running games hold what is still hidden."""
    is_new = not os.path.lexists(path)
    folder = files.make_folder(path, "--games")
    if is_new:
        folder.chmod(0o700)
    return folder


def _locked(folder: Path) -> IO[str] | None:
    """Held while the server runs; the system lets it go when the process ends, however it does."""
    if sys.platform == "win32":  # nothing keeps a second server away there
        return None
    import fcntl

    lock = (folder / ".lock").open("w")
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        lock.close()
        raise ValueError(f"--games {folder}: another server is using this folder") from None
    return lock


def _write_secret(path: Path, text: str) -> None:
    """For the owner of the folder alone."""

    def fill(draft: Path) -> None:
        draft.touch(mode=0o600)
        draft.write_text(text, encoding="utf-8")

    files.write(path, fill)
