"""Workers on one machine that play games: this process alone, or others. `cluster.py` has those of a Ray cluster."""

from __future__ import annotations

import json
import os
import queue
import subprocess
import sys
import threading
import time
from argparse import ArgumentParser
from collections.abc import Sequence
from contextlib import suppress
from typing import Any, Final

from symphony9_env.agents.registry import is_process_or_address, is_registered
from symphony9_env.arena.console import positive_int
from symphony9_env.arena.game_loop import Event, WorkerPool
from symphony9_env.arena.game_players import Description, GamePlayer
from symphony9_env.arena.worker import READY
from symphony9_env.arguments import import_command
from symphony9_env.processes import count_cores, describe_status

END_SECONDS: Final = 5.0  # for a worker to end after its input was closed
WORKERS_HELP: Final = (
    "processes that play games, with agents of their own; the number changes no result (default: all cores; 1 if an "
    "agent is a process or a web address)"
)
ADDRESS_HELP: Final = "play on a Ray cluster: its address, or auto; --workers then counts those of all machines"
THREADS_HELP: Final = "threads of each worker for search and think (default: 1); divides the default of --workers"


class LocalPool(WorkerPool):
    """One worker: this process itself. It needs no copies of the agents, so they can be of any kind."""

    def __init__(self) -> None:
        super().__init__(1)
        self.idle = [0]
        self._player: GamePlayer | None = None
        self._games: Sequence[Any] = []

    def start(self, player: GamePlayer, num_games: int) -> None:
        self._player = player

    def send(self, worker: int, games: Sequence[Any]) -> None:
        self._games = games

    def wait(self) -> Event:
        assert self._player is not None
        begun = time.perf_counter()
        results = self._player.play(self._games)
        self.idle = [0]
        return Event(0, {"results": results, "seconds": time.perf_counter() - begun})

    def replace(self, worker: int) -> None:
        """Do nothing: this process can't be lost."""

    def close(self) -> None:
        self.idle = [0]


class ProcessPool(WorkerPool):
    """Worker processes on this machine; they are started when there is something to play."""

    def __init__(self, size: int, num_threads: int = 1) -> None:
        super().__init__(size)
        self._num_threads = num_threads
        self._processes: dict[int, subprocess.Popen[str]] = {}
        self._lines: queue.SimpleQueue[tuple[int, subprocess.Popen[str], str]] = queue.SimpleQueue()
        self._description: Description = {}

    def start(self, player: GamePlayer, num_games: int) -> None:
        self._description = player.describe()
        player.close()  # the workers have copies
        for worker in range(min(self.size, num_games)):
            if worker not in self._processes:
                self._start(worker)

    def _start(self, worker: int) -> None:
        """Start a process with the same import path; libraries in it use as many threads as agents do."""
        variables = {"OMP_NUM_THREADS": str(self._num_threads), **os.environ}
        variables["PYTHONPATH"] = os.pathsep.join(path for path in sys.path if path)
        process = self._processes[worker] = subprocess.Popen(
            [sys.executable, "-m", "symphony9_env.arena.worker"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            encoding="utf-8",
            env=variables,
            start_new_session=True,  # Ctrl-C on a terminal is for this process, which then ends them
        )
        threading.Thread(target=self._read_lines, args=(worker, process), daemon=True).start()

    def _read_lines(self, worker: int, process: subprocess.Popen[str]) -> None:
        """Pass the lines of a worker on, and an empty one at their end."""
        assert process.stdout is not None
        with process.stdout as lines:
            for line in lines:
                self._lines.put((worker, process, line))
        self._lines.put((worker, process, ""))

    def send(self, worker: int, games: Sequence[Any]) -> None:
        pipe = self._processes[worker].stdin
        assert pipe is not None
        with suppress(BrokenPipeError):  # it was lost, and `wait` will say so
            pipe.write(json.dumps([self._description, games]) + "\n")
            pipe.flush()

    def wait(self) -> Event:
        while True:
            worker, process, line = self._lines.get()
            if self._processes.get(worker) is not process:  # it has been replaced
                continue
            if not line.endswith("\n"):  # it ended, maybe in the middle of a line
                return self._lose(worker)
            self.idle.append(worker)
            return Event(worker, None if line == READY else json.loads(line))

    def _lose(self, worker: int) -> Event:
        process = self._processes.pop(worker)
        self.idle = [other for other in self.idle if other != worker]
        _end([process])
        return Event(worker, loss=describe_status(process.returncode))

    def replace(self, worker: int) -> None:
        self._start(worker)

    def close(self) -> None:
        _end(list(self._processes.values()))
        self._processes = {}
        self.idle = []


def _end(processes: Sequence[subprocess.Popen[str]]) -> None:
    """End processes by closing their input; kill those that don't end."""
    for process in processes:
        with suppress(BrokenPipeError):
            process.stdin.close()  # type: ignore[union-attr]
    deadline = time.monotonic() + END_SECONDS
    for process in processes:
        try:
            process.wait(max(0.0, deadline - time.monotonic()))
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def add_worker_arguments(parser: ArgumentParser) -> None:
    """Add the arguments that say who plays the games."""
    parser.add_argument("--workers", type=positive_int, metavar="N", help=WORKERS_HELP)
    parser.add_argument("--address", metavar="HOST:PORT", help=ADDRESS_HELP)


def open_pool(num_workers: int | None, address: str | None, names: Sequence[str], num_threads: int = 1) -> WorkerPool:
    """Return the workers for agents with these names; `num_workers` and `address` are None where none was given.

    A process or a web address has a time limit for its answers and may need a whole machine or a model's memory, so
    there are several copies of it, or several questions at once, only on demand. An agent that was registered in this
    program plays in this process only.
    """
    registered = [name for name in names if is_registered(name)]
    if num_workers is None and (registered or any(is_process_or_address(name) for name in names)):
        num_workers = 1
    if registered and (num_workers, address) != (1, None):
        raise ValueError(
            f"agent {registered[0]!r} was registered in this program only; allowed: --workers 1, no --address"
        )
    if address is not None:
        module = import_command("symphony9_env.arena.cluster", "cluster")
        pool: WorkerPool = module.ClusterPool(address, num_workers, num_threads)
        return pool
    size = num_workers or max(1, count_cores() // num_threads)
    return LocalPool() if size == 1 else ProcessPool(size, num_threads)
