# mypy: disable-error-code="no-any-return"
"""Saved policies: one safetensors file with the network's weights and, as JSON, everything needed to play with them.

The file contains no code. A policy needs only the core install, because its network is small and runs in NumPy. It
encodes observations by its own layout, so that a policy trained with the ledger can play in games without it.
"""

from __future__ import annotations

import hashlib
import json
import os
from dataclasses import asdict, dataclass, field
from math import prod
from pathlib import Path
from typing import Any, Final

import numpy as np
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save

from symphony9_env import files
from symphony9_env.actions import NUM_ACTIONS_DISCUSSION
from symphony9_env.agents.base import Agent, Positions, Rows
from symphony9_env.agents.inference import LIST_SIZE, infer_rows, new_workspace
from symphony9_env.agents.networks import (
    ACTIVATIONS,
    MAX_LAYER_SIZE,
    MAX_VALUE,
    SHAPES,
    Floats,
    Shapes,
    Weights,
    is_bounded,
)
from symphony9_env.agents.packing import pack_network
from symphony9_env.components import PLAYER_COUNTS
from symphony9_env.rules.state import States
from symphony9_env.suggestions import shorten, show
from symphony9_env.views import LAYOUT_VERSION, layout_hash

FORMAT: Final = "symphony9-policy"
FORMAT_VERSION: Final = 1
SUFFIX: Final = ".safetensors"
MAX_FILE_BYTES: Final = 64 * 2**20  # the shipped policies have up to 1.2 million
MAX_HEADER_BYTES: Final = 2**20
MIN_TEMPERATURE: Final = 0.001  # a smaller one may be 0 in float32


@dataclass(frozen=True)
class Card:
    """The description of a policy: everything in its file except the weights."""

    num_players: tuple[int, ...]  # the player counts it can play
    hidden: tuple[int, ...]  # sizes of the hidden layers
    network: str = "mlp"  # a kind of network, see networks.py
    activation: str = "tanh"
    ledger: bool = False  # whether its observation includes the ledger
    temperature: float = 0.0  # 0: play the best action; otherwise draw from softmax(logits / temperature)
    options: dict[str, Any] = field(default_factory=dict)  # options of the environment it was trained in
    training: dict[str, Any] = field(default_factory=dict)  # settings and figures of its training

    def shapes(self) -> Shapes:
        """Return the names and shapes of the weights of such a policy."""
        return SHAPES[self.network](self.hidden, self.ledger)


@dataclass(frozen=True, kw_only=True)
class PolicyDescription(Card):
    """A card, and the observation layout that the weights fit: the JSON in the metadata of a policy file."""

    layout_version: int
    layout_hash: str


def save_policy(path: str | os.PathLike[str], card: Card, weights: Weights) -> None:
    """Write a policy file atomically; `weights` must have the names and shapes of `card.shapes()`."""
    contents = pack_policy(card, weights)
    try:
        files.write(Path(path), lambda draft: draft.write_bytes(contents))
    except OSError as error:
        raise ValueError(f"policy {os.fspath(path)}: can't be written ({error.strerror})") from None


def pack_policy(card: Card, weights: Weights) -> bytes:
    """Return the contents of a policy file."""
    _check_card(card)
    _check_shapes(card, {name: (str(values.dtype), values.shape) for name, values in weights.items()})
    check_values(card, weights)
    description = json.dumps(
        {"layout_version": LAYOUT_VERSION, "layout_hash": layout_hash(card.ledger), **asdict(card)}
    )
    metadata = {"format": f"{FORMAT}/{FORMAT_VERSION}", "policy": description, "hash": _hash(weights, description)}
    return save(weights, metadata)


def load_policy(path: str | os.PathLike[str]) -> tuple[Card, Weights]:
    """Read a policy file; a ValueError says why it can't be used."""
    try:
        return _load(Path(path))
    except ValueError as error:
        raise ValueError(f"policy {shorten(os.fspath(path), 300)}: {error}") from None


