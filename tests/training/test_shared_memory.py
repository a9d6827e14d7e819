"""Workers on one machine average arrays in memory that they share."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
import pytest

from training.shared_memory import SharedMemory, share_memory


def run_workers(size: int, work: Any) -> list[Any]:
    """Run a function of each worker's memory and rank on a thread of its own; return what they return."""
    results: list[Any] = [None] * size
    memories = [memory for memory in share_memory(size, 10.0) if memory is not None]

    def run_one(memory: SharedMemory, rank: int) -> None:
        try:
            results[rank] = work(memory, rank)
        except RuntimeError as error:
            results[rank] = error
        finally:
            memory.close()

    threads = [threading.Thread(target=run_one, args=(memory, rank)) for rank, memory in enumerate(memories)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return results


@pytest.mark.parametrize("size", [2, 3, 5])
def test_all_workers_get_the_same_mean_of_arrays_of_changing_sizes(size: int) -> None:
    """Slots that grow while another worker still reads from the smaller ones would damage what it reads."""
    lengths = [2, 1, 3_000, 0, 7, 200_000, 5, 300_000] * 5
    values = np.random.default_rng(0).normal(size=(size, len(lengths), max(lengths))).astype(np.float32)

    def average(memory: SharedMemory, rank: int) -> list[np.ndarray]:
        own = [values[rank, number, :length].copy() for number, length in enumerate(lengths)]
        for array in own:
            memory.average(array)
        return own

    first, *others = run_workers(size, average)
    for number, length in enumerate(lengths):
        expected = values[:, number, :length].mean(axis=0, dtype=np.float64)
        np.testing.assert_allclose(first[number], expected, atol=1e-6)
        assert all(other[number].tobytes() == first[number].tobytes() for other in others)


def test_other_types_and_shapes_are_averaged_in_place() -> None:
    def average(memory: SharedMemory, rank: int) -> np.ndarray:
        whole = np.full((3, 4), 0.1 + rank)
        memory.average(whole)
        one = np.array(float(rank))
        memory.average(one)
        return np.append(whole, one)

    for found in run_workers(2, average):
        np.testing.assert_allclose(found, [0.6] * 12 + [0.5], rtol=1e-15)


@pytest.mark.parametrize("lost", [0, 1, 2])
def test_a_lost_worker_is_an_error_for_all_others(lost: int) -> None:
    def average(memory: SharedMemory, rank: int) -> None:
        memory.average(np.zeros(10))
        if rank != lost:
            memory.average(np.zeros(10))

    results = run_workers(3, average)
    assert results[lost] is None
    assert all("a worker was lost" in str(error) for rank, error in enumerate(results) if rank != lost)
