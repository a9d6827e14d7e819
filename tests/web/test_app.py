"""The application of `symphony9 play`: requests that pages make, and requests that must be refused."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import json
import random
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from starlette.testclient import TestClient
from starlette.websockets import WebSocketDisconnect

from speed.server import Sample, play
from symphony9_env import records
from symphony9_env.agents.scripted import ScriptedAgent
from symphony9_env.web.app import MAX_BODY, MAX_SOCKETS, make_app
from symphony9_env.web.compilation_status import compilation_status
from symphony9_env.web.table_store import TableStore
from symphony9_env.web.tables import Table
from tests.web.api import bearer, choices_of, create_table, get_seat, move, play_random_moves, run_server
from tests.web.browser import running


@pytest.mark.parametrize(
    "agents", [(None, "planner"), ("level:3", None, "random"), (None, "think:4", "search:20", "level:10")]
)
def test_a_person_plays_a_game_against_agents_to_the_score_sheet(
    agents: tuple[str | None, ...], tmp_path: Path
) -> None:
    with run_server(tmp_path) as (client, store):
        (token,) = create_table(client, store, *agents, seed=5)
        play_random_moves(client, [token], np.random.default_rng(0))
        message = get_seat(client, token)
    assert message["format"] == "symphony9-table/1"
    assert message["view"]["position"]["decision"] == "over"
    *_, env = records.replay(records.load(tmp_path / "0001.json"))
    assert [line["total"] for line in message["view"]["position"]["score_sheet"]] == env.record()["result"]["scores"]
    assert message["log"][-1]["text"] == "The game is over"


@pytest.mark.parametrize(
    ("body", "status", "reason"),
    [
        ({"action": 30, "turn": 0}, 422, "action 30 ('bid 8') is illegal now"),
        ({"action": 99, "turn": 0}, 422, "action 99 is out of range"),
        ({"action": -1, "turn": 0}, 422, "action -1 is out of range"),
        ({"action": 10**30, "turn": 0}, 422, "out of range"),
        ({"action": 0, "turn": 1}, 409, "the game has moved on: this is turn 0, not 1"),
        ({"action": 0}, 400, "both must be whole numbers"),
        ({"action": "0", "turn": 0}, 400, "both must be whole numbers"),
        ({"action": True, "turn": 0}, 400, "both must be whole numbers"),
        ({"action": 0.0, "turn": 0}, 400, "both must be whole numbers"),
        ({}, 400, "both must be whole numbers"),
        ([], 400, "the body is not a JSON object"),
        (b"{", 400, "the body is not a JSON object"),
        (b"\xff\xfe", 400, "the body is not a JSON object"),
        (b"[" * 5000, 400, "the body is not a JSON object"),
        (b"", 400, "the body is not a JSON object"),
    ],
)
def test_a_bad_move_is_refused_and_changes_nothing(body: Any, status: int, reason: str, tmp_path: Path) -> None:
    with run_server(tmp_path) as (client, store):
        (token, _) = create_table(client, store, None, None, seed=12)
        table = store.tables["0001"]
        token = (token, _)[table.env.deciding_seat]
        before = table.env.states.tobytes(), get_seat(client, token)
        content = body if isinstance(body, bytes) else json.dumps(body).encode()
        answer = client.post("/api/seat/move", content=content, headers=bearer(token))
        assert answer.status_code == status
        assert reason in answer.json()["error"]
        assert (table.env.states.tobytes(), get_seat(client, token)) == before
        assert move(client, token, 0, 0).status_code == 200


def test_bodies_that_are_too_large_are_refused(tmp_path: Path) -> None:
    with run_server(tmp_path) as (client, store):
        (token,) = create_table(client, store, None, "planner")
        large = b'{"name": "' + b"x" * MAX_BODY + b'"}'
        for path, secret in (("/api/seat/name", token), ("/api/tables", store.host_token)):
            for content in (large, iter([large[:100], large[100:]])):  # with and without a content-length header
                answer = client.post(path, content=content, headers=bearer(secret))
                assert answer.status_code == 413
                assert "content-security-policy" in answer.headers
        assert get_seat(client, token)["players"][0]["name"] == "Ann 0"


@pytest.mark.parametrize(
    ("request_body", "reason"),
    [
        ([], "not a JSON object"),
        ({}, "must be an object with seats"),
        ({"seats": "ab"}, "must be an object with seats"),
        ({"seats": [{}]}, "num_players=1; allowed: 2, 3, 4"),
        ({"seats": [{}] * 5}, "num_players=5"),
        ({"seats": [1, 2]}, "seat 1: 1; it must be an object"),
        ({"seats": [{"name": 7}, {}]}, "seat 1: name=7"),
        ({"seats": [{}, {"agent": "planer"}]}, "did you mean 'planner'"),
        ({"seats": [{}, {"agent": "nowhere.safetensors"}]}, "nowhere.safetensors: no such file"),
        ({"seats": [{}, {"agent": 5}]}, "agent=5"),
        ({"seats": [{}, {"agent": "/" + "a" * 5000}]}, "files are read only from"),
        ({"seats": [{}, {"agent": "a" * 5000 + ".safetensors"}]}, "name too long"),
        ({"seats": [{}, {"agent": "\ud800.safetensors"}]}, "?.safetensors"),
        ({"seats": [{}, {}], "seed": -1}, "seed=-1"),
        ({"seats": [{}, {}], "seed": "x"}, "seed='x'"),
        ({"seats": [{}, {}], "options": []}, "options=[]"),
        ({"seats": [{}, {}], "options": {"tracks": "x"}}, "tracks='x'"),
        ({"seats": [{}, {}], "options": {"ledger": True}}, "unknown option 'ledger'"),
        ({"seats": [{}, {}], "options": {"num_players": 3}}, "num_players=3, but there are 2 seats"),
        ({"seats": [{}, {}], "options": {"components": "nowhere.toml"}}, "nowhere.toml"),
    ],
)
def test_a_bad_table_request_is_refused_and_leaves_no_files(request_body: Any, reason: str, tmp_path: Path) -> None:
    with run_server(tmp_path) as (client, store):
        answer = client.post("/api/tables", content=json.dumps(request_body), headers=bearer(store.host_token))
        assert answer.status_code in (400, 403, 422)
        assert reason in answer.json()["error"]
        assert sorted(path.name for path in tmp_path.iterdir()) == [".lock", "host.json"]


def test_names_become_one_short_line_of_text(tmp_path: Path) -> None:
    with run_server(tmp_path) as (client, store):
        (token,) = create_table(client, store, None, "planner")
        for name, shown in [
            ("<b>Ann</b>", "<b>Ann</b>"),
            ("  Ann\n\tB \x00\u202e", "Ann B"),
            ("x" * 100, "x" * 30),
            (" ", "x" * 30),
            ("\u3164\u2800", "x" * 30),
            ("\ud800Zoe", "Zoe"),
        ]:
            answer = client.post("/api/seat/name", content=json.dumps({"name": name}), headers=bearer(token))
            assert answer.json()["players"][0]["name"] == shown
            assert answer.headers["content-type"] == "application/json"
        assert client.post("/api/seat/name", json={"name": 5}, headers=bearer(token)).status_code == 400
        assert client.post("/api/seat/name", json={"name": "planner"}, headers=bearer(token)).status_code == 409


def test_every_answer_forbids_foreign_scripts_and_caching(tmp_path: Path) -> None:
    with run_server(tmp_path) as (client, _):
        for path in ("/", "/play", "/theme.css", "/shared/board.js", "/static/play.js", "/api/seat", "/nowhere"):
            headers = client.get(path).headers
            assert "script-src 'self'" in headers["content-security-policy"]
            assert "unsafe" not in headers["content-security-policy"]
            assert headers["x-content-type-options"] == "nosniff"
            assert headers["referrer-policy"] == "no-referrer"
            assert headers["cache-control"] == "no-store"


@pytest.mark.parametrize(
    "path", ["/static/../app.py", "/static/%2e%2e/app.py", "/shared/..%2freplay_data.py", "/../host.json"]
)
def test_only_the_files_of_pages_can_be_fetched(path: str, tmp_path: Path) -> None:
    with run_server(tmp_path) as (client, _):
        assert client.get(path).status_code == 404


def test_pages_need_no_open_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Visitors who read slowly would otherwise use up the files that the server may open."""
    with run_server(tmp_path) as (client, _):
        monkeypatch.setattr("builtins.open", None)
        for path, kind in [
            ("/", "html"),
            ("/play", "html"),
            ("/static/play.js", "javascript"),
            ("/shared/style.css", "css"),
        ]:
            answer = client.get(path)
            assert (answer.status_code, answer.headers["content-type"]) == (200, f"text/{kind}; charset=utf-8")


