"""Runs the games of a server: plays the agents' moves, saves tables, and notifies the pages of changes.

Every move goes to the journal, and nobody is sent a message before the moves that it shows are on disk.
"""

from __future__ import annotations

import asyncio
import logging
import os
import threading
from collections import Counter
from collections.abc import Iterable
from typing import Any, Final

from starlette.concurrency import run_in_threadpool

from symphony9_env.actions import NAMES
from symphony9_env.agents import Agent, ExternalAgent
from symphony9_env.agents.scripted import ScriptedAgent
from symphony9_env.names import agent_name
from symphony9_env.web.journal import RETRY_DELAY
from symphony9_env.web.saver import Saver
from symphony9_env.web.table_store import TableStore
from symphony9_env.web.tables import RequestError, Table, make_table
from symphony9_env.web.workers import Workers

# How long the answer to a request waits for the agents' moves, in seconds. Later moves reach pages by WebSocket.
MAX_WAIT: Final = 0.5
# How long a stopping server waits for agents to close, in seconds.
MAX_CLOSING_TIME: Final = 2.0
# Threads in which search and policies choose: one core is left for the server itself.
NUM_WORKERS: Final = max(1, (os.cpu_count() or 1) - 1)
# Threads that wait for answers of external agents.
NUM_EXTERNAL_WORKERS: Final = 16
MAX_EXTERNAL_AGENTS: Final = 32  # at all tables; each may be a process

_logger = logging.getLogger(__name__)


