"""Thread pools that survive a fork, and objects that refuse to be used by two threads at once."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

T = TypeVar("T")


class ThreadPool:
    """Threads that are started at the first use, and again in a forked process, which inherits none."""

    def __init__(self, num_threads: int) -> None:
        self.num_threads = num_threads
        self._executor: ThreadPoolExecutor | None = None
        self._process = 0

    def run(self, function: Callable[..., T], arguments: Iterable[tuple[Any, ...]]) -> list[T]:
        """Call a function once for each tuple of arguments, and return the results in this order."""
        if self._executor is None or self._process != os.getpid():
            self._executor, self._process = ThreadPoolExecutor(self.num_threads, "symphony9"), os.getpid()
        calls = [self._executor.submit(function, *one) for one in arguments]
        return [call.result() for call in calls]

    def __reduce__(self) -> tuple[type[ThreadPool], tuple[int]]:
        return ThreadPool, (self.num_threads,)  # a copy starts threads of its own


class ExclusiveUse:
    """A context manager that raises a RuntimeError if another thread is inside: waiting would only hide the mistake."""

    def __init__(self, what: str) -> None:
        self._what = what
        self._lock = threading.Lock()

    def __enter__(self) -> None:
        if not self._lock.acquire(blocking=False):
            raise RuntimeError(f"{self._what} is in use by another thread; give each thread one of its own")

    def __exit__(self, *error: object) -> None:
        self._lock.release()

    def __reduce__(self) -> tuple[type[ExclusiveUse], tuple[str]]:
        return ExclusiveUse, (self._what,)  # a copy is free