def test_a_page_receives_the_others_moves_and_names(tmp_path: Path) -> None:
    with run_server(tmp_path) as (client, store):
        tokens = create_table(client, store, None, None, seed=1)
        deciding = store.tables["0001"].env.deciding_seat
        with client.websocket_connect("/api/seat/events") as socket:
            socket.send_text(tokens[1 - deciding])
            assert socket.receive_json()["turn"] == 0
            move(client, tokens[deciding], 0, 0)
            assert socket.receive_json()["turn"] == 1
            client.post("/api/seat/name", json={"name": "Zoe"}, headers=bearer(tokens[deciding]))
            assert socket.receive_json()["players"][deciding]["name"] == "Zoe"


def test_a_failing_agent_is_reported_and_asked_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    with run_server(tmp_path) as (client, store):
        (token,) = create_table(client, store, None, "planner", seed=1)
        message = get_seat(client, token)
        with monkeypatch.context() as patch:
            patch.setattr(ScriptedAgent, "choose", lambda *_: 1 / 0)
            while choices_of(message):
                message = move(client, token, choices_of(message)[0], message["turn"]).json()
            assert message["problem"].startswith("planner could not move; the game is kept")
            turn = message["turn"]
            message = client.post("/api/seat/name", json={"name": "Zoe"}, headers=bearer(token)).json()
            assert "planner could not move" in message["problem"]  # saving the new name does not solve it
            assert len(records.load(tmp_path / "0001.json")["actions"]) == turn
        message = get_seat(client, token)
        assert choices_of(message)
        assert message["problem"] is None
    gc.collect()  # an exception that nobody retrieved would be reported now
    assert [entry.getMessage() for entry in caplog.records] == ["table 0001: planner could not move"]
    assert "division by zero" in caplog.text


