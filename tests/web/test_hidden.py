"""What a seat's link receives, and what others' links and no link at all receive."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from starlette.websockets import WebSocketDisconnect

from symphony9_env.rules.state import game_at
from tests.properties.test_secrets import change_secrets
from tests.web.service import bearer, look, move, server, set_up


def everything(text: str) -> list[Any]:
    """All keys and values, at any depth."""

    def walk(value: Any) -> Any:
        if isinstance(value, dict):
            for key, inside in value.items():
                yield key
                yield from walk(inside)
        elif isinstance(value, list):
            for inside in value:
                yield from walk(inside)
        else:
            yield value

    return list(walk(json.loads(text)))


@pytest.mark.parametrize("num_players", [2, 3, 4])
def test_what_is_hidden_from_a_seat_is_not_in_what_it_receives(num_players: int, tmp_path: Path) -> None:
    """Raw answers and messages of a whole game: the same bytes whatever the others own and hold and what will come."""
    rng = np.random.default_rng(num_players)
    checked = 0
    with server(tmp_path) as (client, tables):
        tokens = set_up(client, tables, *[None] * num_players, seed=3, options={"discussion": True})
        table = tables.by_id["0001"]
        while not table.is_over:
            true = table.env.states.copy()
            for seat, token in enumerate(tokens):
                raw = client.get("/api/seat", headers=bearer(token)).content
                change_secrets(game_at(table.env.states), seat, rng)
                assert client.get("/api/seat", headers=bearer(token)).content == raw
                table.env.states[:] = true
                with client.websocket_connect("/api/seat/events") as socket:
                    socket.send_text(token)
                    message = socket.receive_text()
                assert {key: value for key, value in json.loads(raw).items() if key != "primer"} == json.loads(message)
                for board in json.loads(raw)["scene"]["boards"]:
                    assert board["seat"] == seat or (board["money"], board["furniture"]) == (None, None)
                assert not {"seed", "token", *tokens, tables.host_token} & set(map(str, everything(message))) - {
                    "token"
                }
                checked += 1
            token = tokens[table.env.deciding_seat]
            action = int(rng.choice([choice["action"] for choice in look(client, token)["choices"]]))
            assert move(client, token, action, table.turn).status_code == 200
    assert checked > 100


@pytest.mark.parametrize("num_players", [2, 3, 4])
def test_the_log_tells_the_same_whatever_the_others_own(num_players: int, tmp_path: Path) -> None:
    """The same moves with richer rivals and other tokens to come: the same lines, until the tokens show."""
    rng = np.random.default_rng(7)
    with server(tmp_path) as (client, tables):
        for _ in range(2):
            set_up(client, tables, *[None] * num_players, seed=9)
        one, other = tables.by_id.values()
        game_at(other.env.states).money[:num_players] += 17
        game_at(other.env.states).budget[5] = -game_at(other.env.states).budget[5] or 2
        while game_at(one.env.states).round_index < 5:
            action = int(rng.choice([choice["action"] for choice in one.message(one.env.deciding_seat)["choices"]]))
            before = len(one.log)
            one.play(action)
            other.play(action)
            assert one.log == other.log
            if 22 <= action < 40:
                assert one.log[before]["text"] == "closes a hand"


def test_without_the_right_token_there_is_nothing(tmp_path: Path) -> None:
    with server(tmp_path) as (client, tables):
        (token,) = set_up(client, tables, None, "planner")
        wrong = [
            {},
            bearer(""),
            bearer("x"),
            bearer(token + "x"),
            {"authorization": token},
            {"authorization": f"Basic {token}"},
        ]
        for headers in wrong:
            for method, path in [
                ("GET", "/api/seat"),
                ("POST", "/api/seat/move"),
                ("POST", "/api/seat/name"),
                ("GET", "/api/tables"),
                ("POST", "/api/tables"),
                ("GET", "/api/agents"),
            ]:
                answer = client.request(method, path, headers=headers)
                assert answer.status_code in (401, 403)
                assert set(answer.json()) == {"error"}
        assert client.get("/api/tables", headers=bearer(token)).status_code == 403  # a seat is no host
        assert client.get("/api/seat", headers=bearer(tables.host_token)).status_code == 403  # and a host has no seat


def test_a_socket_without_the_right_token_is_closed(tmp_path: Path) -> None:
    with server(tmp_path) as (client, tables):
        set_up(client, tables, None, "planner")
        with client.websocket_connect("/api/seat/events") as socket:
            socket.send_text("wrong")
            with pytest.raises(WebSocketDisconnect) as closed:
                socket.receive_text()
        assert closed.value.code == 4403
        with client.websocket_connect("/api/seat/events") as socket:
            socket.send_bytes(b"\xff")
            with pytest.raises(WebSocketDisconnect):
                socket.receive_text()


def test_nobody_plays_another_s_seat(tmp_path: Path) -> None:
    with server(tmp_path) as (client, tables):
        tokens = set_up(client, tables, None, None, None, seed=1)
        table = tables.by_id["0001"]
        deciding = table.env.deciding_seat
        action = look(client, tokens[deciding])["choices"][0]["action"]
        for seat, token in enumerate(tokens):
            if seat != deciding:
                assert look(client, token)["choices"] == []
                answer = move(client, token, action, table.turn)
                assert (answer.status_code, table.turn) == (409, 0)
                assert f"it is not your turn: Ann {deciding} is to decide" in answer.json()["error"]
