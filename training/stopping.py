"""Stopping a run by a signal: Ctrl-C, or SIGTERM, which Slurm and containers send before they kill a process."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from types import FrameType
from typing import Any, Final, Self

from symphony9_env.arguments import Terminated, postpone_signal

SIGNALS: Final = (signal.SIGINT, signal.SIGTERM)
EARLY_NOTE: Final = b"\nstopped before the training began\n"
NOTE: Final = b"\nstopping after this update; a second signal stops at once without saving\n"


class StopSignals:
    """Remembers the first signal, so that the run can stop and save between two updates; the second stops it at once.

    Before the run begins, there is nothing to save yet, and the first signal stops it at once.

    Signals are handled between `__enter__` and `__exit__`, in the main thread only: Python allows no handlers in
    others, in which Optuna and Ray Tune run their trials. Whoever started the thread decides what a signal does there.
    """

    def __init__(self) -> None:
        self.received: int | None = None
        self.has_begun = False  # whether the workers have started and the run shows its progress
        self._is_interruptible = False
        self._handlers: dict[int, Any] = {}

    def __enter__(self) -> Self:
        if threading.current_thread() is threading.main_thread():
            self._handlers = {number: signal.signal(number, self._handle) for number in SIGNALS}
        return self

    def __exit__(self, *error: object) -> None:
        for number, handler in self._handlers.items():
            signal.signal(number, handler)

    def _handle(self, number: int, frame: FrameType | None) -> None:
        is_early = not self.has_begun and not self._is_interruptible
        is_last = is_early or self._is_interruptible or self.received is not None
        if is_last and postpone_signal(number, frame):
            return
        self.received = number
        if is_early or not is_last:
            with suppress(OSError):  # `print` must not be called from a handler: the signal may have interrupted it
                os.write(2, EARLY_NOTE if is_early else NOTE)
        if is_last:
            self.stop()

    def stop(self) -> None:
        """Raise the exception that ends the program after the signal received."""
        raise Terminated if self.received == signal.SIGTERM else KeyboardInterrupt

    @contextmanager
    def interruptible(self) -> Iterator[None]:
        """Let already the first signal raise an exception in this block: nothing is lost there."""
        try:
            self._is_interruptible = True
            if self.received is not None:
                self.stop()
            yield
        finally:
            self._is_interruptible = False
