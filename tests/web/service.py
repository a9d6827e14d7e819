"""A server to test against, and what a page says to it."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from starlette.testclient import TestClient

from symphony9_env.web.app import make_app
from symphony9_env.web.table_store import Tables

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
