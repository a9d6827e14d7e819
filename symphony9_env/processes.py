"""What programs that start worker processes share: how many cores there are, and how a process has ended."""

from __future__ import annotations

import os
import signal
from pathlib import Path


def count_cores() -> int:
    """Return how many processor cores this process may use; two threads of one core count once."""
    numbers = os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else range(os.cpu_count() or 1)
    cores = set()
    for number in numbers:
        try:
            siblings = Path(f"/sys/devices/system/cpu/cpu{number}/topology/thread_siblings_list").read_text()
        except OSError:
            siblings = str(number)
        cores.add(siblings.strip())
    return len(cores)


def describe_status(status: int) -> str:
    """Return how a process ended.

    >>> describe_status(1), describe_status(-9)
    ('exit status 1', 'killed by SIGKILL')
    """
    return f"killed by {signal.Signals(-status).name}" if status < 0 else f"exit status {status}"
