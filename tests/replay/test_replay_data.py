"""Replays: frames, comments, the page with everything in it, and `symphony9 watch --export`."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from symphony9_env import agents, records, symphony9_v0
from symphony9_env.actions import NAMES
from symphony9_env.cli import main
from symphony9_env.replay.commentators import Commentators
from symphony9_env.replay.html_export import make_page
from symphony9_env.replay.player_names import number_duplicates
from symphony9_env.replay.replay_data import make_replay, read_replays
from symphony9_env.views import seat_view
from symphony9_env.views.seat_json import own_json, position_json


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A record of a game of the policy, greedy and a person."""
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


def test_a_replay_has_every_position_with_its_move_and_log_lines(path: Path) -> None:
    record = records.load(path)
    (replay,) = read_replays([path], "policy", 0)
    frames = replay["frames"]
    assert len(frames) == len(record["actions"]) + 1
    moves = [frame["move"] for frame in frames]
    assert moves.pop() is None
    made = [[f"player_{move['seat']}", move["name"]] for move in moves if move is not None]
    assert made == record["actions"]
    sheet = frames[-1]["position"]["score_sheet"]
    assert sheet is not None
    assert [line["total"] for line in sheet] == record["result"]["scores"]
    assert all(frame["log"] for frame in frames)


def test_frames_are_made_of_what_each_seat_may_see(path: Path) -> None:
    """The public position and a seat's own part add up to that seat's view."""
    record = records.load(path)
    replay = make_replay(record, "x", Commentators(record, None, 0))
    for frame, env in zip(replay["frames"], records.replay(record), strict=True):
        for seat in range(3):
            view = seat_view(env.states, 0, seat)
            assert frame["own"][seat] == own_json(view)
            expected = position_json(view)
            if expected["score_sheet"] is None:
                expected["boards"][seat]["money"] = expected["boards"][seat]["furniture"] = None
            assert frame["position"] == expected


def test_a_policy_comments_on_its_own_seat_and_search_on_all(path: Path) -> None:
    (replay,) = read_replays([path], None, 30)
    for frame, env in zip(replay["frames"], records.replay(records.load(path)), strict=True):
        comment = frame["comment"]
        if comment is None:
            assert frame["position"]["score_sheet"] is not None
            continue
        policy, search = comment["policy"], comment["search"]
        assert (policy is not None) == (env.deciding_seat == 0)
        if policy is not None:
            assert frame["move"] is not None
            assert policy["probabilities"][0][0] == frame["move"]["name"]  # at temperature 0 it plays the likeliest
            assert sum(probability for _, probability in policy["probabilities"]) == pytest.approx(1, abs=0.1)
            assert policy["win_chance"] is not None
            assert 0 <= policy["win_chance"] <= 1
        if search is not None:
            assert search["choice"] == NAMES[agents.make("search:30", seed=0).choose(env)]


def test_search_gives_the_move_that_was_made_as_many_playouts_as_its_own_choice(path: Path) -> None:
    (replay,) = read_replays([path], None, 30)
    comments = [(frame["move"], frame["comment"]["search"]) for frame in replay["frames"] if frame["comment"]]
    compared = [search for move, search in comments if move and search and search["choice"] != move["name"]]
    assert len(compared) > 20
    for search in compared:
        assert search["playouts"] == 30
        assert search["move_chance"] is not None
        assert search["gain_95"] is not None
        gain, (low, high) = search["choice_chance"] - search["move_chance"], search["gain_95"]
        assert low <= gain <= high
        assert search["is_disagreement"] == (gain >= 0.05 and low > 0)
    assert {search["is_disagreement"] for search in compared} == {True, False}
    agreed = [search for move, search in comments if move and search and search["choice"] == move["name"]]
    assert all(search["gain_95"] is None and not search["is_disagreement"] for search in agreed)


def test_only_policies_comment_on_their_own_seats(path: Path, tmp_path: Path) -> None:
    """Not a person called policy, nor a file that is no policy."""
    (tmp_path / "text.safetensors").write_text("no policy")
    for player in (
        {"name": "policy", "agent": None},
        {"name": "x", "agent": str(tmp_path / "text.safetensors")},
        {"name": "x", "agent": str(tmp_path)},
        {"name": "x", "agent": "/" + "a" * 5000},
    ):
        record = {**records.load(path), "players": [player] * 3}
        assert Commentators(record, None, 0).policies == [None] * 3


