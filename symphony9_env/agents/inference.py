# kernel: compiled by Numba; a change here changes the key of the compile cache
# mypy: disable-error-code="no-any-return"
"""The networks of saved policies, compiled: one observation at a time, so that a result never depends on a batch.

Most inputs of every layer are 0: observations are mostly one-hot, and most units behind a ReLU are off. So
each layer adds up the weights of the inputs that are not 0, and skips all others. Only what is asked
for is computed: the logits of legal actions, or the value.

A packed network (`packing.py`) is a tuple:

    shape      whole numbers: the kind, the activation, the number of hidden layers, whether there is a value
    layers     for each layer: where its weights start, the number of inputs, and the number of outputs
    weights    of all layers, flat: first the bias of each output, then the weights of each input
    order      the column of an observation for each input of the network (in front of these are a 0 and a 1); of kind
               `musicians`, first the inputs of each musician, then the global ones

Layers are padded with outputs that are always 0. The second argument of most functions is a workspace
(`new_workspace`): buffers, and lists of inputs that are not 0. `policy_move` is the action of a simulated seat.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from symphony9_env.actions import NUM_ACTIONS_DISCUSSION, PASS
from symphony9_env.agents.simd import add_rows, list_nonzero
from symphony9_env.compilation import entry, rule
from symphony9_env.rules.chance import mix, num_members, skip_draws
from symphony9_env.rules.game import legal_set
from symphony9_env.rules.state import NONE, NUM_MUSICIANS, Game
from symphony9_env.views.vector import encode
from symphony9_env.views.visible import draw_chance

MLP, MUSICIANS = range(2)
RELU, TANH = range(2)
KIND, ACTIVATION, NUM_HIDDEN, HAS_VALUE, LIST_SIZE, OBSERVATION_SIZE, NUM_OWN = range(7)  # in `shape`
START, INPUTS, OUTPUTS = range(3)  # in `layers`
NUM_CHOICES: Final = PASS // NUM_MUSICIANS
NUM_REST: Final = NUM_ACTIONS_DISCUSSION - PASS

# The layers of a network of kind `musicians`. An `mlp` has those of the policy, then those of the value.
FIRST_GLOBAL, FIRST, SECOND_POOL, SECOND, CHOICE, THIRD, REST, VALUE_THIRD, VALUE = range(9)
# The lists of a workspace: the features of each musician, then these.
POOLED, GLOBAL, HIDDEN = range(NUM_MUSICIANS, NUM_MUSICIANS + 3)
NUM_LISTS: Final = HIDDEN + 1
INPUT: Final = GLOBAL  # all inputs of an `mlp`

_FIRST_CHOICES: Final = 1 | 1 << NUM_MUSICIANS | 1 << 2 * NUM_MUSICIANS  # the choices of the first musician
ZERO_COLUMN, ONE_COLUMN, NUM_CONSTANTS = range(3)  # the first columns of the observation buffer
_SHARE: Final = np.float32(1 / NUM_MUSICIANS)
_ZERO: Final = np.float32(0)
_NO_FLOOR: Final = np.float32(-np.inf)

_NOISE_BITS: Final = 12
_NOISE_SHIFT: Final = np.uint64(64 - _NOISE_BITS)
_QUANTILES: Final = (np.arange(1 << _NOISE_BITS) + 0.5) / (1 << _NOISE_BITS)
# Gumbel noise: the action with the largest logit plus noise is distributed as the policy's.
_NOISE: Final = (-np.log(-np.log(_QUANTILES))).astype(np.float32)


def new_workspace(list_size: int) -> tuple[Any, ...]:
    """Return buffers for networks with up to `list_size` inputs of a layer, a multiple of WIDTH_UNIT."""
    observation = np.zeros(NUM_CONSTANTS + list_size, np.float32)
    observation[ONE_COLUMN] = 1
    return (
        observation,
        np.zeros(2 * list_size, np.float32),  # inputs; outputs that all musicians share; outputs of the last layer
        *(np.zeros(list_size, np.float32) for _ in range(3)),  # hidden units; their mean and maximum over musicians
        np.zeros(NUM_LISTS * list_size, np.int32),  # the lists: numbers of inputs
        np.zeros(NUM_LISTS * list_size, np.float32),  # and their values
        np.zeros(NUM_LISTS, np.int64),  # the lengths of the lists
        np.zeros(NUM_ACTIONS_DISCUSSION, np.float32),  # logits
    )


@rule
def observe_game(network: Any, workspace: Any, game: Game, seat: int) -> None:
    """Compute what logits and value have in common, from a seat's observation of a game."""
    shape, _, _, order = network
    observation, inputs, _, _, _, index, value, counts, _ = workspace
    encode(game, seat, observation[NUM_CONSTANTS : NUM_CONSTANTS + shape[OBSERVATION_SIZE]])
    for number in range(len(order)):
        inputs[number] = observation[order[number]]
    if shape[KIND] == MLP:
        counts[INPUT] = list_nonzero(inputs, len(order), index, value, INPUT * shape[LIST_SIZE], 0)
        return
    num_own = shape[NUM_OWN]
    for musician in range(NUM_MUSICIANS):
        own = inputs[musician * num_own : (musician + 1) * num_own]
        counts[musician] = list_nonzero(own, num_own, index, value, musician * shape[LIST_SIZE], 0)
    others = inputs[NUM_MUSICIANS * num_own : len(order)]
    counts[GLOBAL] = list_nonzero(others, len(others), index, value, GLOBAL * shape[LIST_SIZE], 0)
    _compute_musicians(network, workspace)


