"""Workers on the machines of a Ray cluster. It needs the extra [cluster]."""

# mypy: disable-error-code="untyped-decorator"

from __future__ import annotations

import logging
import os
import socket
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any, Final

import ray
from ray.exceptions import RayError
from tqdm import tqdm

from symphony9_env.arena.game_loop import Answer, Event, WorkerPool
from symphony9_env.arena.game_players import Description, GamePlayer
from symphony9_env.arena.worker import Worker

PACKAGE: Final = Path(__file__).parent.parent
CONNECT_SECONDS: Final = 10.0
POLL_SECONDS: Final = 1.0  # Ray does not return from a longer wait when Ctrl-C is pressed
PATIENCE_SECONDS: Final = 20.0  # until the user is told that there are no workers
END_SECONDS: Final = 5.0  # for workers to end their agents


@contextmanager
def connect(address: str, packages: Sequence[Path]) -> Iterator[None]:
    """Connect to a cluster and send it the code of these packages; raise a ValueError if there is none."""
    os.environ.setdefault("RAY_CHDIR_TO_TRIAL_DIR", "0")
    logging.getLogger("ray.train").setLevel(logging.ERROR)
    try:
        host, _, port = address.rpartition(":")
        if port.isdecimal():  # Ray itself would retry for minutes
            socket.create_connection((host.rpartition("/")[2], int(port)), CONNECT_SECONDS).close()
        code = {"py_modules": [str(path) for path in packages]}
        ray.init(address, runtime_env=code, logging_level=logging.ERROR, log_to_driver=False)
    except (OSError, RuntimeError, ValueError) as error:
        raise ValueError(f"--address {address}: no Ray cluster there ({str(error).splitlines()[0]})") from None
    try:
        yield
    finally:
        ray.shutdown()


@ray.remote(max_restarts=0, max_task_retries=0)
class RemoteWorker:
    """A worker in a process that Ray starts on one of the machines."""

    def __init__(self) -> None:
        self._worker = Worker()

    def is_ready(self) -> bool:
        """Return True, once the process is there."""
        return True

    def answer(self, description: Description, games: Sequence[Any]) -> Answer:
        """Play games of a run, and return the results or why there are none."""
        return self._worker.answer(description, games)

    def close(self) -> None:
        """End the agents."""
        self._worker.close()


class ClusterPool(WorkerPool):
    """Workers on a Ray cluster. Those for which there is no free core wait for one, for instance of a new machine."""

    def __init__(self, address: str, size: int | None, num_threads: int) -> None:
        self._connection = ExitStack()
        self._connection.enter_context(connect(address, [PACKAGE]))
        super().__init__(size or max(1, int(ray.cluster_resources().get("CPU", 1)) // num_threads))
        self._num_threads = num_threads
        self._workers: dict[int, Any] = {}
        self._starting: set[int] = set()
        self._expected: dict[Any, int] = {}  # the worker whose answer a reference of Ray stands for
        self._description: Any = None

    def start(self, player: GamePlayer, num_games: int) -> None:
        self._description = player.describe()
        player.close()  # the workers have copies
        for worker in range(min(self.size, num_games)):
            if worker not in self._workers:
                self.replace(worker)

    def replace(self, worker: int) -> None:
        made = self._workers[worker] = RemoteWorker.options(num_cpus=self._num_threads).remote()  # type: ignore[attr-defined]
        self._expected[made.is_ready.remote()] = worker
        self._starting.add(worker)

    def send(self, worker: int, games: Sequence[Any]) -> None:
        self._expected[self._workers[worker].answer.remote(self._description, games)] = worker

    def wait(self) -> Event:
        reference = self._wait_for_reference()
        worker = self._expected.pop(reference)
        self._starting.discard(worker)
        try:
            answer = ray.get(reference)
        except RayError as error:  # its process or machine was lost, or its results with the machine that kept them
            with suppress(RayError):
                ray.kill(self._workers.pop(worker))  # it may still run if only its connection was lost
            return Event(worker, loss=type(error).__name__)
        self.idle.append(worker)
        return Event(worker, None if answer is True else answer)

    def _wait_for_reference(self) -> Any:
        notice_time = time.monotonic() + PATIENCE_SECONDS
        while True:
            found, _ = ray.wait(list(self._expected), num_returns=1, timeout=POLL_SECONDS)
            if found:
                return found[0]
            if time.monotonic() > notice_time and len(self._starting) == len(self._expected):
                tqdm.write("waiting for free cores of the cluster", file=sys.stderr)
                notice_time = float("inf")

    def close(self) -> None:
        """End the agents of workers that are idle, and disconnect: then Ray ends all workers."""
        closing = [self._workers[worker].close.remote() for worker in self.idle]
        try:
            if closing:
                ray.wait(closing, num_returns=len(closing), timeout=END_SECONDS)
        finally:
            self._connection.close()
