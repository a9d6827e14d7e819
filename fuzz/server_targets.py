"""Targets: the folder of a web server, the requests of visitors and of the host, and what they send to WebSockets."""

from __future__ import annotations

import json
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from random import Random
from typing import Any, Final

from starlette.testclient import TestClient
from starlette.websockets import WebSocketDisconnect

from fuzz.agent_targets import sandbox
from fuzz.mutations import (
    TEXTS,
    fill_folder,
    format_json,
    mutate_bytes,
    mutate_files,
    mutate_text,
    mutate_value,
    pack_files,
)
from fuzz.target import Harness, Misbehaved, Target, must_work
from symphony9_env.web.app import make_app
from symphony9_env.web.table_store import TableStore

_SEATS: Final = [{"name": "Ann"}, {"agent": "greedy"}]
_JOURNAL: Final = "journal.000001.jsonl"


def _make_folder(folder: Path) -> dict[str, bytes]:
    """Return the files of a server with two tables, and a journal with a move that a record lacks."""
    store = TableStore(folder, seed=1)
    table = store.create({"seats": _SEATS, "seed": 4})
    for _ in range(3):
        table.play(int(table.env.observe(table.env.agent_selection)["action_mask"].argmax()))
    store.save(table)
    store.create({"seats": [*_SEATS, {"name": "Bob"}], "options": {"discussion": True}})
    store.close()
    contents = {path.name: path.read_bytes() for path in folder.glob("*.json")}
    record = json.loads(contents[f"{table.id}.json"])
    *moves, _ = record["actions"]
    contents[f"{table.id}.json"] = json.dumps({**record, "actions": moves}).encode()
    entries = [{"table": table.id, "turn": turn, "move": record["actions"][turn]} for turn in (0, len(moves))]
    contents[_JOURNAL] = b"".join(json.dumps(entry).encode() + b"\n" for entry in entries)
    return contents


@contextmanager
def _open_folder(folder: Path) -> Iterator[Harness]:
    run = folder / "run"
    run.mkdir()
    contents = _make_folder(run)

    def read(data: bytes) -> None:
        fill_folder(run, data)
        store = TableStore(run, seed=1)  # a table that can't be loaded is named in `damaged`
        with must_work():
            for table in store.tables.values():
                for number, seat in enumerate(table.seats):
                    if seat.token is not None:
                        json.dumps(table.message(number)).encode()
                store.save(table)
            store.create({"seats": _SEATS})
            store.close()
            assert all("\n" not in line for line in store.damaged)
        if store.damaged:
            raise ValueError(store.damaged[0])

    with sandbox():
        yield Harness([pack_files(contents)], mutate_files, read)


# Requests: a JSON object with the method, path, token, body and headers. "HOST" and "SEAT" stand for valid tokens.


def _make_request(method: str, path: str, token: str, body: Any = None) -> dict[str, Any]:
    return {"method": method, "path": path, "token": token, "body": body, "headers": {"accept": "*/*"}}


_REQUESTS: Final = (
    _make_request("POST", "/api/seat/move", "SEAT", {"action": 0, "turn": 0}),
    _make_request("POST", "/api/seat/name", "SEAT", {"name": "Cleo"}),
    _make_request("GET", "/api/seat", "SEAT"),
    _make_request("POST", "/api/tables", "HOST", {"seats": _SEATS, "seed": 1, "options": {"tracks": "random"}}),
    _make_request("GET", "/api/tables", "HOST"),
    _make_request("GET", "/static/play.js", ""),
    _make_request("GET", "/api/agents", "HOST"),
)


def _mutate_request(data: bytes, rng: Random) -> bytes:
    request = json.loads(data)
    match rng.randrange(6):
        case 0:
            request["token"] = rng.choice(("HOST", "SEAT", *TEXTS, request["token"] * 2))
        case 1:
            request["path"] = mutate_text(request["path"].encode(), rng).decode("utf-8", "replace")
        case 2:
            request["headers"] = {rng.choice(("accept", "content-type", "range", "authorization")): rng.choice(TEXTS)}
        case 3:
            request["raw"] = mutate_bytes(json.dumps(request["body"]).encode(), rng).decode("latin-1")
        case _:
            request["body"] = mutate_value(request["body"], rng)
            request["raw"] = format_json(request["body"], rng).decode("latin-1")
    return json.dumps(request).encode()


