"""The networks that a saved policy may have, in NumPy: from observations to a number for every action, and a value.

`mlp`: plain layers. `musicians`: the same layers look at every musician in turn, beside what they see of the table,
so that what is learned of one is known of all:

    first:   each musician's own fields and the table's            -> features of the musician
    second:  those, with the mean and maximum over all musicians   -> features of the musician among the others
    choice:  from these, his three actions: take, keep, discard
    third:   mean and maximum over all musicians, and the table    -> features of the position
    rest:    from these, all other actions; a layer of its own and `value` give the expected return

Weights whose names begin with `value` may be left out: then the policy plays, and has no opinion of its chances.
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
NUM_CHOICES: Final = PASS // NUM_MUSICIANS  # actions by musician: take, keep, discard
# Fields that tell of each musician; the axis over musicians is the first or the last.
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
    def logits(self, observation: Floats) -> Floats:
        """A number for each action, before masking."""

    def value(self, observation: Floats) -> Floats | None:
        """The expected return (1 is a sure win); None if the value's weights were left out."""


def musician_columns(ledger: bool) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Where in an observation each musician's fields stand, (musicians, fields), and where the table's, (fields,)."""
    fields = {field.name: field for field in observation_fields(ledger)}
    parts = []
    for name in MUSICIAN_FIELDS:
        field = fields[name]
        numbers = np.arange(field.start, field.stop).reshape(field.shape)
        parts.append(numbers.reshape(NUM_MUSICIANS, -1) if field.shape[0] == NUM_MUSICIANS else numbers.T)
    by_musician = np.concatenate(parts, axis=1)
    table = np.setdiff1d(np.arange(observation_size(ledger)), by_musician)
    return by_musician, table


def mlp_shapes(hidden: tuple[int, ...], ledger: bool) -> Shapes:
    """Layers of the policy and, of the same sizes, of the value."""
    shapes: Shapes = {}
    for kind, outputs in (("policy", NUM_ACTIONS_DISCUSSION), ("value", 1)):
        sizes = (observation_size(ledger), *hidden, outputs)
        for layer, (before, after) in enumerate(pairwise(sizes)):
            shapes |= {f"{kind}.{layer}.weight": (after, before), f"{kind}.{layer}.bias": (after,)}
    return shapes


def musicians_shapes(hidden: tuple[int, ...], ledger: bool) -> Shapes:
    if len(hidden) != 3:
        raise ValueError(f"hidden={list(hidden)}; a network of kind 'musicians' has three sizes")
    first, second, third = hidden
    columns, table = musician_columns(ledger)
    return {
        "first.weight": (first, columns.shape[1]),
        "first.table": (first, len(table)),
        "first.place": (NUM_MUSICIANS, first),  # a bias for every place on the board
        "second.weight": (second, first),
        "second.pool": (second, 2 * first),
        "second.bias": (second,),
        "choice.weight": (NUM_CHOICES, second),
        "choice.bias": (NUM_CHOICES,),
        "third.weight": (third, 2 * second + len(table)),
        "third.bias": (third,),
        "rest.weight": (NUM_ACTIONS_DISCUSSION - PASS, third),
        "rest.bias": (NUM_ACTIONS_DISCUSSION - PASS,),
        "value.third.weight": (third, 2 * second + len(table)),
        "value.third.bias": (third,),
        "value.weight": (1, third),
        "value.bias": (1,),
    }


SHAPES: Final = {"mlp": mlp_shapes, "musicians": musicians_shapes}


def make_network(kind: str, hidden: tuple[int, ...], activation: str, ledger: bool, weights: Weights) -> Network:
    if kind == "mlp":
        return Mlp(len(hidden), activation, weights)
    return Musicians(activation, ledger, weights)


def _activate(values: Any, activation: str) -> Any:
    """In place."""
    return np.tanh(values, out=values) if activation == "tanh" else np.maximum(values, 0, out=values)


class Mlp:
    def __init__(self, num_hidden: int, activation: str, weights: Weights) -> None:
        self._activation = activation
        # Transposed once: a batch of observations is multiplied from the left.
        self._layers = {
            kind: [
                (np.ascontiguousarray(weights[f"{kind}.{layer}.weight"].T), weights[f"{kind}.{layer}.bias"])
                for layer in range(num_hidden + 1)
            ]
            for kind in ("policy", "value")
            if f"{kind}.0.weight" in weights
        }

    def logits(self, observation: Floats) -> Floats:
        logits: Floats = self._apply("policy", observation)
        return logits

    def value(self, observation: Floats) -> Floats | None:
        return self._apply("value", observation)[:, 0] if "value" in self._layers else None

    def _apply(self, kind: str, values: Any) -> Any:
        *hidden, last = self._layers[kind]
        for weight, bias in hidden:
            values = values @ weight
            values += bias
            _activate(values, self._activation)
        return values @ last[0] + last[1]


class Musicians:
    def __init__(self, activation: str, ledger: bool, weights: Weights) -> None:
        self._activation = activation
        self._columns, self._table = musician_columns(ledger)
        self._weights = {
            name: np.ascontiguousarray(values.T) if values.ndim == 2 and name != "first.place" else values
            for name, values in weights.items()
        }

    def logits(self, observation: Floats) -> Floats:
        musicians, position = self._look(observation)
        weights = self._weights
        choices = musicians @ weights["choice.weight"] + weights["choice.bias"]  # (n, musicians, choices)
        rest = self._head(position, "third") @ weights["rest.weight"] + weights["rest.bias"]
        by_choice = choices.transpose(0, 2, 1).reshape(len(observation), -1)
        return np.concatenate([by_choice, rest], axis=1)

    def value(self, observation: Floats) -> Floats | None:
        if "value.weight" not in self._weights:
            return None
        _, position = self._look(observation)
        values = self._head(position, "value.third") @ self._weights["value.weight"] + self._weights["value.bias"]
        flat: Floats = values[:, 0]
        return flat

    def _look(self, observation: Floats) -> tuple[Floats, Floats]:
        """Features of each musician among the others (n, musicians, second), and of the position."""
        weights = self._weights
        table = observation[:, self._table]
        first = observation[:, self._columns] @ weights["first.weight"]
        first += (table @ weights["first.table"])[:, None, :]
        first += weights["first.place"]
        _activate(first, self._activation)
        second: Any = first @ weights["second.weight"]
        second += (_pool(first) @ weights["second.pool"] + weights["second.bias"])[:, None, :]
        _activate(second, self._activation)
        return second, np.concatenate([_pool(second), table], axis=1)

    def _head(self, position: Floats, name: str) -> Floats:
        values = position @ self._weights[f"{name}.weight"] + self._weights[f"{name}.bias"]
        activated: Floats = _activate(values, self._activation)
        return activated


def _pool(values: Floats) -> Floats:
    """Mean and maximum over musicians."""
    return np.concatenate([values.mean(axis=1), values.max(axis=1)], axis=1)
