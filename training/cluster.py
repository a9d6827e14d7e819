"""Training on the machines of a Ray cluster: Ray Train starts the workers, and starts them again when some are lost.

The workers run the same training loop as on one machine. The folder of the run is on the machine on which the command
was started: an actor there, the *keeper*, writes what worker 0 sends, and hands out the last checkpoint when workers
are started again. So the machines need no shared file system.
"""

# mypy: disable-error-code="untyped-decorator"

from __future__ import annotations

import math
import os
import socket
import struct
import tempfile
import threading
import time
from collections.abc import Mapping
from contextlib import AbstractContextManager, nullcontext, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import ray
import ray.train
from ray.train.torch import TorchConfig, TorchTrainer
from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

from symphony9_env.arena.cluster import connect
from training.checkpoints import Checkpoint, parse_checkpoint, unpack, use_previous
from training.config import Settings, parse_settings_json
from training.group import DistributedGroup, Group
from training.run import LocalRun, Outcome, RunFolder
from training.stopping import StopSignals
from training.trainer import Trainer
from training.workers import TIMEOUT, choose_backend, choose_device, limit_threads, uses_gpu

CODE: Final = [Path(__file__).parent.parent / name for name in ("symphony9_env", "training")]
SIOCGIFADDR: Final = 0x8915  # asks Linux for the address of an interface
POLL_SECONDS: Final = 0.5  # between two looks at what the workers have to show
RESIZE_SECONDS: Final = 60.0  # between two looks for machines that have joined the cluster
PATIENCE_SECONDS: Final = 20.0  # until a line says that there are no workers yet, and until the next such line


_Base: Any = TorchConfig().backend_cls


class InterfaceBackend(_Base):
    """Ray's set-up of PyTorch's process group, after each worker has chosen its network interface."""

    def on_start(self, worker_group: Any, backend_config: Any) -> None:
        worker_group.execute(choose_interface)
        super().on_start(worker_group, backend_config)


@dataclass
class InterfaceTorchConfig(TorchConfig):
    """Ray's configuration of PyTorch, with the interfaces that Ray itself uses."""

    @property
    def backend_cls(self) -> type[InterfaceBackend]:
        return InterfaceBackend


def choose_interface() -> None:
    """Let gloo use the interface that has Ray's address of this machine.

    By default it uses the address of the host name, which on many machines is that of the loopback interface.
    """
    import fcntl  # not on Windows

    own = ray.util.get_node_ip_address()
    for _, name in socket.if_nameindex():
        with suppress(OSError), socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as query:
            answer = fcntl.ioctl(query.fileno(), SIOCGIFADDR, struct.pack("256s", name.encode()[:15]))
            if socket.inet_ntoa(answer[20:24]) == own:
                os.environ.setdefault("GLOO_SOCKET_IFNAME", name)


@ray.remote(num_cpus=0)
class Keeper:
    """Keeps the folder of a run, and passes messages between worker 0 and the user's process."""

    def __init__(self, settings: str, folder: str) -> None:
        self._folder = RunFolder(folder)
        self._run = LocalRun(parse_settings_json(settings, "the settings"), self._folder, StopSignals())
        self._messages: list[tuple[str, tuple[Any, ...]]] = []
        self._should_stop = False
        self._problem: str | None = None
        self._outcome: tuple[Any, ...] | None = None

    def call(self, name: str, *arguments: Any) -> str | None:
        """Write, remove or log; return what went wrong."""
        try:
            getattr(self._run, name)(*arguments)
        except (ValueError, OSError) as error:
            return str(error)
        return None

    def send(self, name: str, *arguments: Any) -> None:
        """Keep a call for the display in the user's process."""
        self._messages.append((name, arguments))

    def take_messages(self) -> list[tuple[str, tuple[Any, ...]]]:
        """Return the calls that were sent since the last time."""
        messages, self._messages = self._messages, []
        return messages

    def read_checkpoint(self) -> bytes | None:
        """Return the last checkpoint, or the one before if that is damaged; None if there is none."""
        for path in (self._folder.checkpoint, self._folder.previous):
            if path.exists():
                data = path.read_bytes()
                try:
                    unpack(data)
                except ValueError:
                    continue
                return data
        return None

    def stop(self) -> None:
        """Note that the user wants to stop."""
        self._should_stop = True

    def should_stop(self) -> bool:
        """Return whether the user wants to stop."""
        return self._should_stop

    def end(self, problem: str | None, *outcome: Any) -> None:
        """Note how the run has ended: what went wrong, or the evaluations, the steps saved, and whether it stopped."""
        self._problem, self._outcome = problem, outcome or None

    def close(self) -> None:
        """Close the log, which is written here."""
        self._run.close()

    def result(self) -> tuple[str | None, tuple[Any, ...] | None]:
        """Return what `end` was told."""
        return self._problem, self._outcome


class RemoteRun:
    """The run as worker 0 sees it, on whatever machine it is."""

    def __init__(self, keeper: Any) -> None:
        self._keeper = keeper

    def _call(self, name: str, *arguments: Any) -> None:
        problem = ray.get(self._keeper.call.remote(name, *arguments))
        if problem is not None:
            raise ValueError(problem)

    def write(self, name: str, contents: bytes, previous: str | None = None) -> None:
        self._call("write", name, contents, previous)

    def remove(self, name: str) -> None:
        self._call("remove", name)

    def log(self, values: dict[str, Any], step: int) -> None:
        self._call("log", values, step)

    def begin(self, total: int, done: int, unit: str, label: str = "") -> None:
        self._keeper.send.remote("begin", total, done, unit, label)

    def show(self, done: int, notes: Mapping[str, str]) -> None:
        self._keeper.send.remote("show", done, dict(notes))

    def announce(self, line: str) -> None:
        self._keeper.send.remote("announce", line)

    def should_stop(self) -> bool:
        return bool(ray.get(self._keeper.should_stop.remote()))

    def interruptible(self) -> AbstractContextManager[None]:
        return nullcontext()  # the user's process is elsewhere; worker 0 stops after the evaluation


