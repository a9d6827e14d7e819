"""Agents on the page: user-defined ones, who may use them, and that they are closed."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from symphony9_env import agents
from symphony9_env.agents import Agent
from symphony9_env.agents.base import Positions, Rows
from symphony9_env.options import VARIANT_FIELDS
from symphony9_env.views.seat import legal_numbers
from symphony9_env.web.tables import Permissions
from tests.web.api import bearer, create_table, get_seat, play_random_moves, run_server

EXTERNAL = ["my_module:my_agent", "stdio:python my_agent.py", "http://127.0.0.1:1/decide"]


class FirstLegal(Agent):
    """An agent that holds a resource until it is closed."""

    name = "first"
    seed = 0

    def __init__(self) -> None:
        self.num_closed = 0

    def decide(self, positions: Positions, rows: Rows) -> Rows:
        return np.array([legal_numbers(positions.states, int(row))[0] for row in rows])

    def close(self) -> None:
        self.num_closed += 1


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> list[FirstLegal]:
    """Replace `agents.make`: external names give agents of this module, which are listed here."""
    real, listed = agents.make, []

    def make(name: str, seed: int | None = None) -> Agent:
        if name not in EXTERNAL:
            return real(name, seed=seed)
        listed.append(FirstLegal())
        return listed[-1]

    monkeypatch.setattr(agents, "make", make)
    monkeypatch.setattr(agents, "is_external", lambda name: name in EXTERNAL)
    return listed


def wait_until_closed(listed: list[FirstLegal]) -> None:
    for _ in range(200):
        if all(agent.num_closed for agent in listed):
            break
        time.sleep(0.01)
    assert [agent.num_closed for agent in listed] == [1] * len(listed)


@pytest.mark.parametrize("name", EXTERNAL)
def test_external_agents_are_refused_unless_they_are_allowed(name: str, made: list[FirstLegal], tmp_path: Path) -> None:
    with run_server(tmp_path) as (client, store):
        body = {"seats": [{}, {"agent": name}]}
        answer = client.post("/api/tables", json=body, headers=bearer(store.host_token))
        assert answer.status_code == 403
        assert name in answer.json()["error"]
        assert "--allow-external-agents" in answer.json()["error"]
        assert made == []
        assert store.tables == {}


def test_an_external_agent_plays_to_the_end_and_is_closed_once(made: list[FirstLegal], tmp_path: Path) -> None:
    with run_server(tmp_path, permissions=Permissions(external_agents=True)) as (client, store):
        (token,) = create_table(client, store, None, EXTERNAL[0], seed=1)
        assert get_seat(client, token)["players"][1]["name"] == "first"
        play_random_moves(client, [token], np.random.default_rng(0))
        assert store.tables["0001"].is_over
        wait_until_closed(made)
    wait_until_closed(made)


def test_a_stopping_server_closes_its_agents(made: list[FirstLegal], tmp_path: Path) -> None:
    with run_server(tmp_path, permissions=Permissions(external_agents=True)) as (client, store):
        create_table(client, store, None, EXTERNAL[0], EXTERNAL[1])
    wait_until_closed(made)


def test_the_agents_of_a_refused_game_are_closed(made: list[FirstLegal], tmp_path: Path) -> None:
    with run_server(tmp_path, permissions=Permissions(external_agents=True)) as (client, store):
        body = {"seats": [{}, {"agent": EXTERNAL[0]}, {"agent": "planer"}]}
        assert client.post("/api/tables", json=body, headers=bearer(store.host_token)).status_code == 422
    wait_until_closed(made)
    assert len(made) == 1


def test_a_restarted_server_that_forbids_external_agents_does_not_load_their_games(
    made: list[FirstLegal], tmp_path: Path
) -> None:
    with run_server(tmp_path, permissions=Permissions(external_agents=True)) as (client, store):
        create_table(client, store, None, EXTERNAL[0])
    with run_server(tmp_path) as (_, store):
        assert store.tables == {}
        assert "--allow-external-agents" in store.damaged[0]
    assert len(made) == 1


def test_the_form_of_the_lobby_is_derived_from_the_variant(tmp_path: Path) -> None:
    with run_server(tmp_path) as (client, store):
        answer: dict[str, Any] = client.get("/api/agents", headers=bearer(store.host_token)).json()
    assert answer["agents"] == agents.names()
    assert answer["allows_external_agents"] is False
    assert [option["name"] for option in answer["options"]] == [field.name for field in VARIANT_FIELDS]
    by_name = {option["name"]: option for option in answer["options"]}
    assert by_name["num_players"]["choices"] == [2, 3, 4]
    assert by_name["tracks"]["kind"] == "choice"
    assert (by_name["discussion"]["kind"], by_name["discussion"]["default"]) == ("flag", False)
    assert by_name["components"]["kind"] == "text"
    assert all(option["help"] for option in answer["options"])


def test_a_function_in_a_file_of_the_user_plays_on_the_page(tmp_path: Path) -> None:
    file = tmp_path / "mine.py"
    file.write_text("def choose(message):\n    return min(message['legal'], key=int)\n")
    with run_server(tmp_path / "games", permissions=Permissions(external_agents=True)) as (client, store):
        (token,) = create_table(client, store, None, f"mine={file}:choose", seed=1)
        assert get_seat(client, token)["players"][1]["name"] == "mine"
        play_random_moves(client, [token], np.random.default_rng(0))
        assert store.tables["0001"].is_over
