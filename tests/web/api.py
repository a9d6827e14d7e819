"""A server to test against, and the requests that pages make."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from starlette.testclient import TestClient

from symphony9_env.web.app import make_app
from symphony9_env.web.table_store import TableStore

Json = dict[str, Any]


@contextmanager
def run_server(folder: Path, **options: Any) -> Iterator[tuple[TestClient, TableStore]]:
    """Run a server on a folder of games while the block lasts."""
    store = TableStore(folder, **options)
    with TestClient(make_app(store)) as client:
        yield client, store


def bearer(token: str) -> dict[str, str]:
    """Return the header that carries a token."""
    return {"authorization": f"Bearer {token}"}


def create_table(client: TestClient, store: TableStore, *agents: str | None, **request: Any) -> list[str]:
    """Set up a game, with a person for each None; return the tokens of the people's seats."""
    seats = [{"agent": agent} if agent else {"name": f"Ann {number}"} for number, agent in enumerate(agents)]
    answer = client.post("/api/tables", json={"seats": seats, **request}, headers=bearer(store.host_token))
    assert answer.status_code == 201, answer.text
    return [seat["link"].partition("#")[2] for seat in answer.json()["seats"] if seat["link"]]


def get_seat(client: TestClient, token: str) -> Json:
    """Return the game as a seat sees it."""
    answer = client.get("/api/seat", headers=bearer(token))
    assert answer.status_code == 200, answer.text
    return dict(answer.json())


def choices_of(message: Json) -> list[int]:
    """Return the numbers of the actions that a seat may choose from."""
    return [choice["action"] for choice in message["view"]["choices"]]


def move(client: TestClient, token: str, action: Any, turn: Any) -> Any:
    """Send a move; return the answer."""
    return client.post("/api/seat/move", json={"action": action, "turn": turn}, headers=bearer(token))


def play_random_moves(
    client: TestClient, tokens: list[str], rng: np.random.Generator, num_requests: int = 1000
) -> None:
    """Make random legal moves for whoever is to decide, until the game is over."""
    for _ in range(num_requests):
        messages = {token: get_seat(client, token) for token in tokens}
        if messages[tokens[0]]["view"]["position"]["score_sheet"]:
            return
        token = next((token for token, message in messages.items() if choices_of(message)), None)
        if token is None:
            time.sleep(0.05)  # an agent is choosing
            continue
        action = int(rng.choice(choices_of(messages[token])))
        assert move(client, token, action, messages[token]["turn"]).status_code == 200