def run_worker(task: dict[str, Any]) -> None:
    """Train as one of the workers: from the last checkpoint if there is one, else from the beginning."""
    keeper = task["keeper"]
    problem, _ = ray.get(keeper.result.remote())
    if problem is not None:  # the workers were started again after an error that another try can't mend
        return
    try:
        _train(parse_settings_json(task["settings"], "the settings"), keeper)
    except ValueError as error:
        ray.get(keeper.end.remote(str(error)))
        raise


def _train(settings: Settings, keeper: Any) -> None:
    """Train with the workers that there are; the settings keep the number that is wanted, for when machines join."""
    limit_threads(settings)
    group = Group() if ray.train.get_context().get_world_size() == 1 else DistributedGroup()
    run = RemoteRun(keeper) if group.rank == 0 else None
    trainer = Trainer(settings, group, run, choose_device(settings, group.rank))
    try:
        data = ray.get(keeper.read_checkpoint.remote())
        if data is not None:
            trainer.restore(parse_checkpoint(data, Path("checkpoint.pt")))
        if run is not None:
            run.announce(f"training with {group.size} of {settings.workers} workers from step {trainer.num_timesteps}")
        if data is None:
            trainer.start()
        trainer.train()
    finally:
        trainer.close()
    if run is not None:
        ray.get(keeper.end.remote(None, trainer.rows, trainer.saved_steps, trainer.stopped))


def train_on_cluster(
    address: str,
    settings: Settings,
    folder: RunFolder,
    checkpoint: Checkpoint | None,
    problem: str,
    signals: StopSignals,
) -> Outcome:
    """Train as `training.train.train` does, with `settings.workers` workers on a cluster.

    Fewer of them train while machines are missing. A ValueError says why the training can't go on.
    """
    with connect(address, CODE), tempfile.TemporaryDirectory(prefix="symphony9-ray-") as storage:
        if problem:
            use_previous(folder.checkpoint, folder.previous, problem)
        workers = settings.workers or int(ray.cluster_resources().get("GPU" if uses_gpu(settings) else "CPU", 1))
        settings = settings.model_copy(update={"workers": workers})
        here = NodeAffinitySchedulingStrategy(ray.get_runtime_context().get_node_id(), soft=False)
        keeper = Keeper.options(scheduling_strategy=here).remote(settings.model_dump_json(), str(folder.path))  # type: ignore[attr-defined]
        ray.get(keeper.should_stop.remote())  # it is there
        trainer = make_trainer(settings, keeper, storage)
        with signals:
            try:
                failure = _watch(trainer, keeper, LocalRun(settings, folder, signals))
            finally:
                ray.get(keeper.close.remote())
        failed, outcome = ray.get(keeper.result.remote())
    if failed is not None or outcome is None:
        reason = failed or str(failure).strip().splitlines()[-1]
        raise ValueError(f"{folder.path}: {reason}; {folder.describe_kept()}")
    return Outcome(settings, *outcome)


def make_trainer(settings: Settings, keeper: Any, storage: str) -> TorchTrainer:
    """Return Ray's trainer: with as many workers as there are cores for, up to the number in the settings."""
    workers = settings.workers or 1
    return TorchTrainer(
        run_worker,
        train_loop_config={"settings": settings.model_dump_json(), "keeper": keeper},
        torch_config=InterfaceTorchConfig(backend=choose_backend(settings), timeout_s=int(TIMEOUT.total_seconds())),
        scaling_config=ray.train.ScalingConfig(
            num_workers=(1, workers),
            use_gpu=uses_gpu(settings),
            resources_per_worker={"CPU": settings.num_threads} | ({"GPU": 1} if uses_gpu(settings) else {}),
            elastic_resize_monitor_interval_s=RESIZE_SECONDS,
        ),
        run_config=ray.train.RunConfig(
            name="symphony9", storage_path=storage, failure_config=ray.train.FailureConfig(max_failures=-1)
        ),
    )


def _watch(trainer: TorchTrainer, keeper: Any, local: LocalRun) -> Exception | None:
    """Run the trainer in a thread; show its progress, and pass the wish to stop on. Return why it failed, if it did."""
    failures: list[Exception] = []

    def fit() -> None:
        try:
            trainer.fit()
        except Exception as error:
            failures.append(error)

    thread = threading.Thread(target=fit, daemon=True)
    thread.start()
    notice_time: float = time.monotonic() + PATIENCE_SECONDS
    try:
        while thread.is_alive():
            thread.join(POLL_SECONDS)
            if local.should_stop():
                keeper.stop.remote()
            for name, arguments in ray.get(keeper.take_messages.remote()):
                getattr(local, name)(*arguments)
                notice_time = math.inf
            if time.monotonic() > notice_time:
                local.announce("waiting for free cores; Ray keeps those of a run that was killed for three minutes")
                notice_time = time.monotonic() + PATIENCE_SECONDS
    finally:
        local.close()
    return failures[0] if failures else None
