"""Targets: policies, records, component files, set-ups, options, saved batches, entries of the compile cache."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from random import Random
from typing import Any, Final

import numpy as np
from safetensors.numpy import load, save

from fuzz.mutations import format_json, mutate_arrays, mutate_bytes, mutate_json, mutate_text, mutate_value
from fuzz.target import Harness, Target, must_work
from symphony9_env import BatchedGames, compile_cache, records, saved_arrays
from symphony9_env.agents import policy
from symphony9_env.components import PLAYER_COUNTS
from symphony9_env.envs.aec import RawEnv
from symphony9_env.envs.vector import Symphony9VectorEnv
from symphony9_env.options import OPTION_NAMES, make_options
from symphony9_env.replay.replay_data import read_replays

SOME_MOVES: Final = 25


def play_moves(env: RawEnv, num_moves: int, seed: int = 0) -> None:
    """Play random legal moves, as many as there are."""
    rng = np.random.default_rng(seed)
    for _ in range(num_moves):
        if env.decision == "over":
            return
        mask = env.observe(env.agent_selection)["action_mask"]
        env.step(int(rng.choice(np.flatnonzero(mask))))


# Policies.


def _make_policies(folder: Path) -> list[bytes]:
    rng = np.random.default_rng(1)
    examples = []
    for card in (
        policy.Card((2, 3, 4), (6,), network="mlp"),
        policy.Card((2,), (), network="mlp", activation="relu", temperature=0.7, ledger=True),
        policy.Card((3, 4), (4, 4, 5), network="musicians", activation="relu", temperature=1.0),
    ):
        weights = {name: rng.normal(0, 0.3, shape).astype(np.float32) for name, shape in card.shapes().items()}
        policy.save_policy(folder / "example.safetensors", card, weights)
        examples.append((folder / "example.safetensors").read_bytes())
    return examples


def _split_safetensors(data: bytes) -> tuple[Any, bytes]:
    size = int.from_bytes(data[:8], "little")
    return json.loads(data[8 : 8 + size]), data[8 + size :]


def _mutate_safetensors_header(data: bytes, rng: Random) -> bytes:
    """Change types, shapes, offsets, names and metadata in the header of a safetensors file."""
    header, body = _split_safetensors(data)
    text = format_json(mutate_value(header, rng), rng)
    return len(text).to_bytes(8, "little") + text + body


def _mutate_policy(data: bytes, rng: Random) -> bytes:
    """Change the card, the weights, the header or the bytes of a policy; for the first two, with a right hash."""
    kind = rng.random()
    try:
        if kind < 0.2:
            return _mutate_safetensors_header(data, rng)
        metadata, weights = _split_safetensors(data)[0]["__metadata__"], load(data)
        if kind < 0.55:
            card = format_json(mutate_value(json.loads(metadata["policy"]), rng), rng).decode("utf-8", "replace")
            metadata = {**metadata, "policy": card}
        elif kind < 0.9:
            weights = mutate_arrays(weights, rng)
        else:
            return mutate_bytes(data, rng)
        metadata["hash"] = policy._hash(weights, metadata["policy"])
        return save(weights, metadata)
    except Exception:  # an earlier change has made it unreadable
        return mutate_bytes(data, rng)


@contextmanager
def _open_policy(folder: Path) -> Iterator[Harness]:
    path = folder / "mutated.safetensors"

    def read(data: bytes) -> None:
        path.write_bytes(data)
        agent = policy.PolicyAgent.load(path, seed=1)
        with must_work():
            for num_players in agent.card.num_players:
                env = RawEnv(num_players=num_players, ledger=True)
                env.reset(seed=3)
                for _ in range(SOME_MOVES):
                    env.step(agent.choose(env))
                probabilities, value = agent.evaluate(env.states, np.zeros(1, np.int64))
                assert np.isfinite(probabilities).all()
                assert value is None or np.isfinite(value).all()

    yield Harness(_make_policies(folder), _mutate_policy, read)


# Records, set-ups, options, component files.


def _make_record(num_players: int, num_moves: int, *, discussion: bool = False) -> records.Record:
    env = RawEnv(num_players=num_players, tracks="random", discussion=discussion)
    env.reset(seed=num_players)
    play_moves(env, num_moves)
    return env.record()


@contextmanager
def _open_record(folder: Path) -> Iterator[Harness]:
    path = folder / "mutated.json"
    players = [{"name": "Ann", "agent": None}, {"name": "Bob", "agent": "greedy"}]
    games = [_make_record(2, 1000), _make_record(3, 30, discussion=True), _make_record(4, 0)]
    games[0]["players"] = players

    def read(data: bytes) -> None:
        path.write_bytes(data)
        record = records.load(path)
        *_, last = records.replay(record)
        with must_work():
            again = last.record()
            assert [list(move) for move in record["actions"]] == again["actions"]
            *_, last = records.replay(again)
            assert records.dumps(last.record()) == records.dumps(again)
        json.dumps(read_replays([path], policy=None, search=0))  # it also reads who played

    yield Harness([json.dumps(game).encode() for game in games], mutate_json, read)


@contextmanager
def _open_setup(folder: Path) -> Iterator[Harness]:
    environments = {count: RawEnv(num_players=count) for count in PLAYER_COUNTS}
    examples = [{"num_players": count, "setup": _make_record(count, 0)["setup"]} for count in PLAYER_COUNTS]

    def read(data: bytes) -> None:
        given = json.loads(data)
        env = environments[given["num_players"]]
        env.reset(seed=1, options={"setup": given["setup"]})
        with must_work():
            play_moves(env, 1000)
            assert env.decision == "over"
            *_, last = records.replay(env.record())
            assert last.record()["result"] == env.record()["result"]

    def mutate(data: bytes, rng: Random) -> bytes:
        given = json.loads(data)
        return json.dumps({**given, "setup": mutate_value(given["setup"], rng)}).encode()

    yield Harness([json.dumps(example).encode() for example in examples], mutate, read)


@contextmanager
def _open_options(folder: Path) -> Iterator[Harness]:
    boards = folder / "boards.toml"
    boards.write_text("[bot]\ntiles = [[0, 2, 4], [1, 2, 3], [0, 0, 9]]\n")
    scoring = _make_record(2, 0)["setup"]["scoring"]
    examples: list[dict[str, Any]] = [
        {"num_players": 2, "scoring": scoring, "components": str(boards), "reward": "win"},
        {"num_players": 4, "tracks": "random", "scoring": "B", "discussion": True, "shaping": True, "ledger": False},
    ]

    def read(data: bytes) -> None:
        given = json.loads(data)
        if set(given) <= set(OPTION_NAMES):  # others raise a TypeError, as an unknown keyword does
            options = make_options(**given)
            env = RawEnv(**options.as_keywords())
            with must_work():
                env.reset(seed=5)
                play_moves(env, SOME_MOVES)

    def mutate(data: bytes, rng: Random) -> bytes:
        value = mutate_value(json.loads(data), rng)
        return json.dumps(value if isinstance(value, dict) else {}).encode()

    yield Harness([json.dumps(example).encode() for example in examples], mutate, read)


_COMPONENTS: Final = """# The boards of my copy.
[bot]
tiles = [[0, 2, 4], [1, 2, 3], [0, 0, 9]]