def _load(path: Path) -> tuple[Card, Weights]:
    try:
        if path.is_dir():
            raise ValueError("is a folder, not a policy file")
        _check_sizes(path)
        with safe_open(path, "numpy") as file:  # reads the header; what a tensor holds is read below
            metadata = file.metadata() or {}
            card = _read_card(_read_description(metadata))
            slices = {name: file.get_slice(name) for name in file.keys()}  # noqa: SIM118
            types = {name: part.get_dtype().replace("F32", "float32") for name, part in slices.items()}
            _check_shapes(card, {name: (types[name], tuple(part.get_shape())) for name, part in slices.items()})
            weights = {name: file.get_tensor(name) for name in slices}
    except FileNotFoundError:
        raise ValueError("no such file") from None
    except OSError as error:
        raise ValueError(f"can't be read: {error.strerror or error}") from None
    except (SafetensorError, TypeError, MemoryError) as error:
        raise ValueError(f"is not a policy, or is damaged or truncated ({shorten(str(error))})") from None
    check_values(card, weights)
    if metadata.get("hash") != _hash(weights, metadata["policy"]):
        raise ValueError("is damaged: its content does not match its hash")
    return card, weights


def _check_sizes(path: Path) -> None:
    """Raise a ValueError unless this is a regular file with a header that can be read without much memory."""
    try:
        file = files.open_regular(path, MAX_FILE_BYTES)
    except ValueError as error:
        raise ValueError(f"can't be read: {str(error).removeprefix(f'{path}: ')}") from None
    with file:
        header_bytes = int.from_bytes(file.read(8), "little")
    if header_bytes > MAX_HEADER_BYTES:
        reason = f"its header has {header_bytes:,} bytes; at most {MAX_HEADER_BYTES:,} are read"
        raise ValueError(f"is not a policy, or is damaged or truncated ({reason})")


def _read_description(metadata: dict[str, str]) -> dict[str, Any]:
    kind, _, version = metadata.get("format", "").partition("/")
    if kind != FORMAT or not version.isdecimal() or len(version) > 9:
        raise ValueError("is a safetensors file, but not a policy of this game")
    if int(version) != FORMAT_VERSION:
        raise ValueError(f"has format version {version}; this version of symphony9_env reads {FORMAT_VERSION}")
    try:
        description = json.loads(metadata.get("policy", ""))
    except (ValueError, RecursionError):
        description = None
    if not isinstance(description, dict):
        raise ValueError("is damaged: its description is not a JSON object")
    return description


def _read_card(description: dict[str, Any]) -> Card:
    names = Card.__dataclass_fields__
    if missing := [name for name in (*names, "layout_version", "layout_hash") if name not in description]:
        raise ValueError(f"is damaged: its description has no {missing[0]!r}")
    values = {name: description[name] for name in names}
    for name in ("num_players", "hidden"):
        if not isinstance(values[name], list) or not all(type(item) is int for item in values[name]):
            raise ValueError(f"is damaged: {name}={show(values[name])}; allowed: a list of whole numbers")
        values[name] = tuple(values[name])
    card = Card(**values)
    _check_card(card)
    known = (LAYOUT_VERSION, layout_hash(card.ledger))
    found = (description["layout_version"], description["layout_hash"])
    if found != known:
        raise ValueError(
            f"has an unknown observation layout (version {show(found[0])}, {shorten(str(found[1]), 80)}); "
            f"this version of symphony9_env has version {known[0]}, {known[1]}"
        )
    return card


