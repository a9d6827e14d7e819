"""Submissions to the leaderboard: what is accepted, and every kind of forgery that is refused."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from symphony9_env import agents
from symphony9_env.arena import submissions
from symphony9_env.arena.benchmark import summarise
from symphony9_env.arena.benchmark_games import GameOutcome, derive_key, schedule_game
from symphony9_env.arena.submissions import (
    About,
    add_submission,
    chance_to_miss,
    check_name,
    read_submission,
    read_submissions,
)
from symphony9_env.envs.aec import RawEnv
from tests.agents.test_external import LOWEST, write_script
from tests.arena.evaluations import SALT, evaluate, shorten_evaluations

pytestmark = pytest.mark.usefixtures("short_evaluations")

ABOUT = About("Ann", "scripted", "plays the lowest number", "2026-07-31", "https://example.org/a?b=c")
Json = dict[str, Any]


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with a run of an agent from outside the package, and a leaderboard to which it was added."""
    folder = tmp_path_factory.mktemp("finished")
    with pytest.MonkeyPatch.context() as patch:
        shorten_evaluations(patch)
        evaluate(f"mine={write_script(folder, LOWEST)}", folder / "run")
        (folder / "board").mkdir()
        assert add_submission(folder / "run", folder / "board", ABOUT) == "2p-lite-mine"
    return folder


@pytest.fixture
def board(finished: Path, tmp_path: Path) -> Path:
    """Return a copy of this leaderboard; a copy of the run is beside it."""
    shutil.copytree(finished, tmp_path, dirs_exist_ok=True)
    return tmp_path / "board"


@pytest.fixture
def folder(board: Path) -> Path:
    return board / "2p-lite-mine"


def change_json(file: Path, changes: Json) -> None:
    file.write_text(json.dumps({**json.loads(file.read_text()), **changes}))


def read_games(folder: Path) -> list[Json]:
    return [json.loads(line) for line in (folder / "games.jsonl").read_text().splitlines()]


def write_games(folder: Path, games: list[Json]) -> None:
    """Write games and the row that follows from them, as a careful forger does."""
    (folder / "games.jsonl").write_text("".join(f"{json.dumps(game)}\n" for game in games))
    change_json(folder / "results.json", summarise([GameOutcome(**game) for game in games], 2))


def replay_all(folder: Path) -> None:
    submission = read_submission(folder)
    submission.replay(submission.draw_sample(submissions.SAMPLE, seed=1))


def replace_move(game: Json, choose: Callable[[RawEnv, int, list[int]], int | None]) -> None:
    """Replace the first move for which `choose` returns another one from the position, the move and the legal moves."""
    env = RawEnv(num_players=2)
    env.reset(seed=schedule_game(game["game"], game["key"], 2).seed)
    for number, move in enumerate(game["moves"]):
        other = choose(env, move, env.action_mask.nonzero()[0].tolist())
        if other is not None:
            game["moves"][number] = other
            return
        env.step(move)
    raise AssertionError("no move was replaced")


# What is accepted.


def test_a_submission_is_copied_and_accepted(board: Path, folder: Path, tmp_path: Path) -> None:
    assert sorted(path.name for path in folder.iterdir()) == ["games.jsonl", "results.json", "submission.json"]
    for name in ("games.jsonl", "results.json"):
        assert (folder / name).read_bytes() == (tmp_path / "run" / name).read_bytes()
    (submission,) = read_submissions(board)
    assert submission.about == ABOUT
    assert not submission.is_recomputed
    replay_all(folder)


def test_a_submission_appears_with_all_its_files_or_not_at_all(board: Path, tmp_path: Path) -> None:
    before = {path: path.read_bytes() for path in board.rglob("*") if path.is_file()}
    change_json(tmp_path / "run" / "results.json", {"score": 1.0})
    with pytest.raises(ValueError, match=r"score is 1\.0"):
        add_submission(tmp_path / "run", board, ABOUT, replace=True)
    with pytest.raises(ValueError, match=r"score is 1\.0"):
        add_submission(tmp_path / "run", board, ABOUT, "other")
    assert {path: path.read_bytes() for path in board.rglob("*") if path.is_file()} == before
    assert [path.name for path in board.iterdir()] == ["2p-lite-mine"]