@rule
def compute_logits(network: Any, workspace: Any, legal: int) -> None:
    """Write the logits of the legal actions of the observed position into the workspace."""
    shape, layers, weights, _ = network
    _, outputs, _, _, _, index, value, counts, logits = workspace
    if shape[KIND] == MLP:
        _apply_layers(network, workspace, 0)
        for action in range(NUM_ACTIONS_DISCUSSION):
            logits[action] = outputs[action]
        return
    for musician in range(NUM_MUSICIANS):
        if legal >> musician & _FIRST_CHOICES:
            listed = musician * shape[LIST_SIZE]
            _apply(layers, weights, CHOICE, outputs, index, value, listed, counts[musician], _NO_FLOOR)
            for choice in range(NUM_CHOICES):
                logits[choice * NUM_MUSICIANS + musician] = outputs[choice]
    if legal >> PASS:
        _apply_head(network, workspace, THIRD, REST)
        for number in range(NUM_REST):
            logits[PASS + number] = outputs[number]


@rule
def logits_of(workspace: Any) -> Any:
    """Return the logits that `compute_logits` has written."""
    return workspace[8]


@rule
def compute_value(network: Any, workspace: Any) -> float:
    """Return the expected return of the observed position for the observer."""
    if network[0][KIND] == MLP:
        _apply_layers(network, workspace, int(network[0][NUM_HIDDEN]) + 1)
    else:
        _apply_head(network, workspace, VALUE_THIRD, VALUE)
    return workspace[1][0]


@rule
def _apply(
    layers: Any, weights: Any, layer: int, out: Any, index: Any, value: Any, first: int, n: int, floor: Any
) -> None:
    """Apply a layer to n listed inputs: its bias and the weights of these inputs."""
    start, width = layers[layer, START], layers[layer, OUTPUTS]
    add_rows(out, weights, start, weights, start + width, width, index, value, first, n, floor)


@rule
def _floor(shape: Any) -> Any:
    """Return what the outputs of a hidden layer are not below, before the rest of the activation."""
    return _ZERO if shape[ACTIVATION] == RELU else _NO_FLOOR


@rule
def _apply_tanh(shape: Any, values: Any, size: int) -> None:
    """Apply the rest of the activation."""
    if shape[ACTIVATION] == TANH:
        for unit in range(size):
            values[unit] = np.tanh(values[unit])


@rule
def _compute_musicians(network: Any, workspace: Any) -> None:
    """Compute the features of each musician among the others; list them and the pooled ones."""
    shape, layers, weights, _ = network
    _, shared, hidden, mean, largest, index, value, counts, _ = workspace
    size = shape[LIST_SIZE]
    for shared_layer, layer, listed in ((FIRST_GLOBAL, FIRST, GLOBAL), (SECOND_POOL, SECOND, POOLED)):
        _apply(layers, weights, shared_layer, shared, index, value, listed * size, counts[listed], _NO_FLOOR)
        start, width = layers[layer, START], layers[layer, OUTPUTS]
        for musician in range(NUM_MUSICIANS):
            first = musician * size
            add_rows(
                hidden, shared, 0, weights, start + width, width, index, value, first, counts[musician], _floor(shape)
            )
            _apply_tanh(shape, hidden, width)
            _pool(hidden, mean, largest, width, musician == 0)
            counts[musician] = list_nonzero(hidden, width, index, value, first, 0)
        means = list_nonzero(mean, width, index, value, POOLED * size, 0)
        counts[POOLED] = means + list_nonzero(largest, width, index, value, POOLED * size + means, width)