def _check_card(card: Card) -> None:
    counts = card.num_players
    if not counts or not set(counts) <= set(PLAYER_COUNTS) or len(set(counts)) < len(counts):
        raise ValueError(f"num_players={show(list(counts))}; allowed: a selection of {list(PLAYER_COUNTS)}")
    if not isinstance(card.network, str) or card.network not in SHAPES:
        raise ValueError(f"network={show(card.network)}; allowed: {', '.join(SHAPES)}")
    if len(card.hidden) > 16 or not all(0 < size <= MAX_LAYER_SIZE for size in card.hidden):
        allowed = f"up to 16 layer sizes from 1 to {MAX_LAYER_SIZE}"
        raise ValueError(f"hidden={show(list(card.hidden))}; allowed: {allowed}")
    if card.activation not in ACTIVATIONS:
        raise ValueError(f"activation={show(card.activation)}; allowed: {', '.join(ACTIVATIONS)}")
    if type(card.ledger) is not bool:
        raise ValueError(f"ledger={show(card.ledger)}; allowed: true, false")
    check_temperature(card.temperature)
    for name in ("options", "training"):
        if not isinstance(getattr(card, name), dict):
            raise ValueError(f"{name}={show(getattr(card, name))}; allowed: a mapping")
    num_bytes = np.dtype(np.float32).itemsize * sum(prod(shape) for shape in card.shapes().values())
    if num_bytes > MAX_FILE_BYTES - 2 * MAX_HEADER_BYTES:
        raise ValueError(f"hidden={show(list(card.hidden))}; weights of {num_bytes:,} bytes are too many for a policy")


def check_temperature(temperature: Any) -> None:
    """Raise a ValueError unless a policy can play at this temperature."""
    is_number = isinstance(temperature, int | float) and not isinstance(temperature, bool)
    if not is_number or not (temperature == 0 or MIN_TEMPERATURE <= temperature <= 100):
        raise ValueError(f"temperature={show(temperature)}; allowed: 0, or {MIN_TEMPERATURE} to 100")


def _check_shapes(card: Card, found: dict[str, tuple[str, tuple[int, ...]]]) -> None:
    """Raise a ValueError unless types and shapes of the weights fit the card; the value's may all be absent."""
    shapes = card.shapes()
    if not any(name.startswith("value.") for name in found):
        shapes = {name: shape for name, shape in shapes.items() if not name.startswith("value.")}
    for name, shape in shapes.items():
        if name not in found:
            raise ValueError(f"has no {name!r}; needed: {', '.join(shapes)}")
        if found[name] != ("float32", shape):
            raise ValueError(f"{name!r} is {found[name][0]} {show(found[name][1])}; needed: float32 {shape}")
    if unknown := sorted(set(found) - set(shapes)):
        raise ValueError(f"has an unknown {show(unknown[0])}; needed: {', '.join(shapes)}")


def check_values(card: Card, weights: Weights) -> None:
    """Raise a ValueError unless the network computes finite numbers with these weights."""
    for name, values in weights.items():
        if not np.isfinite(values).all():
            raise ValueError(f"{name!r} has values that are not finite numbers")
    if not is_bounded(card.network, card.hidden, card.ledger, weights):
        raise ValueError(f"has weights so large that values above {MAX_VALUE:g} may occur in its network")


def _hash(weights: Weights, description: str) -> str:
    """Return a hash of a policy's weights and its description."""
    digest = hashlib.sha256(description.encode() + b"\0")
    for name in sorted(weights):
        digest.update(name.encode() + b"\0" + np.ascontiguousarray(weights[name]).tobytes())
    return digest.hexdigest()


