"""The loop that plays scheduled games with any number of workers, and returns their results in the order of the games.

Workers get *chunks* of consecutive games. Results that are ready before their turn wait in memory, so that files of
games are always a beginning of the schedule. The games of a worker that is lost are played again by another one. A game
depends on nothing but its schedule and its agents, so neither the number of workers nor a loss changes a result.
"""

from __future__ import annotations

import heapq
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, NotRequired, Self, TypedDict

from symphony9_env.agents import AgentFailed
from symphony9_env.arena.game_players import GamePlayer

CHUNK_SECONDS: Final = 2.0  # how long a chunk should take: what a kill may lose, and how often the bar moves
MAX_CHUNK: Final = 4096
MAX_LOSSES: Final = 3  # of workers in a row with the same games, until the run stops
MAX_CHUNKS_AHEAD: Final = 4  # for each worker: chunks that may be finished before their turn


class WorkersLost(ValueError):  # noqa: N818
    """The workers that were given some games were lost again and again."""


class Answer(TypedDict):
    """What a worker answers to a chunk: results and the time that they took, or why there are none."""

    results: NotRequired[list[Any]]
    seconds: NotRequired[float]
    failure: NotRequired[list[str]]  # the agent that gave no legal action, and the reason
    error: NotRequired[str]  # what a ValueError or OSError says
    crash: NotRequired[str]  # the traceback of any other exception


@dataclass(frozen=True)
class Event:
    """What has happened to a worker: it is ready for its first games, has answered, or was lost."""

    worker: int
    answer: Answer | None = None
    loss: str | None = None  # how it was lost


class WorkerPool(ABC):
    """Workers by number, of which `idle` lists those that wait for games."""

    def __init__(self, size: int) -> None:
        self.size = size
        self.idle: list[int] = []

    @abstractmethod
    def start(self, player: GamePlayer, num_games: int) -> None:
        """Let the workers play for this player from now on; start as many as are missing for so many games."""

    @abstractmethod
    def send(self, worker: int, games: Sequence[Any]) -> None:
        """Give games to a worker."""

    @abstractmethod
    def wait(self) -> Event:
        """Wait until something happens to a worker; if it can play now, `idle` contains it."""

    @abstractmethod
    def replace(self, worker: int) -> None:
        """Start another worker in place of one that was lost."""

    @abstractmethod
    def close(self) -> None:
        """End all workers."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()


class ChunkSizes:
    """Chooses how many games a chunk has, so that it takes about `CHUNK_SECONDS`."""

    def __init__(self, smallest: int = 1, largest: int = 1) -> None:
        self._smallest, self._largest = smallest, largest
        self._size = smallest

    def choose(self, num_left: int, num_workers: int) -> int:
        """Return the size of the next chunk; towards the end chunks get smaller, so that workers end together."""
        share = -(-num_left // (2 * num_workers)) if num_workers > 1 else num_left
        return min(num_left, max(self._smallest, min(self._size, share)))

    def learn(self, num_games: int, seconds: float) -> None:
        """Adapt the size to the time that a chunk took."""
        fitting = min(2 * num_games, self._largest, int(num_games * CHUNK_SECONDS / max(seconds, 1e-9)))
        self._size = max(self._smallest, fitting)


@dataclass(order=True)
class _Chunk:
    first: int  # the number of its first game
    games: list[Any] = field(compare=False)
    num_losses: int = field(default=0, compare=False)


class GameLoop:
    """Plays games with the workers of a pool.

    `plan` returns a game by its number, as the player takes it, and `announce` is told when a worker is lost.
    """

    def __init__(
        self,
        pool: WorkerPool,
        player: GamePlayer,
        plan: Callable[[int], Any],
        sizes: ChunkSizes,
        announce: Callable[[str], None],
    ) -> None:
        self._pool, self._player, self._plan, self._sizes, self._announce = pool, player, plan, sizes, announce
        self._playing: dict[int, _Chunk] = {}  # by worker
        self._lost: list[_Chunk] = []  # a heap: the first games are played again first
        self._answers: dict[int, Answer] = {}  # by the number of the first game; their turn has not come
        self._num_idle_losses = 0  # of workers without games, in a row
        self._has_failed = False

    def play(self, numbers: range) -> Iterator[list[Any]]:
        """Yield the results of games in the order of their numbers, as soon as those of all games before are there.

        Raise `AgentFailed` or a ValueError where a game can't be played, and `WorkersLost` if workers are lost again
        and again; the results of all games before were yielded then.
        """
        self._planned, turn = numbers.start, numbers.start
        if turn < numbers.stop:
            self._pool.start(self._player, len(numbers))
        while turn < numbers.stop:
            self._assign(numbers.stop)
            self._handle(self._pool.wait())
            while turn in self._answers:
                results = read_answer(self._answers.pop(turn))
                turn += len(results)
                yield results

    def _assign(self, stop: int) -> None:
        """Give chunks to all idle workers, as far as there are any."""
        while self._pool.idle and (chunk := self._take_chunk(stop)) is not None:
            worker = self._pool.idle.pop(0)
            self._playing[worker] = chunk
            self._pool.send(worker, chunk.games)

    def _take_chunk(self, stop: int) -> _Chunk | None:
        if self._lost:
            return heapq.heappop(self._lost)
        is_far_ahead = len(self._playing) + len(self._answers) >= MAX_CHUNKS_AHEAD * self._pool.size
        if self._has_failed or is_far_ahead or self._planned == stop:
            return None
        first = self._planned
        self._planned += self._sizes.choose(stop - first, self._pool.size)
        return _Chunk(first, [self._plan(number) for number in range(first, self._planned)])

    def _handle(self, event: Event) -> None:
        if event.loss is not None:
            self._lose(event.worker, event.loss)
            return
        self._num_idle_losses = 0
        if event.answer is not None:
            chunk = self._playing.pop(event.worker)
            self._answers[chunk.first] = event.answer
            if "results" in event.answer:
                self._sizes.learn(len(chunk.games), event.answer["seconds"])
            else:
                self._has_failed = True  # games after it need not be begun

    def _lose(self, worker: int, reason: str) -> None:
        chunk = self._playing.pop(worker, None)
        if chunk is None:
            self._num_idle_losses += 1
            num_losses, what = self._num_idle_losses, "could play"
        else:
            chunk.num_losses += 1
            heapq.heappush(self._lost, chunk)
            num_losses, what = chunk.num_losses, f"had finished game {chunk.first}"
        if num_losses >= MAX_LOSSES:
            raise WorkersLost(f"{num_losses} workers in a row were lost before they {what} (the last: {reason})")
        self._announce(f"a worker was lost ({reason}); its games are played again")
        self._pool.replace(worker)


def read_answer(answer: Answer) -> list[Any]:
    """Return the results of a chunk, or raise the exception that there was instead."""
    if "failure" in answer:
        agent, reason = answer["failure"]
        raise AgentFailed(agent, reason, row=0)
    if "error" in answer:
        raise ValueError(answer["error"])
    if "crash" in answer:
        raise RuntimeError(f"a worker failed:\n{answer['crash']}")
    return answer["results"]
