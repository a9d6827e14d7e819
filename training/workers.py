"""The workers of a run on one machine: this process is worker 0, and it starts the others.

A worker that this module starts is told what to do on its standard input. When that is closed, because worker 0 has
ended or was killed, the worker ends too. Signals are for worker 0, which tells the others to stop.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any, Final

import torch
from threadpoolctl import threadpool_limits
from torch import distributed
from torch.distributed import distributed_c10d

from symphony9_env.processes import count_cores, describe_status
from training.config import Settings, parse_settings_json
from training.group import DistributedGroup, Group, LocalGroup
from training.shared_memory import SharedMemory, share_memory

TIMEOUT: Final = timedelta(hours=1)  # for a worker that does not answer: agents outside this package can be slow
JOIN_TIMEOUT: Final = timedelta(minutes=1)  # for workers that are ready to find each other
END_SECONDS: Final = 10.0  # for a worker that was lost to end, so that the reason is known
FAILED: Final = 2  # exit status of a worker that has told what was wrong
READY: Final = "ready\n"  # what a worker says before it joins the others
LOST: Final = 3  # exit status of a worker that has told how it lost the others
LOOPBACK: Final = {"linux": "lo", "darwin": "lo0"}


@dataclass(frozen=True)
class Task:
    """What a worker that is started here is told."""

    settings: str  # JSON
    rank: int
    size: int
    store: str  # the file through which the workers find each other
    checkpoint: str | None  # the file to continue from
    descriptors: tuple[int, ...]  # of the shared memory and of the socket to worker 0, where there are any


def count_workers(settings: Settings) -> int:
    """Return the number of workers: as the settings say, or one for each GPU or core."""
    if settings.workers is not None:
        return settings.workers
    return torch.cuda.device_count() if uses_gpu(settings) else count_cores()


def uses_gpu(settings: Settings) -> bool:
    """Return whether the network is trained on a GPU; raise a ValueError if that is wanted and there is none."""
    is_available = torch.cuda.is_available()
    if settings.device == "cuda" and not is_available:
        raise ValueError("device=cuda: PyTorch finds no GPU; allowed: auto, cpu")
    return settings.device != "cpu" and is_available


def choose_device(settings: Settings, rank: int) -> str:
    """Return the device of a worker."""
    return f"cuda:{rank % torch.cuda.device_count()}" if uses_gpu(settings) else "cpu"


def choose_backend(settings: Settings) -> str:
    """Return how workers exchange tensors."""
    return "cpu:gloo,cuda:nccl" if uses_gpu(settings) else "gloo"


def limit_threads(settings: Settings) -> None:
    """Set the number of PyTorch's threads.

    Opponents decide in small batches, in which more BLAS threads only slow each other down.
    """
    threadpool_limits(1, user_api="blas")
    torch.set_num_threads(settings.num_threads)


@contextmanager
def start_workers(settings: Settings, checkpoint: Path | None) -> Iterator[Group]:
    """Start all workers but this one, and yield the group; `settings.workers` must be set.

    If one of them fails, raise a ValueError that says why; if one is lost, a ConnectionError.
    """
    size = settings.workers or 1
    if size == 1:
        yield Group()
        return
    with tempfile.TemporaryDirectory(prefix="symphony9-workers-") as folder:
        store = str(Path(folder) / "store")
        own, *others = share_memory(size, TIMEOUT.total_seconds())
        path = None if checkpoint is None else str(checkpoint)
        tasks = [
            Task(settings.model_dump_json(), rank, size, store, path, memory.descriptors() if memory else ())
            for rank, memory in enumerate(others, start=1)
        ]
        processes = [_start(task) for task in tasks]
        for memory in filter(None, others):
            memory.close()
        try:
            _wait_until_ready(processes)
            group = join_group(settings, 0, size, store, own)
            yield group
            group.close()
        except RuntimeError as error:
            raise _explain_loss(processes, error) from None
        finally:
            _end(processes)
            if own is not None:
                own.close()
            if distributed.is_initialized():
                distributed.destroy_process_group()


def _start(task: Task) -> subprocess.Popen[str]:
    """Start a worker with the same import path as this process."""
    variables = {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
    process = subprocess.Popen(
        [sys.executable, "-m", "training.workers"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env=variables,
        pass_fds=task.descriptors,
        start_new_session=True,  # Ctrl-C on a terminal is for worker 0
    )
    assert process.stdin is not None
    with suppress(BrokenPipeError):
        process.stdin.write(json.dumps(vars(task)) + "\n")
        process.stdin.flush()
    return process


def _wait_until_ready(processes: Sequence[subprocess.Popen[str]]) -> None:
    """Wait until all workers can join the group: those that joined before would wait for one that has ended."""
    for process in processes:
        assert process.stdout is not None
        answer = process.stdout.readline()
        if answer != READY:
            raise ValueError(json.loads(answer)) if answer else RuntimeError("a worker ended before it was ready")


def join_group(
    settings: Settings, rank: int, size: int, store: str, memory: SharedMemory | None = None
) -> DistributedGroup:
    """Join the group of all workers on this machine. They listen on the loopback interface only."""
    shared = distributed.FileStore(store, size)  # type: ignore[attr-defined]
    with _set_variable("GLOO_SOCKET_IFNAME", LOOPBACK.get(sys.platform, "")):
        distributed.init_process_group(
            choose_backend(settings), store=shared, rank=rank, world_size=size, timeout=JOIN_TIMEOUT
        )
    distributed_c10d._set_pg_timeout(TIMEOUT)
    return LocalGroup(memory) if memory else DistributedGroup()


@contextmanager
def _set_variable(name: str, value: str) -> Iterator[None]:
    """Set a variable of the environment for a while."""
    before = os.environ.get(name)
    os.environ[name] = value
    try:
        yield
    finally:
        if before is None:
            del os.environ[name]
        else:
            os.environ[name] = before


def _explain_loss(processes: Sequence[subprocess.Popen[str]], error: RuntimeError) -> Exception:
    """Return why the workers can't go on, as an exception."""
    told: dict[int, str] = {}  # by exit status; of workers that say the same the first
    ended: list[str] = []
    for rank, process in enumerate(processes, start=1):
        with suppress(subprocess.TimeoutExpired):
            status = process.wait(END_SECONDS if rank == 1 else 0.1)
            assert process.stdout is not None
            if status in (FAILED, LOST):
                told.setdefault(status, json.loads(process.stdout.readline()))
            elif status:
                ended.append(f"worker {rank} ({describe_status(status)})")
    if FAILED in told:
        return ValueError(told[FAILED])
    if ended:
        return ConnectionError(f"lost {', '.join(ended)}")
    return ConnectionError(f"the workers lost each other ({told.get(LOST) or _shorten(error)})")


