"""A server to test against, and what a page says to it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from starlette.testclient import TestClient

from symphony9_env.web.app import make_app
from symphony9_env.web.keeping import Tables

Json = dict[str, Any]


@contextmanager
def server(folder: Path) -> Iterator[tuple[TestClient, Tables]]:
    tables = Tables(folder)
    with TestClient(make_app(tables)) as client:
        yield client, tables


def bearer(token: str) -> dict[str, str]:
    return {"authorization": f"Bearer {token}"}


def set_up(client: TestClient, tables: Tables, *agents: str | None, **wish: Any) -> list[str]:
    """A new game; None is a person. The tokens of the people's seats."""
    seats = [{"agent": agent} if agent else {"name": f"Ann {number}"} for number, agent in enumerate(agents)]
    answer = client.post("/api/tables", json={"seats": seats, **wish}, headers=bearer(tables.host_token))
    assert answer.status_code == 201, answer.text
    return [seat["link"].partition("#")[2] for seat in answer.json()["seats"] if seat["link"]]


def look(client: TestClient, token: str) -> Json:
    answer = client.get("/api/seat", headers=bearer(token))
    assert answer.status_code == 200, answer.text
    return dict(answer.json())


def move(client: TestClient, token: str, action: Any, turn: Any) -> Any:
    return client.post("/api/seat/move", json={"action": action, "turn": turn}, headers=bearer(token))
