"""Saved policies load as they were saved; a file that is not a usable policy is refused with the reason."""

from __future__ import annotations

import json
import os
import sys
import tracemalloc
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

from symphony9_env import BatchedGames, agents, symphony9_v0
from symphony9_env.agents import Card, load_policy, policy, save_policy
from symphony9_env.agents.policy import PolicyAgent
from symphony9_env.views import observation_size
from tests.agents.test_protocol import random_weights

CARD = Card(num_players=(3, 4), hidden=(12, 8), options={"reward": "win"}, training={"steps": 1000})


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    path = tmp_path / "policy.safetensors"
    save_policy(path, CARD, random_weights(CARD))
    return path


def read_metadata(path: Path) -> dict[str, str]:
    header = path.read_bytes()
    return dict(json.loads(header[8 : 8 + int.from_bytes(header[:8], "little")])["__metadata__"])


def rewrite(path: Path, **about: Any) -> None:
    """Write the file again with entries of its description changed; None removes an entry."""
    metadata = read_metadata(path)
    description = json.loads(metadata["policy"]) | about
    metadata["policy"] = json.dumps({name: value for name, value in description.items() if value is not None})
    save_file(load_file(path), path, metadata)


def test_a_saved_policy_loads_unchanged(saved: Path) -> None:
    card, weights = load_policy(saved)
    assert card == CARD
    for name, array in random_weights(CARD).items():
        assert np.array_equal(weights[name], array)
    assert [file.name for file in saved.parent.iterdir()] == ["policy.safetensors"]  # no temporary file is left


def test_the_agent_plays_the_best_legal_action_of_the_saved_network(saved: Path) -> None:
    """Compare with a computation layer by layer."""
    agent = agents.make(saved, seed=1)
    assert isinstance(agent, PolicyAgent)
    env = symphony9_v0.raw_env(num_players=4)
    env.reset(seed=3)
    weights = random_weights(CARD)
    while not all(env.terminations.values()):
        seen = env.observe(env.agent_selection)
        values = seen["observation"]
        for layer in range(3):
            values = weights[f"policy.{layer}.weight"] @ values + weights[f"policy.{layer}.bias"]
            values = np.tanh(values) if layer < 2 else values
        legal = np.flatnonzero(seen["action_mask"])
        action = agent.choose(env)
        assert action == legal[np.argmax(values[legal])]
        env.step(action)


def test_a_policy_with_the_ledger_plays_in_games_without_it(tmp_path: Path) -> None:
    card = replace(CARD, ledger=True)
    path = tmp_path / "ledger.safetensors"
    save_policy(path, card, random_weights(card))
    choices = []
    for ledger in (False, True):
        env = symphony9_v0.env(num_players=3, ledger=ledger)
        env.reset(seed=5)
        choices.append(agents.make(path, seed=1).choose(env))
    assert choices[0] == choices[1]
    assert card.shapes()["policy.0.weight"] == (12, observation_size(ledger=True))


def test_with_a_temperature_actions_are_drawn_by_their_probabilities(tmp_path: Path) -> None:
    from symphony9_env import BatchedGames

    card = replace(CARD, temperature=0.7, hidden=())
    weights = random_weights(card)
    weights["policy.0.weight"][:] = 0  # the same probabilities in every position
    path = tmp_path / "drawn.safetensors"
    save_policy(path, card, weights)
    games = BatchedGames(4000, num_players=4, seed=1)
    chosen = agents.make(path, seed=1).decide(games, np.arange(4000))
    logits = np.where(games.action_mask[0] == 1, weights["policy.0.bias"][:40], -np.inf) / 0.7
    expected = np.exp(logits) / np.exp(logits).sum()
    counts = np.bincount(chosen, minlength=40)
    assert np.all(np.abs(counts - 4000 * expected) <= 5 * np.sqrt(4000 * expected) + 1e-9)


def test_a_policy_refuses_other_player_counts(saved: Path) -> None:
    agent = agents.make(saved, seed=1)
    env = symphony9_v0.env(num_players=2)
    env.reset(seed=1)
    with pytest.raises(ValueError, match="is for 3 or 4 players; this game has 2"):
        agent.choose(env)


