"""`symphony9 gate`: verdicts as exit status, resuming, and what is refused."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any

import jsonschema
import numpy as np
import pytest

from symphony9_env import schemas
from symphony9_env.arena import console, gate, tournament
from symphony9_env.arena.matches import PAIRED, Schedule
from symphony9_env.arena.results import GameData
from symphony9_env.arguments import GATE_FAILED, run
from symphony9_env.cli import main as symphony9

FAST = ["--workers", "1", "--h1", "20"]


def run_gate(*arguments: str) -> int:
    return run("gate", lambda: gate.main(list(arguments)), GATE_FAILED)


@pytest.mark.parametrize("num_players", [2, 3, 4])
def test_the_exit_status_is_the_verdict(num_players: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    given = ["--num-players", str(num_players), *FAST]
    assert run_gate("planner", "random", *given, "--out", str(tmp_path / "a")) == 0
    assert capsys.readouterr().out.splitlines()[1].startswith("better: planner against random (H1 is accepted)")
    assert run_gate("random", "planner", *given, "--out", str(tmp_path / "b")) == 1
    assert "\nworse: random against planner" in capsys.readouterr().out
    few = ["--max-games", "4", "--out", str(tmp_path / "c")]
    assert run_gate("planner", "random", *given, *few) == 2
    assert "\nundecided: planner against random" in capsys.readouterr().out


def test_an_undecided_test_is_continued_with_more_games(tmp_path: Path) -> None:
    given = ["planner", "greedy", "--num-players", "2", "--out", str(tmp_path / "g")]
    assert run_gate(*given, "--max-games", "10") == 2
    begun = (tmp_path / "g" / "games.csv").read_text()
    assert run_gate(*given) == 0
    assert (tmp_path / "g" / "games.csv").read_text().startswith(begun)
    assert run_gate("planner", "greedy", "--num-players", "2", "--out", str(tmp_path / "whole")) == 0
    results = [json.loads((tmp_path / name / "results.json").read_text())["gate"] for name in ("g", "whole")]
    assert results[0] == results[1]


def test_a_finished_test_plays_no_more_games(tmp_path: Path) -> None:
    given = ["planner", "random", "--num-players", "2", *FAST, "--out", str(tmp_path / "g")]
    assert run_gate(*given) == 0
    games = (tmp_path / "g" / "games.csv").read_text()
    assert run_gate(*given) == 0
    assert (tmp_path / "g" / "games.csv").read_text() == games


def test_ctrl_c_keeps_games_and_the_same_command_continues(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    real = tournament.Tournament.save
    chunks: list[int] = []

    def twice(self: tournament.Tournament, first: int, results: list[Any]) -> None:
        if len(chunks) == 2:
            raise KeyboardInterrupt
        chunks.append(first)
        real(self, first, results)

    given = ["planner", "random", "--num-players", "3", *FAST, "--out", str(tmp_path / "g")]
    monkeypatch.setattr(tournament.Tournament, "save", twice)
    assert run_gate(*given) == 130
    captured = capsys.readouterr()
    assert "games are kept, and the same command continues" in captured.err
    assert "undecided" in captured.out
    monkeypatch.undo()
    assert run_gate(*given) == 0


def test_the_state_of_the_test_is_shown_while_it_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(console, "LINE_SECONDS", 0.0)
    run_gate("planner", "random", "--num-players", "2", *FAST, "--out", str(tmp_path / "g"))
    assert re.search(r"games after \d+ s, LLR ", capsys.readouterr().err)


@pytest.mark.parametrize(
    "changed", [["--alpha", "0.01"], ["--h1", "10"], ["--h0", "-1"], ["--seed", "3"], ["--beta", "0.2"]]
)
def test_what_was_fixed_in_advance_cannot_be_changed(
    changed: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    given = ["planner", "random", "--num-players", "2", *FAST, "--max-games", "4", "--out", str(tmp_path / "g")]
    assert run_gate(*given) == 2
    capsys.readouterr()
    assert run_gate(*given, *changed) == GATE_FAILED
    assert f"holds another tournament ({changed[0][2:]}" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["nobody", "random"], "nobody"),
        (["random", "random"], "agent 'random' is named twice"),
        (["planner", "random", "--h0", "7"], "allowed: h0 below h1"),
        (["planner", "random", "--h1", "nan"], "--h1 nan; allowed: a number"),
        (["planner", "random", "--alpha", "0.7"], "alpha=0.7; allowed: more than 0 and less than 0.5"),
        (["planner", "random", "--out", "/dev/null/x"], "can't be written to"),
    ],
)
def test_errors_have_a_status_that_is_no_verdict(
    arguments: list[str], said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert symphony9(["gate", *arguments]) == GATE_FAILED
    error = capsys.readouterr().err
    assert said in error
    assert error.count("\n") == 1


@pytest.mark.parametrize("arguments", [[], ["planner"], ["planner", "random", "--max-games", "0"], ["a", "b", "--x"]])
def test_wrong_use_has_a_status_that_is_no_verdict(arguments: list[str]) -> None:
    with pytest.raises(SystemExit) as stopped:
        gate.main(arguments)
    assert stopped.value.code == GATE_FAILED


def test_an_unexpected_error_is_no_verdict(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(self: gate.Gate, max_games: int) -> None:
        raise RuntimeError("broken")

    monkeypatch.setattr(gate.Gate, "play", fail)
    assert run_gate("planner", "random", "--out", str(tmp_path / "g")) == GATE_FAILED


def test_output_that_nobody_reads_does_not_change_the_verdict(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    given = ["random", "planner", "--num-players", "2", *FAST, "--out", str(tmp_path / "g")]
    with open(tmp_path / "out", "w") as file, monkeypatch.context() as patched:
        patched.setattr(sys, "stdout", file)
        patched.setattr(file, "flush", lambda: (_ for _ in ()).throw(BrokenPipeError), raising=False)
        assert symphony9(["gate", *given]) == 1


def test_the_default_folder_is_named_after_the_agents(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert symphony9(["gate", "planner", "x=random", "--num-players", "2", *FAST]) == 0
    assert (tmp_path / "runs" / "gate-planner-x-2p" / "results.json").exists()


def test_results_fit_the_schema(tmp_path: Path) -> None:
    run_gate("planner", "random", "--num-players", "3", *FAST, "--out", str(tmp_path / "g"))
    results = json.loads((tmp_path / "g" / "results.json").read_text())
    jsonschema.validate(results, schemas.load("symphony9-results/1"))
    assert results["gate"]["verdict"] == "better"
    assert results["gate"]["games"] == 6 * results["gate"]["deals"]
    report = (tmp_path / "g" / "report.html").read_text()
    assert f"Sequential test of planner against random: better, after {results['gate']['games']:,} games" in report


@pytest.mark.parametrize("num_players", [2, 3, 4])
def test_every_deal_is_played_by_each_agent_alone_in_every_seat(num_players: int) -> None:
    schedule = Schedule(2, num_players, 7, PAIRED)
    assert schedule.cycle_size == (2 if num_players == 2 else 2 * num_players)
    for cycle in range(3):
        games = [schedule.game(cycle * schedule.cycle_size + number) for number in range(schedule.cycle_size)]
        assert len({(game.deal, game.seed) for game in games}) == 1
        alone = {
            (agent, game.agents.index(agent)) for game in games for agent in (0, 1) if game.agents.count(agent) == 1
        }
        assert alone == {(agent, seat) for agent in (0, 1) for seat in range(num_players)}
    deals = [schedule.game(cycle * schedule.cycle_size).seed for cycle in range(50)]
    assert len(set(deals)) == 50


def make_games(wins: list[list[float]], seats: list[str], deals: list[int]) -> GameData:
    rows = [
        {"agent": {"n": "new", "o": "old"}[agent], "rank": 1, "deal": deal, "win_share": share}
        for shares, agents, deal in zip(wins, seats, deals, strict=True)
        for share, agent in zip(shares, agents, strict=True)
    ]
    return GameData(rows, ["new", "old"], len(seats[0]))


def test_margins_compare_the_agents_that_are_alone() -> None:
    seats = ["noo", "ono", "oon", "onn", "non", "nno", "noo"]
    first, second, third, tied = [1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0], [0.5, 0.5, 0.0]
    games = make_games([first, tied, first, second, third, third, first], seats, [0, 0, 0, 0, 0, 0, 1])
    np.testing.assert_allclose(gate.compute_margins(games, "new", 6), [(1.5 / 3 - 1 / 3) / 2])


def test_margins_with_two_players_are_wins_above_par() -> None:
    games = make_games([[1.0, 0.0], [0.5, 0.5], [0.0, 1.0]], ["no", "on", "no"], [0, 0, 1])
    np.testing.assert_allclose(gate.compute_margins(games, "new", 2), [0.25])