def _shorten(error: RuntimeError) -> str:
    return str(error).splitlines()[0][:200]


def _end(processes: Sequence[subprocess.Popen[str]]) -> None:
    """End the workers: closing their input makes them end at once."""
    for process in processes:
        with suppress(BrokenPipeError):
            process.stdin.close()  # type: ignore[union-attr]
    for process in processes:
        try:
            process.wait(END_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        process.stdout.close()  # type: ignore[union-attr]


# What runs in a worker that was started here.


def _end_with_input(store: str) -> None:
    """End when worker 0 has ended."""
    while os.read(0, 4096):  # not through `sys.stdin`, whose lock the interpreter needs when it exits
        pass
    _remove_store(store)
    os._exit(1)


def _remove_store(store: str) -> None:
    """Remove the folder of the store, which worker 0 can't do if it was killed."""
    shutil.rmtree(Path(store).parent, ignore_errors=True)


def run_worker(task: Task, answers: int) -> None:
    """Train as one of the workers other than worker 0; say on the file `answers` when it is ready."""
    from training.checkpoints import read_checkpoint
    from training.trainer import Trainer

    settings = parse_settings_json(task.settings, "the settings")
    limit_threads(settings)
    os.write(answers, READY.encode())
    memory = SharedMemory.inherit(task.rank, task.size, *task.descriptors) if task.descriptors else None
    group = join_group(settings, task.rank, task.size, task.store, memory)
    trainer = Trainer(settings, group, None, choose_device(settings, task.rank))
    try:
        if task.checkpoint is None:
            trainer.start()
        else:
            trainer.restore(read_checkpoint(Path(task.checkpoint)))
        trainer.train()
        group.close()
    finally:
        trainer.close()


def main() -> int:
    """Run a worker; tell worker 0 on standard output why it failed, if it did."""
    answers = os.dup(1)
    os.dup2(2, 1)  # what an agent prints must not fill the pipe, which worker 0 reads at the end only
    task: dict[str, Any] = json.loads(sys.stdin.readline())
    threading.Thread(target=_end_with_input, args=(task["store"],), daemon=True).start()
    try:
        run_worker(Task(**task), answers)
    except ValueError as error:
        status, reason = FAILED, str(error)
    except RuntimeError as error:
        if not distributed.is_initialized():
            raise
        status, reason = LOST, f"worker {task['rank']}: {_shorten(error)}"
    else:
        return 0
    _remove_store(task["store"])
    with suppress(BrokenPipeError):
        os.write(answers, json.dumps(reason).encode() + b"\n")
    return status


if __name__ == "__main__":
    sys.exit(main())
