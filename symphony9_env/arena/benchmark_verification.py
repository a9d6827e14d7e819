"""Read a finished evaluation of the benchmark, and verify it by playing its games again."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from symphony9_env.agents import Agent
from symphony9_env.arena import benchmark
from symphony9_env.arena.benchmark_games import GameOutcome, read_outcomes, verify_game
from symphony9_env.arena.console import show_progress
from symphony9_env.arena.run_folder import MAX_GAMES_BYTES, read_games, read_settings
from symphony9_env.options import EnvOptions
from symphony9_env.suggestions import show


@dataclass(frozen=True)
class FinishedEvaluation:
    """A finished evaluation that was read: its results, which are those of its games, and the games."""

    results: dict[str, Any]
    outcomes: list[GameOutcome]

    @property
    def options(self) -> EnvOptions:
        """The options of its task."""
        return benchmark.TASKS[self.results["task"]]

    def verify_game(self, number: int, agent: Agent | None = None) -> None:
        """Play a game again, with the recorded moves or with the agent; raise a ValueError if anything differs."""
        verify_game(self.outcomes[number], self.options, self.results["salt"], agent)


def read_evaluation(folder: Path, max_bytes: int = MAX_GAMES_BYTES) -> FinishedEvaluation:
    """Return a finished evaluation; raise a ValueError if it is not complete, or its row is not that of its games.

    No game is played again. A file of games of more than `max_bytes` is refused.
    """
    file = folder / "results.json"
    results = read_settings(file, "benchmark")
    task, salt = results.get("task"), results.setdefault("salt")
    if results.get("protocol") != benchmark.PROTOCOL:
        raise ValueError(f"{file}: protocol is {show(results.get('protocol'))}; expected {benchmark.PROTOCOL!r}")
    if not isinstance(task, str) or task not in benchmark.TASKS:
        raise ValueError(f"{file}: task is {show(task)}; allowed: {', '.join(benchmark.TASKS)}")
    if salt is not None and not (isinstance(salt, str) and benchmark.SALT.fullmatch(salt)):
        raise ValueError(f"{file}: salt is {show(salt)}; {benchmark.SALT_RULE}")
    games = folder / "games.jsonl"
    num_games = results.get("games")
    if type(num_games) is not int or num_games not in (benchmark.LITE_GAMES, benchmark.GAMES):
        raise ValueError(f"{file}: games is {show(num_games)}; expected {benchmark.LITE_GAMES} or {benchmark.GAMES}")
    opponents = benchmark.list_opponents(num_games)
    outcomes = read_outcomes(read_games(games, max_bytes), games, opponents)
    if len(outcomes) != len(opponents):
        raise ValueError(f"{games}: has {len(outcomes)} games; {file} is of {num_games} against each opponent")
    num_players = benchmark.TASKS[task].num_players
    expected = {"opponents": benchmark.fingerprint_opponents(num_players), **benchmark.summarise(outcomes, num_players)}
    for name, value in expected.items():
        if results.get(name) != value:
            raise ValueError(f"{file}: {name} is {show(results.get(name))}; expected {show(value)}")
    return FinishedEvaluation({**results, **expected}, outcomes)


def verify(folder: Path) -> str:
    """Play all games of a finished evaluation again; return what agrees, or raise a ValueError that says what doesn't.

    The agent's moves are those recorded. The opponents' moves, the deals, the results and the row are computed anew.
    """
    evaluation = read_evaluation(folder)
    num_games = len(evaluation.outcomes)
    with show_progress(num_games, 0) as advance:
        for number in range(num_games):
            evaluation.verify_game(number)
            advance(1)
    has_salt = evaluation.results["salt"] is not None
    deals = "the published salt" if has_salt else "the keys in games.jsonl (it was continued after a stop)"
    return f"verified: {num_games} games played again from {deals}, and the row, agree with {folder / 'results.json'}"
