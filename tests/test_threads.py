"""Threads and forks: a forked process gets threads of its own, and a batch refuses two threads at once."""

from __future__ import annotations

import subprocess
import sys
import threading

import pytest

from symphony9_env import BatchedGames
from symphony9_env.threads import ExclusiveUse, ThreadPool

needs_fork = pytest.mark.skipif(sys.platform in ("win32", "darwin"), reason="processes are not forked here")


def test_results_come_in_the_order_of_the_calls() -> None:
    assert ThreadPool(3).run(pow, [(2, n) for n in range(20)]) == [2**n for n in range(20)]


# A program that uses threads, forks, and uses them again in the child. It runs in an interpreter of its own, because a
# child of the test run would inherit the locks of every library that some test has imported.
FORK = """
import multiprocessing
import numpy as np
from symphony9_env import BatchedGames, agents
games = BatchedGames(64, num_players=2, seed=0, num_threads=2)
agent = agents.make("search:5", seed=0, num_threads=2)
rows = np.arange(8)
def play():
    for _ in range(3):
        games.step(games.sample_actions())
    agent.decide(games, rows)
play()
child = multiprocessing.get_context("fork").Process(target=play)
child.start()
child.join(60)
print(child.exitcode)
child.kill()
"""


@needs_fork
def test_batches_and_search_with_threads_work_in_a_forked_process() -> None:
    done = subprocess.run([sys.executable, "-c", FORK], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "0"


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
