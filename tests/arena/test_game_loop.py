"""The loop that plays scheduled games: their order, losses of workers, and failures."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

import pytest

from symphony9_env.agents import AgentFailed
from symphony9_env.arena import game_loop
from symphony9_env.arena.game_loop import Answer, ChunkSizes, Event, GameLoop, WorkerPool, WorkersLost
from symphony9_env.arena.game_players import AgentRecipe, GamePlayer, TournamentPlayer
from symphony9_env.options import Variant


class FakePool(WorkerPool):
    """Workers that finish in random order, and are lost now and then; a game is its number, a result its square."""

    def __init__(self, size: int, seed: int, loss_rate: float = 0.0, answers: dict[int, Answer] | None = None) -> None:
        super().__init__(size)
        self.random = random.Random(seed)
        self.loss_rate = loss_rate
        self.answers = answers or {}  # instead of results, by game
        self.events: list[Event] = []
        self.sent: list[list[int]] = []
        self.num_lost = 0

    def start(self, player: GamePlayer, num_games: int) -> None:
        self.events = [Event(worker) for worker in range(self.size)]

    def send(self, worker: int, games: Sequence[Any]) -> None:
        self.sent.append(list(games))
        special = [self.answers[game] for game in games if game in self.answers]
        answer: Answer = special[0] if special else {"results": [game * game for game in games], "seconds": 1.0}
        is_lost = self.random.random() < self.loss_rate
        self.events.append(Event(worker, loss="killed") if is_lost else Event(worker, answer))

    def wait(self) -> Event:
        event = self.events.pop(self.random.randrange(len(self.events)))
        self.num_lost += event.loss is not None
        if event.loss is None:
            self.idle.append(event.worker)
        return event

    def replace(self, worker: int) -> None:
        self.events.append(Event(worker))

    def close(self) -> None:
        self.events = []


@pytest.fixture
def player() -> GamePlayer:
    return TournamentPlayer([AgentRecipe("random", seed=1)], Variant(num_players=2), num_records=0)


def play(pool: FakePool, player: GamePlayer, numbers: range, sizes: ChunkSizes | None = None) -> list[int]:
    loop = GameLoop(pool, player, lambda number: number, sizes or ChunkSizes(1, 4), print)
    return [result for results in loop.play(numbers) for result in results]


def play_until_it_fails(pool: FakePool, player: GamePlayer, numbers: range, found: list[int]) -> None:
    for results in GameLoop(pool, player, lambda number: number, ChunkSizes(), print).play(numbers):
        found += results


@pytest.mark.parametrize("size", [1, 2, 7])
def test_results_come_in_the_order_of_the_games_whatever_is_lost(
    player: GamePlayer, size: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(game_loop, "MAX_LOSSES", 10**9)
    num_lost = 0
    for seed in range(30):
        pool = FakePool(size, seed, loss_rate=0.3)
        assert play(pool, player, range(5, 60)) == [number * number for number in range(5, 60)]
        num_lost += pool.num_lost
    assert num_lost > 100


def test_without_losses_no_game_is_played_twice(player: GamePlayer) -> None:
    pool = FakePool(3, seed=1)
    play(pool, player, range(50))
    assert sorted(game for games in pool.sent for game in games) == list(range(50))


def test_a_loss_now_and_then_does_not_stop_a_run_but_three_in_a_row_do(player: GamePlayer) -> None:
    class Unlucky(FakePool):
        def send(self, worker: int, games: Sequence[Any]) -> None:
            self.loss_rate = float(20 in games)
            super().send(worker, games)

    pool = Unlucky(2, seed=0)
    found: list[int] = []
    reason = r"^3 workers in a row were lost before they had finished game 20 \(the last: killed\)$"
    with pytest.raises(WorkersLost, match=reason):
        play_until_it_fails(pool, player, range(50), found)
    assert found == [number * number for number in range(20)]
    assert pool.num_lost == 3


def test_workers_that_never_start_stop_the_run(player: GamePlayer) -> None:
    class Stillborn(FakePool):
        def start(self, player: GamePlayer, num_games: int) -> None:
            self.events = [Event(worker, loss="exit status 1") for worker in range(self.size)]

        def replace(self, worker: int) -> None:
            self.events.append(Event(worker, loss="exit status 1"))

    with pytest.raises(WorkersLost, match=r"3 workers in a row were lost before they could play \(.*exit status 1\)"):
        play(Stillborn(2, seed=0), player, range(5))


@pytest.mark.parametrize(
    ("answer", "error", "text"),
    [
        ({"failure": ["me", "died"]}, AgentFailed, "agent 'me' died"),
        ({"error": "no such file"}, ValueError, "no such file"),
        ({"crash": "Traceback: …"}, RuntimeError, "a worker failed:\nTraceback: …"),
    ],
)
def test_a_failure_comes_after_the_games_before_it_and_nothing_after_it_is_begun(
    player: GamePlayer, answer: Answer, error: type[Exception], text: str
) -> None:
    for seed in range(20):
        pool = FakePool(3, seed, answers={10: answer})
        found: list[int] = []
        with pytest.raises(error) as raised:
            play_until_it_fails(pool, player, range(1000), found)
        assert str(raised.value) == text
        assert found == [number * number for number in range(10)]
        assert len(pool.sent) <= 11 + 3 * game_loop.MAX_CHUNKS_AHEAD


def test_workers_do_not_get_far_ahead_of_a_slow_game(player: GamePlayer) -> None:
    class Slow(FakePool):
        """The first game ends when nothing else can happen any more."""

        def wait(self) -> Event:
            others = [event for event in self.events if event.answer is None or event.answer["results"] != [0]]
            self.events = [event for event in self.events if event not in others] + others
            event = self.events.pop()
            self.idle.append(event.worker)
            if event.answer is not None and event.answer["results"] == [0]:
                assert len(self.sent) == 2 * game_loop.MAX_CHUNKS_AHEAD
            return event

    assert play(Slow(2, seed=0), player, range(100), ChunkSizes()) == [number * number for number in range(100)]


def test_chunks_take_about_two_seconds_and_leave_some_for_every_worker() -> None:
    sizes = ChunkSizes(2, 100)
    assert sizes.choose(1000, 1) == 2
    sizes.learn(2, 0.1)
    assert sizes.choose(1000, 1) == 4  # not more than twice as many
    sizes.learn(50, 2.0)
    assert sizes.choose(1000, 4) == 50
    assert sizes.choose(120, 4) == 15
    assert sizes.choose(120, 1) == 50
    assert sizes.choose(3, 4) == 2
    assert sizes.choose(1, 4) == 1
    sizes.learn(80, 0.001)
    assert sizes.choose(1000, 1) == 100
    sizes.learn(100, 1000)
    assert sizes.choose(1000, 1) == 2
