"""The folder of a server: what is saved, restarts, damaged files, a full disk, and the lock."""

from __future__ import annotations

import json
import re
import stat
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from symphony9_env import records
from symphony9_env.agents import Card, save_policy
from symphony9_env.replay.commentators import Commentators
from symphony9_env.web.table_store import TableStore
from symphony9_env.web.tables import Permissions
from tests.agents.test_protocol import random_weights
from tests.web.api import bearer, choices_of, create_table, get_seat, play_random_moves, run_server


def test_the_file_of_a_game_is_a_record_with_its_players(tmp_path: Path) -> None:
    with run_server(tmp_path) as (client, store):
        create_table(client, store, None, "planner", seed=5, options={"discussion": True, "tracks": "random"})
    record = records.load(tmp_path / "0001.json")
    assert (record["seed"], record["discussion"]) == (5, True)
    assert record["players"] == [{"name": "Ann 0", "agent": None}, {"name": "planner", "agent": "planner"}]


def test_the_file_of_a_game_names_a_labelled_policy_so_that_it_is_found_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    card = Card(num_players=(2,), hidden=(8,))
    save_policy(tmp_path / "best.safetensors", card, random_weights(card))
    monkeypatch.chdir(tmp_path)
    with run_server(tmp_path / "games") as (client, store):
        (token,) = create_table(client, store, None, "mine=best.safetensors", seed=5)
    record = records.load(tmp_path / "games" / "0001.json")
    assert record["players"][1] == {"name": "mine", "agent": str(tmp_path / "best.safetensors")}
    assert Commentators(record, None, 0).policies[1] is not None
    monkeypatch.chdir("/")
    with run_server(tmp_path / "games") as (client, store):
        assert store.damaged == []
        assert get_seat(client, token)["players"][1]["name"] == "mine"


def test_a_server_with_a_seed_deals_the_same_games_again(tmp_path: Path) -> None:
    def deal(folder: str, seed: int | None) -> list[Any]:
        store = TableStore(tmp_path / folder, seed)
        games = [store.create({"seats": [{}, {}]}) for _ in range(3)]
        store.close()
        return [game.env.record()["setup"] for game in games]

    first = deal("a", 5)
    assert first == deal("b", 5)
    assert all(setup not in first for setup in deal("a", 5))  # after a restart it deals other games
    assert deal("c", 6) != first
    assert deal("d", None) != deal("e", None)


def test_a_restarted_server_continues_its_games_with_the_same_links(tmp_path: Path) -> None:
    with run_server(tmp_path) as (client, store):
        tokens = create_table(client, store, None, "planner", None, seed=4, options={"discussion": True})
        play_random_moves(client, tokens, np.random.default_rng(1), 25)
        client.post("/api/seat/name", json={"name": "Zoe"}, headers=bearer(tokens[1]))
        before = [get_seat(client, token) for token in tokens]
        host = store.host_token
    with run_server(tmp_path) as (client, store):
        assert store.host_token == host
        assert [get_seat(client, token) for token in tokens] == before
        play_random_moves(client, tokens, np.random.default_rng(2))
        assert get_seat(client, tokens[0])["view"]["position"]["score_sheet"]


def test_a_restarted_server_plays_the_move_of_the_agent_to_decide(tmp_path: Path) -> None:
    with run_server(tmp_path) as (client, store):
        tokens = create_table(client, store, None, "planner", seed=4)
        table = store.tables["0001"]
        while table.agent_to_move is None:
            table.play(choices_of(get_seat(client, tokens[0]))[0])
        store.save(table)  # as if it were killed now
    with run_server(tmp_path) as (client, store):
        assert choices_of(get_seat(client, tokens[0]))


SEAT = {"name": "Ann", "agent": None, "token": "x"}


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("0001.json", "{"),
        ("0001.json", None),
        ("0001.seats.json", '{"format": "x"}'),
        ("0001.seats.json", "[" * 100_000),
        ("0001.seats.json", json.dumps({"format": "symphony9-seats/1", "components": None, "seats": [SEAT]})),
        ("0001.seats.json", json.dumps({"format": "symphony9-seats/1", "components": None, "seats": [{}, {}]})),
        (
            "0001.seats.json",
            json.dumps({"format": "symphony9-seats/1", "components": None, "seats": [SEAT, {**SEAT, "token": []}]}),
        ),
    ],
)
def test_a_damaged_game_is_reported_and_the_others_continue(name: str, content: str | None, tmp_path: Path) -> None:
    with run_server(tmp_path) as (client, store):
        for _ in range(2):
            create_table(client, store, None, "planner")
    (tmp_path / name).unlink()
    if content is not None:
        (tmp_path / name).write_text(content)
    with run_server(tmp_path) as (client, store):
        assert list(store.tables) == ["0002"]
        assert [problem.split(":")[0] for problem in store.damaged] == ["0001.seats.json"]
        create_table(client, store, None, "planner")
        assert list(store.tables)[-1] == "0003"  # the damaged one is not overwritten


def test_a_game_continues_without_its_component_file(tmp_path: Path) -> None:
    boards = tmp_path / "boards.toml"
    boards.write_text("[bot]\ntiles = [[0, 1, 2], [1, 2, 3], [2, 3, 4]]\n")
    with run_server(tmp_path / "games", permissions=Permissions(folders=(tmp_path,))) as (client, store):
        (token,) = create_table(client, store, None, "search:10", options={"components": str(boards)})
        before = get_seat(client, token)
    boards.unlink()
    with run_server(tmp_path / "games") as (client, store):
        assert store.damaged == []
        assert get_seat(client, token) == before


def test_only_the_owner_can_read_secrets_on_disk(tmp_path: Path) -> None:
    with run_server(tmp_path) as (client, store):
        (token,) = create_table(client, store, None, "planner")
    for name in ("host.json", "0001.json", "0001.seats.json"):
        assert stat.S_IMODE((tmp_path / name).stat().st_mode) == 0o600
    assert token not in (tmp_path / "0001.json").read_text()
    TableStore(tmp_path / "new").close()
    assert stat.S_IMODE((tmp_path / "new").stat().st_mode) == 0o700
    assert len({token, store.host_token}) == 2
    assert all(re.fullmatch(r"[\w-]{32}", secret) for secret in (token, store.host_token))


@pytest.mark.parametrize("token", ["", "\\ud800", "\u00e9", None])
def test_a_damaged_token_of_the_host_is_named(token: str | None, tmp_path: Path) -> None:
    (tmp_path / "host.json").write_text(f'{{"token": "{token}"}}' if token is not None else "{", encoding="utf-8")
    with pytest.raises(ValueError, match=r"host\.json: the file is damaged"):
        TableStore(tmp_path)


def test_a_journal_with_a_number_too_long_to_read_does_not_keep_a_server_from_starting(tmp_path: Path) -> None:
    (tmp_path / "journal.000001.jsonl").write_text(json.dumps({"table": "9" * 5000, "turn": 0, "move": []}))
    (tmp_path / "0001.seats.json").write_text("{")
    store = TableStore(tmp_path)
    assert [problem.split(":")[0] for problem in store.damaged] == ["0001.seats.json"]
    store.close()


def test_two_servers_cannot_use_one_folder(tmp_path: Path) -> None:
    store = TableStore(tmp_path)
    with pytest.raises(ValueError, match="another server is using this folder"):
        TableStore(tmp_path)
    store.close()
    TableStore(tmp_path).close()
