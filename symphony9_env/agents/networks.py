# mypy: disable-error-code="no-any-return"
"""The networks of saved policies, in NumPy: they map observations to one logit for each action, and to a value.

`mlp` is a multilayer perceptron, with a second one for the value. `musicians` applies the same weights to each
musician, so that what is learned about one of them holds for all:

    first    each musician's own features and the global ones     -> features of the musician
    second   these, with mean and maximum over all musicians      -> features of the musician among the others
    choice   from these, the logits of his three actions: take, keep, discard
    third    mean and maximum over all musicians, global features -> features of the position
    rest     from these, the logits of all other actions; the value has a third layer of its own and the layer `value`

Weights whose names begin with `value` may be absent. Then the policy can play, but can't evaluate a position.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any, Final, Protocol

import numpy as np
from numpy.typing import NDArray

from symphony9_env.actions import NUM_ACTIONS_DISCUSSION, PASS
from symphony9_env.rules.state import NUM_MUSICIANS
from symphony9_env.views import observation_fields, observation_size

Floats = NDArray[np.float32]
Weights = dict[str, Floats]
Shapes = dict[str, tuple[int, ...]]

ACTIVATIONS: Final = ("tanh", "relu")
MAX_LAYER_SIZE: Final = 4096
MAX_VALUE: Final = 1e30  # no value in a network may exceed it; float32 overflows above 3e38
_BOUND: Final = "bound"  # an upper bound of both activations, for values that are not negative
NUM_CHOICES: Final = PASS // NUM_MUSICIANS  # actions of each musician: take, keep, discard
# The observation fields with an axis over musicians, which is the first or the last.
MUSICIAN_FIELDS: Final = (
    "reputation",
    "seniority",
    "place",
    "dead",
    "cubes_left",
    "ahead_reputation",
    "ahead_cubes",
    "fame",
    "scoring",
    "kept",
    "earlier_cubes",
    "new_cubes",
    "compositions",
)


class Network(Protocol):
    """A policy network; observations have the shape (n, size)."""

    def logits(self, observation: Floats) -> Floats:
        """Return the logits of all actions, before masking, as (n, actions)."""

    def value(self, observation: Floats) -> Floats | None:
        """Return the expected returns (1 is a certain win), as (n,); None if there are no weights for the value."""


def musician_columns(ledger: bool) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the columns of an observation with each musician's features, (musicians, features), and all others."""
    fields = {field.name: field for field in observation_fields(ledger)}
    parts = []
    for name in MUSICIAN_FIELDS:
        field = fields[name]
        columns = np.arange(field.start, field.stop).reshape(field.shape)
        parts.append(columns.reshape(NUM_MUSICIANS, -1) if field.shape[0] == NUM_MUSICIANS else columns.T)
    by_musician = np.concatenate(parts, axis=1)
    global_columns = np.setdiff1d(np.arange(observation_size(ledger)), by_musician)
    return by_musician, global_columns


def mlp_shapes(hidden: tuple[int, ...], ledger: bool) -> Shapes:
    """Return the names and shapes of the weights of an `mlp`: one of the policy and an equal one of the value."""
    shapes: Shapes = {}
    for kind, outputs in (("policy", NUM_ACTIONS_DISCUSSION), ("value", 1)):
        sizes = (observation_size(ledger), *hidden, outputs)
        for layer, (before, after) in enumerate(pairwise(sizes)):
            shapes |= {f"{kind}.{layer}.weight": (after, before), f"{kind}.{layer}.bias": (after,)}
    return shapes


def musicians_shapes(hidden: tuple[int, ...], ledger: bool) -> Shapes:
    """Return the names and shapes of the weights of a `musicians` network."""
    if len(hidden) != 3:
        raise ValueError(f"hidden={list(hidden)}; a network of kind 'musicians' has three sizes")
    first, second, third = hidden
    columns, global_columns = musician_columns(ledger)
    return {
        "first.weight": (first, columns.shape[1]),
        "first.table": (first, len(global_columns)),
        "first.place": (NUM_MUSICIANS, first),  # a bias for each position on the board
        "second.weight": (second, first),
        "second.pool": (second, 2 * first),
        "second.bias": (second,),
        "choice.weight": (NUM_CHOICES, second),
        "choice.bias": (NUM_CHOICES,),
        "third.weight": (third, 2 * second + len(global_columns)),
        "third.bias": (third,),
        "rest.weight": (NUM_ACTIONS_DISCUSSION - PASS, third),
        "rest.bias": (NUM_ACTIONS_DISCUSSION - PASS,),
        "value.third.weight": (third, 2 * second + len(global_columns)),
        "value.third.bias": (third,),
        "value.weight": (1, third),
        "value.bias": (1,),
    }


SHAPES: Final = {"mlp": mlp_shapes, "musicians": musicians_shapes}


