"""The tournament command, as a person would use and misuse it."""

from __future__ import annotations

import csv
import json
import sys
from pathlib import Path
from typing import Any

import pytest

from symphony9_env import records
from symphony9_env.agents import Card, save_policy
from symphony9_env.arena import tournament
from symphony9_env.arena.games_csv import COLUMNS
from symphony9_env.arguments import run, split_names
from symphony9_env.options import Variant
from tests.agents.test_external import LOWEST, write_script
from tests.agents.test_protocol import random_weights
from tests.arena.tournaments import SMALL, play


def test_a_tournament_leaves_its_results(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    results = play(tmp_path / "t", "--records", "3")
    shown = capsys.readouterr().out
    assert results["games"] == 12
    for name in ("random", "greedy"):
        one = results["agents"][name]
        assert one["games"] == 12
        low, high = one["win_rate_95"]
        assert low <= one["win_rate"] <= high
        low, high = one["rating_95"]
        assert low <= one["rating"] <= high
        assert one["mean_score"] > 0
        assert name in shown
    assert sum(one["win_rate"] for one in results["agents"].values()) == pytest.approx(1)
    assert str(tmp_path / "t" / "report.html") in shown
    with (tmp_path / "t" / "games.csv").open() as file:
        lines = list(csv.DictReader(file))
    assert tuple(lines[0]) == COLUMNS
    assert len(lines) == 24
    kept = sorted((tmp_path / "t" / "records").iterdir())
    assert len(kept) == 3
    *_, last = records.replay(records.load(kept[0]))
    assert last.record()["result"]["scores"] == [float(line["score"]) for line in lines[:2]]


def test_only_files_that_were_written_are_listed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    play(tmp_path / "a", "--records", "0")
    assert capsys.readouterr().out.endswith("beside it: results.json, games.csv\n")
    play(tmp_path / "b", "--records", "1")
    assert capsys.readouterr().out.endswith("beside it: results.json, games.csv, records/, watch.html\n")


def test_the_same_command_gives_the_same_results_and_plays_nothing_twice(tmp_path: Path) -> None:
    first = play(tmp_path / "a")
    games = (tmp_path / "a" / "games.csv").read_bytes()
    again = play(tmp_path / "a")
    assert (tmp_path / "a" / "games.csv").read_bytes() == games
    other = play(tmp_path / "b")
    for results in (first, again, other):
        results.pop("command")
    assert first == again == other


def test_it_goes_on_where_it_stopped(tmp_path: Path) -> None:
    """Half of the games, and a line that a kill cut in two."""
    whole = play(tmp_path / "whole", "--games", "20")
    play(tmp_path / "stopped", "--games", "8")
    file = tmp_path / "stopped" / "games.csv"
    lines = file.read_text().splitlines(keepends=True)
    for cut in (lines[-1][:30], lines[-1], ""):  # in a line, in a game, between games
        file.write_text("".join(lines[:-2]) + lines[-2] * (cut != "") + cut[:30])
        results = play(tmp_path / "stopped", "--games", "20")
        for one in (whole, results):
            one.pop("command", None)
        assert results == whole
        assert file.read_bytes() == (tmp_path / "whole" / "games.csv").read_bytes()


def test_ctrl_c_keeps_what_was_played(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    save = tournament.Tournament.save

    def save_and_stop(self: tournament.Tournament, first: int, results: list[Any]) -> None:
        save(self, first, results)
        raise KeyboardInterrupt

    monkeypatch.setattr(tournament.Tournament, "save", save_and_stop)
    status = run("tournament", lambda: tournament.main([*SMALL, "--out", str(tmp_path / "t")]))
    assert status == 130
    kept = json.loads((tmp_path / "t" / "results.json").read_text())["games"]
    assert 0 < kept < 12
    monkeypatch.undo()
    assert play(tmp_path / "t")["games"] == 12


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--agents", "random,planer"], "unknown agent 'planer'; did you mean 'planner'?"),
        (["--agents", "random,random"], "'random' is named twice"),
        (["--agents", "search,search:800"], "'search:800' is named twice"),
        (["--agents", "a=greedy,a=planner"], "'a' is named twice; label one, as in other=planner"),
        (["--agents", "random,"], "unknown agent ''"),
        (["--agents", ""], "--agents or --agent is needed: random"),
        (["--timeout", "0"], "timeout=0"),
        (["--agents", "search:0,random"], "agent 'search:0'; allowed"),
        (["--num-players", "5"], "num_players=5; allowed: 2, 3, 4"),
        (["--seed", "-1"], "seed=-1"),
        (["--tracks", "modern"], "tracks='modern'"),
        (["--components", "nowhere.toml"], "nowhere.toml"),
        (["--agents", "random,missing.safetensors"], "policy missing.safetensors: no such file"),
        (["--agents", "random", "--lineups", "one-against-rest"], "needs two agents"),
        (["--out", "/proc/nothing"], "--out /proc/nothing: can't be written to"),
        (["--out", "/dev/null/x"], "--out /dev/null/x: can't be written to"),
    ],
)
def test_bad_input_is_one_clear_line(
    arguments: list[str], said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    given = [*SMALL, "--out", str(tmp_path / "t"), *arguments]
    assert run("tournament", lambda: tournament.main(given)) == 2
    error = capsys.readouterr().err.strip().splitlines()
    assert len(error) == 1
    assert said in error[0]
    assert not (tmp_path / "t" / "games.csv").exists()


def test_a_policy_for_other_player_counts_is_refused_before_anything_is_played(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    card = Card(num_players=(4,), hidden=(4,))
    save_policy(tmp_path / "p.safetensors", card, random_weights(card))
    given = [*SMALL, "--agents", f"random,{tmp_path / 'p.safetensors'}", "--out", str(tmp_path / "t")]
    assert run("tournament", lambda: tournament.main(given)) == 2
    assert "is for 4 players; this game has 2" in capsys.readouterr().err
    assert not (tmp_path / "t").exists()


def test_who_has_not_played_when_it_is_stopped_is_left_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    save = tournament.Tournament.save

    def save_once(self: tournament.Tournament, first: int, results: list[Any]) -> None:
        if first > 0:
            raise KeyboardInterrupt
        save(self, first, results)

    monkeypatch.setattr(tournament.Tournament, "save", save_once)
    given = ["--agents", "random,greedy,planner", "--num-players", "2", "--games", "12", "--out", str(tmp_path / "t")]
    assert run("tournament", lambda: tournament.main(given)) == 130
    results = json.loads((tmp_path / "t" / "results.json").read_text())
    assert set(results["agents"]) == {"random", "greedy"}
    monkeypatch.undo()
    tournament.main(given)
    assert len(json.loads((tmp_path / "t" / "results.json").read_text())["agents"]) == 3


def test_names_with_commas_and_repeated_options(tmp_path: Path) -> None:
    script = tmp_path / "agent.py"
    script.write_text("import sys\nassert sys.argv[1] == '1,2'\n" + LOWEST)
    own = f"stdio:{sys.executable} {script} 1,2"
    assert split_names(f'random, "x={own}",greedy') == ["random", f"x={own}", "greedy"]
    given = ["--num-players", "2", "--games", "4", "--records", "0", "--out"]
    tournament.main(["--agents", f'random,"x={own}"', *given, str(tmp_path / "a")])
    tournament.main(["--agent", "random", "--agent", f"x={own}", *given, str(tmp_path / "b")])
    assert (tmp_path / "a" / "games.csv").read_text() == (tmp_path / "b" / "games.csv").read_text()


@pytest.mark.parametrize("text", ["greedy\nrandom", "greedy\rrandom", "a" * 200_000], ids=["line", "return", "long"])
def test_what_is_no_list_of_agents_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="agents on one line, separated by commas"):
        split_names(text)


def test_a_process_that_dies_is_named_and_its_finished_games_are_kept(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    flag = tmp_path / "mended"
    dies = f"import os, sys\nanswers = 0\nmended = os.path.exists({str(flag)!r})\n" + LOWEST.replace(
        "    print(", "    answers += 1\n    if answers > 100 and not mended:\n        sys.exit(3)\n    print("
    )
    own = write_script(tmp_path, dies)
    given = ["--agents", "random", "--agent", f"mine={own}", "--num-players", "2", "--games", "12", "--records", "0"]
    given += ["--out", str(tmp_path / "t")]
    assert run("tournament", lambda: tournament.main(given)) == 2
    error = capsys.readouterr().err.strip().splitlines()[-1]
    assert "agent 'mine' died (exit status 3); " in error
    assert "of 12 games are kept, and the same command continues if the agents are unchanged" in error
    kept = (tmp_path / "t" / "games.csv").read_text()
    assert kept.count("\n") > 2
    flag.touch()
    tournament.main(given)
    games = (tmp_path / "t" / "games.csv").read_text()
    assert games.startswith(kept)
    assert games.count("\n") == 25


def test_records_say_which_agent_a_label_stands_for(tmp_path: Path) -> None:
    recipes = tournament.list_recipes(["one=random", "greedy"], seed=0)
    with tournament.Tournament(recipes, Variant(num_players=2), str(tmp_path / "t"), seed=0, num_records=1) as made:
        made.play(2)
    seats = records.load(tmp_path / "t" / "records" / "game-0.json")["players"]
    assert sorted((seat["name"], seat["agent"]) for seat in seats) == [("greedy", "greedy"), ("one", "random")]


def test_wrong_options_are_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stopped:
        tournament.main(["--games", "0"])
    assert stopped.value.code == 2
    error = capsys.readouterr().err
    assert error.count("\n") == 1
    assert "whole number from 1 up" in error
