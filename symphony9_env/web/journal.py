"""The journal of a server: the moves of all tables, which are on disk before anybody is shown them.

A line is one move: `{"table": "0001", "turn": 12, "move": ["player_2", "take handel"]}`. Syncing a file takes
milliseconds, so moves are written in groups: while one group is being synced, in a thread, the next one collects.
If that fails, for example because the disk is full, it is tried again until it succeeds.

A journal is one or more files, `journal.000001.jsonl` and so on. When one has grown, another is begun, and the first
is removed once the records of the tables have its moves. At start, the moves of all journals are added to the records.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any, Final, TypedDict

from symphony9_env import files

MAX_FILE_SIZE: Final = 1_000_000  # about 15,000 moves; then another file is begun
RETRY_DELAY: Final = 2.0  # seconds until a write that failed is tried again
_MAX_BYTES_READ: Final = 100 * MAX_FILE_SIZE
_NAME: Final = re.compile(r"journal\.(\d{6,})\.jsonl")


class Entry(TypedDict):
    """A move in the journal, in the form of a record's actions."""

    table: str
    turn: int  # the number of moves before it
    move: list[str]


class Journal:
    """Writes the moves of all tables, and says when they are on disk. All but the writing happens in the event loop."""

    def __init__(self, folder: Path) -> None:
        self.on_written: Callable[[set[str]], None] = lambda tables: None  # called with the tables of each group
        self.problem: str | None = None  # why the moves that wait can't be written
        self._folder = folder
        self._last_number = max((_read_number(path) for path in list_files(folder)), default=0)
        self._files: list[Path] = []  # of this run; the last one is being written
        self._size = 0  # of the last one
        self._waiting: list[Entry] = []
        self._num_added = self._num_written = 0
        self._progress = asyncio.Event()  # set after each attempt to write
        self._is_closing = asyncio.Event()
        self._is_closed = False
        self._writer: asyncio.Task[None] | None = None
        self._executor = ThreadPoolExecutor(1, "journal")

    def add(self, table: str, turn: int, move: list[str]) -> int:
        """Add a move and return its number, for `wait`."""
        self._waiting.append({"table": table, "turn": turn, "move": move})
        self._num_added += 1
        if self._writer is None or self._writer.done():
            self._writer = asyncio.create_task(self._write_groups())
        return self._num_added

    def is_written(self, number: int) -> bool:
        """Return whether a move is on disk."""
        return self._num_written >= number

    async def wait(self, number: int) -> bool:
        """Wait until a move is on disk, and return whether it is: False if that has failed and is to be tried again."""
        while not self.is_written(number) and self.problem is None:
            await self._progress.wait()
        return self.is_written(number)

    @property
    def finished_files(self) -> list[Path]:
        """The files to which nothing more is written."""
        return self._files[:] if self._is_closed else self._files[:-1]

    def remove(self, paths: list[Path]) -> None:
        """Remove files whose moves are in the records."""
        for path in paths:
            path.unlink(missing_ok=True)
            self._files.remove(path)

    async def close(self) -> bool:
        """Write what waits, with one more attempt if that has failed; return whether everything is on disk."""
        self._is_closing.set()
        if self._writer is not None:
            await self._writer
        self._executor.shutdown()
        self._is_closed = True
        return not self._waiting

    async def _write_groups(self) -> None:
        loop = asyncio.get_running_loop()
        while self._waiting:
            group = self._waiting[:]
            lines = "".join(json.dumps(entry) + "\n" for entry in group)
            if self.problem is not None:  # a part of a line may be left from the attempt that failed
                lines = "\n" + lines
            is_last_attempt = self._is_closing.is_set()
            try:
                await loop.run_in_executor(self._executor, self._append, lines)
            except OSError as error:
                self.problem = error.strerror or str(error)
                self._wake()
                if is_last_attempt:
                    return
                with suppress(TimeoutError):
                    await asyncio.wait_for(self._is_closing.wait(), RETRY_DELAY)
                continue
            self.problem = None
            del self._waiting[: len(group)]
            self._num_written += len(group)
            self._wake()
            self.on_written({entry["table"] for entry in group})

    def _wake(self) -> None:
        self._progress.set()
        self._progress = asyncio.Event()

    def _append(self, lines: str) -> None:
        """Write lines to the last file, or to a new one; this runs in a thread."""
        if not self._files or self._size > MAX_FILE_SIZE:
            path = self._folder / f"journal.{self._last_number + 1:06d}.jsonl"
            files.write_text(path, "", is_private=True)
            self._last_number += 1
            self._files.append(path)
            self._size = 0
        files.append_text(self._files[-1], lines)
        self._size += len(lines)


def list_files(folder: Path) -> list[Path]:
    """Return the files of the journal in a folder, the oldest first."""
    return sorted((path for path in folder.iterdir() if _NAME.fullmatch(path.name)), key=_read_number)


def _read_number(path: Path) -> int:
    found = _NAME.fullmatch(path.name)
    return int(found[1]) if found else 0


def read_entries(path: Path) -> list[Entry]:
    """Return the moves in a file. Whatever is no move is left out, such as a line that a power cut has torn.

    No move can be lost unnoticed by that, except the last one of a table, because turns are numbered.
    """
    lines = files.read_bytes(path, _MAX_BYTES_READ).split(b"\n")
    return [entry for entry in map(_parse_line, lines) if entry is not None]


def _parse_line(line: bytes) -> Entry | None:
    try:
        entry: Any = json.loads(line)
        kinds = [type(entry[name]) for name in ("table", "turn", "move")]
    except (ValueError, TypeError, KeyError, RecursionError):
        return None
    return entry if kinds == [str, int, list] else None
