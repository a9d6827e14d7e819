"""The workers that train one policy together: each plays its own games, and they average their gradients.

Every worker runs the same code. Worker 0 also shows the progress, evaluates, and writes the files of the run.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import distributed


class Group:
    """A single worker, for which there is nothing to exchange. `DistributedGroup` connects several of them."""

    rank = 0
    size = 1

    def share(self, total: int) -> int:
        """Return this worker's share of a number of games or decisions: the same for all, rounded up."""
        return -(-total // self.size)

    def average(self, values: torch.Tensor) -> None:
        """Replace a tensor by its mean over all workers."""

    def least(self, value: int) -> int:
        """Return the least of the numbers that the workers pass."""
        return value

    def broadcast(self, value: Any) -> Any:
        """Return what worker 0 passes."""
        return value

    def gather(self, value: Any) -> list[Any]:
        """Return what the workers pass, in their order; an empty list on all but worker 0."""
        return [value]

    def close(self) -> None:
        """Leave the group."""


class DistributedGroup(Group):
    """One of several workers, after `torch.distributed.init_process_group`."""

    def __init__(self) -> None:
        self.rank, self.size = distributed.get_rank(), distributed.get_world_size()

    def average(self, values: torch.Tensor) -> None:
        distributed.all_reduce(values)
        values /= self.size

    def least(self, value: int) -> int:
        values = torch.tensor(value)
        distributed.all_reduce(values, distributed.ReduceOp.MIN)
        return int(values)

    def broadcast(self, value: Any) -> Any:
        values = [value]
        distributed.broadcast_object_list(values, src=0)
        return values[0]

    def gather(self, value: Any) -> list[Any]:
        values: list[Any] | None = [None] * self.size if self.rank == 0 else None
        distributed.gather_object(value, values, dst=0)
        return values or []

    def close(self) -> None:
        distributed.destroy_process_group()
