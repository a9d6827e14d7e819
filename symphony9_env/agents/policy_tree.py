# kernel: compiled by Numba; a change here changes the key of the compile cache
# mypy: disable-error-code="no-any-return"
"""`think:N`: lines in which the thinking seat follows a tree of its decisions instead of the policy.

A node of the tree is a decision of the seat as the seat would see it, as in `search:N`, with the policy's probability
of every action. A line chooses by PUCT in the tree and adds one node to it. There it ends with the policy's estimate,
or the policy plays on until the end of the line as `lines.py` defines it.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from symphony9_env.actions import NUM_ACTIONS_DISCUSSION
from symphony9_env.agents.inference import compute_value
from symphony9_env.agents.lines import compute_priors, draw_world, evaluate_end, policy_move, rival_move
from symphony9_env.agents.planner import estimate_composition_values
from symphony9_env.agents.search_tree import MAX_DEPTH, SLOTS_PER_NODE, find_node
from symphony9_env.compilation import entry, rule
from symphony9_env.rules.chance import mix, num_members, skip_draws
from symphony9_env.rules.game import apply, legal_set
from symphony9_env.rules.state import NONE, NUM_BOARDS, NUM_MUSICIANS, OVER, Game
from symphony9_env.views.visible import num_tokens_shown, public_digest, purse_digest


def new_policy_tree(num_lines: int) -> tuple[Any, ...]:
    """Return an empty tree with room for the root and one node per line.

    It consists of the number of nodes, the hash table of nodes and, by node, the keys, and the policy's probabilities,
    visits and sums of values by action.
    """
    size = num_lines + 1
    return (
        np.zeros(1, np.int64),
        np.full(SLOTS_PER_NODE * size, NONE, np.int32),
        np.empty(size, np.uint64),
        np.empty((size, NUM_ACTIONS_DISCUSSION)),
        np.empty((size, NUM_ACTIONS_DISCUSSION), np.int64),
        np.empty((size, NUM_ACTIONS_DISCUSSION)),
    )


@rule
def _visit(game: Game, legal: int, guide: Any, workspace: Any, temperature: float, tree: Any) -> Any:
    """Find or add the node of the seat's decision; return it and whether it is new."""
    num_nodes, slots, keys, priors, visits, sums = tree
    shown = num_tokens_shown(game)
    token = np.uint64(game.budget[shown - 1] if shown > 0 else 0)
    key = mix(mix(public_digest(game) ^ purse_digest(game)) ^ token)
    node, num_nodes[0], is_new = find_node(slots, keys, key, num_nodes[0])
    if is_new:
        compute_priors(game, legal, guide, workspace, temperature, priors[node])
        visits[node] = 0
        sums[node] = 0
    return node, is_new


@rule
def _select(priors: Any, visits: Any, sums: Any, legal: int, exploration: float) -> int:
    """Return the action with the highest mean value plus exploration bonus (PUCT)."""
    total, won = 0, 0.0
    for action in range(NUM_ACTIONS_DISCUSSION):
        total += visits[action]
        won += sums[action]
    mean = won / total if total > 0 else 0.0  # the assumed value of an action that was not tried yet
    bonus = exploration * np.sqrt(total + 1.0)
    best, best_value = NONE, -np.inf
    while legal != 0:
        action = num_members((legal & -legal) - 1)
        legal &= legal - 1
        tried = int(visits[action])
        value = (sums[action] / tried if tried > 0 else mean) + bonus * priors[action] / (1 + tried)
        if value > best_value:
            best, best_value = action, value
    return best


@entry
def play_tree_lines(
    roots: Any,
    seed: Any,
    first_world: int,
    first_actions: Any,
    last_round: int,
    ends_at_new_nodes: bool,
    exploration: float,
    prior_temperature: float,
    models: Any,
    workspace: Any,
    scratch: Any,
    tree: Any,
    values: Any,
) -> None:
    """Play a line for each element of `values`, and write its value for the deciding seat there.

    The lines begin with each of `first_actions` in each world, or, if there are none, with the tree's choice in a
    world of its own.
    """
    _, _, _, priors, visits, sums = tree
    root = roots[0]
    seat = int(root.player)
    stream = mix(seed ^ public_digest(root))
    nodes, actions = np.empty(MAX_DEPTH, np.int64), np.empty(MAX_DEPTH, np.int64)
    points, ranks, rewards = np.zeros(NUM_BOARDS, np.int64), np.zeros(NUM_BOARDS), np.zeros(NUM_BOARDS)
    composition_values = np.zeros((NUM_BOARDS, NUM_MUSICIANS))
    for number in range(len(values)):
        scratch[0] = root
        game = scratch[0]
        world = mix(skip_draws(stream, first_world + number // max(1, len(first_actions))))
        estimate_composition_values(game, composition_values)
        draw_world(game, models, workspace, composition_values, world)
        depth, in_tree, has_value, estimated_round = 0, True, False, int(root.round_index)
        while game.phase != OVER and not (game.round_index > last_round and game.player == seat):
            if game.round_index != estimated_round:
                estimate_composition_values(game, composition_values)
                estimated_round = int(game.round_index)
            legal = legal_set(game)
            if game.player != seat:
                action = rival_move(game, legal, models, workspace, composition_values, world)
            elif legal & (legal - 1) != 0 and in_tree and depth < MAX_DEPTH:
                node, is_new = _visit(game, legal, models[1], workspace, prior_temperature, tree)
                in_tree = not is_new or depth == 0
                if not in_tree and ends_at_new_nodes:
                    has_value = True
                    break
                if depth == 0 and len(first_actions) > 0:
                    action = int(first_actions[number % len(first_actions)])
                else:
                    action = _select(priors[node], visits[node], sums[node], legal, exploration)
                nodes[depth], actions[depth] = node, action
                depth += 1
            else:
                action = policy_move(game, legal, models[1], workspace, models[3], world)
            apply(game, action, None)
        if has_value:
            values[number] = compute_value(models[1], workspace)  # of the new node, which was observed last
        else:
            values[number] = evaluate_end(game, seat, models[1], workspace, points, ranks, rewards)
        for level in range(depth):
            visits[nodes[level], actions[level]] += 1
            sums[nodes[level], actions[level]] += values[number]
