"""The JSON Schemas are current, and what the package writes conforms to them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from jsonschema import Draft202012Validator
from safetensors import safe_open

from evaluation import coalition, exploit
from symphony9_env import records, schemas, seat_view, symphony9_v0
from symphony9_env.agents.external import make_message
from symphony9_env.agents.policy import shipped_path
from symphony9_env.arena import tournament
from symphony9_env.components import PLAYER_COUNTS
from symphony9_env.envs.aec import RawEnv
from symphony9_env.events import Event, EventBuffer, opening_events, see
from symphony9_env.rules.events import KINDS
from symphony9_env.views.seat import legal_numbers
from symphony9_env.views.seat_json import seat_json
from tests.web.api import bearer, get_seat, move, play_random_moves, run_server
from tools.schemas import FORMATS, find_outdated

RECORDS = sorted(Path(__file__).parent.joinpath("records").glob("*.json"))
VARIANTS: list[dict[str, Any]] = [
    {"num_players": 2, "discussion": True},
    {"num_players": 3, "ledger": True, "tracks": "random"},
    {"num_players": 4, "scoring": "A"},
]


def forbid_further_keys(schema: Any) -> Any:
    """Return a schema that allows only the keys it names, to find keys that are written but not described."""
    if isinstance(schema, list):
        return [forbid_further_keys(part) for part in schema]
    if not isinstance(schema, dict):
        return schema
    strict = {name: forbid_further_keys(part) for name, part in schema.items()}
    return {**strict, "additionalProperties": False} if isinstance(schema.get("required"), list) else strict


def check(name: str, data: Any) -> None:
    """Validate data as it will be read from JSON."""
    Draft202012Validator(forbid_further_keys(schemas.load(name))).validate(json.loads(json.dumps(data)))


def play(variant: dict[str, Any], seed: int) -> Iterator[tuple[RawEnv, list[Event]]]:
    """Play a random game; yield it as dealt and after each move, with all events so far."""
    env = symphony9_v0.raw_env(**variant)
    env.event_buffer = EventBuffer()
    env.reset(seed=seed)
    rng, events = np.random.default_rng(seed), opening_events(env.states)
    yield env, events
    while not env.terminations["player_0"]:
        env.step(int(rng.choice(legal_numbers(env.states, 0))))
        events += env.event_buffer.read()
        yield env, events


def test_the_files_are_what_the_generator_writes() -> None:
    assert find_outdated() == []
    assert schemas.names() == sorted(FORMATS)


@pytest.mark.parametrize("name", FORMATS)
def test_every_schema_is_valid_and_names_its_format(name: str) -> None:
    schema = schemas.load(name)
    Draft202012Validator.check_schema(schema)
    assert schema["title"] == name
    assert schema["description"]


def test_an_unknown_format_is_refused() -> None:
    with pytest.raises(ValueError, match="unknown format 'symphony9-record/2'; allowed: symphony9-agent/1, "):
        schemas.load("symphony9-record/2")


@pytest.mark.parametrize("path", RECORDS, ids=lambda path: path.stem)
def test_the_records_of_an_independent_implementation(path: Path) -> None:
    record = json.loads(path.read_text())
    del record["legal"]
    check("symphony9-record/1", record)


@pytest.mark.parametrize("variant", VARIANTS, ids=str)
def test_every_record_view_and_event_of_a_game(variant: dict[str, Any]) -> None:
    validators = {
        name: Draft202012Validator(forbid_further_keys(schemas.load(name)))
        for name in ("symphony9-view/1", "symphony9-event/1")
    }
    for env, _ in play(variant, seed=5):
        for seat in range(variant["num_players"]):
            view = seat_view(env.states, 0, seat, env.options.ledger)
            validators["symphony9-view/1"].validate(json.loads(json.dumps(seat_json(view))))
    check("symphony9-record/1", env.record())
    *_, (_, events) = play(variant, seed=5)
    for seat in (*range(variant["num_players"]), None):
        for event in see(events, seat):
            validators["symphony9-event/1"].validate(event.as_json())


def test_random_games_have_every_kind_of_event() -> None:
    kinds = {event.kind for variant in VARIANTS for seed in range(8) for event in list(play(variant, seed))[-1][1]}
    assert kinds == set(KINDS)


@pytest.mark.parametrize("variant", VARIANTS, ids=str)
def test_messages_to_agents(variant: dict[str, Any]) -> None:
    for number, (env, _) in enumerate(play(variant, seed=9)):
        if number % 10 == 0:
            message = make_message(env, 0)
            check("symphony9-agent/1", message)
    check("symphony9-agent/1", {**message, "error": "'fly' is no legal action"})


@pytest.mark.parametrize("lineups", ["all", "one-against-rest"])
def test_the_results_of_a_tournament(lineups: str, tmp_path: Path) -> None:
    options = ["--num-players", "3", "--games", "12", "--records", "1", "--lineups", lineups]
    tournament.main(["--agents", "random,greedy", *options, "--out", str(tmp_path)])
    check("symphony9-results/1", json.loads((tmp_path / "results.json").read_text()))
    check("symphony9-record/1", records.load(tmp_path / "records" / "game-0.json"))


def test_the_results_of_a_search_for_a_best_response(tmp_path: Path) -> None:
    options = ["--num-players", "2", "--responses", "random,planner", "--trial-games", "4", "--games", "4"]
    exploit.main(["--agent", "greedy", *options, "--out", str(tmp_path)])
    check("symphony9-exploit/1", json.loads((tmp_path / "results.json").read_text()))


def test_the_results_of_coalitions(tmp_path: Path) -> None:
    given = ["random", "--num-players", "3", "--members", "search:1", "--games", "3", "--out", str(tmp_path)]
    coalition.main(given)
    check("symphony9-coalition/1", json.loads((tmp_path / "results.json").read_text()))


def test_the_messages_of_the_web_server(tmp_path: Path) -> None:
    definitions = schemas.load("symphony9-table/1")["$defs"]

    def check_answer(kind: str, data: Any) -> None:
        strict = forbid_further_keys({**definitions[kind], "$defs": definitions})
        Draft202012Validator(strict).validate(data)

    with run_server(tmp_path) as (client, store):
        host = bearer(store.host_token)
        request = {"seats": [{"name": "Ann"}, {"agent": "greedy"}], "seed": 3, "options": {"discussion": True}}
        check_answer("CreateTableRequest", request)
        table = client.post("/api/tables", json=request, headers=host).json()
        check_answer("TableSummary", table)
        check_answer("TablesMessage", client.get("/api/tables", headers=host).json())
        check_answer("AgentsMessage", client.get("/api/agents", headers=host).json())
        token = table["seats"][0]["link"].partition("#")[2]
        check_answer("SeatMessage", get_seat(client, token))
        check_answer("ErrorMessage", move(client, token, -1, -1).json())
        with client.websocket_connect("/api/seat/events") as socket:
            socket.send_text(token)
            check("symphony9-table/1", socket.receive_json())
        play_random_moves(client, [token], np.random.default_rng(0))
        check_answer("SeatMessage", get_seat(client, token))
    for path in tmp_path.rglob("*.json"):
        if "symphony9-record/1" in path.read_text():
            Draft202012Validator(schemas.load("symphony9-record/1")).validate(json.loads(path.read_text()))


@pytest.mark.parametrize("num_players", PLAYER_COUNTS)
def test_the_descriptions_of_the_shipped_policies(num_players: int) -> None:
    with safe_open(shipped_path(num_players), "numpy") as file:
        metadata = file.metadata()
    assert metadata["format"] == "symphony9-policy/1"
    check("symphony9-policy/1", json.loads(metadata["policy"]))


@pytest.mark.parametrize(
    ("part", "value"),
    [("num_players", 5), ("actions", [["player_0"]]), ("setup", {}), ("format", "symphony9-record/2"), ("seed", "7")],
)
def test_a_record_of_another_form_does_not_conform(part: str, value: Any) -> None:
    validator = Draft202012Validator(schemas.load("symphony9-record/1"))
    record = records.load(RECORDS[0])
    assert validator.is_valid(record)
    assert not validator.is_valid({**record, part: value})
