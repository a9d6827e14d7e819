"""The server of `symphony9 play`, asked as a page asks it, and as nobody should."""

from __future__ import annotations

import contextlib
import json
import re
import stat
import time
from pathlib import Path
from typing import Any

import httpx2
import numpy as np
import pytest
from starlette.testclient import TestClient
from starlette.websockets import WebSocketDisconnect

from symphony9_env import records
from symphony9_env.agents.scripted import ScriptedAgent
from symphony9_env.rules.state import look_at
from symphony9_env.web.app import MAX_BODY, MAX_SOCKETS, make_app
from symphony9_env.web.keeping import Tables
from symphony9_env.web.tables import Table
from tests.properties.test_secrets import change_secrets
from tests.web.browser import running
from tests.web.report import report
from tests.web.service import bearer, look, move, server, set_up


def play_on(client: TestClient, tokens: list[str], rng: np.random.Generator, num_moves: int = 1000) -> None:
    """Random legal moves of whoever is to decide, until the game is over."""
    for _ in range(num_moves):
        messages = {token: look(client, token) for token in tokens}
        if messages[tokens[0]]["scene"]["sheet"]:
            return
        token = next((token for token, message in messages.items() if message["choices"]), None)
        if token is None:
            time.sleep(0.05)  # an agent thinks
            continue
        action = int(rng.choice([choice["action"] for choice in messages[token]["choices"]]))
        assert move(client, token, action, messages[token]["turn"]).status_code == 200


@pytest.mark.parametrize(
    "agents", [(None, "planner"), ("greedy", None, "random"), (None, "policy", "search:20", "investor")]
)
def test_a_person_plays_a_game_against_agents_to_the_score_sheet(
    agents: tuple[str | None, ...], tmp_path: Path
) -> None:
    with server(tmp_path) as (client, tables):
        (token,) = set_up(client, tables, *agents, seed=5)
        play_on(client, [token], np.random.default_rng(0))
        message = look(client, token)
    assert message["scene"]["decision"] == "over"
    *_, env = records.replay(records.load(tmp_path / "0001.json"))
    assert [line["total"] for line in message["scene"]["sheet"]] == env.record()["result"]["scores"]
    assert message["log"][-1]["text"] == "The game is over"


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
            true = table.env.game.copy()
            for seat, token in enumerate(tokens):
                raw = client.get("/api/seat", headers=bearer(token)).content
                change_secrets(look_at(table.env.game), seat, rng)
                assert client.get("/api/seat", headers=bearer(token)).content == raw
                table.env.game[:] = true
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
        look_at(other.env.game).money[:num_players] += 17
        look_at(other.env.game).budget[5] = -look_at(other.env.game).budget[5] or 2
        while look_at(one.env.game).round_index < 5:
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


@pytest.mark.parametrize(
    ("body", "status", "reason"),
    [
        ({"action": 30, "turn": 0}, 422, "action 30 ('bid 8') is illegal now"),
        ({"action": 99, "turn": 0}, 422, "action 99 is out of range"),
        ({"action": -1, "turn": 0}, 422, "action -1 is out of range"),
        ({"action": 10**30, "turn": 0}, 422, "out of range"),
        ({"action": 0, "turn": 1}, 409, "the game has moved on: this is turn 0, not 1"),
        ({"action": 0}, 400, "needed: two whole numbers"),
        ({"action": "0", "turn": 0}, 400, "needed: two whole numbers"),
        ({"action": True, "turn": 0}, 400, "needed: two whole numbers"),
        ({"action": 0.0, "turn": 0}, 400, "needed: two whole numbers"),
        ({}, 400, "needed: two whole numbers"),
        ([], 400, "the body is no JSON object"),
        (b"{", 400, "the body is no JSON object"),
        (b"\xff\xfe", 400, "the body is no JSON object"),
        (b"[" * 5000, 400, "the body is no JSON object"),
        (b"", 400, "the body is no JSON object"),
    ],
)
def test_a_bad_move_is_refused_and_the_game_is_unharmed(body: Any, status: int, reason: str, tmp_path: Path) -> None:
    with server(tmp_path) as (client, tables):
        (token, _) = set_up(client, tables, None, None, seed=12)
        table = tables.by_id["0001"]
        token = (token, _)[table.env.deciding_seat]
        before = table.env.game.tobytes(), look(client, token)
        content = body if isinstance(body, bytes) else json.dumps(body).encode()
        answer = client.post("/api/seat/move", content=content, headers=bearer(token))
        assert answer.status_code == status
        assert reason in answer.json()["error"]
        assert (table.env.game.tobytes(), look(client, token)) == before
        assert move(client, token, 0, 0).status_code == 200


