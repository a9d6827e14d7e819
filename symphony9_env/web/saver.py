"""Writes the files of tables in a thread, and tries again what has failed."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress

from symphony9_env.web.journal import RETRY_DELAY
from symphony9_env.web.table_store import TableStore, write_files
from symphony9_env.web.tables import Table

_logger = logging.getLogger(__name__)


class Saver:
    """Saves the tables of a store without keeping the event loop waiting for the disk."""

    def __init__(self, store: TableStore) -> None:
        self._store = store
        self._due: dict[str, Table] = {}  # by id: tables to be saved as soon as possible
        self._task: asyncio.Task[None] | None = None
        self._is_closing = asyncio.Event()
        self._thread = ThreadPoolExecutor(1, "disk")  # one, so that no file gets older contents than it has

    async def use_disk(self, function: Callable[[], None]) -> None:
        """Call a function that waits for the disk, in the thread."""
        await asyncio.get_running_loop().run_in_executor(self._thread, function)

    async def save(self, table: Table) -> None:
        """Write the files of a table as it is now; raise an OSError if that fails."""
        texts, turn = self._store.format_files(table), table.turn
        await self.use_disk(lambda: write_files(texts))
        table.num_saved = max(turn, table.num_saved)

    def save_later(self, table: Table) -> None:
        """Write the files of a table soon; if that fails, try again until it succeeds."""
        self._due[table.id] = table
        self.start()

    def start(self) -> None:
        """Save what is due. If the journal has files that are finished, save all tables and remove these files."""
        is_needed = self._due or self._store.journal.finished_files
        if is_needed and (self._task is None or self._task.done()):
            self._task = asyncio.create_task(self._save_due())

    async def _save_due(self) -> None:
        while self._due or self._store.journal.finished_files:
            try:
                await self._save_once()
            except (OSError, ValueError) as error:
                if not self._is_closing.is_set():
                    _logger.warning("a game can't be saved now; its moves are in the journal: %s", error)
                with suppress(TimeoutError):
                    await asyncio.wait_for(self._is_closing.wait(), RETRY_DELAY)
            if self._is_closing.is_set():
                return

    async def _save_once(self) -> None:
        journal = self._store.journal
        finished = journal.finished_files
        if finished:
            self._due |= {table.id: table for table in self._store.tables.values() if table.turn > table.num_saved}
        for table in list(self._due.values()):
            if table.id not in self._due:  # it was closed in the meantime
                continue
            await self.save(table)
            if table.num_saved == table.turn:
                self._due.pop(table.id, None)
        if finished:
            await self.use_disk(lambda: journal.remove(finished))

    def forget(self, table: Table) -> None:
        """Do not save a table that has been closed."""
        self._due.pop(table.id, None)

    async def close(self) -> None:
        """Save every table that has moves which its record lacks; then the journal is not needed any more."""
        self._is_closing.set()
        if self._task is not None:
            await self._task
        is_complete = await self._store.journal.close()
        if not is_complete:
            _logger.error("moves could not be saved: %s", self._store.journal.problem)
        try:
            self._due |= {table.id: table for table in self._store.tables.values() if table.turn > table.num_saved}
            await self._save_once()
        except (OSError, ValueError) as error:
            _logger.error("games could not be saved; the next start takes their moves from the journal: %s", error)
        self._thread.shutdown()