def test_relu_is_supported(tmp_path: Path) -> None:
    card = replace(CARD, activation="relu")
    path = tmp_path / "relu.safetensors"
    save_policy(path, card, random_weights(card))
    agent = PolicyAgent.load(path, 0)
    games = BatchedGames(1, num_players=4, seed=0)
    seen, legal = games.observation[0], games.action_mask[0].astype(bool)
    weights = random_weights(card)
    hidden = np.maximum(weights["policy.0.weight"] @ seen + weights["policy.0.bias"], 0)
    hidden = np.maximum(weights["policy.1.weight"] @ hidden + weights["policy.1.bias"], 0)
    logits = (weights["policy.2.weight"] @ hidden + weights["policy.2.bias"])[: len(legal)][legal]
    expected = np.exp(logits) / np.exp(logits).sum()
    probabilities, _ = agent.evaluate(games.states, np.zeros(1, np.int64))
    np.testing.assert_allclose(probabilities[0, : len(legal)][legal], expected, rtol=1e-4)


def error_of(path: Path) -> str:
    """Return the message with which a policy file is refused."""
    with pytest.raises(ValueError, match="policy ") as error:
        agents.make(path, seed=1)
    text = str(error.value)
    assert str(path) in text
    assert "\n" not in text
    assert len(text) < 1000
    return text