def test_bodies_that_are_too_large_are_refused(tmp_path: Path) -> None:
    with server(tmp_path) as (client, tables):
        (token,) = set_up(client, tables, None, "planner")
        large = b'{"name": "' + b"x" * MAX_BODY + b'"}'
        for path, secret in (("/api/seat/name", token), ("/api/tables", tables.host_token)):
            for content in (large, iter([large[:100], large[100:]])):  # with its length said before, and without
                answer = client.post(path, content=content, headers=bearer(secret))
                assert answer.status_code == 413
                assert "content-security-policy" in answer.headers
        assert look(client, token)["players"][0]["name"] == "Ann 0"


@pytest.mark.parametrize(
    ("wish", "reason"),
    [
        ([], "no JSON object"),
        ({}, "needed: an object with seats"),
        ({"seats": "ab"}, "needed: an object with seats"),
        ({"seats": [{}]}, "num_players=1; allowed: 2, 3, 4"),
        ({"seats": [{}] * 5}, "num_players=5"),
        ({"seats": [1, 2]}, "seat 1: 1; needed: an object"),
        ({"seats": [{"name": 7}, {}]}, "seat 1: name=7"),
        ({"seats": [{}, {"agent": "planer"}]}, "did you mean 'planner'"),
        ({"seats": [{}, {"agent": "nowhere.safetensors"}]}, "nowhere.safetensors: no such file"),
        ({"seats": [{}, {"agent": 5}]}, "agent=5"),
        ({"seats": [{}, {"agent": "/" + "a" * 5000}]}, "name too long"),
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
def test_a_game_that_can_t_be_set_up_is_refused_and_leaves_nothing(wish: Any, reason: str, tmp_path: Path) -> None:
    with server(tmp_path) as (client, tables):
        answer = client.post("/api/tables", content=json.dumps(wish), headers=bearer(tables.host_token))
        assert answer.status_code in (400, 422)
        assert reason in answer.json()["error"]
        assert sorted(path.name for path in tmp_path.iterdir()) == [".lock", "host.json"]


def test_names_are_one_short_line_and_stay_text(tmp_path: Path) -> None:
    with server(tmp_path) as (client, tables):
        (token,) = set_up(client, tables, None, "planner")
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


def test_every_answer_forbids_foreign_scripts_and_is_not_kept(tmp_path: Path) -> None:
    with server(tmp_path) as (client, _):
        for path in ("/", "/play", "/look.css", "/static/play.js", "/api/seat", "/nowhere"):
            headers = client.get(path).headers
            assert "script-src 'self'" in headers["content-security-policy"]
            assert "unsafe" not in headers["content-security-policy"]
            assert headers["x-content-type-options"] == "nosniff"
            assert headers["referrer-policy"] == "no-referrer"
            assert headers["cache-control"] == "no-store"


@pytest.mark.parametrize("path", ["/static/../app.py", "/static/%2e%2e/app.py", "/static/..%2fapp.py", "/../host.json"])
def test_no_file_but_the_page_s_own_can_be_fetched(path: str, tmp_path: Path) -> None:
    with server(tmp_path) as (client, _):
        assert client.get(path).status_code == 404


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


def test_a_page_hears_of_others_moves(tmp_path: Path) -> None:
    with server(tmp_path) as (client, tables):
        tokens = set_up(client, tables, None, None, seed=1)
        deciding = tables.by_id["0001"].env.deciding_seat
        with client.websocket_connect("/api/seat/events") as socket:
            socket.send_text(tokens[1 - deciding])
            assert socket.receive_json()["turn"] == 0
            move(client, tokens[deciding], 0, 0)
            assert socket.receive_json()["turn"] == 1
            client.post("/api/seat/name", json={"name": "Zoe"}, headers=bearer(tokens[deciding]))
            assert socket.receive_json()["players"][deciding]["name"] == "Zoe"


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


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_an_agent_that_fails_is_told_and_tried_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with server(tmp_path) as (client, tables):
        (token,) = set_up(client, tables, None, "planner", seed=1)
        message = look(client, token)
        with monkeypatch.context() as patch:
            patch.setattr(ScriptedAgent, "choose", lambda *_: 1 / 0)
            while message["choices"]:
                message = move(client, token, message["choices"][0]["action"], message["turn"]).json()
            assert "planner can't go on: division by zero" in message["problem"]
        assert look(client, token)["choices"]


def test_two_servers_don_t_share_a_folder(tmp_path: Path) -> None:
    tables = Tables(tmp_path)
    with pytest.raises(ValueError, match="another server is using this folder"):
        Tables(tmp_path)
    tables.close()
    Tables(tmp_path).close()


def test_a_seat_is_open_in_some_places_at_once_not_in_any_number(tmp_path: Path) -> None:
    with server(tmp_path) as (client, tables), contextlib.ExitStack() as stack:
        (token,) = set_up(client, tables, None, "planner")
        for _ in range(MAX_SOCKETS):
            socket = stack.enter_context(client.websocket_connect("/api/seat/events"))
            socket.send_text(token)
            socket.receive_text()
        with client.websocket_connect("/api/seat/events") as one_more:
            one_more.send_text(token)
            with pytest.raises(WebSocketDisconnect) as closed:
                one_more.receive_text()
        assert "open in 8 places" in str(closed.value.reason)


def test_what_the_server_can_t_do_is_an_error_as_any_other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tables = Tables(tmp_path)
    with TestClient(make_app(tables), raise_server_exceptions=False) as client:
        (token,) = set_up(client, tables, None, "planner")
        monkeypatch.setattr(Table, "message", lambda *_: 1 / 0)
        answer = client.get("/api/seat", headers=bearer(token))
    assert answer.status_code == 500
    assert answer.json() == {"error": "the server could not do that: ZeroDivisionError"}
    assert "content-security-policy" in answer.headers


def test_fifty_games_at_once(tmp_path: Path) -> None:
    """Over a real connection, each person after the other; how long an answer took is told at the end."""
    tables = Tables(tmp_path)
    opponents = [{"agent": "planner"}, {"agent": "investor"}, {"agent": "greedy"}]
    people = [
        tables.create({"seats": [{"name": "Ann"}, *opponents], "seed": seed}).seats[0].token for seed in range(50)
    ]
    rng = np.random.default_rng(0)
    waits = []
    with running(make_app(tables)) as address, httpx2.Client(base_url=address, timeout=60) as client:
        messages = {str(token): client.get("/api/seat", headers=bearer(str(token))).json() for token in people}
        while waiting := [token for token, message in messages.items() if message["choices"]]:
            for token in waiting:
                body = {
                    "turn": messages[token]["turn"],
                    "action": int(rng.choice([choice["action"] for choice in messages[token]["choices"]])),
                }
                begun = time.perf_counter()
                answer = client.post("/api/seat/move", json=body, headers=bearer(token))
                waits.append(time.perf_counter() - begun)
                assert answer.status_code == 200
                messages[token] = answer.json()
                while not (messages[token]["choices"] or messages[token]["scene"]["sheet"]):  # agents still think
                    messages[token] = client.get("/api/seat", headers=bearer(token)).json()
    assert all(message["scene"]["sheet"] for message in messages.values())
    low, high = np.quantile(1000 * np.array(waits), [0.5, 0.99])
    report(
        f"symphony9 play, 50 games at once against planner, investor and greedy: {len(waits)} moves, each answered "
        f"with the agents' moves in {low:.0f} ms (median), {high:.0f} ms (99 % of them)"
    )
