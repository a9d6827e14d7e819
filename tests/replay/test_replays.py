"""`symphony9 watch`: what critics say, and pages that hold everything."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from symphony9_env import agents, records, symphony9_v0
from symphony9_env.actions import NAMES
from symphony9_env.cli import main
from symphony9_env.replay.html_export import replay_page
from symphony9_env.replay.replay_data import Critics, read_games, replay_data


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A game of two policies, greedy and a person."""
    env = symphony9_v0.raw_env(num_players=3)
    env.reset(seed=8)
    made = [agents.make(name, seed=1) for name in ("policy", "greedy", "planner")]
    while not all(env.terminations.values()):
        env.step(made[env.deciding_seat].choose(env))
    file = tmp_path_factory.mktemp("games") / "game.json"
    players = [{"name": name, "agent": name} for name in ("policy", "greedy")]
    script = {"name": "</script><script>alert(1)</script>", "agent": None}
    records.save({**env.record(), "players": [*players, script]}, file)
    return file


def test_every_position_is_there_with_its_move_and_events(path: Path) -> None:
    record = records.load(path)
    (game,) = read_games([path], "policy", 0)
    frames = game["frames"]
    assert len(frames) == len(record["actions"]) + 1
    assert [f"player_{frame['move']['seat']}" for frame in frames[:-1]] == [player for player, _ in record["actions"]]
    assert [frame["move"]["name"] for frame in frames[:-1]] == [name for _, name in record["actions"]]
    assert [line["total"] for line in frames[-1]["scene"]["sheet"]] == record["result"]["scores"]
    assert all(frame["events"] for frame in frames)
    for frame in frames:  # every hand is open
        assert all(board["money"] is not None for board in frame["scene"]["boards"])


def test_a_policy_that_played_speaks_for_itself_and_search_for_all(path: Path) -> None:
    (game,) = read_games([path], None, 30)
    for frame, env in zip(game["frames"], records.replay(records.load(path)), strict=True):
        if frame["scene"]["sheet"]:
            break
        comment = frame["comment"]
        assert ("odds" in comment) == (env.deciding_seat == 0)
        if "odds" in comment:
            assert comment["odds"][0][0] == frame["move"]["name"]  # at temperature 0 it plays what it thinks best
            assert sum(chance for _, chance in comment["odds"]) == pytest.approx(1, abs=0.1)
            assert 0 <= comment["win"] <= 1
        if "search" in comment:
            assert comment["search"] == NAMES[agents.make("search:30", seed=0).choose(env)]
            assert sum(count for count, _ in comment["tried"].values()) == 30
            assert comment["tried"][comment["search"]][0] == max(count for count, _ in comment["tried"].values())


def test_a_person_called_policy_and_files_that_are_none_get_no_comment_of_their_own(path: Path, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo.safetensors")
    for player in (
        {"name": "policy", "agent": None},
        {"name": "x", "agent": str(tmp_path / "fifo.safetensors")},
        {"name": "x", "agent": "/" + "a" * 5000},
    ):
        record = {**records.load(path), "players": [player] * 3}
        assert Critics(record, None, 0).policies == [None] * 3


def test_a_policy_s_opinion_is_its_play(path: Path) -> None:
    agent = agents.make("policy", seed=0)
    assert isinstance(agent, agents.policy.ShippedPolicy)
    policy = agent.for_players(3)
    for env in records.replay(records.load(path)):
        if all(env.terminations.values()):
            break
        odds, value = policy.evaluate(env.states, np.zeros(1, np.int64))
        assert odds.shape == (1, len(NAMES))
        assert odds.sum() == pytest.approx(1, abs=1e-5)
        assert int(odds[0].argmax()) == policy.choose(env)
        assert value is not None
        assert -1.5 < float(value[0]) < 1.5


def test_no_text_of_a_record_ends_the_page_s_script(path: Path) -> None:
    page = replay_page(read_games([path], None, 0))
    assert "alert(1)" in page
    assert "</script><script>alert" not in page
    data = re.search(r'<script type="application/json" id="games">(.*?)</script>', page, re.S)
    assert data is not None
    assert json.loads(data[1])[0]["players"][2]["name"] == "</script><script>alert(1)</script>"
    assert not re.search(r'(src|href)="(?!data:)', page)  # nothing is fetched


def test_players_without_names_and_bad_names_are_seats() -> None:
    env = symphony9_v0.raw_env(num_players=2)
    env.reset(seed=0)
    odd: list[Any] = [None, "Ann", ["Ann", 5], [{"name": "Ann"}], [{}, {"agent": 7}]]
    for players in odd:
        record = {**env.record(), "players": players}
        game = replay_data(record, "x", Critics(record, None, 0))
        assert [player["name"] for player in game["players"]] == ["player_0", "player_1"]
    record = {**env.record(), "players": [{"name": "greedy"}] * 2}
    assert [one["name"] for one in replay_data(record, "x", Critics(record, None, 0))["players"]] == [
        "greedy 1",
        "greedy 2",
    ]


def test_export_writes_one_file(path: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "games.html"
    assert main(["watch", str(path), str(path), "--search", "0", "--export", str(out)]) == 0
    assert capsys.readouterr().out.startswith(f"{out}: games: 2, ")
    assert out.read_text().startswith("<!doctype html>")
    assert [file.name for file in tmp_path.iterdir()] == ["games.html"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nowhere.json"], "nowhere.json: can't be read"),
        (["GAME", "--policy", "planner"], "'planner' is no policy"),
        (["GAME", "--policy", "nowhere.safetensors"], "nowhere.safetensors: no such file"),
        (["GAME", "--search", "-1"], "--search -1; allowed: 0"),
        (["BROKEN"], "BROKEN: record, action 0"),
        (["GAME", "--search", "0", "--export", "nowhere/x.html"], "nowhere"),
    ],
)
def test_bad_input_is_one_clear_line(
    arguments: list[str],
    message: str,
    path: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    record = records.load(path)
    (tmp_path / "GAME").write_text(json.dumps(record))
    record["actions"][0][1] = "bid 0"
    (tmp_path / "BROKEN").write_text(json.dumps(record))
    before = set(tmp_path.iterdir())
    assert main(["watch", *arguments, "--no-browser"]) == 2
    error = capsys.readouterr().err.strip().splitlines()[-1]
    assert error.startswith("symphony9: ")
    assert message in error
    assert set(tmp_path.iterdir()) == before