class TableManager:
    """The tables of a store, the tasks that play agents' moves, and the pages that wait for changes."""

    def __init__(self, store: TableStore) -> None:
        self.store = store
        self.open_sockets: Counter[str] = Counter()  # by token
        self._journal = store.journal
        self._journal.on_written = self._continue_tables
        self._saver = Saver(store)
        self._changes: dict[str, asyncio.Event] = {}  # by table id: set at the next change
        self._agent_tasks: dict[str, asyncio.Task[None]] = {}  # by table id
        self._held: set[str] = set()  # ids of tables whose agents wait until moves can be saved again
        self._workers = Workers(NUM_WORKERS)
        self._external_workers = Workers(NUM_EXTERNAL_WORKERS)

    # Pages.

    def notify(self, table: Table) -> None:
        """Wake all pages that wait for a change of this table."""
        self._changes.pop(table.id, asyncio.Event()).set()

    def next_change(self, table: Table) -> asyncio.Event:
        """Return an event that is set at the next change of this table."""
        return self._changes.setdefault(table.id, asyncio.Event())

    def is_written(self, table: Table) -> bool:
        """Return whether all moves of a table are on disk, so that they may be shown."""
        return self._journal.is_written(table.journal_number)

    async def wait_until_written(self, table: Table) -> None:
        """Wait until all moves of a table are on disk; raise an error if they can't be written now."""
        while not self.is_written(table):
            if not await self._journal.wait(table.journal_number):
                raise RequestError(507, f"the last move is kept, but {self._describe_problem()}")

    def _describe_problem(self) -> str:
        reason = self._journal.problem
        return f"moves can't be saved now ({reason}); the server tries again every {RETRY_DELAY:g} seconds"

    # Tables.

    async def create_table(self, request: Any) -> Table:
        """Set up a game as the host requests it."""
        table_id, seed = self.store.reserve()
        table = await run_in_threadpool(make_table, table_id, seed, request, self.store.permissions)
        num_external = sum(one.num_external_agents for one in (table, *self.store.tables.values()))
        if table.num_external_agents and num_external > MAX_EXTERNAL_AGENTS:
            _close_agents([table])
            raise RequestError(429, f"there are {MAX_EXTERNAL_AGENTS} external agents already; close some games first")
        try:
            await self._saver.save(table)
        except (OSError, ValueError) as error:
            _close_agents([table])
            raise RequestError(507, f"the game could not be saved: {error}") from None
        self.store.add(table)
        return table

    async def rename(self, table: Table, seat: int, name: Any) -> None:
        """Change the name of the person at a seat, and save it."""
        self._require_open(table)
        before = table.seats[seat].name
        table.rename(seat, name)
        try:
            await self._saver.save(table)
        except (OSError, ValueError) as error:
            table.seats[seat].name = before
            reason = getattr(error, "strerror", None) or "it can't be written"  # players are shown no paths
            raise RequestError(507, f"the name could not be saved: {reason}") from None
        self.notify(table)

    def _require_open(self, table: Table) -> None:
        """Raise an error if a table was closed since its token was checked: nothing would be saved any more."""
        if self.store.tables.get(table.id) is not table:
            raise RequestError(410, "the host has closed this game")

    async def close_table(self, table_id: str) -> None:
        """Close a table: its record is complete and stays, its links are unknown from now on, and its agents end."""
        table = self.store.tables.get(table_id)
        if table is None:
            raise RequestError(404, f"there is no table {table_id}")
        self.store.forget(table)
        self._saver.forget(table)
        if (task := self._agent_tasks.pop(table_id, None)) is not None:
            task.cancel()
        try:
            await self._saver.save(table)
            await self._saver.use_disk(lambda: self.store.remove_seats(table))
        except (OSError, ValueError) as error:
            self.store.add(table)
            self.start_agent_moves(table)
            self._saver.save_later(table)  # a file of the journal may have been removed without regard to this table
            raise RequestError(507, f"the table stays open, because it could not be saved: {error}") from None
        _close_agents([table])
        self.notify(table)

    # Moves.

    def play_for_person(self, table: Table, seat: int, action: Any, turn: Any) -> None:
        """Play a person's move; refuse it while moves can't be saved."""
        self._require_open(table)
        if self._journal.problem is not None:
            raise RequestError(507, self._describe_problem())
        table.play_for_person(seat, action, turn)
        self._note_move(table)

    def _note_move(self, table: Table) -> None:
        """Add the move that was just made to the journal."""
        seat, action = table.env.history[-1]
        table.journal_number = self._journal.add(table.id, table.turn - 1, [agent_name(seat), NAMES[action]])
        if table.is_over:
            _close_agents([table])
            self._saver.save_later(table)

    def _continue_tables(self, table_ids: set[str]) -> None:
        """Show moves that are on disk now, and let agents go on that had to wait because moves could not be saved."""
        held, self._held = self._held, set()
        for table_id in held | table_ids:
            if (table := self.store.tables.get(table_id)) is not None:
                if table_id in held:
                    self.start_agent_moves(table)
                self.notify(table)
        self._saver.start()  # the journal may have begun another file

    async def wait_for_agent_moves(self, table: Table) -> None:
        """Let the agents move if one is to decide; wait for their moves at most `MAX_WAIT` seconds."""
        if table.has_only_scripts:
            await self._play_agent_moves(table)  # takes microseconds and does not give way to another request
        elif (task := self.start_agent_moves(table)) is not None:
            await asyncio.wait([task], timeout=MAX_WAIT)

    def start_agent_moves(self, table: Table) -> asyncio.Task[None] | None:
        """Start a task that plays the agents' moves if an agent is to decide; return the running task, if any."""
        task = self._agent_tasks.get(table.id)
        if table.agent_to_move is not None and (task is None or task.done()):
            task = self._agent_tasks[table.id] = asyncio.create_task(self._play_agent_moves(table))
        return task

    async def _play_agent_moves(self, table: Table) -> None:
        """Play moves until no agent is to decide or one fails.

        Agents choose in threads, which only read. Moves are made here, in the event loop, so nobody sees half a move.
        """
        while (agent := table.agent_to_move) is not None:
            if self._journal.problem is not None:
                self._held.add(table.id)
                return
            try:
                table.play(await self._choose(agent, table))
            except Exception:
                self._report_failure(table)
                return
            table.agent_problem = None
            self._note_move(table)

    async def _choose(self, agent: Agent, table: Table) -> int:
        """Return an agent's choice: scripts choose at once, search and external agents in a thread."""
        if isinstance(agent, ScriptedAgent):
            return agent.choose(table.env)
        workers = self._external_workers if isinstance(agent, ExternalAgent) else self._workers
        return await workers.run(table.id, lambda: agent.choose(table.env))

    def _report_failure(self, table: Table) -> None:
        """Log the error that is being handled, and inform the people at the table that the agent could not move.

        They are not told the reason: it may contain the agent's legal bids or its answer, which are hidden from them.
        """
        name = table.seats[table.env.deciding_seat].name
        _logger.exception("table %s: %s could not move", table.id, name)
        table.agent_problem = f"{name} could not move; the game is kept, and reloading this page asks again"
        self.notify(table)

    async def close(self) -> None:
        """Complete the records, close all agents, and release the folder.

        A move that an agent was choosing is chosen again after the next start.
        """
        for task in self._agent_tasks.values():
            task.cancel()
        closing = _close_agents(self.store.tables.values())
        await self._saver.close()
        await run_in_threadpool(closing.join, MAX_CLOSING_TIME)
        self.store.close()


def _close_agents(tables: Iterable[Table]) -> threading.Thread:
    """Close the agents of these tables in a thread, which is returned: a process may take its time to end."""

    def close() -> None:
        for table in tables:
            table.close_agents()

    thread = threading.Thread(target=close, daemon=True)
    thread.start()
    return thread