class PolicyAgent(Agent):
    """Plays a saved policy."""

    def __init__(self, name: str, card: Card, weights: Weights, seed: int) -> None:
        self.name = name
        self.seed = seed
        self.card = card
        self.weights = weights
        self._hash = _hash(weights, repr(card))
        self.network = pack_network(card, weights)
        self.has_value = any(name.startswith("value.") for name in weights)

    @classmethod
    def load(cls, path: str | os.PathLike[str], seed: int) -> PolicyAgent:
        """Read a policy file and return its agent, named after the path."""
        return cls(os.fspath(path), *load_policy(path), seed)

    def fingerprint(self, num_players: int) -> str:
        return f"{self.name} {self._hash[:16]}"

    def check_players(self, num_players: int) -> None:
        if num_players not in self.card.num_players:
            allowed = " or ".join(str(count) for count in self.card.num_players)
            raise ValueError(f"policy {self.name} is for {allowed} players; this game has {num_players}")

    def for_players(self, num_players: int) -> PolicyAgent:
        """Return itself if it can play with this many players, as `ShippedPolicy` returns the policy for them."""
        self.check_players(num_players)
        return self

    def decide(self, positions: Positions, rows: Rows) -> Rows:
        logits, chance, _ = self._infer(positions.states, rows)
        if self.card.temperature == 0:
            return np.argmax(logits, axis=1)
        return _draw_actions(_softmax_weights(logits, self.card.temperature), chance)

    def sample(self, states: States, rows: Rows) -> tuple[Rows, Floats, Floats]:
        """Draw actions at temperature 1; return them, the logarithms of their probabilities, and the values."""
        logits, chance, values = self._infer(states, rows, with_values=True)
        weights = _softmax_weights(logits)
        actions = _draw_actions(weights, chance)
        return actions, np.log(weights[np.arange(len(rows)), actions] / weights.sum(axis=1)), values

    def compute_probabilities(self, states: States, rows: Rows) -> Floats:
        """Return the probabilities with which `decide` draws each action, if the temperature is not 0."""
        weights = _softmax_weights(self._infer(states, rows)[0], self.card.temperature)
        return np.asarray(weights / weights.sum(axis=1, keepdims=True))

    def evaluate(self, states: States, rows: Rows) -> tuple[Floats, Floats | None]:
        """Return the probability of every action (at temperature 1) and the expected return of the deciding seat.

        The expected return is None if the policy file has no weights for the value.
        """
        logits, _, values = self._infer(states, rows, with_values=True)
        weights = _softmax_weights(logits)
        return weights / weights.sum(axis=1, keepdims=True), values if self.has_value else None

    def _infer(self, states: States, rows: Rows, with_values: bool = False) -> tuple[Floats, Any, Floats]:
        """Return the logits of all actions, a random number from 0 to 1 for each row, and the values if wanted.

        Illegal actions have a logit of minus infinity.
        """
        for count in np.unique(states["num_players"][rows]).tolist():
            self.check_players(count)
        logits = np.empty((len(rows), NUM_ACTIONS_DISCUSSION), np.float32)
        chance = np.empty(len(rows))
        values = np.empty(len(rows) if with_values else 0, np.float32)
        workspace = new_workspace(int(self.network[0][LIST_SIZE]))
        infer_rows(self.network, workspace, states, rows, np.uint64(self.seed), logits, chance, values)
        return logits, chance, values


def _draw_actions(weights: Any, chance: Any) -> Rows:
    """Draw an action on each row with a probability in proportion to its weight, by a random number from 0 to 1."""
    cumulative = np.cumsum(weights, axis=1)
    return np.argmax(cumulative > chance[:, None] * cumulative[:, -1:], axis=1)


def _softmax_weights(logits: Any, temperature: float = 1.0) -> Any:
    """Return the softmax of each row, not yet normalised."""
    return np.exp((logits - logits.max(axis=1, keepdims=True)) / temperature)


class ShippedPolicy(Agent):
    """`policy`: plays the policy that comes with the package for the number of players in the game."""

    name = "policy"

    def __init__(self, seed: int) -> None:
        self.seed = seed
        self._by_players: dict[int, PolicyAgent] = {}

    def fingerprint(self, num_players: int) -> str:
        return self.for_players(num_players).fingerprint(num_players)

    def check_players(self, num_players: int) -> None:
        self.for_players(num_players)

    def decide(self, positions: Positions, rows: Rows) -> Rows:
        counts = positions.states["num_players"][rows]
        actions = np.empty(len(rows), np.int64)
        for count in np.unique(counts).tolist():
            actions[counts == count] = self.for_players(count).decide(positions, rows[counts == count])
        return actions

    def for_players(self, num_players: int) -> PolicyAgent:
        """Return the agent for a number of players; its file is read when it is first needed."""
        if num_players not in self._by_players:
            self._by_players[num_players] = self._load(num_players)
        return self._by_players[num_players]

    def _load(self, num_players: int) -> PolicyAgent:
        policy = PolicyAgent.load(shipped_path(num_players), self.seed)
        policy.name = self.name  # so that it does not depend on where the package is installed
        return policy


def shipped_path(num_players: int) -> Path:
    """Return the path of the policy that comes with the package for a number of players."""
    return Path(__file__).parent / "policies" / f"{num_players}p{SUFFIX}"
