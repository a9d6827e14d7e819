"""Pack a saved policy's weights for the compiled networks of `inference.py`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import NDArray

from symphony9_env.agents import inference
from symphony9_env.agents.networks import Floats, Weights, musician_columns
from symphony9_env.agents.simd import WIDTH_UNIT
from symphony9_env.rules.state import NUM_MUSICIANS
from symphony9_env.views import observation_size

if TYPE_CHECKING:
    from symphony9_env.agents.policy import Card

Layer = tuple[Floats, Floats]  # the bias of each output, and the weights as (inputs, outputs)
_ACTIVATIONS: Final = {"relu": inference.RELU, "tanh": inference.TANH}


def pack_network(card: Card, weights: Weights) -> tuple[Any, ...]:
    """Return a network as the compiled functions need it; see `inference.py`."""
    is_mlp = card.network == "mlp"
    has_value = any(name.startswith("value") for name in weights)
    layers = _list_mlp_layers(card, weights, has_value) if is_mlp else _list_musicians_layers(weights, has_value)
    order, num_own = _order_inputs(card)
    list_size = max(len(order), *(_round_up(size) for _, weight in layers for size in weight.shape))
    starts = np.cumsum([0] + [(1 + len(weight)) * weight.shape[1] for _, weight in layers])
    kind = inference.MLP if is_mlp else inference.MUSICIANS
    size = observation_size(card.ledger)
    shape = (kind, _ACTIVATIONS[card.activation], len(card.hidden), int(has_value), list_size, size, num_own)
    return (
        np.array(shape, np.int64),
        np.array([(start, *weight.shape) for start, (_, weight) in zip(starts, layers, strict=False)], np.int64),
        _align(np.concatenate([part.ravel() for layer in layers for part in layer])),
        order,
    )


def _order_inputs(card: Card) -> tuple[NDArray[np.uint32], int]:
    """Return the observation's column for each input of the network, and how many inputs belong to each musician.

    A musician has his features and a 1 in his position on the board, which has weights of its own.
    """
    by_musician, others = musician_columns(card.ledger)
    if card.network == "mlp":
        return _fill_up(np.arange(observation_size(card.ledger)) + inference.NUM_CONSTANTS), 0
    positions = np.where(np.eye(NUM_MUSICIANS), inference.ONE_COLUMN, inference.ZERO_COLUMN)
    own = np.concatenate([by_musician + inference.NUM_CONSTANTS, positions], axis=1)
    parts = [_fill_up(columns) for columns in (*own, others + inference.NUM_CONSTANTS)]
    return np.concatenate(parts), len(parts[0])


def _fill_up(columns: NDArray[np.int64]) -> NDArray[np.uint32]:
    filled = np.full(_round_up(len(columns)), inference.ZERO_COLUMN, np.uint32)  # unsigned indices are faster
    filled[: len(columns)] = columns
    return filled


def _align(array: Floats) -> Floats:
    """Return a copy that starts at a multiple of 64 bytes, so that no vector crosses a cache line."""
    room = np.empty(array.nbytes + 64, np.uint8)
    start = -room.ctypes.data % 64
    aligned: Floats = room[start : start + array.nbytes].view(np.float32)
    aligned[:] = array
    return aligned


def _list_mlp_layers(card: Card, weights: Weights, has_value: bool) -> list[Layer]:
    """Return the layers of the policy, then those of the value."""
    layers = []
    for kind in ("policy", "value") if has_value else ("policy",):
        inputs = observation_size(card.ledger)
        for number in range(len(card.hidden) + 1):
            weight, bias = weights[f"{kind}.{number}.weight"], weights[f"{kind}.{number}.bias"]
            layers.append(_pad(bias, [weight], inputs))
            inputs = len(layers[-1][0])
    return layers


def _list_musicians_layers(weights: Weights, has_value: bool) -> list[Layer]:
    """Return the layers in the order of `inference.py`."""
    first, second, third = (_round_up(len(weights[name])) for name in ("first.weight", "second.weight", "third.weight"))
    with_place = np.concatenate([weights["first.weight"], weights["first.place"].T], axis=1)
    layers = [
        _pad(None, [weights["first.table"]]),
        _pad(None, [with_place]),
        _pad(weights["second.bias"], _split_pool(weights["second.pool"], 0), first),
        _pad(None, [weights["second.weight"]], first),
        _pad(weights["choice.bias"], [weights["choice.weight"]], second),
    ]
    for head in ("", "value.") if has_value else ("",):
        parts = _split_pool(weights[f"{head}third.weight"], len(weights["first.table"][0]))
        last = "value" if head else "rest"
        layers.append(_pad(weights[f"{head}third.bias"], parts, second))
        layers.append(_pad(weights[f"{last}.bias"], [weights[f"{last}.weight"]], third))
    return layers


def _split_pool(weight: Floats, num_others: int) -> list[Floats]:
    """Split a layer's weights into those for the mean, for the maximum, and for other inputs, if there are any."""
    pooled = weight.shape[1] - num_others
    parts = [weight[:, : pooled // 2], weight[:, pooled // 2 : pooled], weight[:, pooled:]]
    return parts if num_others else parts[:2]


def _pad(bias: Floats | None, parts: list[Floats], inputs: int = 0) -> Layer:
    """Return a layer, transposed, with its outputs rounded up and each part's inputs filled up to `inputs`."""
    outputs = len(parts[0])
    wide = np.zeros(_round_up(outputs), np.float32)
    if bias is not None:
        wide[:outputs] = bias
    padded = []
    for part in parts:
        filled = np.zeros((max(inputs, part.shape[1]), len(wide)), np.float32)
        filled[: part.shape[1], :outputs] = part.T
        padded.append(filled)
    return wide, np.concatenate(padded)


def _round_up(size: int) -> int:
    return -(-size // WIDTH_UNIT) * WIDTH_UNIT