@rule
def _pool(hidden: Any, mean: Any, largest: Any, width: int, is_first: bool) -> None:
    """Add a musician's features to the mean and to the maximum over musicians."""
    if is_first:
        for unit in range(width):
            mean[unit] = hidden[unit] * _SHARE
            largest[unit] = hidden[unit]
    else:
        for unit in range(width):
            mean[unit] += hidden[unit] * _SHARE
            largest[unit] = max(largest[unit], hidden[unit])


@rule
def _apply_head(network: Any, workspace: Any, third: int, last: int) -> None:
    """Apply a third layer and the one after it to the features of the position."""
    shape, layers, weights, _ = network
    _, outputs, hidden, _, _, index, value, counts, _ = workspace
    size, start, width = shape[LIST_SIZE], layers[third, START], layers[third, OUTPUTS]
    _apply(layers, weights, third, hidden, index, value, POOLED * size, counts[POOLED], _NO_FLOOR)
    start += (1 + 2 * layers[SECOND, OUTPUTS]) * width  # the weights of the global features
    add_rows(hidden, hidden, 0, weights, start, width, index, value, GLOBAL * size, counts[GLOBAL], _floor(shape))
    _apply_tanh(shape, hidden, width)
    listed = list_nonzero(hidden, width, index, value, HIDDEN * size, 0)
    _apply(layers, weights, last, outputs, index, value, HIDDEN * size, listed, _NO_FLOOR)


@rule
def _apply_layers(network: Any, workspace: Any, first_layer: int) -> None:
    """Apply a multilayer perceptron to the observation."""
    shape, layers, weights, _ = network
    _, outputs, _, _, _, index, value, counts, _ = workspace
    size, last_layer = shape[LIST_SIZE], first_layer + shape[NUM_HIDDEN]
    first, listed = INPUT * size, counts[INPUT]
    for layer in range(first_layer, last_layer):
        width = layers[layer, OUTPUTS]
        _apply(layers, weights, layer, outputs, index, value, first, listed, _floor(shape))
        _apply_tanh(shape, outputs, width)
        first, listed = HIDDEN * size, list_nonzero(outputs, width, index, value, HIDDEN * size, 0)
    _apply(layers, weights, last_layer, outputs, index, value, first, listed, _NO_FLOOR)


@rule
def policy_move(game: Game, legal: int, network: Any, workspace: Any, temperature: float, stream: Any) -> int:
    """Return the action of a policy for the deciding seat, drawn from a random stream at a temperature."""
    if legal & (legal - 1) == 0:
        return num_members(legal - 1)
    observe_game(network, workspace, game, int(game.player))
    compute_logits(network, workspace, legal)
    return _draw_action(logits_of(workspace), legal, temperature, stream)


@rule
def _draw_action(logits: Any, legal: int, temperature: float, stream: Any) -> int:
    """Draw a legal action from the policy at a temperature; return the best one if that is 0."""
    best, best_value = NONE, -np.inf
    while legal != 0:
        action = num_members((legal & -legal) - 1)
        legal &= legal - 1
        value = np.float64(logits[action])
        if temperature != 0:
            value += temperature * _NOISE[np.int64(mix(skip_draws(stream, action)) >> _NOISE_SHIFT)]
        if value > best_value:
            best, best_value = action, value
    return best


@entry
def infer_rows(
    network: Any, workspace: Any, states: Any, rows: Any, seed: Any, logits: Any, chance: Any, values: Any
) -> None:
    """Write the logits of the legal actions (minus infinity for the others), and a number to draw an action by.

    Also write the values, unless `values` is empty; they are not a number if the network has none.
    """
    for number in range(len(rows)):
        game = states[rows[number]]
        legal = legal_set(game)
        chance[number] = draw_chance(game, seed)
        observe_game(network, workspace, game, int(game.player))
        compute_logits(network, workspace, legal)
        for action in range(NUM_ACTIONS_DISCUSSION):
            logits[number, action] = logits_of(workspace)[action] if legal >> action & 1 else -np.inf
        if len(values):
            values[number] = compute_value(network, workspace) if network[0][HAS_VALUE] else np.nan
