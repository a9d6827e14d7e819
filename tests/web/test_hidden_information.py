"""Hidden information stays hidden: what a seat's link receives, and what other links and no link receive."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from starlette.websockets import WebSocketDisconnect

from symphony9_env.actions import is_bid
from symphony9_env.rules.state import game_at
from symphony9_env.web.tables import Permissions
from tests.properties.test_secrets import change_secrets
from tests.web.api import bearer, choices_of, create_table, get_seat, move, run_server


def list_contents(text: str) -> list[Any]:
    """Return all keys and values of a JSON text, at any depth."""

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
def test_messages_to_a_seat_do_not_depend_on_what_is_hidden_from_it(num_players: int, tmp_path: Path) -> None:
    """Compare the bytes of all answers and messages of a whole game with everything hidden changed."""
    rng = np.random.default_rng(num_players)
    checked = 0
    with run_server(tmp_path) as (client, store):
        tokens = create_table(client, store, *[None] * num_players, seed=3, options={"discussion": True})
        table = store.tables["0001"]
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
                assert {key: value for key, value in json.loads(raw).items() if key != "rules"} == json.loads(message)
                for board in json.loads(raw)["view"]["position"]["boards"]:
                    assert board["seat"] == seat or (board["money"], board["furniture"]) == (None, None)
                assert not {"seed", *tokens, store.host_token} & set(map(str, list_contents(message)))
                checked += 1
            token = tokens[table.env.deciding_seat]
            action = int(rng.choice(choices_of(get_seat(client, token))))
            assert move(client, token, action, table.turn).status_code == 200
    assert checked > 100


@pytest.mark.parametrize("num_players", [2, 3, 4])
def test_logs_do_not_depend_on_what_the_others_own(num_players: int, tmp_path: Path) -> None:
    """Play the same moves with richer rivals and other tokens to come: the lines are the same until those are shown."""
    rng = np.random.default_rng(7)
    with run_server(tmp_path) as (client, store):
        for _ in range(2):
            create_table(client, store, *[None] * num_players, seed=9)
        one, other = store.tables.values()
        game_at(other.env.states).money[:num_players] += 17
        game_at(other.env.states).budget[5] = -game_at(other.env.states).budget[5] or 2
        while game_at(one.env.states).round_index < 5:
            seat = one.env.deciding_seat
            action = int(rng.choice([choice["action"] for choice in one.message(seat)["view"]["choices"]]))
            before = len(one.logs[seat])
            one.play(action)
            other.play(action)
            assert one.logs == other.logs
            if is_bid(action):
                assert {log[before]["text"] for log in one.logs.values()} == {"closes a hand"}


def test_the_reason_why_an_agent_could_not_move_is_only_logged(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """It quotes the agent's answer and its legal bids, which show its money."""
    agent = tmp_path / "stubborn.py"
    agent.write_text(
        "def choose(message):\n"
        "    return 'I hide 4711' if message['decision'] == 'bid' else min(message['legal'], key=int)\n"
    )
    with run_server(tmp_path / "games", permissions=Permissions(external_agents=True)) as (client, store):
        tokens = create_table(client, store, None, f"{agent}:choose", None, seed=1)
        while store.tables["0001"].agent_problem is None:
            for token in tokens:
                message = get_seat(client, token)
                if choices_of(message):
                    move(client, token, choices_of(message)[0], message["turn"])
        for token in tokens:
            message = get_seat(client, token)
            name = message["players"][1]["name"]
            assert message["problem"] == f"{name} could not move; the game is kept, and reloading this page asks again"
    assert "4711" in caplog.text
    assert "bid 0" in caplog.text


def test_requests_without_the_right_token_get_only_an_error(tmp_path: Path) -> None:
    with run_server(tmp_path) as (client, store):
        (token,) = create_table(client, store, None, "planner")
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
        assert client.get("/api/tables", headers=bearer(token)).status_code == 403  # a seat's token is not the host's
        assert client.get("/api/seat", headers=bearer(store.host_token)).status_code == 403  # nor the reverse


def test_a_socket_without_the_right_token_is_closed(tmp_path: Path) -> None:
    with run_server(tmp_path) as (client, store):
        create_table(client, store, None, "planner")
        with client.websocket_connect("/api/seat/events") as socket:
            socket.send_text("wrong")
            with pytest.raises(WebSocketDisconnect) as closed:
                socket.receive_text()
        assert closed.value.code == 4403
        with client.websocket_connect("/api/seat/events") as socket:
            socket.send_bytes(b"\xff")
            with pytest.raises(WebSocketDisconnect):
                socket.receive_text()


def test_nobody_can_play_another_seat(tmp_path: Path) -> None:
    with run_server(tmp_path) as (client, store):
        tokens = create_table(client, store, None, None, None, seed=1)
        table = store.tables["0001"]
        deciding = table.env.deciding_seat
        action = choices_of(get_seat(client, tokens[deciding]))[0]
        for seat, token in enumerate(tokens):
            if seat != deciding:
                assert choices_of(get_seat(client, token)) == []
                answer = move(client, token, action, table.turn)
                assert (answer.status_code, table.turn) == (409, 0)
                assert f"it is not your turn: Ann {deciding} is to decide" in answer.json()["error"]
