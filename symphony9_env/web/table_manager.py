"""Runs the games of a server: plays the agents' moves, saves tables, and notifies the pages of changes."""

from __future__ import annotations

import asyncio
import logging
import threading
from collections import Counter
from collections.abc import Iterable
from concurrent.futures import Future
from typing import Any, Final

from starlette.concurrency import run_in_threadpool

from symphony9_env.agents import Agent
from symphony9_env.envs.aec import RawEnv
from symphony9_env.web.table_store import TableStore
from symphony9_env.web.tables import Table

# How long the answer to a request waits for the agents' moves, in seconds. Later moves reach pages by WebSocket.
MAX_WAIT: Final = 0.5
# How long a stopping server waits for agents to close, in seconds.
MAX_CLOSING_TIME: Final = 2.0

_logger = logging.getLogger(__name__)


class TableManager:
    """The tables of a store, the tasks that play agents' moves, and the pages that wait for changes."""

    def __init__(self, store: TableStore) -> None:
        self.store = store
        self.open_sockets: Counter[str] = Counter()  # by token
        self._changes: dict[str, asyncio.Event] = {}  # by table id: set at the next change
        self._agent_tasks: dict[str, asyncio.Task[None]] = {}  # by table id

    def notify(self, table: Table) -> None:
        """Wake all pages that wait for a change of this table."""
        self._changes.pop(table.id, asyncio.Event()).set()

    def next_change(self, table: Table) -> asyncio.Event:
        """Return an event that is set at the next change of this table."""
        return self._changes.setdefault(table.id, asyncio.Event())

    def save(self, table: Table) -> None:
        """Save a table. If that fails, the game goes on, and the people at the table are informed."""
        try:
            self.store.save(table)
            table.save_problem = None
        except (ValueError, OSError) as error:
            table.save_problem = f"the game goes on, but it could not be saved: {error}"

    def play_for_person(self, table: Table, seat: int, action: Any, turn: Any) -> None:
        """Play a person's move, save the table and notify the pages."""
        table.play_for_person(seat, action, turn)
        self.save(table)
        self.notify(table)
        if table.is_over:
            _close_agents([table])

    def start_agent_moves(self, table: Table) -> asyncio.Task[None] | None:
        """Start a task that plays the agents' moves if an agent is to decide; return the running task, if any."""
        task = self._agent_tasks.get(table.id)
        if table.agent_to_move is not None and (task is None or task.done()):
            task = self._agent_tasks[table.id] = asyncio.create_task(self._play_agent_moves(table))
        return task

    async def wait_for_agent_moves(self, table: Table) -> None:
        """Start the agents' moves if an agent is to decide, and wait for them at most `MAX_WAIT` seconds."""
        if (task := self.start_agent_moves(table)) is not None:
            await asyncio.wait([task], timeout=MAX_WAIT)

    async def _play_agent_moves(self, table: Table) -> None:
        """Play moves until no agent is to decide or one fails, and save the table.

        Agents choose in threads, which only read. Moves are made here, in the event loop, so nobody sees half a move.
        """
        while (agent := table.agent_to_move) is not None:
            try:
                table.play(await _choose_in_thread(agent, table.env))
            except Exception:
                self._report_failure(table)
                break
            table.agent_problem = None
            self.notify(table)
        self.save(table)
        if table.is_over:
            _close_agents([table])

    def _report_failure(self, table: Table) -> None:
        """Log the error that is being handled, and inform the people at the table that the agent could not move.

        They are not told the reason: it may contain the agent's legal bids or its answer, which are hidden from them.
        """
        name = table.seats[table.env.deciding_seat].name
        _logger.exception("table %s: %s could not move", table.id, name)
        table.agent_problem = f"{name} could not move; the game is kept, and reloading this page asks again"
        self.notify(table)

    async def close(self) -> None:
        """Save the games in which agents were moving, close all agents, and release the folder.

        A move that an agent was choosing is chosen again after the next start.
        """
        for table_id, task in self._agent_tasks.items():
            if not task.done():
                task.cancel()
                self.save(self.store.tables[table_id])
        closing = _close_agents(self.store.tables.values())
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


async def _choose_in_thread(agent: Agent, env: RawEnv) -> int:
    """Return an agent's choice; the thread that makes it is not waited for when the server stops."""
    choice: Future[int] = Future()
    choice.set_running_or_notify_cancel()  # the thread may still set it after the server has stopped waiting for it

    def choose() -> None:
        try:
            choice.set_result(agent.choose(env))
        except Exception as error:
            choice.set_exception(error)

    threading.Thread(target=choose, daemon=True).start()
    return await asyncio.wrap_future(choice)
