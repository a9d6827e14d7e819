"""Game records: 18 games of an independent implementation, round trips, and what is refused."""

from __future__ import annotations

import copy
import json
import os
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from symphony9_env import records
from symphony9_env.envs.aec import RawEnv
from tests.scenarios import finish, legal

GAMES = sorted(Path(__file__).parent.joinpath("records").glob("*.json"))


def read(path: Path) -> dict[str, Any]:
    record: dict[str, Any] = json.loads(path.read_text())
    return record


def test_there_are_six_games_for_each_player_count() -> None:
    assert [sum(path.name.startswith(f"{n}p") for path in GAMES) for n in (2, 3, 4)] == [6, 6, 6]


@pytest.mark.parametrize("path", GAMES, ids=lambda path: path.stem)
def test_the_games_of_an_independent_implementation_replay(path: Path) -> None:
    """Every decision's seat and legal actions agree, and so does the result."""
    record = read(path)
    steps = zip(records.replay(record), [*record["legal"], []], strict=True)
    for env, expected in steps:
        assert sorted(legal(env)) == sorted(expected)
    ours = env.record()
    assert ours == {key: value for key, value in record.items() if key != "legal"}


@pytest.fixture
def record() -> dict[str, Any]:
    env = RawEnv(num_players=3, tracks="random", discussion=True)
    env.reset(seed=11)
    finish(env, np.random.default_rng(11))
    return env.record()


def test_a_record_is_plain_json_and_replays_to_itself(record: dict[str, Any]) -> None:
    assert json.loads(json.dumps(record)) == record
    envs = list(records.replay(record))
    assert len(envs) == len(record["actions"]) + 1
    assert all(env is envs[0] for env in envs)  # one environment, moved on
    assert envs[-1].record() == record


def test_a_game_in_progress_replays_too(record: dict[str, Any]) -> None:
    del record["result"]
    record["actions"] = record["actions"][:40]
    *_, env = records.replay(record)
    assert env.record() == record
    finish(env, np.random.default_rng(0))


def test_replay_takes_other_options_and_refuses_conflicting_ones(record: dict[str, Any]) -> None:
    env = next(iter(records.replay(record, ledger=True, reward="score", render_mode="ansi")))
    assert env.options.ledger
    assert "player_" in (env.render() or "")
    with pytest.raises(ValueError, match="num_players=4, but the record has 3"):
        records.replay(record, num_players=4)


def test_the_seed_is_a_note(record: dict[str, Any]) -> None:
    for seed in (None, 3, "seven", -1):
        record["seed"] = seed
        list(records.replay(record))


def test_any_valid_tracks_are_accepted(record: dict[str, Any]) -> None:
    record["setup"]["tracks"]["bach"] = [[9, 19]]
    record["actions"], record["seed"] = [], None
    del record["result"]
    env = next(iter(records.replay(record)))
    assert env.record()["setup"]["tracks"]["bach"] == [[9, 19]]


def edited(record: dict[str, Any], *path: Any, value: Any) -> dict[str, Any]:
    record = copy.deepcopy(record)
    target: Any = record
    for key in path[:-1]:
        target = target[key]
    if value is ...:
        del target[path[-1]]
    else:
        target[path[-1]] = value
    return record