def make_network(kind: str, hidden: tuple[int, ...], activation: str, ledger: bool, weights: Weights) -> Network:
    """Return a network of one of the kinds in SHAPES."""
    if kind == "mlp":
        return MlpNetwork(len(hidden), activation, weights)
    return MusiciansNetwork(activation, ledger, weights)


def is_bounded(kind: str, hidden: tuple[int, ...], ledger: bool, weights: Weights) -> bool:
    """Return whether no value in a network can exceed MAX_VALUE, whatever the observation.

    Finite weights can still overflow when they are multiplied, and a network that computes infinity minus infinity has
    no best action. This is the largest that any value can become: with the absolute values of all weights, on the
    largest absolute observation, where both activations are at most the identity. A value above the limit is made
    infinite, and infinity or "not a number" then reaches all outputs, even through weights that are 0.
    """
    absolute: Any = {name: np.abs(values, dtype=np.float64) for name, values in weights.items()}
    network = make_network(kind, hidden, _BOUND, ledger, absolute)
    fields = observation_fields(ledger)
    largest: Any = np.concatenate([np.full(field.size, max(abs(field.low), abs(field.high))) for field in fields])
    with np.errstate(all="ignore"):
        outputs = [network.logits(largest[None]), network.value(largest[None])]
        return all(bool((output <= MAX_VALUE).all()) for output in outputs if output is not None)


def _activate(values: Any, activation: str) -> Any:
    """Apply the activation function in place."""
    if activation == _BOUND:
        np.copyto(values, np.inf, where=~(values <= MAX_VALUE))
        return values
    return np.tanh(values, out=values) if activation == "tanh" else np.maximum(values, 0, out=values)


class MlpNetwork:
    """A multilayer perceptron, and one of the same sizes for the value."""

    def __init__(self, num_hidden: int, activation: str, weights: Weights) -> None:
        self._activation = activation
        # Transposed once here, because a batch of observations is multiplied from the left.
        self._layers = {
            kind: [
                (np.ascontiguousarray(weights[f"{kind}.{layer}.weight"].T), weights[f"{kind}.{layer}.bias"])
                for layer in range(num_hidden + 1)
            ]
            for kind in ("policy", "value")
            if f"{kind}.0.weight" in weights
        }

    def logits(self, observation: Floats) -> Floats:
        """Return the logits of all actions."""
        return self._apply("policy", observation)

    def value(self, observation: Floats) -> Floats | None:
        """Return the expected returns, or None."""
        return self._apply("value", observation)[:, 0] if "value" in self._layers else None

    def _apply(self, kind: str, values: Any) -> Floats:
        *hidden, last = self._layers[kind]
        for weight, bias in hidden:
            values = values @ weight
            values += bias
            _activate(values, self._activation)
        return values @ last[0] + last[1]


class MusiciansNetwork:
    """A network that applies the same weights to each musician; see the module's docstring."""

    def __init__(self, activation: str, ledger: bool, weights: Weights) -> None:
        self._activation = activation
        self._columns, self._global_columns = musician_columns(ledger)
        self._weights = {
            name: np.ascontiguousarray(values.T) if values.ndim == 2 and name != "first.place" else values
            for name, values in weights.items()
        }

    def logits(self, observation: Floats) -> Floats:
        """Return the logits of all actions."""
        musicians, position = self._encode(observation)
        weights = self._weights
        choices = musicians @ weights["choice.weight"] + weights["choice.bias"]  # (n, musicians, choices)
        rest = self._head(position, "third") @ weights["rest.weight"] + weights["rest.bias"]
        by_choice = choices.transpose(0, 2, 1).reshape(len(observation), -1)
        return np.concatenate([by_choice, rest], axis=1)

    def value(self, observation: Floats) -> Floats | None:
        """Return the expected returns, or None."""
        if "value.weight" not in self._weights:
            return None
        _, position = self._encode(observation)
        values = self._head(position, "value.third") @ self._weights["value.weight"] + self._weights["value.bias"]
        return values[:, 0]

    def _encode(self, observation: Floats) -> tuple[Floats, Floats]:
        """Return the features of each musician among the others, (n, musicians, second), and of the position."""
        weights = self._weights
        global_features = observation[:, self._global_columns]
        first = observation[:, self._columns] @ weights["first.weight"]
        first += (global_features @ weights["first.table"])[:, None, :]
        first += weights["first.place"]
        _activate(first, self._activation)
        second: Any = first @ weights["second.weight"]
        second += (_pool(first) @ weights["second.pool"] + weights["second.bias"])[:, None, :]
        _activate(second, self._activation)
        return second, np.concatenate([_pool(second), global_features], axis=1)

    def _head(self, position: Floats, name: str) -> Floats:
        """Apply a third layer, that of the policy or that of the value."""
        values = position @ self._weights[f"{name}.weight"] + self._weights[f"{name}.bias"]
        return _activate(values, self._activation)


def _pool(values: Floats) -> Floats:
    """Return the mean and the maximum over musicians."""
    return np.concatenate([values.mean(axis=1), values.max(axis=1)], axis=1)