def test_damaged_files_are_error_of(saved: Path) -> None:
    whole = saved.read_bytes()
    for length in (0, 1, 7, 8, 100, len(whole) // 2, len(whole) - 1):
        saved.write_bytes(whole[:length])
        assert "is not a policy, or is damaged or truncated" in error_of(saved)
    flipped = bytearray(whole)
    flipped[-20] ^= 1
    saved.write_bytes(flipped)
    assert "is damaged: its content does not match its hash" in error_of(saved)


def test_foreign_files_are_error_of(tmp_path: Path) -> None:
    text = tmp_path / "notes.txt"
    text.write_text("not a policy")
    assert "is not a policy" in error_of(text)
    pickle = tmp_path / "model.zip"
    pickle.write_bytes(b"\x80\x04\x95" + bytes(200))
    assert "is not a policy" in error_of(pickle)
    other = tmp_path / "other.safetensors"
    save_file({"w": np.zeros(3, np.float32)}, other)
    assert "but not a policy of this game" in error_of(other)
    assert "is a folder" in error_of(tmp_path)
    assert "no such file" in error_of(tmp_path / "missing.safetensors")


def test_too_new_files_are_error_of(saved: Path) -> None:
    metadata = read_metadata(saved) | {"format": "symphony9-policy/2"}
    save_file(load_file(saved), saved, metadata)
    assert "has format version 2; this version of symphony9_env reads 1" in error_of(saved)


def test_unknown_layouts_are_error_of(saved: Path) -> None:
    rewrite(saved, layout_hash="0123456789abcdef")
    assert "unknown observation layout (version 1, 0123456789abcdef)" in error_of(saved)
    rewrite(saved, layout_version=9)
    assert "unknown observation layout (version 9" in error_of(saved)


@pytest.mark.parametrize(
    ("about", "message"),
    [
        ({"hidden": None}, "its description has no 'hidden'"),
        ({"hidden": "12"}, "hidden='12'"),
        ({"hidden": [12]}, "'policy.1.weight' is float32 (8, 12); needed: float32 (49, 12)"),
        ({"hidden": [12, 8, 8]}, "'policy.2.weight' is float32 (49, 8); needed: float32 (8, 8)"),
        ({"hidden": [12, 0]}, "hidden=[12, 0]"),
        ({"num_players": []}, "num_players=[]"),
        ({"num_players": [5]}, "num_players=[5]"),
        ({"num_players": [3, 4] * 1000}, "allowed: a selection of [2, 3, 4]"),
        ({"layout_hash": "a\nb"}, "unknown observation layout (version 1, a b)"),
        ({"activation": "softsign"}, "activation='softsign'; allowed: tanh, relu"),
        ({"ledger": "yes"}, "ledger='yes'"),
        ({"ledger": True}, "unknown observation layout"),
        ({"temperature": -1}, "temperature=-1"),
        ({"temperature": True}, "temperature=True; allowed: 0, or 0.001 to 100"),
        ({"temperature": 1e-300}, "temperature=1e-300"),
        ({"hidden": [65536]}, "hidden=[65536]; allowed: up to 16 layer sizes from 1 to 4096"),
        ({"hidden": [4096] * 9}, "are too many for a policy"),
        ({"hidden": [1] * 50_000}, "hidden=[1, 1, 1, 1, 1, 1, ...]"),
        ({"network": "x" * 100_000}, "network='xxx"),
        ({"options": []}, "options=[]; allowed: a mapping"),
        ({"network": []}, "network=[]"),
        ({"network": "cnn"}, "network='cnn'; allowed: mlp, musicians"),
        ({"activation": "relu"}, "is damaged: its content does not match its hash"),
        ({"num_players": [2, 3, 4]}, "is damaged: its content does not match its hash"),
    ],
)
def test_descriptions_that_do_not_fit_are_error_of(saved: Path, about: dict[str, Any], message: str) -> None:
    rewrite(saved, **about)
    assert message in error_of(saved)


def test_a_flipped_bit_anywhere_is_noticed(saved: Path) -> None:
    whole = saved.read_bytes()
    rng = np.random.default_rng(0)
    header = 8 + int.from_bytes(whole[:8], "little")
    offsets = [*rng.integers(0, header, 60), *rng.integers(header, len(whole), 10)]
    for offset in map(int, offsets):
        flipped = bytearray(whole)
        flipped[offset] ^= 1 << int(rng.integers(8))
        saved.write_bytes(flipped)
        error_of(saved)


def test_a_description_nested_too_deep_is_error_of(saved: Path) -> None:
    metadata = read_metadata(saved) | {"policy": "[" * 100_000}
    save_file(load_file(saved), saved, metadata)
    assert "is damaged" in error_of(saved)


def test_a_policy_without_its_value_network_plays(tmp_path: Path) -> None:
    for card in (CARD, replace(CARD, network="musicians", hidden=(4, 5, 6))):
        path = tmp_path / "policy.safetensors"
        whole = random_weights(card)
        save_policy(path, card, {name: array for name, array in whole.items() if not name.startswith("value.")})
        agent = PolicyAgent.load(path, 0)
        games, rows = BatchedGames(2, num_players=4, seed=0), np.arange(2)
        probabilities, value = agent.evaluate(games.states, rows)
        assert value is None
        assert probabilities.shape == (2, 49)
        assert games.action_mask[rows, agent.decide(games, rows)].all()
        save_policy(path, card, whole)
        assert PolicyAgent.load(path, 0).evaluate(games.states, rows)[1] is not None


def make_sparse(path: Path, shapes: dict[str, tuple[int, ...]], metadata: dict[str, str]) -> None:
    """Write a policy file whose weights are a hole: it takes no space on disk, whatever its size."""
    header: dict[str, Any] = {"__metadata__": metadata}
    end = 0
    for name, shape in shapes.items():
        start, end = end, end + 4 * int(np.prod(shape))
        header[name] = {"dtype": "F32", "shape": shape, "data_offsets": [start, end]}
    text = json.dumps(header).encode()
    path.write_bytes(len(text).to_bytes(8, "little") + text)
    with path.open("rb+") as file:
        file.truncate(8 + len(text) + end)


def test_weights_are_read_only_when_their_shapes_are_those_of_the_description(saved: Path) -> None:
    """The file is large, but small enough to be opened: only its header is read."""
    make_sparse(saved, {**CARD.shapes(), "policy.0.weight": (15_000_000,)}, read_metadata(saved))
    tracemalloc.start()
    try:
        message = error_of(saved)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert "'policy.0.weight' is float32 (15000000,); needed: float32 (12, 390)" in message
    assert peak < 2**22


def test_files_that_are_too_large_are_refused_before_they_are_read(saved: Path) -> None:
    make_sparse(saved, {"policy.0.weight": (2**30,)}, read_metadata(saved))
    assert "can't be read: has 4,294," in error_of(saved)
    saved.write_bytes((50_000_000).to_bytes(8, "little") + b"{}")
    assert "its header has 50,000,000 bytes; at most 1,048,576 are read" in error_of(saved)


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such files")
def test_pipes_and_devices_are_refused_at_once(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.safetensors")
    (tmp_path / "zero.safetensors").symlink_to("/dev/zero")
    for path in tmp_path.iterdir():
        assert error_of(path).endswith("can't be read: not a regular file")


def test_a_description_of_any_depth_is_read_or_refused(saved: Path) -> None:
    metadata = read_metadata(saved)
    for depth in range(800, 1000, 5):
        nested = metadata["policy"].replace('"options": {', '"options": {"x": ' + "[" * depth + "]" * depth + ", ")
        save_file(load_file(saved), saved, metadata | {"policy": nested})
        error_of(saved)  # at the latest, the hash does not match


@pytest.mark.parametrize(
    "card",
    [CARD, replace(CARD, activation="relu"), replace(CARD, network="musicians", hidden=(4, 5, 6))],
    ids=lambda card: f"{card.network} {card.activation}",
)
def test_huge_weights_are_refused_or_play_legally(tmp_path: Path, card: Card) -> None:
    path = tmp_path / "huge.safetensors"
    env = symphony9_v0.raw_env(num_players=4)
    rng = np.random.default_rng(0)
    num_refused = 0
    for name in (*card.shapes(), None):
        for size in (1e20, 1e30, 1e38):
            weights = random_weights(card)
            for one in weights if name is None else [name]:
                weights[one] = (rng.choice([-1, 0, 1], weights[one].shape) * size).astype(np.float32)
            try:
                save_policy(path, card, weights)
            except ValueError as error:
                assert "has weights so large that values above 1e+30 may occur" in str(error)  # noqa: PT017
                num_refused += 1
                continue
            agent = agents.make(path, seed=1)
            env.reset(seed=3)
            with np.errstate(all="raise"):
                for _ in range(10):
                    env.step(agent.choose(env))
    assert 20 <= num_refused < 3 * len(card.shapes())


def test_a_hidden_value_that_overflows_is_refused_though_nothing_depends_on_it(tmp_path: Path) -> None:
    """In float32 it is infinite, and infinity times 0 is not a number."""
    weights = random_weights(CARD)
    weights["policy.0.weight"][:] = 1e38
    weights["policy.2.weight"][:] = 0
    with pytest.raises(ValueError, match="has weights so large"):
        save_policy(tmp_path / "huge.safetensors", CARD, weights)


@pytest.mark.parametrize(("value", "message"), [(1e38, "has weights so large"), (np.nan, "are not finite numbers")])
def test_unusable_weights_with_a_right_hash_are_refused_when_they_are_loaded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, value: float, message: str
) -> None:
    weights = random_weights(CARD)
    weights["policy.0.weight"][:] = value
    with monkeypatch.context() as patched:
        patched.setattr(policy, "check_values", lambda card, weights: None)
        save_policy(tmp_path / "forged.safetensors", CARD, weights)
    assert message in error_of(tmp_path / "forged.safetensors")


def test_saving_to_a_missing_folder_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="can't be written"):
        save_policy(tmp_path / "none" / "x.safetensors", CARD, random_weights(CARD))


def test_an_unusable_policy_is_not_saved(tmp_path: Path) -> None:
    path = tmp_path / "bad.safetensors"
    weights = random_weights(CARD)
    weights["policy.0.bias"][3] = np.nan
    with pytest.raises(ValueError, match=r"'policy.0.bias' has values that are not finite numbers"):
        save_policy(path, CARD, weights)
    with pytest.raises(ValueError, match="num_players"):
        save_policy(path, replace(CARD, num_players=(9,)), random_weights(CARD))
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("name", ["x" * 300 + ".safetensors", "x" * 5000 + "/y", "a\0b.safetensors"])
def test_names_that_no_file_can_have_are_refused_in_a_short_line(name: str) -> None:
    with pytest.raises(ValueError, match="can't be read") as error:
        load_policy(name)
    assert len(str(error.value)) < 500
