"""Measure training on two machines, which are network namespaces with a given latency and bandwidth between them.

    sudo .venv/bin/python -m speed.cluster
    sudo .venv/bin/python -m speed.cluster --networks 0.1/10,1/1 --updates 20

For each network this measures how long the workers take to average a gradient of the default network's size, by gloo's
all-reduce and as training does it, and the decisions per second of training with Ray: one worker, and one on each
machine. A machine has one core. For comparison: one and two workers of one machine without Ray, which average in shared
memory. Needs Linux, root, iproute2 and `ray[train]`. The link is a process that itself takes processor time
(`speed/slow_link.py`).
"""

from __future__ import annotations

import argparse
import csv
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from typing import Final, NamedTuple

import numpy as np
import torch
from torch import distributed

from symphony9_env.arena.console import format_table, positive_int
from symphony9_env.arguments import Parser, run
from training.config import parse_settings
from training.group import DistributedGroup, Group
from training.ppo import SelfPlayPPO
from training.shared_memory import share_memory

NAMES: Final = ("symphony9-0", "symphony9-1")
DEVICES: Final = ("s9-0", "s9-1")
MTU: Final = "9000"
ADDRESSES: Final = ("10.99.0.1", "10.99.0.2")  # in the namespaces only
PORT: Final = 6379
REPEATS: Final = 100  # of an average
WARM_UP: Final = 2  # evaluations of a run before which its speed does not count


class Network(NamedTuple):
    """A connection between two machines."""

    delay: float  # milliseconds in each direction
    rate: float  # Gbit/s

    def __str__(self) -> str:
        return f"{self.delay:g} ms, {self.rate:g} Gbit/s"


def parse_networks(text: str) -> list[Network]:
    """Parse MILLISECONDS/GIGABITS,… for argparse."""
    try:
        return [Network(*map(float, part.split("/"))) for part in text.split(",")]
    except (TypeError, ValueError):
        allowed = "MILLISECONDS/GBIT_PER_SECOND, separated by commas"
        raise argparse.ArgumentTypeError(f"{text!r}; allowed: {allowed}") from None


def call(*command: str) -> None:
    """Run a command of the system."""
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)


@contextmanager
def two_machines(network: Network) -> Iterator[None]:
    """Create two network namespaces that are connected with each other and with nothing else."""
    remove_machines()
    limits = (str(network.delay / 1000), str(network.rate * 1e9))
    command = [sys.executable, "-m", "speed.slow_link", *DEVICES, *limits]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as link:
        try:
            assert link.stdout is not None
            link.stdout.readline()  # the devices are there
            for name, device, address in zip(NAMES, DEVICES, ADDRESSES, strict=True):
                call("ip", "netns", "add", name)
                call("ip", "link", "set", device, "netns", name)
                inside = ("ip", "netns", "exec", name, "ip")
                call(*inside, "address", "add", f"{address}/24", "dev", device)
                call(*inside, "link", "set", device, "mtu", MTU, "up")
                call(*inside, "link", "set", "lo", "up")
            yield
        finally:
            link.kill()
            remove_machines()


def remove_machines() -> None:
    """Remove the namespaces, if they are there."""
    for name in NAMES:
        subprocess.run(["ip", "netns", "delete", name], check=False, stderr=subprocess.DEVNULL)


def on_machine(number: int, *command: str) -> list[str]:
    """Return a command that runs on one of the machines, on its own core."""
    return ["ip", "netns", "exec", NAMES[number], "taskset", "--cpu-list", str(number), *command]


# Averages of gradients.


def count_weights() -> int:
    """Return how many numbers the gradient of the default network has."""
    model = SelfPlayPPO(parse_settings({}, "speed.cluster"), Group())
    return sum(values.numel() for values in model.policy.parameters())


def average_here(rank: int, size: int) -> None:
    """Average a gradient with the other machine again and again; print the median times of both ways in seconds."""
    os.environ["GLOO_SOCKET_IFNAME"] = DEVICES[rank]
    torch.set_num_threads(1)
    address = f"tcp://{ADDRESSES[0]}:{PORT + 1}"
    distributed.init_process_group("gloo", address, timedelta(minutes=1), rank=rank, world_size=2)
    group, values = DistributedGroup(), torch.zeros(size)
    times = time_repeats(lambda: distributed.all_reduce(values)), time_repeats(lambda: group.average(values))
    group.close()
    print(json.dumps(times))


def time_repeats(function: Callable[[], object]) -> float:
    """Return the median time of a call in seconds."""
    seconds = []
    for _ in range(REPEATS):
        start = time.perf_counter()
        function()
        seconds.append(time.perf_counter() - start)
    return statistics.median(seconds)


def measure_average(size: int) -> tuple[float, float]:
    """Return the seconds that two machines take to average so many numbers: by gloo's all-reduce, and in training."""
    commands = [[sys.executable, "-m", "speed.cluster", "--average", f"{rank}:{size}"] for rank in range(2)]
    workers = [
        subprocess.Popen(on_machine(rank, *command), stdout=subprocess.PIPE, text=True)
        for rank, command in enumerate(commands)
    ]
    outputs = [worker.communicate()[0] for worker in workers]
    by_gloo, in_training = json.loads(outputs[0].splitlines()[-1])
    return by_gloo, in_training