def test_a_policy_plays_its_likeliest_action(path: Path) -> None:
    agent = agents.make("policy", seed=0)
    assert isinstance(agent, agents.policy.ShippedPolicy)
    policy = agent.for_players(3)
    for env in records.replay(records.load(path)):
        if all(env.terminations.values()):
            break
        probabilities, value = policy.evaluate(env.states, np.zeros(1, np.int64))
        assert probabilities.shape == (1, len(NAMES))
        assert probabilities.sum() == pytest.approx(1, abs=1e-5)
        assert int(probabilities[0].argmax()) == policy.choose(env)
        assert value is not None
        assert -1.5 < float(value[0]) < 1.5


def test_no_text_of_a_record_can_end_the_page_s_script(path: Path) -> None:
    page = make_page(read_replays([path], None, 0))
    assert "alert(1)" in page
    assert "</script><script>alert" not in page
    data = re.search(r'<script type="application/json" id="data">(.*?)</script>', page, re.S)
    assert data is not None
    assert json.loads(data[1])["replays"][0]["players"][2]["name"] == "</script><script>alert(1)</script>"
    assert not re.search(r'(src|href)="(?!data:)', page)  # nothing is fetched


def test_players_without_valid_names_are_named_after_their_seats() -> None:
    env = symphony9_v0.raw_env(num_players=2)
    env.reset(seed=0)
    odd: list[Any] = [None, "Ann", ["Ann", 5], [{"name": "Ann"}], [{}, {"agent": 7}]]
    for players in odd:
        record = {**env.record(), "players": players}
        replay = make_replay(record, "x", Commentators(record, None, 0))
        assert [player["name"] for player in replay["players"]] == ["player_0", "player_1"]
    record = {**env.record(), "players": [{"name": "greedy"}] * 2}
    assert [one["name"] for one in make_replay(record, "x", Commentators(record, None, 0))["players"]] == [
        "greedy 1",
        "greedy 2",
    ]


@pytest.mark.parametrize(
    ("names", "numbered"),
    [
        (["greedy", "greedy", "greedy 1"], ["greedy 1 1", "greedy 2", "greedy 1 3"]),
        (["a", "a 3", "a 1", "a"], ["a 1 1", "a 3", "a 1 3", "a 4"]),
        (["x" * 30, "x" * 30, f"{'x' * 28} 1"], [f"{'x' * 28} 1", f"{'x' * 28} 2", f"{'x' * 28} 3"]),
    ],
)
def test_numbered_names_are_all_different(names: list[str], numbered: list[str]) -> None:
    assert number_duplicates(names) == numbered


def test_export_writes_one_file_and_needs_no_server(
    path: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "games.html"
    assert main(["watch", str(path), str(path), "--search", "0", "--export", str(out)]) == 0
    assert capsys.readouterr().out.startswith(f"{out}: 2 games, ")
    assert out.read_text().startswith("<!doctype html>")
    assert [file.name for file in tmp_path.iterdir()] == ["games.html"]


def test_replays_do_not_import_the_web_server() -> None:
    code = "import sys, symphony9_env.replay.commands; print('symphony9_env.web' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


def test_a_page_leaves_out_what_does_not_change(path: Path) -> None:
    """The compact frames, restored as the page restores them, are the frames of the replay."""
    (replay,) = read_replays([path], None, 0)
    data = re.search(r'id="data">(.*?)</script>', make_page([replay]), re.S)
    assert data is not None
    (page_replay,) = json.loads(data[1])["replays"]
    restored: list[Any] = []
    for frame in page_replay["frames"]:
        before: Any = restored[-1] if restored else {"position": {}, "own": [None] * 3}
        own = [now or past for now, past in zip(frame["own"], before["own"], strict=True)]
        restored.append({**frame, "position": {**before["position"], **frame["position"]}, "own": own})
    assert restored == json.loads(json.dumps(replay["frames"]))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nowhere.json"], "nowhere.json: can't be read"),
        (["GAME", "--policy", "planner"], "'planner' is not a policy"),
        (["GAME", "--policy", "nowhere.safetensors"], "nowhere.safetensors: no such file"),
        (["GAME", "--search", "-1"], "--search -1; allowed: 0"),
        (["BROKEN"], "BROKEN: record, action 0"),
        (["GAME", "--search", "0", "--export", "nowhere/x.html"], "nowhere"),
    ],
)
def test_bad_input_is_reported_in_one_line(
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
