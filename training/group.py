"""The workers that train one policy together: each plays its own games, and they average their gradients.

Every worker runs the same code. Worker 0 also shows the progress, evaluates, and writes the files of the run.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import distributed

from training.shared_memory import SharedMemory


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
        if values.device.type == "cpu":
            self._add_up(values)
        else:
            distributed.all_reduce(values)
        values /= self.size

    def _add_up(self, values: torch.Tensor) -> None:
        """Replace a tensor by its sum over all workers, by recursive doubling.

        Pairs of workers exchange their sums, at twice the distance each time. Gradients here are so small that the
        number of messages counts: gloo's own all-reduce sends them round a ring of all workers. Both workers of a pair
        add the same two numbers, so that all get the same bits. Workers beyond the largest power of two hand theirs to
        another worker first, and get the sum in the end.
        """
        received = torch.empty_like(values)
        doubled = 1 << (self.size.bit_length() - 1)
        if self.rank >= doubled:
            distributed.send(values, self.rank - doubled)
            distributed.recv(values, self.rank - doubled)
            return
        is_helper = self.rank + doubled < self.size
        if is_helper:
            distributed.recv(received, self.rank + doubled)
            values += received
        distance = 1
        while distance < doubled:
            sending: Any = distributed.isend(values, self.rank ^ distance)
            distributed.recv(received, self.rank ^ distance)
            sending.wait()
            values += received
            distance *= 2
        if is_helper:
            distributed.send(values, self.rank + doubled)

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


class LocalGroup(DistributedGroup):
    """One of several workers on the same machine, which average tensors in memory that they share."""

    def __init__(self, memory: SharedMemory) -> None:
        super().__init__()
        self._memory = memory

    def average(self, values: torch.Tensor) -> None:
        if values.device.type == "cpu":
            self._memory.average(values.numpy())
        else:
            super().average(values)

    def close(self) -> None:
        super().close()
        self._memory.close()
