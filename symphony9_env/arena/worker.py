"""A worker: plays the games that it is given, in a process that `ProcessPool` starts, or on a machine of a cluster.

The process reads a line of JSON for each chunk, a description of the run and the games, and answers with a line. What
tells a deal comes by its standard input only: other programs can read arguments and variables of a process. When its
input is closed, because the program that started it has ended or was killed, it ends its agents and itself.
"""

from __future__ import annotations

import json
import os
import queue
import signal
import threading
import time
import traceback
from collections.abc import Sequence
from contextlib import suppress
from typing import IO, Any, Final

from symphony9_env.agents import AgentFailed
from symphony9_env.arena.game_loop import Answer
from symphony9_env.arena.game_players import Description, GamePlayer, make_player

READY: Final = "ready\n"  # what a worker writes before it is given games


class Worker:
    """Plays games for one run after the other; it keeps the agents until the games of another run come."""

    def __init__(self) -> None:
        self._description: Description | None = None
        self._player: GamePlayer | None = None

    def answer(self, description: Description, games: Sequence[Any]) -> Answer:
        """Play games of the run that is described, and return the results or why there are none."""
        begun = time.perf_counter()
        try:
            results = self._make_player(description).play(games)
        except AgentFailed as failure:
            return {"failure": [failure.agent, failure.reason]}
        except (ValueError, OSError) as error:
            return {"error": str(error)}
        except Exception:
            return {"crash": traceback.format_exc()}
        return {"results": results, "seconds": time.perf_counter() - begun}

    def _make_player(self, description: Description) -> GamePlayer:
        if self._player is None or description != self._description:
            self.close()
            self._player, self._description = make_player(description), description
        return self._player

    def close(self) -> None:
        """Release what the agents hold."""
        if self._player is not None:
            self._player.close()
            self._player = None


def _read_lines(file: IO[str], worker: Worker, lines: queue.SimpleQueue[str]) -> None:
    """Pass lines of the input on; at its end, which may come in the middle of a game, end the process."""
    for line in file:
        lines.put(line)
    _end(worker)


def _end(worker: Worker) -> None:
    """End the agents and this process: not through the end of the interpreter, which would wait for other threads."""
    with suppress(Exception):
        worker.close()
    os._exit(0)


def _take_standard_files() -> tuple[IO[str], IO[str]]:
    """Return the input and the output; agents in this process get an empty input, and print to standard error."""
    files = os.fdopen(os.dup(0), encoding="utf-8"), os.fdopen(os.dup(1), "w", encoding="utf-8")
    with open(os.devnull) as nothing:
        os.dup2(nothing.fileno(), 0)
    os.dup2(2, 1)
    return files


def main() -> None:
    """Run a worker until its standard input is closed."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the program that started it
    games, answers = _take_standard_files()
    worker = Worker()
    lines: queue.SimpleQueue[str] = queue.SimpleQueue()
    threading.Thread(target=_read_lines, args=(games, worker, lines), daemon=True).start()
    try:
        answers.write(READY)
        while True:
            answers.flush()
            answers.write(json.dumps(worker.answer(*json.loads(lines.get()))) + "\n")
    except BrokenPipeError:  # nobody reads the answers any more
        _end(worker)


if __name__ == "__main__":
    main()
