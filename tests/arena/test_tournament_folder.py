"""The folder of a tournament: what continues it, what is refused, and what survives a power cut."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from symphony9_env import records
from symphony9_env.agents import Card, save_policy
from symphony9_env.arena import tournament
from symphony9_env.arguments import run
from symphony9_env.options import Variant
from tests.agents.test_protocol import random_weights
from tests.arena.tournaments import SMALL, play
from tests.power_cut import record_syncs


def test_a_folder_of_another_tournament_is_left_alone(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    play(tmp_path / "t")
    before = {file: file.read_bytes() for file in (tmp_path / "t").glob("*.*")}
    for more, said in (
        (["--seed", "1"], "holds another tournament (seed 0, not 1)"),
        (["--agents", "random,planner"], "holds another tournament (agents ['random', 'greedy'], not"),
    ):
        capsys.readouterr()
        given = [*SMALL, "--out", str(tmp_path / "t"), *more]
        assert run("tournament", lambda given=given: tournament.main(given)) == 2  # type: ignore[misc]
        assert said in capsys.readouterr().err
    assert {file: file.read_bytes() for file in before} == before
    (tmp_path / "t" / "tournament.json").write_text("{")
    assert run("tournament", lambda: tournament.main([*SMALL, "--out", str(tmp_path / "t")])) == 2
    assert "tournament.json can't be read" in capsys.readouterr().err


def test_an_agent_can_be_mended_while_no_game_is_finished(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    given = ["--agents", "random,agent.py:decide", "--num-players", "2", "--games", "4", "--out", "t"]
    Path("agent.py").write_text("def decide(message):\n    return message['ranks']\n")
    assert run("tournament", lambda: tournament.main(given)) == 2
    assert "no game was finished" in capsys.readouterr().err
    Path("agent.py").write_text("def decide(message):\n    return min(message['legal'], key=int)\n")
    tournament.main(given)
    Path("agent.py").write_text("def decide(message):\n    return max(message['legal'], key=int)\n")
    assert run("tournament", lambda: tournament.main(given)) == 2
    assert "holds another tournament (fingerprints" in capsys.readouterr().err


def test_a_games_file_without_settings_is_left_alone(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "games.csv").write_text("mine")
    assert run("tournament", lambda: tournament.main([*SMALL, "--out", str(tmp_path)])) == 2
    assert "has a games.csv but no tournament.json" in capsys.readouterr().err
    assert (tmp_path / "games.csv").read_text() == "mine"


def test_a_games_file_that_was_changed_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    play(tmp_path / "t")
    file = tmp_path / "t" / "games.csv"
    lines = file.read_text().splitlines(keepends=True)
    file.write_text(lines[0] + "".join(lines[3:]))
    assert run("tournament", lambda: tournament.main([*SMALL, "--out", str(tmp_path / "t")])) == 2
    assert "games.csv does not hold the games in order" in capsys.readouterr().err


def change_cell(column: str, value: str) -> Callable[[bytes], bytes]:
    def change(text: bytes) -> bytes:
        rows = [line.split(b",") for line in text.splitlines()]
        rows[2][rows[0].index(column.encode())] = value.encode()
        return b"\n".join(b",".join(row) for row in rows) + b"\n"

    return change


@pytest.mark.parametrize(
    "change",
    [
        lambda text: text[:-200] + b"\x80" + text[-200:],
        lambda text: text.replace(b"\n", b",1\n").replace(b",1\n", b"\n", 1),  # a cell too many in every row
        lambda text: text.rsplit(b",", 1)[0] + b"\n",  # a cell too few in the last row
        change_cell("agent", "nobody"),
        change_cell("rank", "3"),
        change_cell("rank", ""),
        change_cell("win_share", "nan"),
        change_cell("win_share", "-1"),
        change_cell("score", "inf"),
        change_cell("score", "many"),
        change_cell("score", "1e308"),
        change_cell("moves", ""),
        change_cell("furniture_sold", "4000000000"),
        change_cell("furniture_sold", "-1"),
        change_cell("furniture_sold", ""),
    ],
)
def test_a_damaged_row_is_refused_in_one_line_that_names_the_file(
    change: Callable[[bytes], bytes], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    play(tmp_path / "t")
    file = tmp_path / "t" / "games.csv"
    damaged = change(file.read_bytes())
    file.write_bytes(damaged)
    capsys.readouterr()
    assert run("tournament", lambda: tournament.main([*SMALL, "--out", str(tmp_path / "t")])) == 2
    error = capsys.readouterr().err
    assert "games.csv" in error
    assert error.count("\n") == 1
    assert file.read_bytes() == damaged


def test_other_files_among_the_records_are_left_alone(tmp_path: Path) -> None:
    play(tmp_path / "t")
    for name in ("notes.json", "game-x.json", f"game-{'9' * 5000}"[:200] + ".json"):
        (tmp_path / "t" / "records" / name).write_text("{}")
    play(tmp_path / "t")


def test_a_link_among_the_records_is_replaced_and_not_followed(tmp_path: Path) -> None:
    (tmp_path / "t" / "records").mkdir(parents=True)
    (tmp_path / "other").write_text("mine")
    (tmp_path / "t" / "records" / "game-0.json").symlink_to(tmp_path / "other")
    play(tmp_path / "t")
    assert (tmp_path / "other").read_text() == "mine"


def test_a_policy_that_was_replaced_is_another_tournament(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    card, path = Card(num_players=(2,), hidden=(4,)), tmp_path / "p.safetensors"
    given = [*SMALL, "--agents", f"random,{path}", "--out", str(tmp_path / "t")]
    save_policy(path, card, random_weights(card))
    tournament.main(given)
    tournament.main(given)  # the same policy: goes on
    save_policy(path, card, random_weights(card, seed=1))
    assert run("tournament", lambda: tournament.main(given)) == 2
    assert "holds another tournament (fingerprints" in capsys.readouterr().err


def make_tournament(out: Path, num_records: int = 12) -> tournament.Tournament:
    recipes = tournament.list_recipes(["random", "greedy"], seed=0)
    return tournament.Tournament(recipes, Variant(num_players=2), str(out), seed=0, num_records=num_records)


def test_a_second_tournament_in_the_same_folder_is_refused(tmp_path: Path) -> None:
    with make_tournament(tmp_path), pytest.raises(ValueError, match="another tournament is using this folder"):
        play(tmp_path)
    play(tmp_path)  # the lock is released


def test_a_folder_of_another_tournament_stays_unlocked(tmp_path: Path) -> None:
    play(tmp_path)
    with pytest.raises(ValueError, match="holds another tournament"):
        play(tmp_path, "--seed", "1")
    play(tmp_path)


@pytest.mark.skipif(not os.path.isdir("/proc/self/fd"), reason="power cuts are simulated with /proc")
def test_games_that_were_counted_survive_a_power_cut(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "disk").mkdir()
    cuts: list[tuple[Path, str]] = []
    with record_syncs(tmp_path / "disk") as disk, make_tournament(tmp_path / "disk" / "t") as whole:
        monkeypatch.setattr(tournament, "MAX_CHUNK", 2)
        save = whole.save

        def save_and_cut(first: int, results: list[Any]) -> None:
            save(first, results)
            cuts.append((disk.restore(tmp_path / f"cut-{len(cuts)}") / "t", whole.folder.games.read_text()))

        monkeypatch.setattr(whole, "save", save_and_cut)
        whole.play(12)
    assert len(cuts) == 6
    for number, (folder, games) in enumerate(cuts, 1):
        assert (folder / "games.csv").read_text() == games
        with make_tournament(folder) as again:
            assert again.num_played == 2 * number
        assert len(list((folder / "records").glob("game-*.json"))) == 2 * number
        for file in (folder / "records").iterdir():
            records.load(file)


def test_an_empty_games_file_is_begun_again(tmp_path: Path) -> None:
    whole = play(tmp_path / "t")
    (tmp_path / "t" / "games.csv").write_text("")
    assert play(tmp_path / "t")["agents"] == whole["agents"]
    assert play(tmp_path / "t")["agents"] == whole["agents"]