@pytest.mark.parametrize(
    ("path", "value", "message"),
    [
        (("format",), "symphony9-record/2", "format is 'symphony9-record/2'"),
        (("format",), ..., "format is None"),
        (("num_players",), 5, "num_players=5"),
        (("num_players",), 4, "setup"),
        (("num_players",), "3", "num_players='3'"),
        (("discussion",), 1, "discussion is 1"),
        (("discussion",), False, "action 16: action 45 is out of range"),
        (("setup",), ..., "'setup' is missing"),
        (("setup",), [], "setup must be a mapping"),
        (("setup",), None, "setup must be a mapping"),
        (("setup", "start_player"), 3, "start_player is 3; allowed: 0 to 2"),
        (("setup", "start_player"), True, "start_player is True"),
        (("setup", "tracks", "bach"), ..., "tracks must name just the musicians in play"),
        (("setup", "tracks", "schubert"), [[1, 3]], "tracks must name just the musicians in play"),
        (("setup", "tracks", "bach"), [[1, -1], [2, 5]], "track of bach, space 0: -1 cubes"),
        (("setup", "tracks", "bach"), [[10, 1]], "track of bach, space 0: reputation 10"),
        (("setup", "tracks", "bach"), [[1, 20]], "track of bach: 20 cubes"),
        (("setup", "tracks", "bach"), [[1, 0]], "track of bach: 0 cubes"),
        (("setup", "tracks", "bach"), [[1, 1]] * 9, "track of bach: 9 spaces"),
        (("setup", "tracks", "bach"), [], "track of bach: 0 spaces"),
        (("setup", "tracks", "bach"), [[1, 1, 1]], "track of bach: must be a list"),
        (("setup", "tracks", "bach"), [[1, 1.0]], "track of bach: must be a list"),
        (("setup", "scoring", "bach"), "6A", "scoring"),
        (("setup", "scoring"), ["1A"], "scoring must be a mapping"),
        (("setup", "budget"), [2, 2, 2, 2, 2, 0], "budget has 5 tokens of 2"),
        (("setup", "budget"), [2, 2, 2, 2, 0], "budget must be 6 tokens"),
        (("setup", "budget", 0), 1, "budget has"),
        (("setup", "starting_cubes", 0), [], "starting_cubes of player_0"),
        (("setup", "starting_cubes", 0, 0), "salieri", "'salieri' is no musician in play"),
        (("setup", "bot_tiles"), [[0, 2, 4]] * 6, "unknown entry 'bot_tiles'"),
        (("actions",), "take", "actions must be a list"),
        (("actions", 3), ["player_0"], "action 3: .* must be"),
        (("actions", 3, 1), "take salieri", "action 3: unknown action 'take salieri'"),
        (("actions", 0, 1), "bid 3", r"action 0: action 25 \('bid 3'\) is illegal now; player_\d may choose"),
        (("actions", 0, 0), "player_9", "action 0: 'player_9' acts, but player_"),
        (("actions", -1), ..., "there is a result, but the game is not over"),
        (("result", "scores", 0), 999.0, r"record, after action \d+: result has scores"),
        (("result", "scores", 0), float("nan"), "result has scores"),
        (("result", "scores", 0), "12", "result has scores"),
        pytest.param(("result", "scores", 0), 10**400, "result has scores", id="huge score"),
        (("result", "scores"), [], "result has scores"),
        (("result", "winners"), [], "result has winners"),
        (("result",), {}, "result must hold"),
    ],
)
def test_what_does_not_fit_the_rules_is_refused_with_the_place(
    record: dict[str, Any], path: tuple[Any, ...], value: Any, message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        list(records.replay(edited(record, *path, value=value)))


@pytest.mark.parametrize("error", [1 / 6, -0.5, 1e-3])
def test_a_small_error_in_a_score_is_refused_and_a_rounded_third_is_not(record: dict[str, Any], error: float) -> None:
    right = record["result"]["scores"][1]
    record["result"]["scores"][1] = right + error
    with pytest.raises(ValueError, match="result has scores"):
        list(records.replay(record))
    record["result"]["scores"][1] = right + 1e-9
    record["result"]["winners"] = tuple(record["result"]["winners"])
    list(records.replay(record))


def test_a_file_nested_too_deep_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "deep.json"
    path.write_text("[" * 200_000)
    with pytest.raises(ValueError, match="not a JSON file"):
        records.load(path)


def test_a_move_after_the_end_is_refused(record: dict[str, Any]) -> None:
    record["actions"].append(["player_0", "pass"])
    with pytest.raises(ValueError, match=f"action {len(record['actions']) - 1}: .* the game is over"):
        list(records.replay(record))


def test_two_starting_cubes_of_a_colour_are_refused(record: dict[str, Any]) -> None:
    cubes = record["setup"]["starting_cubes"]
    cubes[0][0] = cubes[1][0]
    with pytest.raises(ValueError, match="is dealt twice"):
        list(records.replay(record))


@pytest.mark.parametrize("tiles", [[[1, 3, 5]] * 5, [[1, 3]] * 6, [[1, 3, -5]] * 6, [[1, 3, 5.5]] * 6, "135135"])
def test_bad_bot_tiles_are_refused(tiles: Any) -> None:
    record = edited(read(GAMES[0]), "setup", "bot_tiles", value=tiles)
    with pytest.raises(ValueError, match=r"bot.tile"):
        list(records.replay(record))


def test_save_and_load(record: dict[str, Any], tmp_path: Path) -> None:
    path = tmp_path / "game.json"
    records.save(record, path)
    assert records.load(path) == record
    assert [file.name for file in tmp_path.iterdir()] == ["game.json"]


def test_files_that_are_no_records_are_refused(record: dict[str, Any], tmp_path: Path) -> None:
    path = tmp_path / "game.json"
    for content, message in [
        (records.dumps(record)[:300].encode(), "not a JSON file"),
        (b"\xff\xfe\x00", "not a JSON file"),
        (b"1" * 5000, "not a JSON file"),
        (b"[1, 2]", "must be a JSON object"),
        (b"{}", "format is None"),
    ]:
        path.write_bytes(content)
        with pytest.raises(ValueError, match=message) as refused:
            records.load(path)
        assert str(refused.value).startswith(f"{path}: ")
    with pytest.raises(ValueError, match="can't be read"):
        records.load(tmp_path / "missing.json")


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such files")
def test_pipes_devices_and_huge_files_are_not_read_as_records(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")  # that nobody writes to
    with (tmp_path / "huge").open("wb") as file:
        file.truncate(1 << 40)
    for path, message in [
        (tmp_path / "pipe", "not a regular file"),
        (Path("/dev/zero"), "not a regular file"),
        (tmp_path / "huge", "has 1,099,511,627,776 bytes; at most 1,000,000 are read"),
        (tmp_path, "can't be read: Is a directory"),
    ]:
        with pytest.raises(ValueError, match=f"^{path}: {message}$"):
            records.load(path)


def test_saving_where_nothing_can_be_written_leaves_nothing_behind(record: dict[str, Any], tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    for target in ("nowhere/game.json", "folder"):
        with pytest.raises(ValueError, match=rf"{target}: can't be written: "):
            records.save(record, tmp_path / target)
    assert [path.name for path in tmp_path.rglob("*")] == ["folder"]


def test_saving_writes_through_links_and_pipes(record: dict[str, Any], tmp_path: Path) -> None:
    link, real = tmp_path / "link.json", tmp_path / "real.json"
    link.symlink_to(real)
    records.save(record, link)
    assert link.is_symlink()
    assert records.load(real) == record
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with ThreadPoolExecutor(1) as reader:
        text = reader.submit(pipe.read_text)
        records.save(record, pipe)
        assert json.loads(text.result()) == record
    assert pipe.is_fifo()


def test_what_is_no_record_is_not_saved(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="must be a JSON object"):
        records.save(3, tmp_path / "game.json")  # type: ignore[arg-type]
    assert list(tmp_path.iterdir()) == []


def test_scores_in_records_and_infos_are_the_same_to_the_last_bit() -> None:
    env = RawEnv()
    for seed in range(40):
        env.reset(seed=seed)
        finish(env, np.random.default_rng(seed))
        assert env.record()["result"]["scores"] == [env.infos[agent]["score"] for agent in env.possible_agents]