class _Server:
    """A server whose tables are replaced from time to time, because requests create many."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._client: TestClient | None = None

    def start(self) -> None:
        """Start again in a new folder."""
        self.stop()
        self.store = TableStore(self._folder / secrets.token_hex(8), seed=1)
        self._client = TestClient(make_app(self.store), raise_server_exceptions=False).__enter__()
        table = self.store.create({"seats": _SEATS, "seed": 1})
        self.tokens = {"HOST": self.store.host_token, "SEAT": str(table.seats[0].token)}

    def client(self) -> TestClient:
        """Return the client of the server, which is started again when it has many tables."""
        if self._client is None or len(self.store.tables) > 20:
            self.start()
        assert self._client is not None
        return self._client

    def send(self, request: dict[str, Any]) -> Any:
        """Send a request and return the response."""
        client = self.client()
        token = self.tokens.get(request["token"], request["token"])
        headers = {"authorization": f"Bearer {token}", **request["headers"]}
        content = request.get("raw", json.dumps(request["body"])).encode("latin-1")
        try:
            encoded = {name: value.encode()[:9_000] for name, value in headers.items()}
            sent = client.build_request(request["method"], request["path"], headers=encoded, content=content)
        except Exception:  # the client itself refuses it, so no server would see it
            raise ValueError("not a request") from None
        if sent.url.scheme != "http":  # the path was made into another address
            raise ValueError("not a request")
        return client.send(sent)

    def stop(self) -> None:
        """Stop the server."""
        if self._client is not None:
            self._client.__exit__(None, None, None)
            self.store.close()


@contextmanager
def _open_requests(folder: Path) -> Iterator[Harness]:
    server = _Server(folder)

    def read(data: bytes) -> None:
        response = server.send(json.loads(data))
        if response.status_code >= 500:
            raise Misbehaved(f"status {response.status_code}: {response.text[:300]}")
        with must_work():
            assert server.store.host_token not in response.text
        if response.status_code >= 400:
            reason = response.json()["error"] if "json" in response.headers.get("content-type", "") else "no JSON"
            raise ValueError(f"{response.status_code} {reason}".replace("\n", " "))

    with sandbox():
        yield Harness([json.dumps(request).encode() for request in _REQUESTS], _mutate_request, read)
    server.stop()


# Messages to a WebSocket: a JSON list of texts, and of objects with bytes. "SEAT" stands for a valid token.
_MESSAGES: Final = (["SEAT"], ["SEAT", "again"])


def _mutate_messages(data: bytes, rng: Random) -> bytes:
    messages = json.loads(data)
    at = rng.randrange(len(messages) + 1)
    text = rng.choice(("SEAT", "HOST", *TEXTS, mutate_text(b"SEAT token", rng).decode("utf-8", "replace")))
    messages[at : at + rng.randrange(2)] = [rng.choice((text, {"bytes": text}))]
    return json.dumps(messages[:50]).encode()


@contextmanager
def _open_sockets(folder: Path) -> Iterator[Harness]:
    server = _Server(folder)

    def read(data: bytes) -> None:
        with server.client().websocket_connect("/api/seat/events") as socket:
            for message in json.loads(data):
                if isinstance(message, str):
                    socket.send_text(server.tokens.get(message, message))
                else:
                    socket.send_bytes(message["bytes"].encode())
            try:
                answer = socket.receive_text()
            except WebSocketDisconnect as error:
                if not 4400 <= error.code < 4500:
                    raise Misbehaved(f"closed with {error.code}: {error.reason}") from error
                raise ValueError(f"{error.code} {error.reason}") from None
        with must_work():
            assert json.loads(answer)["turn"] == 0
            assert server.store.host_token not in answer

    with sandbox():
        yield Harness([json.dumps(messages).encode() for messages in _MESSAGES], _mutate_messages, read)
    server.stop()


TARGETS: Final = (
    Target("server-folder", _open_folder),
    Target("server-requests", _open_requests),
    Target("server-sockets", _open_sockets),
)