def test_a_submission_is_replaced_only_on_request(board: Path, folder: Path, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="is there already"):
        add_submission(tmp_path / "run", board, ABOUT)
    add_submission(tmp_path / "run", board, About("Bob", "other", "x", "2026-08-01", None), replace=True)
    assert read_submission(folder).about.author == "Bob"
    assert [path.name for path in board.iterdir()] == ["2p-lite-mine"]


def test_the_moves_of_an_agent_of_this_package_are_computed_again(tmp_path: Path) -> None:
    evaluate("greedy", tmp_path / "run")
    board = tmp_path / "board"
    board.mkdir()
    name = add_submission(tmp_path / "run", board, ABOUT)
    assert read_submission(board / name).is_recomputed
    games = read_games(board / name)
    seat = games[0]["seat"]

    def play_otherwise(env: RawEnv, move: int, legal: list[int]) -> int | None:
        return next((one for one in legal if one != move), None) if env.deciding_seat == seat else None

    replace_move(games[0], play_otherwise)
    write_games(board / name, games)
    with pytest.raises(ValueError, match=r"games\.jsonl: game 0: its moves"):
        replay_all(board / name)


# The row and the protocol.


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"score": 0.9}, r"score is 0\.9; expected"),
        ({"against": {"greedy": {"win_rate": 1.0, "win_rate_95": [0.9, 1.0]}}}, "against is .*; expected"),
        ({"forfeits": 1}, "forfeits is 1; expected 0"),
        ({"par": 0.25}, r"par is 0\.25; expected 0\.5"),
        ({"protocol": "symphony9-benchmark/1"}, "protocol is 'symphony9-benchmark/1'; expected 'symphony9-benchmark/3"),
        ({"task": "5p"}, "task is '5p'; allowed: 2p, "),
        ({"games": 3}, "games is 3; expected 2 or 240"),
        ({"games": 240}, "line 3 is not game 2|has 4 games"),
        ({"opponents": {"greedy": "greedy", "random": "another"}}, "opponents is .*; expected"),
        ({"private": False}, "private is False; allowed: true"),
        ({"salt": None}, "salt is None; allowed: .* play it again without a stop"),
        ({"salt": "00"}, "salt is '00'; allowed"),
        ({"max_answers": 99}, "max_answers is 99; allowed: 3"),
        ({"timeout": float("nan")}, "timeout is nan; allowed"),
        ({"timeout": "60"}, "timeout is '60'; allowed"),
        ({"timeout": True}, "timeout is True; allowed"),
        ({"timeout": 10**400}, "timeout is <a number of .*; allowed"),
        ({"trusted": "no"}, "trusted is 'no'; allowed: true, false"),
        ({"agent": "<script>alert(1)</script>"}, "agent is .*; allowed: .*without < and >"),
        ({"agent": "mine\n| 4p | best"}, "agent is .*; allowed: .*on one line"),
        ({"agent": "\u202eenim"}, "agent is .*; allowed: .*printable"),
        ({"agent": "m" * 1000}, "agent is .*; allowed: 1 to 120"),
        ({"agent": "planner"}, "agent_fingerprint is .*; allowed: 'planner' for an agent of this name"),
        ({"agent": "think:50"}, "agent_fingerprint is .*; allowed: 'think:50 policy .*' for an agent of this name"),
        ({"agent": "search:0"}, "playouts"),
        ({"more": 1}, "'more' is unknown; allowed: "),
    ],
)
def test_changed_results_are_refused(folder: Path, changes: Json, reason: str) -> None:
    change_json(folder / "results.json", changes)
    with pytest.raises(ValueError, match=reason) as refused:
        read_submission(folder)
    assert "results.json" in str(refused.value) or "games.jsonl" in str(refused.value)
    assert len(str(refused.value)) < 600


