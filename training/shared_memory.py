"""Memory in which the workers on one machine average their gradients.

Gradients are so small that the latency of messages counts, even on the loopback interface: `python -m speed.cluster`
compares both.
"""

from __future__ import annotations

import mmap
import os
import socket
import tempfile
from collections.abc import Sequence
from typing import Any, Final, Self

import numpy as np
from numpy.typing import NDArray

SLOT_UNIT: Final = 4096  # bytes: the size of a slot is a multiple of it


class SharedMemory:
    """One worker's access to the memory, which has a slot for each worker and one for their mean.

    By sockets the workers wait for each other: worker 0 has one to every other worker, each of which has one to worker
    0. All workers call the same methods in the same order.
    """

    def __init__(self, rank: int, size: int, file: int, sockets: list[socket.socket]) -> None:
        self._rank, self._size = rank, size
        self._file: int | None = file
        self._sockets = sockets
        self._slots: NDArray[np.uint8] = np.zeros((size + 1, 0), np.uint8)

    @classmethod
    def inherit(cls, rank: int, size: int, file: int, end: int) -> Self:
        """Return the access of a process that has inherited the file and the end of a socket."""
        return cls(rank, size, file, [socket.socket(fileno=end)])

    def descriptors(self) -> tuple[int, ...]:
        """Return the file descriptors that a process must inherit to be this worker."""
        assert self._file is not None
        return (self._file, *(each.fileno() for each in self._sockets))

    def average(self, values: NDArray[Any]) -> None:
        """Replace an array by its mean over all workers.

        Each worker averages one part of the array, so that every number is computed once and all get the same bits.
        """
        flat = values.reshape(-1)
        slots = self._reserve(flat.nbytes)[:, : flat.nbytes].view(flat.dtype)
        slots[self._rank] = flat
        self._wait_for_all()
        part = slice(self._rank * len(flat) // self._size, (self._rank + 1) * len(flat) // self._size)
        mean = slots[self._size]
        np.add.reduce(slots[: self._size, part], axis=0, out=mean[part])
        mean[part] /= self._size
        self._wait_for_all()
        flat[:] = mean

    def _reserve(self, num_bytes: int) -> NDArray[np.uint8]:
        """Return the slots, made larger if they are smaller than this."""
        if self._slots.shape[1] < num_bytes:
            assert self._file is not None
            self._wait_for_all()  # others may still read the mean from the smaller slots
            width = -(-num_bytes // SLOT_UNIT) * SLOT_UNIT
            os.ftruncate(self._file, (self._size + 1) * width)
            memory = mmap.mmap(self._file, (self._size + 1) * width)
            self._slots = np.frombuffer(memory, np.uint8).reshape(self._size + 1, width)
        return self._slots

    def _wait_for_all(self) -> None:
        """Wait until all workers have come here; raise a RuntimeError, as gloo does, if one of them is lost."""
        try:
            if self._rank > 0:
                self._sockets[0].sendall(b"+")
            for each in self._sockets:
                if not each.recv(1):
                    raise ConnectionError("its connection is closed")
            for each in self._sockets if self._rank == 0 else []:
                each.sendall(b"+")
        except OSError as error:
            raise RuntimeError(f"a worker was lost ({error})") from None

    def close(self) -> None:
        """Close the file and the sockets; the memory is freed when all workers have done so."""
        if self._file is not None:
            os.close(self._file)
            self._file = None
        for each in self._sockets:
            each.close()


def share_memory(size: int, timeout: float) -> Sequence[SharedMemory | None]:
    """Return the access of each of several workers to new memory, or None where processes can't inherit it.

    Worker 0 does not wait longer than the timeout for another worker, nor do the others for worker 0, which then ends.
    """
    if os.name != "posix":
        return [None] * size
    pairs = [socket.socketpair() for _ in range(size - 1)]
    for own, _ in pairs:
        own.settimeout(timeout)
    file = _make_file()
    others = [SharedMemory(rank, size, os.dup(file), [end]) for rank, (_, end) in enumerate(pairs, start=1)]
    return [SharedMemory(0, size, file, [own for own, _ in pairs]), *others]


def _make_file() -> int:
    """Return the descriptor of a new file that exists in memory only, if the system has that."""
    if hasattr(os, "memfd_create"):
        return os.memfd_create("symphony9-gradients")
    with tempfile.TemporaryFile() as file:
        return os.dup(file.fileno())
