"""What the host may ask of a server: files, playouts, external agents, and closing tables."""

from __future__ import annotations

import asyncio
import json
import os
import stat
import sys
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from playwright.sync_api import expect
from starlette.testclient import TestClient
from starlette.websockets import WebSocketDisconnect

from symphony9_env import records, symphony9_v0
from symphony9_env.agents import Card, save_policy
from symphony9_env.agents.external import ExternalAgent
from symphony9_env.agents.search import SearchAgent
from symphony9_env.cli import main
from symphony9_env.replay.player_names import clean_name, number_duplicates
from symphony9_env.web import table_manager
from symphony9_env.web.app import MAX_BODY, MAX_CLOSE_REASON, MAX_ERROR, make_app, shorten
from symphony9_env.web.table_manager import TableManager
from symphony9_env.web.table_store import TableStore
from symphony9_env.web.tables import MAX_COMPONENTS_SIZE, Permissions, RequestError
from tests.agents.test_protocol import random_weights
from tests.web.api import bearer, choices_of, create_table, get_seat, move, run_server
from tests.web.browser import Screen, chromium, running

needs_posix = pytest.mark.skipif(sys.platform == "win32", reason="pipes and devices as files")
BOARDS = "[bot]\ntiles = [[0, 1, 2], [1, 2, 3], [2, 3, 4]]\n"


def request_table(client: TestClient, store: TableStore, **request: Any) -> Any:
    """Ask for a table of two people, unless the request says otherwise; return the answer."""
    body = {"seats": [{}, {}], **request}
    return client.post("/api/tables", content=json.dumps(body), headers=bearer(store.host_token))


# Files.