@pytest.mark.parametrize(
    "name",
    [
        *agents.names(),
        *("search:7", "search:7@planner", "search:7+01", "search+01@0:greedy", "search@planner"),
        *("search:7@policy", "search:7@0:level:3", "search:7@think:7", "search@mine=policy"),
        *("think:7", "think:7@policy", "think@search:7@planner", "think:7+01", "think+01@0:level:3"),
        *("think:7@think:9@random", "mine=think:7@policy"),
    ],
)
def test_the_name_of_an_agent_of_this_package_is_for_it_alone(folder: Path, name: str) -> None:
    change_json(folder / "results.json", {"agent": name})
    with pytest.raises(ValueError, match=r"agent_fingerprint is .*; allowed: .* for an agent of this name"):
        read_submission(folder)
    own = agents.make(name, seed=0).fingerprint(2)
    change_json(folder / "results.json", {"agent_fingerprint": own})
    assert read_submission(folder).evaluation.results["agent"] == name


@pytest.mark.parametrize(
    "name",
    [
        *("think:7:FILE.safetensors", "think:7:FILE.safetensors@policy", "think:FILE.safetensors", "think:7@FILE"),
        *("think:7@stdio:touch FILE", "think:7@FILE.py:decide", "think:7@mine=stdio:touch FILE", "search:7@FILE.py:f"),
        *("search:7@FILE", "search:7@FILE.safetensors", "search:7+01@0:stdio:touch FILE", "search@think:7@FILE.py:f"),
        *("think:7@think:7:FILE.safetensors@policy", "level:FILE.safetensors", "think:7@http://localhost:1/FILE"),
        "mine=think:7:FILE.safetensors",
    ],
)
def test_a_name_of_this_package_with_something_from_outside_is_refused_unopened(
    folder: Path, tmp_path: Path, name: str
) -> None:
    opened = tmp_path / "a"
    (tmp_path / "a.py").write_text(f"open({str(opened)!r}, 'w')\ndef decide(message): pass\n")
    change_json(folder / "results.json", {"agent": name.replace("FILE", str(opened))})
    with pytest.raises(ValueError, match=r"results\.json: agent is .*; allowed: .*label one that needs a file"):
        read_submission(folder)
    assert not opened.exists()


@pytest.mark.parametrize("name", ["think:7@nobody", "search:7@nobody", "think:", "level:11", "search:7+0", "think+99"])
def test_a_name_like_those_of_this_package_without_such_an_agent_is_refused(folder: Path, name: str) -> None:
    change_json(folder / "results.json", {"agent": name})
    with pytest.raises(ValueError, match=r"results\.json: (unknown )?agent '"):
        read_submission(folder)


@pytest.mark.parametrize("name", ["Policy", "PLANNER", "\uff50olicy", "Search:800", "THINK:7@policy", "mine=Greedy"])
def test_a_name_that_looks_like_one_of_this_package_is_refused(folder: Path, name: str) -> None:
    change_json(folder / "results.json", {"agent": name})
    with pytest.raises(ValueError, match=r"results\.json: agent is .*; allowed: a name that can't be taken for"):
        read_submission(folder)


@pytest.mark.parametrize("name", ["thinker", "searching", "my-policy", "levels", "think.v2", "research:7", "policy 2"])
def test_other_names_are_free(folder: Path, name: str) -> None:
    change_json(folder / "results.json", {"agent": name})
    assert read_submission(folder).evaluation.results["agent"] == name


def test_another_salt_is_refused(folder: Path) -> None:
    change_json(folder / "results.json", {"salt": "0" * 32})
    with pytest.raises(ValueError, match=r"games\.jsonl: game 0: key is .* by the salt"):
        read_submission(folder)


def test_two_submissions_with_the_same_games_are_refused(board: Path, folder: Path) -> None:
    shutil.copytree(folder, board / "copy")
    with pytest.raises(ValueError, match="copy: has the salt of 2p-lite-mine"):
        read_submissions(board)


def test_the_same_games_are_not_added_twice(board: Path, folder: Path) -> None:
    before = sorted(path.name for path in board.iterdir())
    with pytest.raises(ValueError, match="again: has the salt of 2p-lite-mine"):
        add_submission(folder, board, ABOUT, "again")
    assert sorted(path.name for path in board.iterdir()) == before


