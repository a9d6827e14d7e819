"""Targets: the folders of tournaments and benchmarks that are continued, of benchmarks that are verified, and of
submissions to the leaderboard.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from fuzz.agent_targets import sandbox
from fuzz.mutations import fill_folder, mutate_files, pack_files, unpack_files
from fuzz.target import Harness, Target, must_work
from symphony9_env.arena.benchmark import Benchmark
from symphony9_env.arena.benchmark_verification import verify
from symphony9_env.arena.game_players import AgentRecipe
from symphony9_env.arena.report import make_report
from symphony9_env.arena.submissions import About, add_submission, read_submission
from symphony9_env.arena.tournament import Tournament
from symphony9_env.options import Variant


def _pack_folder(folder: Path, *names: str) -> bytes:
    return pack_files({name: (folder / name).read_bytes() for name in names})


@contextmanager
def _open_tournament(folder: Path) -> Iterator[Harness]:
    run = folder / "run"

    def make_tournament() -> Tournament:
        recipes = [AgentRecipe(name, seed=1) for name in ("random", "greedy")]
        return Tournament(recipes, Variant(num_players=2), str(run), seed=3, num_records=0)

    with sandbox():
        tournament = make_tournament()
        tournament.play(8)
        tournament.folder.close()
    examples = [_pack_folder(run, "games.csv", "tournament.json")]

    def read(data: bytes) -> None:
        fill_folder(run, data)
        tournament = make_tournament()
        try:
            with must_work():
                if tournament.num_played:
                    make_report({**tournament.results(), "command": ""}, tournament.games(), [])
                tournament.play(tournament.num_played + 1)
        finally:
            tournament.folder.close()

    with sandbox():
        yield Harness(examples, mutate_files, read)


@contextmanager
def _open_benchmark(folder: Path) -> Iterator[Harness]:
    run = folder / "run"

    def make_benchmark() -> Benchmark:
        return Benchmark("2p", "random", run, lite=True, timeout=1.0)

    with sandbox(), make_benchmark() as benchmark:
        benchmark.play()
    contents = unpack_files(_pack_folder(run, "games.jsonl", "benchmark.json"))
    lines = contents["games.jsonl"].splitlines(keepends=True)
    examples = [pack_files({**contents, "games.jsonl": b"".join(lines[:count])}) for count in (0, 3, len(lines))]

    def read(data: bytes) -> None:
        fill_folder(run, data)
        with make_benchmark() as benchmark, must_work():
            if len(benchmark.outcomes) >= len(lines) - 2:
                benchmark.run()

    with sandbox():
        yield Harness(examples, mutate_files, read)


@contextmanager
def _open_results(folder: Path) -> Iterator[Harness]:
    run = folder / "run"
    with sandbox(), Benchmark("2p", "random", run, lite=True, timeout=1.0) as benchmark:
        benchmark.run()
    examples = [_pack_folder(run, "results.json", "games.jsonl")]

    def read(data: bytes) -> None:
        fill_folder(run, data)
        verify(run)

    with sandbox():
        yield Harness(examples, mutate_files, read)


@contextmanager
def _open_submission(folder: Path) -> Iterator[Harness]:
    run, board = folder / "run", folder / "board"
    board.mkdir()
    about = About("Ann", "scripted", "an example", "2026-07-31", "https://example.org/a")
    with sandbox(), Benchmark("2p", "random", run, lite=True, timeout=1.0) as benchmark:
        benchmark.run()
        submission = board / add_submission(run, board, about)
    examples = [_pack_folder(submission, "results.json", "games.jsonl", "submission.json")]

    def read(data: bytes) -> None:
        fill_folder(submission, data)
        found = read_submission(submission)
        found.replay(found.draw_sample(2, seed=1))

    with sandbox():
        yield Harness(examples, mutate_files, read)


TARGETS: Final = (
    Target("tournament-folder", _open_tournament),
    Target("benchmark-folder", _open_benchmark),
    Target("benchmark-results", _open_results),
    Target("submission", _open_submission),
)