def test_the_number_of_windows_for_a_seat_is_limited(tmp_path: Path) -> None:
    with run_server(tmp_path) as (client, store), contextlib.ExitStack() as stack:
        (token,) = create_table(client, store, None, "planner")
        for _ in range(MAX_SOCKETS):
            socket = stack.enter_context(client.websocket_connect("/api/seat/events"))
            socket.send_text(token)
            socket.receive_text()
        with client.websocket_connect("/api/seat/events") as one_more:
            one_more.send_text(token)
            with pytest.raises(WebSocketDisconnect) as closed:
                one_more.receive_text()
        assert "open in 8 windows" in str(closed.value.reason)


def test_an_internal_error_is_answered_like_any_other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = TableStore(tmp_path)
    with TestClient(make_app(store), raise_server_exceptions=False) as client:
        (token,) = create_table(client, store, None, "planner")
        monkeypatch.setattr(Table, "message", lambda *_: 1 / 0)
        answer = client.get("/api/seat", headers=bearer(token))
    assert answer.status_code == 500
    assert answer.json() == {"error": "the server could not do that: ZeroDivisionError"}
    assert "content-security-policy" in answer.headers


def test_people_who_move_at_the_same_time_finish_their_games(tmp_path: Path) -> None:
    """Twenty people play over real connections; `python -m speed.server` measures how long the answers take."""
    store = TableStore(tmp_path)
    opponents = [{"agent": "planner"}, {"agent": "investor"}, {"agent": "greedy"}]
    tables = [store.create({"seats": [{"name": "Ann"}, *opponents], "seed": seed}) for seed in range(20)]
    sample = Sample()

    async def play_all(port: int) -> None:
        rng = random.Random(0)
        think = partial(asyncio.sleep, 0)
        await asyncio.gather(*(play(port, str(table.seats[0].token), think, sample, rng) for table in tables))

    with running(make_app(store)) as address:
        asyncio.run(play_all(int(address.rpartition(":")[2])))
    assert all(table.is_over for table in tables)
    assert len(sample.times) == sum(seat == 0 for table in tables for seat, _ in table.env.history)
    for table in tables:
        assert records.load(tmp_path / f"{table.id}.json") == table.record()


def test_everybody_at_a_table_can_ask_whether_the_rules_are_being_compiled(tmp_path: Path) -> None:
    def ask(token: str) -> Any:
        return client.get("/api/status", headers=bearer(token))

    with run_server(tmp_path) as (client, store):
        (token,) = create_table(client, store, None, "greedy")
        for module, expected in [("symphony9_env.rules.game", True), ("numpy", False)]:
            function = SimpleNamespace(__module__=module)
            compiling = SimpleNamespace(data={"dispatcher": SimpleNamespace(py_func=function)})
            compilation_status.on_start(compiling)
            assert ask(token).json() == ask(store.host_token).json() == {"is_compiling": expected}
            compilation_status.on_end(compiling)
        assert ask(token).json() == {"is_compiling": False}
        assert ask("wrong").status_code == 403
        assert client.get("/api/status").status_code == 401
