"""The threads in which agents choose: how many there are, and how tables share them."""

from __future__ import annotations

import asyncio
import threading
import time

import pytest

from symphony9_env.web.workers import Workers


def test_no_more_choices_are_made_at_once_than_there_are_threads() -> None:
    lock, running, most = threading.Lock(), [0], [0]

    def choose() -> int:
        with lock:
            running[0] += 1
            most[0] = max(most[0], running[0])
        time.sleep(0.002)
        with lock:
            running[0] -= 1
        return 7

    async def run() -> list[int]:
        workers = Workers(2)
        return await asyncio.gather(*(workers.run(str(table), choose) for table in range(20)))

    assert asyncio.run(run()) == [7] * 20
    assert most[0] == 2


def test_a_table_with_short_choices_does_not_wait_behind_tables_with_long_ones() -> None:
    order: list[str] = []

    def choose(table: str, seconds: float) -> int:
        time.sleep(seconds)
        order.append(table)
        return 0

    async def play(workers: Workers, table: str, seconds: float, num_choices: int) -> None:
        for _ in range(num_choices):
            await workers.run(table, lambda: choose(table, seconds))

    async def run() -> None:
        workers = Workers(1)
        slow = [asyncio.create_task(play(workers, f"slow {number}", 0.02, 100)) for number in range(10)]
        await asyncio.sleep(0.05)
        await play(workers, "quick", 0, 10)
        for task in slow:
            task.cancel()
        await asyncio.gather(*slow, return_exceptions=True)

    asyncio.run(run())
    # First come, first served puts ten long choices between two of the quick table's, 90 in all; half of that is
    # the limit, because a busy machine delays the quick table's next request.
    first, last = order.index("quick"), len(order) - 1 - order[::-1].index("quick")
    assert last - first + 1 - 10 < 45


def test_the_error_of_a_choice_reaches_whoever_waits_for_it_and_the_thread_goes_on() -> None:
    async def run() -> int:
        workers = Workers(1)
        with pytest.raises(ZeroDivisionError):
            await workers.run("a", lambda: 1 // 0)
        return await workers.run("a", lambda: 5)

    assert asyncio.run(run()) == 5


def test_only_so_many_tables_are_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("symphony9_env.web.workers.MAX_DURATIONS", 3)

    async def run() -> Workers:
        workers = Workers(1)
        for table in "abcadeaa":
            await workers.run(table, lambda: 0)
        return workers

    workers = asyncio.run(run())
    asyncio.run(workers.run("f", lambda: 0))  # waits until the job before it is noted
    assert set(workers._duration) - {"f"} <= {"d", "e", "a"}
    assert len(workers._duration) == 3


def test_a_choice_that_nobody_waits_for_is_not_made() -> None:
    made: list[str] = []
    hold = threading.Event()

    def note(table: str) -> int:
        made.append(table)
        return 0

    async def run() -> None:
        workers = Workers(1)
        first = asyncio.create_task(workers.run("a", lambda: int(hold.wait(20))))
        cancelled = asyncio.create_task(workers.run("b", lambda: note("b")))
        await asyncio.sleep(0)
        cancelled.cancel()
        await asyncio.sleep(0)
        hold.set()
        await first
        await workers.run("c", lambda: note("c"))

    asyncio.run(run())
    assert made == ["c"]
