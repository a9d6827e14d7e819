"""Local Ray clusters, for tests."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ray.cluster_utils import Cluster

SECONDS = 120.0  # to wait for anything


@contextmanager
def make_cluster(num_cpus: int = 1) -> Iterator[Cluster]:
    from ray.cluster_utils import Cluster  # pytest imports this module also where Ray is not installed

    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": num_cpus, "include_dashboard": False})
    try:
        yield cluster
    finally:
        cluster.shutdown()


def wait_for(condition: Callable[[], Any], running: subprocess.Popen[str]) -> None:
    end = time.monotonic() + SECONDS
    while not condition():
        assert running.poll() is None, "the program has ended"
        assert time.monotonic() < end
        time.sleep(0.1)
