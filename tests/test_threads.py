"""Threads and forks: a forked process gets threads of its own, and a batch refuses two threads at once."""

from __future__ import annotations

import multiprocessing
import sys
import threading

import numpy as np
import pytest

from symphony9_env import BatchedGames, agents
from symphony9_env.threads import ExclusiveUse, ThreadPool

needs_fork = pytest.mark.skipif(sys.platform in ("win32", "darwin"), reason="processes are not forked here")
DEADLINE = 60.0


def test_results_come_in_the_order_of_the_calls() -> None:
    assert ThreadPool(3).run(pow, [(2, n) for n in range(20)]) == [2**n for n in range(20)]


@needs_fork
def test_a_batch_with_threads_can_be_stepped_in_a_forked_process() -> None:
    games = BatchedGames(64, num_players=4, seed=0, num_threads=2)
    games.step(games.sample_actions())

    def play() -> None:
        for _ in range(10):
            games.step(games.sample_actions())

    process = multiprocessing.get_context("fork").Process(target=play)
    process.start()
    process.join(DEADLINE)
    ended = process.exitcode
    process.kill()
    assert ended == 0


@needs_fork
def test_search_with_threads_works_in_a_forked_process() -> None:
    games = BatchedGames(8, num_players=2, seed=0)
    agent = agents.make("search:5", seed=0, num_threads=2)
    rows = np.arange(8)
    expected = agent.decide(games, rows)

    def decide() -> None:
        assert np.array_equal(agent.decide(games, rows), expected)

    process = multiprocessing.get_context("fork").Process(target=decide)
    process.start()
    process.join(DEADLINE)
    ended = process.exitcode
    process.kill()
    assert ended == 0


def test_a_second_thread_is_refused_while_the_first_is_inside() -> None:
    exclusive = ExclusiveUse("this batch")
    errors = []

    def enter() -> None:
        try:
            with exclusive:
                pass
        except RuntimeError as error:
            errors.append(str(error))

    with exclusive:
        other = threading.Thread(target=enter)
        other.start()
        other.join()
    assert errors == ["this batch is in use by another thread; give each thread one of its own"]
    enter()
    assert len(errors) == 1


def test_a_batch_used_by_two_threads_raises_an_error_and_stays_sound() -> None:
    games = BatchedGames(20_000, num_players=4, seed=0)
    errors = []

    def play() -> None:
        for _ in range(40):
            try:
                games.step(games.sample_actions())
            except RuntimeError as error:
                errors.append(error)
            except ValueError:
                pass  # the other thread has moved between drawing the actions and playing them

    threads = [threading.Thread(target=play) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors
    twin = games.copy()
    twin.load(games.save())  # plays every game again by the rules
    assert twin.states.tobytes() == games.states.tobytes()