[handel]
A = [[3, 2, 0], [4, 1, 1], [5, 2, 0], [0, 3, 1]]
B = [[9, 1, 0], [0, 0, 2], [4, 10, 6]]

[schubert]
B = [[1, 1, 1], [2, 2, 2], [3, 3, 3]]
"""


@contextmanager
def _open_components(folder: Path) -> Iterator[Harness]:
    path = folder / "mutated.toml"

    def read(data: bytes) -> None:
        path.write_bytes(data)
        batches = [
            BatchedGames(2, num_players=count, tracks="random", components=path, seed=1) for count in PLAYER_COUNTS
        ]
        with must_work():
            for games in batches:
                for _ in range(SOME_MOVES):
                    games.step(games.sample_actions())

    def mutate(data: bytes, rng: Random) -> bytes:
        return mutate_bytes(data, rng) if rng.random() < 0.1 else mutate_text(data, rng)

    yield Harness([_COMPONENTS.encode(), b'bot.tiles = [[1,1,1],[2,2,2],[3,3,3]]\n["bach"]\nA=[[1,1,0]]'], mutate, read)


# Saved batches.


def mutate_save(data: bytes, rng: Random) -> bytes:
    """Change the header or the arrays of a saved batch, with a right hash, or its bytes."""
    kind = rng.random()
    try:
        arrays = load(data)
        header = json.loads(arrays.pop("header").tobytes())
        del arrays["hash"]
        if kind < 0.1:
            return _mutate_safetensors_header(data, rng)
        if kind < 0.25:
            changed = mutate_value(header, rng)
            return saved_arrays.pack_arrays(changed if isinstance(changed, dict) else {}, arrays)
        if kind < 0.9:
            return saved_arrays.pack_arrays(header, mutate_arrays(arrays, rng))
    except Exception:  # an earlier change has made it unreadable
        pass
    return mutate_bytes(data, rng)


@contextmanager
def _open_batch(folder: Path) -> Iterator[Harness]:
    games = BatchedGames(4, num_players=2, seed=1, shaping=True)
    examples = [games.save()]
    for _ in range(3):
        for _ in range(45):
            games.step(games.sample_actions())
        examples.append(games.save())

    def read(data: bytes) -> None:
        before = games.save()
        try:
            games.load(data)
        except ValueError:
            with must_work():
                assert games.save() == before
            raise
        with must_work():
            for _ in range(SOME_MOVES):
                games.step(games.sample_actions())

    yield Harness(examples, mutate_save, read)


@contextmanager
def _open_vector_env(folder: Path) -> Iterator[Harness]:
    env = Symphony9VectorEnv(3, num_players=3, opponents="greedy")
    env.reset(seed=2)
    examples = [env.save()]
    size = env.seats.nbytes

    def step() -> None:
        for _ in range(12):
            env.step(env.action_masks().argmax(axis=1))

    step()
    examples.append(env.save())

    def read(data: bytes) -> None:
        env.load(data)
        with must_work():
            step()

    def mutate(data: bytes, rng: Random) -> bytes:
        seats = data[:size] if rng.random() < 0.7 else mutate_bytes(data[:size], rng)
        return seats + (mutate_save(data[size:], rng) if rng.random() < 0.7 else data[size:])

    yield Harness(examples, mutate, read)


# The compile cache.


@contextmanager
def _open_compile_cache(folder: Path) -> Iterator[Harness]:
    contents = [("code", b"\x7fELF" + bytes(200), {"signature": "int64(int64)"}), b"x" * 5000]
    examples = [compile_cache._pack(content) for content in contents]

    def read(data: bytes) -> None:
        found = compile_cache._unpack(data)
        with must_work():
            assert found in contents

    yield Harness(examples, mutate_bytes, read)


TARGETS: Final = (
    Target("policy", _open_policy),
    Target("record", _open_record),
    Target("setup", _open_setup),
    Target("options", _open_options),
    Target("components", _open_components),
    Target("saved-batch", _open_batch),
    Target("saved-vector-env", _open_vector_env),
    Target("compile-cache", _open_compile_cache),
)
