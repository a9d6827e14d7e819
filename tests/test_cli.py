"""The `symphony9` command, as a user types it."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from symphony9_env import agents, records, schemas, symphony9_v0
from symphony9_env.agents.base import derive_agent_seed
from symphony9_env.cli import main
from symphony9_env.replay.commentators import Commentators


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


def test_without_agents_the_moves_are_drawn_by_the_seed(capsys: pytest.CaptureFixture[str]) -> None:
    main(["record", "--seed", "7", "--out", "-"])
    env = symphony9_v0.raw_env()
    env.reset(seed=7)
    rng = np.random.default_rng(7)
    while not all(env.terminations.values()):
        env.step(rng.choice(np.flatnonzero(env.observe(env.agent_selection)["action_mask"])))
    assert capsys.readouterr().out == records.dumps(env.record()) + "\n"


@pytest.mark.parametrize("named", ["planner", "planner, greedy,random"])
def test_agents_play_the_recorded_game(named: str, capsys: pytest.CaptureFixture[str]) -> None:
    texts = []
    for _ in range(2):
        assert main(["record", "--num-players", "3", "--agents", named, "--out", "-"]) == 0
        texts.append(capsys.readouterr().out)
    assert texts[0] == texts[1]
    record = json.loads(texts[0])
    names = ["planner", "greedy", "random"] if "," in named else [named] * 3
    assert record["players"] == [{"name": name, "agent": name} for name in names]
    assert len(list(records.replay(record))) == len(record["actions"]) + 1


def test_a_record_has_the_name_of_an_agent_and_how_it_is_made(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["record", "--num-players", "2", "--agents", "mine=policy,greedy", "--out", "-"]) == 0
    record = json.loads(capsys.readouterr().out)
    assert record["players"] == [{"name": "mine", "agent": "policy"}, {"name": "greedy", "agent": "greedy"}]
    own, other = Commentators(record, None, 0).policies
    assert own is not None
    assert other is None


def test_a_name_with_a_comma_is_quoted(capsys: pytest.CaptureFixture[str]) -> None:
    named = 'greedy,"mine=stdio:x --levels 1,2"'
    assert main(["record", "--num-players", "3", "--agents", named, "--out", "-"]) == 2
    assert "--agents: 2 agents; allowed: one for all seats, or 3" in capsys.readouterr().err


def test_every_seat_s_agent_has_its_own_seed(capsys: pytest.CaptureFixture[str]) -> None:
    main(["record", "--seed", "7", "--num-players", "2", "--agents", "random", "--out", "-"])
    env = symphony9_v0.raw_env(num_players=2)
    env.reset(seed=7)
    players = [agents.make("random", seed=derive_agent_seed(7, seat)) for seat in range(2)]
    while not all(env.terminations.values()):
        env.step(players[env.deciding_seat].choose(env))
    assert json.loads(capsys.readouterr().out)["actions"] == env.record()["actions"]


def test_schema_prints_a_format_or_all_names(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["schema"]) == 0
    assert capsys.readouterr().out.split() == schemas.names()
    assert main(["schema", "symphony9-record/1"]) == 0
    assert json.loads(capsys.readouterr().out) == schemas.load("symphony9-record/1")


@pytest.mark.parametrize(
    ("command", "missing"), [("tournament", "tqdm"), ("tournament", "jinja2"), ("benchmark", "tqdm")]
)
def test_without_the_extra_one_line_says_what_to_install(command: str, missing: str) -> None:
    code = f"import sys; sys.modules[{missing!r}] = None; from symphony9_env.cli import main; sys.exit(main())"
    done = subprocess.run([sys.executable, "-c", code, command, "--help"], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert done.stderr == f'symphony9: {missing} is not installed; pip install "symphony9-env[eval]"\n'
    assert done.stdout == ""


def test_the_commands_of_the_arena_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "runs"
    options = ["--num-players", "2", "--games", "4", "--records", "0"]
    assert main(["tournament", "--agents", "random,greedy", *options, "--out", str(out)]) == 0
    assert "symphony9 tournament" in json.loads((out / "results.json").read_text())["command"]
    assert main(["benchmark", "--list"]) == 0
    assert "4p-discussion" in capsys.readouterr().out
    assert main(["tournament", "--agents", "nobody", "--out", str(out)]) == 2
    assert capsys.readouterr().err.startswith("symphony9: unknown agent 'nobody'")


@pytest.mark.parametrize("arguments", [["nonsense"], ["record", "--nonsense"], ["tournament"], []])
def test_wrong_use_is_one_line_that_points_to_the_help(
    arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as stop:
        main(arguments)
    assert stop.value.code == 2
    assert re.fullmatch(r"symphony9[a-z ]*: .* \(--help shows what is allowed\)\n", capsys.readouterr().err)


def test_replay_as_one_seat_saw_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = str(tmp_path / "game.json")
    main(["record", "--out", path])
    capsys.readouterr()
    main(["replay", path, "--seat", "2"])
    shown = capsys.readouterr().out
    assert "You are player_2" in shown
    assert "You are player_0" not in shown


def test_replay_as_one_seat_saw_it_does_not_show_closed_hands(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Two games that differ in one bid of another seat look the same until the hands open."""
    env = symphony9_v0.raw_env(num_players=2)
    env.reset(seed=7)
    while env.decision != "bid":
        env.step(int(np.flatnonzero(env.action_mask)[0]))
    seat = 1 - env.deciding_seat
    texts = []
    for bid in ("bid 0", "bid 3"):
        record = env.record()
        record["actions"].append([env.agent_selection, bid])
        records.save(record, tmp_path / "game.json")
        assert main(["replay", str(tmp_path / "game.json"), "--seat", str(seat)]) == 0
        texts.append(capsys.readouterr().out)
    assert texts[0] == texts[1]
    assert f">>> player_{1 - seat}: closes a hand" in texts[0]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["record", "--num-players", "7"], "num_players=7; allowed: 2, 3, 4"),
        (["record", "--seed", "-3"], "seed=-3"),
        (["record", "--tracks", "x"], "tracks='x'"),
        (["record", "--components", "nowhere.toml"], "components='nowhere.toml' can't be read"),
        (["record", "--out", "nowhere/game.json"], "nowhere"),
        (["record", "--agents", "planner,greedy"], "--agents: 2 agents; allowed: one for all seats, or 4"),
        (["record", "--agents", "nobody"], "unknown agent 'nobody'"),
        (["schema", "symphony9-record/2"], "unknown format 'symphony9-record/2'; allowed: symphony9-agent/1"),
        (["bench", "--num-games", "0"], "num_games=0; allowed: a whole number from 1 up"),
        (["bench", "--seconds", "0"], "seconds=0.0; allowed: more than 0"),
        (["replay", "nowhere.json"], "nowhere.json: can't be read"),
        (["replay", "GAME", "--seat", "9"], "seat=9; allowed: 0 to 3"),
        (["watch", "GAME", "--search", "0", "--export", "no/x.html"], "--export no/x.html: can't be written: No such"),
        (["benchmark", "--verify", "nowhere"], "symphony9: nowhere/results.json can't be read (No such file"),
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


def test_replay_names_the_file_that_it_refuses(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    record = records.load(Path(__file__).parent / "records" / "2p-0.json")
    move = record["actions"][3]
    for name, content, message in [
        ("format.json", {**record, "format": "x"}, "record: format is 'x'"),
        ("rules.json", {**record, "actions": [*record["actions"][:3], [move[0], "bid 8"]]}, "record, action 3: "),
    ]:
        path = tmp_path / name
        path.write_text(json.dumps(content))
        assert main(["replay", str(path)]) == 2
        error = capsys.readouterr().err
        assert error.startswith(f"symphony9: {path}: {message}")
        assert error.count("\n") == 1


@pytest.mark.parametrize("command", ["record", "replay", "play", "watch", "schema", "bench"])
def test_every_command_has_help_with_examples(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stop:
        main([command, "--help"])
    assert stop.value.code == 0
    shown = capsys.readouterr().out.partition("examples:\n")[2]
    assert shown.startswith(f"  symphony9 {command}")
    with pytest.raises(SystemExit):
        main(["--help"])
    assert shown.strip() in capsys.readouterr().out


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