def measure_shared_average(size: int) -> float:
    """Return the seconds that two workers on one machine take to average so many numbers in shared memory."""
    first, second = share_memory(2, timeout=60)
    assert first is not None
    assert second is not None
    values = np.zeros(size, np.float32)
    if os.fork() == 0:
        time_repeats(lambda: second.average(values))
        os._exit(0)
    seconds = time_repeats(lambda: first.average(values))
    os.wait()
    return seconds


# Training.


def write_config(folder: Path, updates: int) -> Path:
    """Write the settings of a run with that many updates, and return the file."""
    ppo = parse_settings({}, "speed.cluster").ppo
    decisions = ppo.n_envs * ppo.n_steps
    given = {
        "total_steps": updates * decisions,
        "save_every": 1e9,
        "behaviour_cloning": {"agent": None},
        "opponents": {"snapshot_every": decisions, "max_snapshots": 4},
        "evaluation": {"every": 2 * decisions, "games": 1, "opponents": ["random"]},
    }
    path = folder / "speed.yaml"
    path.write_text(json.dumps(given))
    return path


def read_rate(folder: Path) -> float:
    """Return the decisions per second between two evaluations of a run."""
    with (folder / "progress.csv").open(encoding="utf-8") as file:
        rows = [(float(row["steps"]), float(row["seconds"])) for row in csv.DictReader(file)]
    (first, start), (last, end) = rows[WARM_UP], rows[-1]
    return (last - first) / (end - start)


def train(command: Sequence[str], config: Path, workers: int) -> float:
    """Train, and return the decisions per second; `command` is Python on some machine."""
    out = config.parent / f"run-{time.monotonic_ns()}"
    arguments = ["-m", "training.train", "--config", str(config), "--out", str(out), f"workers={workers}"]
    address = [] if command == [sys.executable] else ["--address", f"{ADDRESSES[0]}:{PORT}"]
    subprocess.run([*command, *arguments, *address], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return read_rate(out)


@contextmanager
def ray_cluster(num_machines: int) -> Iterator[None]:
    """Start Ray on the machines."""
    os.environ["RAY_AUTH_MODE"] = "disabled"  # nothing else can reach the namespaces
    ray = str(Path(sys.executable).parent / "ray")
    common = ("--num-cpus=1", "--disable-usage-stats")
    head = (ray, "start", "--head", f"--port={PORT}", "--include-dashboard=false", *common)
    other = (ray, "start", f"--address={ADDRESSES[0]}:{PORT}", *common)
    try:
        for number, command in enumerate((head, other)[:num_machines]):
            here = f"--node-ip-address={ADDRESSES[number]}"
            subprocess.run(on_machine(number, *command, here), check=True, stdout=subprocess.DEVNULL)
        yield
    finally:
        subprocess.run([ray, "stop", "--force"], check=False, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def measure(networks: Sequence[Network], updates: int) -> str:
    """Measure everything and return tables."""
    size = count_weights()
    python = [sys.executable]
    with tempfile.TemporaryDirectory() as name:
        config = write_config(Path(name), updates)
        alone = {workers: train(python, config, workers) for workers in (1, 2)}
        shared = f"{1000 * measure_shared_average(size):.2f}"
        rows = [("one machine, 1 worker", "", "", "", f"{alone[1]:,.0f}")]
        rows.append(("one machine, 2 workers", "shared memory", "", shared, f"{alone[2]:,.0f}"))
        for network in networks:
            with two_machines(network):
                by_gloo, in_training = (f"{1000 * seconds:.2f}" for seconds in measure_average(size))
                for machines in (1, 2):
                    with ray_cluster(machines):
                        rate = train(on_machine(0, *python), config, machines)
                    label = f"Ray, {machines} machines, a worker on each"
                    rows.append((label, str(network), by_gloo, in_training, f"{rate:,.0f}"))
                    print(f"{label}, {network}: {rate:,.0f}/s", file=sys.stderr, flush=True)
    title = f"gradient of {size:,} numbers, {4 * size / 1e6:.2f} MB\n"
    return title + format_table(("", "network", "gloo's all-reduce, ms", "average, ms", "decisions/s"), rows)


def main() -> None:
    """Run the command."""
    parser = Parser("python -m speed.cluster", __doc__)
    default = "0.1/5,0.5/1,5/1"
    about = f"milliseconds in each direction and Gbit/s of each (default: {default})"
    parser.add_argument("--networks", type=parse_networks, default=parse_networks(default), help=about)
    parser.add_argument("--updates", type=positive_int, default=20, help="updates of a run (default: 20)")
    parser.add_argument("--average", metavar="RANK:SIZE", help="average gradients as one of two machines")
    chosen = parser.parse_args()
    if chosen.average:
        rank, _, size = chosen.average.partition(":")
        average_here(int(rank), int(size))
        return
    if os.name == "nt" or os.geteuid() != 0:
        raise ValueError("needs Linux and root, to create network namespaces")
    print(measure(chosen.networks, chosen.updates))


if __name__ == "__main__":
    sys.exit(run("cluster", main))
