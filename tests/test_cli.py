"""The `symphony9` command, as a user types it."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from symphony9_env.cli import main


def test_record_writes_a_game_that_replay_shows(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["record", "--seed", "7", "--num-players", "4"]) == 0
    assert "game-4p-7.json: " in capsys.readouterr().out
    record = json.loads((tmp_path / "game-4p-7.json").read_text())
    assert (record["seed"], record["num_players"]) == (7, 4)
    assert main(["replay", "game-4p-7.json"]) == 0
    shown = capsys.readouterr().out
    assert shown.count(">>> player_") == len(record["actions"])
    assert "final score" in shown


def test_the_same_seed_writes_the_same_game(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    texts = []
    for _ in range(2):
        main(["record", "--seed", "3", "--num-players", "2", "--discussion", "--tracks", "random", "--out", "-"])
        texts.append(capsys.readouterr().out)
    assert texts[0] == texts[1]
    assert json.loads(texts[0])["discussion"] is True


def test_replay_as_one_seat_saw_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = str(tmp_path / "game.json")
    main(["record", "--out", path])
    capsys.readouterr()
    main(["replay", path, "--seat", "2"])
    shown = capsys.readouterr().out
    assert "You are player_2" in shown
    assert "You are player_0" not in shown


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["record", "--num-players", "7"], "num_players=7; allowed: 2, 3, 4"),
        (["record", "--seed", "-3"], "seed=-3"),
        (["record", "--tracks", "x"], "tracks='x'"),
        (["record", "--components", "nowhere.toml"], "components='nowhere.toml' can't be read"),
        (["record", "--out", "nowhere/game.json"], "nowhere"),
        (["bench", "--num-games", "0"], "num_games=0; allowed: a whole number from 1 up"),
        (["bench", "--seconds", "0"], "seconds=0.0; allowed: more than 0"),
        (["replay", "nowhere.json"], "nowhere.json: can't be read"),
        (["replay", "GAME", "--seat", "9"], "seat=9; allowed: 0 to 3"),
    ],
)
def test_bad_input_is_one_clear_line(
    arguments: list[str],
    message: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    if "GAME" in arguments:
        main(["record", "--out", "game.json"])
        arguments = ["game.json" if argument == "GAME" else argument for argument in arguments]
    capsys.readouterr()
    assert main(arguments) == 2
    error = capsys.readouterr().err
    assert error.startswith("symphony9: ")
    assert message in error
    assert error.count("\n") == 1


@pytest.mark.parametrize("command", [[], ["record"], ["replay"], ["bench"]])
def test_help_has_examples(command: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stop:
        main([*command, "--help"])
    assert stop.value.code == 0
    assert "symphony9 record --seed 7" in capsys.readouterr().out


def test_bench_says_how_fast_it_is(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["bench", "--num-games", "8", "--num-players", "2", "--seconds", "0.05"]) == 0
    assert re.fullmatch(r"[\d,]+ steps/s, [\d,]+ games/s \(.*; 8 games\)\n", capsys.readouterr().out)


def test_a_reader_that_has_seen_enough_is_no_error(tmp_path: Path) -> None:
    path = tmp_path / "game.json"
    main(["record", "--out", str(path)])
    done = subprocess.run(
        ["bash", "-o", "pipefail", "-c", f"'{sys.executable}' -m symphony9_env.cli replay '{path}' | head -n 3"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.startswith("Symphony No. 9, 4 players")
    assert done.stderr == ""
