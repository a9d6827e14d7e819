"""A few threads in which agents choose their moves, shared fairly between the tables."""

from __future__ import annotations

import asyncio
import heapq
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass, field
from itertools import count
from typing import Final

MAX_DURATIONS: Final = 1000  # tables whose last choice is remembered


@dataclass(order=True)
class _Job:
    finish: float  # the time that its table will have used, if this choice takes as long as the one before
    number: int
    start: float = field(compare=False)  # the time that its table has used
    table: str = field(compare=False)
    choose: Callable[[], int] = field(compare=False)
    choice: Future[int] = field(compare=False)


class Workers:
    """A bounded number of threads. The next choice is that of the table which will have used least time after it.

    This is fair queueing: tables get equal shares of the time, and short choices come before long ones. A table that
    has not asked for a while counts as having used as much as the one that is being served, so it can't save up time.
    Threads are not waited for when the program ends.
    """

    def __init__(self, max_threads: int) -> None:
        self.max_threads = max_threads
        self._num_threads = 0
        self._num_idle = 0
        self._now = 0.0  # the start of the job that began last
        self._used: dict[str, float] = {}  # by table: the time that it has used, unless that is less than `_now`
        self._duration: dict[str, float] = {}  # by table: of its last job; the table that was served last comes last
        self._jobs: list[_Job] = []
        self._numbers = count()
        self._changed = threading.Condition()

    async def run(self, table: str, choose: Callable[[], int]) -> int:
        """Return a choice that is made in one of the threads."""
        choice: Future[int] = Future()
        with self._changed:
            start = max(self._now, self._used.get(table, 0.0))
            finish = start + self._duration.get(table, 0.0)
            heapq.heappush(self._jobs, _Job(finish, next(self._numbers), start, table, choose, choice))
            if not self._num_idle and self._num_threads < self.max_threads:
                self._num_threads += 1
                threading.Thread(target=self._work, daemon=True, name=f"agents-{self._num_threads}").start()
            self._changed.notify()
        return await asyncio.wrap_future(choice)

    def _work(self) -> None:
        while True:
            job = self._next_job()
            if not job.choice.set_running_or_notify_cancel():  # nobody waits for it any more
                continue
            begun = time.monotonic()
            try:
                job.choice.set_result(job.choose())
            except Exception as error:
                job.choice.set_exception(error)
            self._note(job, time.monotonic() - begun)

    def _note(self, job: _Job, duration: float) -> None:
        with self._changed:
            self._used[job.table] = job.start + duration
            self._duration.pop(job.table, None)
            self._duration[job.table] = duration
            if len(self._duration) > MAX_DURATIONS:
                del self._duration[next(iter(self._duration))]

    def _next_job(self) -> _Job:
        with self._changed:
            self._num_idle += 1
            self._changed.wait_for(lambda: self._jobs)
            self._num_idle -= 1
            job = heapq.heappop(self._jobs)
            self._now = max(self._now, job.start)
            self._used = {table: end for table, end in self._used.items() if end > self._now}
            return job