def test_a_run_with_a_given_salt_is_refused(tmp_path: Path) -> None:
    evaluate("greedy", tmp_path / "run", salt=SALT)
    with pytest.raises(ValueError, match="private is False; allowed: true"):
        add_submission(tmp_path / "run", tmp_path, ABOUT)


# The games. The forger changes the row with them.


def test_dropped_games_are_refused(folder: Path) -> None:
    write_games(folder, read_games(folder)[:-1])
    with pytest.raises(ValueError, match="has 3 games"):
        read_submission(folder)


def test_a_lost_game_played_again_with_another_deal_is_refused(folder: Path) -> None:
    games = read_games(folder)
    games[1] |= {"key": derive_key("ff" * 16, 1), "win_share": 1.0}
    write_games(folder, games)
    with pytest.raises(ValueError, match=r"game 1: key is .* by the salt"):
        read_submission(folder)


def test_another_seat_is_refused(folder: Path) -> None:
    games = read_games(folder)
    games[1]["seat"] = 0
    write_games(folder, games)
    with pytest.raises(ValueError, match="game 1: seat is 0; expected 1"):
        read_submission(folder)


def test_a_replaced_opponent_is_refused(folder: Path) -> None:
    games = read_games(folder)
    games[0]["opponent"] = "random"
    write_games(folder, games)
    with pytest.raises(ValueError, match=r"games\.jsonl: line 1 is not game 0"):
        read_submission(folder)


@pytest.mark.parametrize("changes", [{"win_share": 1.0}, {"win_share": 0.5}, {"score": 500.0}])
def test_another_result_is_refused(folder: Path, changes: Json) -> None:
    games = read_games(folder)
    lost = next(game for game in games if game["win_share"] == 0)
    lost |= changes
    write_games(folder, games)
    with pytest.raises(ValueError, match=rf"game {lost['game']}: its (win_share|score) is"):
        replay_all(folder)


@pytest.mark.parametrize("changes", [{"win_share": 1.0, "score": None}, {"forfeit": 5}, {"score": None}])
def test_a_forfeited_game_that_counts_is_refused(folder: Path, changes: Json) -> None:
    games = read_games(folder)
    games[0] |= {"forfeit": "gave no answer", "win_share": 0.0, "score": None} | changes
    if changes == {"score": None}:
        games[0]["forfeit"] = None
    write_games(folder, games)
    with pytest.raises(ValueError, match="line 1 is not game 0"):
        read_submission(folder)


@pytest.mark.parametrize("is_agent", [True, False])
def test_an_illegal_move_is_refused(folder: Path, is_agent: bool) -> None:
    games = read_games(folder)
    seat = games[0]["seat"]

    def break_the_rules(env: RawEnv, move: int, legal: list[int]) -> int | None:
        if (env.deciding_seat == seat) != is_agent:
            return None
        return next(one for one in range(256) if one not in legal)

    replace_move(games[0], break_the_rules)
    write_games(folder, games)
    with pytest.raises(ValueError, match=r"game 0: its (moves|forfeit) is"):
        replay_all(folder)


def test_a_legal_move_that_the_opponent_does_not_choose_is_refused(folder: Path) -> None:
    games = read_games(folder)
    seat = games[0]["seat"]

    def play_otherwise(env: RawEnv, move: int, legal: list[int]) -> int | None:
        return next((one for one in legal if one != move), None) if env.deciding_seat != seat else None

    replace_move(games[0], play_otherwise)
    write_games(folder, games)
    with pytest.raises(ValueError, match="game 0: its moves is"):
        replay_all(folder)


# The files.


@pytest.mark.parametrize("name", ["results.json", "games.jsonl", "submission.json"])
def test_a_large_file_is_refused_before_it_is_read(folder: Path, name: str) -> None:
    with (folder / name).open("ab") as file:
        file.truncate(1 << 33)  # no space on disk
    with pytest.raises(ValueError, match=rf"{name}: has 8,589,934,592 bytes; at most"):
        read_submission(folder)


@pytest.mark.parametrize("name", ["results.json", "games.jsonl", "submission.json"])
def test_a_missing_file_is_named(folder: Path, name: str) -> None:
    (folder / name).unlink()
    with pytest.raises(ValueError, match=f"'{name}' is missing; allowed"):
        read_submission(folder)