@needs_posix
@pytest.mark.parametrize("kind", ["components", "policy"])
def test_pipes_and_devices_are_refused_at_once(kind: str, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.toml")
    os.mkfifo(tmp_path / "pipe.safetensors")
    everywhere = Permissions(folders=(Path("/"),))
    with run_server(tmp_path / "games", permissions=everywhere) as (client, store):
        paths = ["/dev/zero", str(tmp_path / ("pipe.toml" if kind == "components" else "pipe.safetensors"))]
        for path in paths:
            if kind == "components":
                answer = request_table(client, store, options={"components": path})
            else:
                answer = request_table(client, store, seats=[{}, {"agent": path}])
            assert answer.status_code == 422
            assert "not a regular file" in answer.json()["error"]


def test_files_are_read_only_from_allowed_folders(tmp_path: Path) -> None:
    inside, outside = tmp_path / "inside", tmp_path / "outside"
    for folder in (inside, outside):
        folder.mkdir()
        (folder / "boards.toml").write_text(BOARDS)
        card = Card(num_players=(2,), hidden=(8,))
        save_policy(folder / "best.safetensors", card, random_weights(card))
    (inside / "link.toml").symlink_to(outside / "boards.toml")
    refused = [outside / "boards.toml", inside / "link.toml", inside / ".." / "outside" / "boards.toml"]
    with run_server(tmp_path / "games", permissions=Permissions(folders=(inside,))) as (client, store):
        for path in refused:
            answer = request_table(client, store, options={"components": str(path)})
            assert answer.status_code == 403
            assert "files are read only from" in answer.json()["error"]
        for name in (str(outside / "best.safetensors"), f"mine={outside / 'best.safetensors'}"):
            assert request_table(client, store, seats=[{}, {"agent": name}]).status_code == 403
        assert request_table(client, store, options={"components": str(inside / "boards.toml")}).status_code == 201
        assert request_table(client, store, seats=[{}, {"agent": str(inside / "best.safetensors")}]).status_code == 201
    with run_server(tmp_path / "games", permissions=Permissions(folders=())) as (_, store):
        assert store.damaged == []  # what was permitted stays so


def test_component_files_have_a_size_limit(tmp_path: Path) -> None:
    (tmp_path / "boards.toml").write_text(BOARDS + "#" * MAX_COMPONENTS_SIZE)
    with run_server(tmp_path / "games", permissions=Permissions(folders=(tmp_path,))) as (client, store):
        answer = request_table(client, store, options={"components": str(tmp_path / "boards.toml")})
    assert answer.status_code == 422
    assert f"at most {MAX_COMPONENTS_SIZE:,} are read" in answer.json()["error"]


# Agents.


@pytest.mark.parametrize(
    "name", ["search:10001", "label=search:10001", "search:10001@planner", "think:10001", "think:100@search:100"]
)
def test_the_number_of_playouts_is_limited(name: str, tmp_path: Path) -> None:
    with run_server(tmp_path) as (client, store):
        answer = request_table(client, store, seats=[{}, {"agent": name}])
        assert answer.status_code == 422
        assert "up to 10000 playouts" in answer.json()["error"]
        assert request_table(client, store, seats=[{}, {"agent": "search:10000"}]).status_code == 201
    with run_server(tmp_path, permissions=Permissions(max_playouts=10)) as (_, store):
        assert store.damaged == []  # what was permitted stays so


def test_the_number_of_external_agents_is_limited(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(table_manager, "MAX_EXTERNAL_AGENTS", 2)
    closed: list[str] = []
    monkeypatch.setattr(ExternalAgent, "close", lambda agent: closed.append(agent.name))
    (tmp_path / "mine.py").write_text("def choose(message):\n    return min(message['legal'], key=int)\n")
    name = f"{tmp_path / 'mine.py'}:choose"
    permissions = Permissions(external_agents=True)
    with run_server(tmp_path / "games", permissions=permissions) as (client, store):
        assert request_table(client, store, seats=[{}, {"agent": name}, {"agent": name}]).status_code == 201
        refused = request_table(client, store, seats=[{}, {"agent": name}])
        assert refused.status_code == 429
        assert "2 external agents already" in refused.json()["error"]
        deadline = time.monotonic() + 20
        while not closed and time.monotonic() < deadline:
            time.sleep(0.01)
        assert closed == [name]
        assert request_table(client, store, seats=[{}, {"agent": "planner"}]).status_code == 201
        client.post("/api/tables/0001/close", json={}, headers=bearer(store.host_token))
        assert request_table(client, store, seats=[{}, {"agent": name}]).status_code == 201


def test_scripted_agents_answer_while_all_workers_search(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    hold = threading.Event()
    monkeypatch.setattr(SearchAgent, "choose", lambda agent, env: hold.wait(60) and 0)
    monkeypatch.setattr(table_manager, "MAX_WAIT", 0.01)
    with run_server(tmp_path) as (client, store):
        (token,) = create_table(client, store, None, "planner", seed=1)
        message = get_seat(client, token)
        threads = threading.active_count()
        for _ in range(20):
            create_table(client, store, *["search:10"] * 2, None)
        assert threading.active_count() - threads <= table_manager.NUM_WORKERS
        for _ in range(10):
            message = move(client, token, choices_of(message)[0], message["turn"]).json()
            assert choices_of(message)
        hold.set()


# Closing tables.


def test_a_closed_table_has_a_complete_record_and_no_links(tmp_path: Path) -> None:
    with run_server(tmp_path) as (client, store):
        (token,) = create_table(client, store, None, "planner", seed=1)
        (other,) = create_table(client, store, None, "planner", seed=1)
        message = get_seat(client, token)
        turn = move(client, token, choices_of(message)[0], message["turn"]).json()["turn"]
        with client.websocket_connect("/api/seat/events") as page:
            page.send_text(token)
            page.receive_json()
            answer = client.post("/api/tables/0001/close", json={}, headers=bearer(store.host_token))
            assert [table["id"] for table in answer.json()["tables"]] == ["0002"]
            with pytest.raises(WebSocketDisconnect) as closed:
                page.receive_json()
            assert (closed.value.code, closed.value.reason) == (4410, "the host has closed this game")
        assert len(records.load(tmp_path / "0001.json")["actions"]) == turn
        assert not (tmp_path / "0001.seats.json").exists()
        assert client.get("/api/seat", headers=bearer(token)).status_code == 403
        assert get_seat(client, other)["table"] == "0002"
    with run_server(tmp_path) as (client, store):
        assert list(store.tables) == ["0002"]
        assert store.damaged == []
        create_table(client, store, None, "planner")
        assert list(store.tables) == ["0002", "0003"]


def test_the_host_closes_a_table_on_the_page(tmp_path: Path) -> None:
    store = TableStore(tmp_path)
    for _ in range(2):
        store.create({"seats": [{"name": "Ann"}, {"agent": "planner"}]})
    with running(make_app(store)) as address, chromium() as browser:
        screen = Screen(browser, f"{address}/#{store.host_token}")
        screen.page.on("dialog", lambda dialog: dialog.accept())
        screen.page.get_by_role("button", name="Close game 0001").click()
        expect(screen.page.get_by_text("Game 0001")).to_have_count(0)
        expect(screen.page.get_by_text("Game 0002")).to_have_count(1)
        assert screen.errors == []
    assert list(store.tables) == ["0002"]


def test_only_the_host_closes_tables(tmp_path: Path) -> None:
    with run_server(tmp_path) as (client, store):
        (token,) = create_table(client, store, None, "planner")
        assert client.post("/api/tables/0001/close", json={}, headers=bearer(token)).status_code == 403
        assert client.post("/api/tables/0001/close", json={}).status_code == 401
        missing = client.post("/api/tables/0009/close", json={}, headers=bearer(store.host_token))
        assert missing.status_code == 404
        assert list(store.tables) == ["0001"]


def test_a_table_whose_agent_is_choosing_can_be_closed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    hold = threading.Event()
    monkeypatch.setattr(SearchAgent, "choose", lambda agent, env: hold.wait(60) and 0)
    monkeypatch.setattr(table_manager, "MAX_WAIT", 0.01)
    with run_server(tmp_path) as (client, store):
        create_table(client, store, "search:10", "search:10", None, seed=1)
        turn = store.tables["0001"].turn
        assert client.post("/api/tables/0001/close", json={}, headers=bearer(store.host_token)).status_code == 200
        hold.set()
    assert len(records.load(tmp_path / "0001.json")["actions"]) == turn


def test_a_request_that_was_on_its_way_when_its_table_was_closed_is_refused(tmp_path: Path) -> None:
    """It would be answered, but nothing would save it."""
    with run_server(tmp_path) as (client, store):
        create_table(client, store, None, "planner", seed=1)
        table = store.tables["0001"]
        client.post("/api/tables/0001/close", json={}, headers=bearer(store.host_token))
        manager: TableManager = client.app.app.state.manager  # type: ignore[attr-defined]
        with pytest.raises(RequestError, match="the host has closed this game"):
            manager.play_for_person(table, 0, 0, 0)
        with pytest.raises(RequestError, match="the host has closed this game"):
            asyncio.run(manager.rename(table, 0, "Zoe"))


# Names, errors and private files.


@pytest.mark.parametrize(
    "name", ["\u034f", "\ufe0f", "\U000e0101", "\U000e0041", "\u0301", "\u17b4", "\u180e\u200b", "\u2028", "\U0001d159"]
)
def test_a_name_that_cannot_be_seen_is_not_taken(name: str) -> None:
    assert clean_name(name, "Player 1") == "Player 1"
    assert clean_name(f"An{name}n", "") in ("Ann", "An n", "A\u0144n")


def test_accents_are_kept_but_cannot_pile_up() -> None:
    assert clean_name("Zoe\u0308", "") == "Zo\u00eb"
    assert len(clean_name("x" + "\u0323\u0301" * 20, "")) <= 3


@pytest.mark.parametrize(
    "name", ["ann", "ANN", "\uff21nn", "A nn", "\u0410nn", "An\u200bn", "A\u034fnn", "Ann\ufe0f", "planner", "THE BOT"]
)
def test_a_name_that_looks_like_another_one_is_refused(name: str, tmp_path: Path) -> None:
    with run_server(tmp_path) as (client, store):
        create_table(client, store, None, None, "planner")
        table = store.tables["0001"]
        table.seats[0].name = "Ann"
        answer = client.post("/api/seat/name", json={"name": name}, headers=bearer(str(table.seats[1].token)))
        assert answer.status_code == 409
        assert table.seats[1].name == "Ann 1"


def test_names_that_look_alike_are_numbered() -> None:
    assert number_duplicates(["Ann", "ANN", "Bob", "\u0410nn"]) == ["Ann 1", "ANN 2", "Bob", "\u0410nn 4"]


def test_errors_are_short_whatever_was_sent(tmp_path: Path) -> None:
    long = "x\u00e9" * (MAX_BODY // 6)
    bodies: list[tuple[str, Any]] = [
        ("/api/tables", {"seats": [{}, {"agent": long}]}),
        ("/api/tables", {"seats": [{}, {}], "options": {"tracks": long}}),
        ("/api/tables", {"seats": [{}, {}], "options": {long: 1}}),
        ("/api/tables", {"seats": [{}, {}], "seed": long}),
        ("/api/tables", {"seats": [[long], {}]}),
        (f"/api/tables/{long[:2000]}/close", {}),
    ]
    with run_server(tmp_path) as (client, store):
        (token,) = create_table(client, store, None, "planner")
        for path, body in bodies:
            answer = client.post(path, json=body, headers=bearer(store.host_token))
            assert answer.status_code >= 400
            assert len(answer.json()["error"].encode()) <= MAX_ERROR
        for body in ({"turn": long, "action": 0}, {"turn": 0, "action": [long]}):
            answer = client.post("/api/seat/move", json=body, headers=bearer(token))
            assert answer.status_code == 400
            assert len(answer.content) <= 1024


def test_a_shortened_text_keeps_its_beginning_and_its_end() -> None:
    text = shorten("agent '" + "\u00e9" * 5000 + "'; allowed: planner")
    assert text.startswith("agent '\u00e9")
    assert text.endswith("'; allowed: planner")
    assert len(text.encode()) <= MAX_ERROR
    assert shorten("short") == "short"
    assert len(shorten("x" * 1000, MAX_CLOSE_REASON).encode()) <= MAX_CLOSE_REASON


@needs_posix
def test_only_the_owner_can_read_the_record_of_a_running_game(tmp_path: Path) -> None:
    env = symphony9_v0.raw_env(num_players=2)
    env.reset(seed=1)
    env.step(0)
    records.save(env.record(), tmp_path / "running.json")
    watch = ["watch", str(tmp_path / "running.json"), "--search", "0", "--policy", "none"]
    assert main([*watch, "--export", str(tmp_path / "a")]) == 0
    rng = np.random.default_rng(0)
    while env.decision != "over":
        env.step(int(rng.choice(np.flatnonzero(env.action_mask))))
    records.save(env.record(), tmp_path / "over.json")
    modes = [stat.S_IMODE((tmp_path / name).stat().st_mode) for name in ("running.json", "a", "over.json")]
    assert modes[:2] == [0o600, 0o600]
    assert modes[2] != 0o600 or os.umask(os.umask(0)) & 0o077 == 0o077
