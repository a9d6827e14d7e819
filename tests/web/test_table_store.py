"""The folder of a server: what is kept, what survives a restart, what is damaged or full."""

from __future__ import annotations

import json
import re
import stat
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from symphony9_env import records
from symphony9_env.web.table_store import Tables
from tests.web.service import bearer, look, move, play_on, server, set_up


def test_the_file_of_a_game_is_a_record_with_who_played(tmp_path: Path) -> None:
    with server(tmp_path) as (client, tables):
        set_up(client, tables, None, "planner", seed=5, options={"discussion": True, "tracks": "random"})
    record = records.load(tmp_path / "0001.json")
    assert (record["seed"], record["discussion"]) == (5, True)
    assert record["players"] == [{"name": "Ann 0", "agent": None}, {"name": "planner", "agent": "planner"}]


def test_a_server_with_a_seed_deals_the_same_games_again(tmp_path: Path) -> None:
    def dealt(folder: str, seed: int | None) -> list[Any]:
        tables = Tables(tmp_path / folder, seed)
        games = [tables.create({"seats": [{}, {}]}) for _ in range(3)]
        tables.close()
        return [game.env.record()["setup"] for game in games]

    first = dealt("a", 5)
    assert first == dealt("b", 5)
    assert all(setup not in first for setup in dealt("a", 5))  # started again, it goes on with other games
    assert dealt("c", 6) != first
    assert dealt("d", None) != dealt("e", None)


def test_a_restarted_server_goes_on_with_its_games_and_links(tmp_path: Path) -> None:
    with server(tmp_path) as (client, tables):
        tokens = set_up(client, tables, None, "planner", None, seed=4, options={"discussion": True})
        play_on(client, tokens, np.random.default_rng(1), 25)
        client.post("/api/seat/name", json={"name": "Zoe"}, headers=bearer(tokens[1]))
        before = [look(client, token) for token in tokens]
        host = tables.host_token
    with server(tmp_path) as (client, tables):
        assert tables.host_token == host
        assert [look(client, token) for token in tokens] == before
        play_on(client, tokens, np.random.default_rng(2))
        assert look(client, tokens[0])["scene"]["sheet"]


def test_a_server_that_stopped_in_an_agent_s_turn_lets_it_play(tmp_path: Path) -> None:
    with server(tmp_path) as (client, tables):
        tokens = set_up(client, tables, None, "planner", seed=4)
        table = tables.by_id["0001"]
        while table.agent_to_move is None:
            table.play(look(client, tokens[0])["choices"][0]["action"])
        tables.save(table)  # as if it was killed now
    with server(tmp_path) as (client, tables):
        assert look(client, tokens[0])["choices"]


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
def test_a_damaged_game_is_told_and_the_others_go_on(name: str, content: str | None, tmp_path: Path) -> None:
    with server(tmp_path) as (client, tables):
        for _ in range(2):
            set_up(client, tables, None, "planner")
    (tmp_path / name).unlink()
    if content is not None:
        (tmp_path / name).write_text(content)
    with server(tmp_path) as (client, tables):
        assert list(tables.by_id) == ["0002"]
        assert [problem.split(":")[0] for problem in tables.damaged] == ["0001.seats.json"]
        set_up(client, tables, None, "planner")
        assert list(tables.by_id)[-1] == ("0003" if name == "0001.seats.json" or content else "0001")


def test_a_game_goes_on_without_the_component_file_it_was_dealt_from(tmp_path: Path) -> None:
    boards = tmp_path / "boards.toml"
    boards.write_text("[bot]\ntiles = [[0, 1, 2], [1, 2, 3], [2, 3, 4]]\n")
    with server(tmp_path / "games") as (client, tables):
        (token,) = set_up(client, tables, None, "search:10", options={"components": str(boards)})
        before = look(client, token)
    boards.unlink()
    with server(tmp_path / "games") as (client, tables):
        assert tables.damaged == []
        assert look(client, token) == before


def test_secrets_on_disk_are_for_the_owner_alone(tmp_path: Path) -> None:
    with server(tmp_path) as (client, tables):
        (token,) = set_up(client, tables, None, "planner")
    for name in ("host.json", "0001.seats.json"):
        assert stat.S_IMODE((tmp_path / name).stat().st_mode) == 0o600
    assert token not in (tmp_path / "0001.json").read_text()
    Tables(tmp_path / "new").close()
    assert stat.S_IMODE((tmp_path / "new").stat().st_mode) == 0o700
    assert len({token, tables.host_token}) == 2
    assert all(re.fullmatch(r"[\w-]{32}", secret) for secret in (token, tables.host_token))


def no_space(*_: Any) -> None:
    raise OSError(28, "No space left on device")


def test_a_full_disk_is_told_and_the_game_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with server(tmp_path) as (client, tables):
        (token,) = set_up(client, tables, None, "planner", seed=1)
        message = look(client, token)
        with monkeypatch.context() as patch:
            patch.setattr("symphony9_env.files.os.replace", no_space)
            for _ in range(3):
                message = move(client, token, message["choices"][0]["action"], message["turn"]).json()
                assert "could not be saved" in message["problem"]
                assert "No space left" in message["problem"]
                assert message["choices"]  # the agent has answered
            refused = client.post("/api/tables", json={"seats": [{}, {}]}, headers=bearer(tables.host_token))
            assert refused.status_code == 507
            assert list(tables.by_id) == ["0001"]
        message = move(client, token, message["choices"][0]["action"], message["turn"]).json()
        assert message["problem"] is None
    assert len(records.load(tmp_path / "0001.json")["actions"]) == message["turn"]


def test_two_servers_don_t_share_a_folder(tmp_path: Path) -> None:
    tables = Tables(tmp_path)
    with pytest.raises(ValueError, match="another server is using this folder"):
        Tables(tmp_path)
    tables.close()
    Tables(tmp_path).close()