def test_another_file_is_refused(folder: Path) -> None:
    (folder / "agent.py").write_text("")
    with pytest.raises(ValueError, match=r"'agent\.py' is not part of a submission"):
        read_submission(folder)


@pytest.mark.skipif(os.name == "nt", reason="links need rights on Windows")
def test_links_are_refused(board: Path, folder: Path, tmp_path: Path) -> None:
    (folder / "results.json").unlink()
    (folder / "results.json").symlink_to(tmp_path / "run" / "results.json")
    with pytest.raises(ValueError, match=r"results\.json: is a link"):
        read_submission(folder)
    (board / "linked").symlink_to(tmp_path / "run")
    with pytest.raises(ValueError, match="is not a folder"):
        read_submission(board / "linked")


@pytest.mark.parametrize(
    "name", ["../x", "/tmp/x", "a/b", "..", ".", "", ".hidden", "A", "a b", "a\n", "a" * 61, "a<b"]
)
def test_a_name_that_leads_elsewhere_is_refused(board: Path, tmp_path: Path, name: str) -> None:
    with pytest.raises(ValueError, match=r"the name of a submission is .*; allowed: a-z and 0-9"):
        check_name(name)
    if name:
        with pytest.raises(ValueError, match="the name of a submission is"):
            add_submission(tmp_path / "run", board, ABOUT, name)


@pytest.mark.parametrize("text", ["", "[]", "{", "5", "[" * 100_000, '{"a": 1}', "\x00", '{"author": 1e999}'])
@pytest.mark.parametrize("name", ["results.json", "submission.json"])
def test_a_file_that_holds_something_else_is_refused(folder: Path, name: str, text: str) -> None:
    (folder / name).write_text(text)
    with pytest.raises(ValueError, match=name) as refused:
        read_submission(folder)
    assert len(str(refused.value)) < 600


@pytest.mark.parametrize(
    "changes",
    [
        {"author": "<img src=x onerror=alert(1)>"},
        *({"author": ""}, {"author": " Ann"}, {"author": 5}, {"author": "a\nb"}, {"author": "a" * 81}),
        *({"description": None}, {"description": "x" * 201}, {"kind": "best"}, {"kind": []}),
        *({"date": "2026-13-01"}, {"date": "20260731"}, {"date": "yesterday"}, {"date": 5}),
        *({"link": "javascript:alert(1)"}, {"link": "http://example.org"}, {"link": "https://a.org/)<script>"}),
        *({"link": "https://github.com@example.org/"}, {"link": "https://a.org/ |"}, {"link": 5}),
        *({"link": "https://a.org/" + "a" * 200}, {"link": "https://localhost"}, {"more": 1}),
    ],
)
def test_metadata_that_is_not_allowed_is_refused(folder: Path, changes: Json) -> None:
    change_json(folder / "submission.json", changes)
    with pytest.raises(ValueError, match=rf"submission\.json: '?{next(iter(changes))}'? is .*; allowed: "):
        read_submission(folder)


# The sample.


def test_a_sample_is_drawn_by_the_seed_and_is_of_different_games(folder: Path) -> None:
    submission = read_submission(folder)
    assert submission.draw_sample(100, seed=1) == [0, 1, 2, 3]
    samples = {tuple(submission.draw_sample(2, seed)) for seed in range(100)}
    assert samples == {(0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3)}
    assert submission.draw_sample(2, seed=7) == submission.draw_sample(2, seed=7)


def test_a_forgery_escapes_a_sample_as_often_as_computed(folder: Path) -> None:
    games = read_games(folder)
    games[2]["score"] += 1.0
    write_games(folder, games)
    submission = read_submission(folder)
    samples = [submission.draw_sample(2, seed) for seed in range(400)]
    escaped = sum(2 not in sample for sample in samples) / len(samples)
    assert escaped == pytest.approx(chance_to_miss(1, 4, 2), abs=0.1)
    with pytest.raises(ValueError, match="game 2: its score is"):
        submission.replay(next(sample for sample in samples if 2 in sample))
    assert chance_to_miss(3, 4, 2) == 0
