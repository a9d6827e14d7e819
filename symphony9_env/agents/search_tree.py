# kernel: compiled by Numba; a change here changes the key of the compile cache
# mypy: disable-error-code="no-any-return"
"""`search:N`: information-set Monte-Carlo tree search with N playouts per decision, all of it compiled.

Each playout starts by drawing everything that the seat can't know, which gives one possible world. In this world the
seat follows its tree and, beyond the tree, the planner; the rivals follow models. A node of the tree is a decision of
the seat as the seat would see it, so that worlds which look the same to it share nodes.

Closed hands stay hidden: each playout guesses what every rival contributes, and the seat's own bid is evaluated against
all of these guesses. In later rounds the contributions beyond the tree are drawn from a predicted distribution, because
computing the best bids there would make playouts much slower.

The value of a playout is the seat's share of the win. The planner's action has the largest prior at every node, so that
another action must prove to be better.

`search:N@planner` assumes that all rivals follow the named strategy: it approximates a best response to it.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from symphony9_env.actions import BID, MAX_CONTRIBUTION, NUM_ACTIONS_DISCUSSION, SELL
from symphony9_env.agents.bidding import NUM_BIDS, sample_bid
from symphony9_env.agents.greedy import greedy_move
from symphony9_env.agents.planner import estimate_composition_values, plan_move
from symphony9_env.agents.strategies import scripted_move
from symphony9_env.compilation import entry, rule
from symphony9_env.rules.chance import draw_below, draw_member, mix, num_members, skip_draws
from symphony9_env.rules.concert import close_hand
from symphony9_env.rules.game import HAND_TOKEN, HAND_TOTAL, apply, legal_set
from symphony9_env.rules.scoring import rank_players, total_points, win_share
from symphony9_env.rules.state import CONTRIBUTE, NONE, NUM_BOARDS, NUM_MUSICIANS, OVER, Game
from symphony9_env.views.resample import resample_hidden
from symphony9_env.views.visible import hide_unknown, is_hand_hidden, public_digest, purse_digest

MAX_DEPTH: Final = 64  # own decisions on one path through the tree
SLOTS_PER_NODE: Final = 4  # size of the hash table of nodes

EXPLORATION: Final = 0.6  # weight of the exploration bonus
PLANNER_PRIOR: Final = 0.5  # prior of the planner's action; the other actions share the rest
SALE_PRIOR: Final = 0.01  # prior of a sale of furniture, which is rarely good
GREEDY_RIVAL_PERMILLE: Final = 250  # how often a simulated rival is greedy; otherwise he follows the planner
RIVAL_RANDOM_MOVE_PERMILLE: Final = 80  # how often a simulated rival plays a uniformly random legal move
RIVAL_BID_SHIFT_PERMILLE: Final = 500  # how often a simulated rival bids a dollar more or less

UNKNOWN: Final = NONE  # the rivals' strategy is not known
_SALES: Final = ((1 << BID - SELL) - 1) << SELL


@rule
def _search(
    root: Game, first_actions: int, rival_strategy: int, stream: Any, world: Any, tree: Any, win_shares: Any
) -> int:
    """Run a playout for each element of `win_shares`, write its value there, and return the most visited action.

    All playouts begin with one of `first_actions`.
    """
    seat = int(root.player)
    slots, keys, planner_action, visits, wins = tree
    slots[:] = NONE
    visits[:] = 0
    wins[:] = 0
    nodes, actions = np.empty(MAX_DEPTH, np.int64), np.empty(MAX_DEPTH, np.int64)
    points, ranks = np.zeros(NUM_BOARDS, np.int64), np.zeros(NUM_BOARDS)
    composition_values = np.zeros((NUM_BOARDS, NUM_MUSICIANS))
    probabilities = np.zeros(NUM_BIDS)
    num_nodes = 0
    for playout in range(len(win_shares)):
        chance = mix(skip_draws(stream, playout))
        world[0] = root
        game = world[0]
        resample_hidden(game, seat, chance)
        greedy_seats = draw_greedy_seats(chance)
        _guess_closed_hands(game, composition_values, seat, rival_strategy, greedy_seats, chance)
        depth, in_tree, number, estimated_round = 0, True, NUM_BOARDS, NONE
        while game.phase != OVER:
            number += 1
            if game.round_index != estimated_round:
                estimate_composition_values(game, composition_values)
                estimated_round = game.round_index
            if game.phase == CONTRIBUTE and game.round_index > root.round_index and not in_tree:
                action = sample_bid(game, int(game.player), probabilities, mix(skip_draws(chance, number)))
            elif game.player != seat:
                action = model_move(
                    game, composition_values, rival_strategy, greedy_seats, mix(skip_draws(chance, number))
                )
            elif in_tree and depth < MAX_DEPTH:
                key = mix(public_digest(game) ^ purse_digest(game))
                node, num_nodes, is_new = _find_node(slots, keys, key, num_nodes)
                if is_new:
                    planner_action[node] = plan_move(game, composition_values)
                    in_tree = False
                legal = first_actions if depth == 0 else legal_set(game)
                action = _select(visits[node], wins[node], legal, planner_action[node])
                nodes[depth], actions[depth] = node, action
                depth += 1
            else:
                action = plan_move(game, composition_values)
            apply(game, action, None)
        share = win_shares[playout] = _score_playout(game, seat, points, ranks)
        for level in range(depth):
            visits[nodes[level], actions[level]] += 1
            wins[nodes[level], actions[level]] += share
    return _most_visited(visits[0], planner_action[0])


@rule
def _find_node(slots: Any, keys: Any, key: Any, num_nodes: int) -> Any:
    """Find or add the node of a key; return it, the number of nodes, and whether it is new. The root is node 0."""
    slot = np.int64(key % np.uint64(len(slots)))
    while slots[slot] != NONE:
        if keys[slots[slot]] == key:
            return np.int64(slots[slot]), num_nodes, False
        slot = slot + 1 if slot + 1 < len(slots) else np.int64(0)
    slots[slot] = num_nodes
    keys[num_nodes] = key
    return np.int64(num_nodes), num_nodes + 1, True


@rule
def _select(visits: Any, wins: Any, legal: int, planner_action: int) -> int:
    """Return the action with the highest mean value plus exploration bonus (PUCT)."""
    total, won = 0, 0.0
    for action in range(NUM_ACTIONS_DISCUSSION):
        total += visits[action]
        won += wins[action]
    mean = won / total if total > 0 else 0.5  # the assumed value of an action that was not tried yet
    bonus = EXPLORATION * np.sqrt(total + 1.0)
    rest = (1 - PLANNER_PRIOR) / max(num_members(legal & ~_SALES) - 1, 1)
    best, best_value = NONE, -1.0
    while legal != 0:
        action = num_members((legal & -legal) - 1)
        legal &= legal - 1
        prior = PLANNER_PRIOR if action == planner_action else SALE_PRIOR if SELL <= action < BID else rest
        tried = int(visits[action])
        value = (wins[action] / tried if tried > 0 else mean) + bonus * prior / (1 + tried)
        if value > best_value:
            best, best_value = action, value
    return best


@rule
def _most_visited(visits: Any, planner_action: int) -> int:
    """Return the most visited action; in a tie, the planner's is preferred."""
    best = int(planner_action)
    for action in range(NUM_ACTIONS_DISCUSSION):
        if visits[action] > visits[best]:
            best = action
    return best


@rule
def _score_playout(game: Game, seat: int, points: Any, ranks: Any) -> float:
    """Return the seat's share of the win in a finished game."""
    for player in range(game.num_players):
        points[player] = total_points(game, player)
    rank_players(game, points, ranks)
    return win_share(ranks, game.num_players, seat)


# Models of the rivals.


@rule
def draw_greedy_seats(chance: Any) -> int:
    """Draw the set of seats that follow the greedy strategy in this world; the others follow the planner."""
    seats = 0
    for seat in range(NUM_BOARDS):
        seats |= (draw_below(chance, seat, 1000) < GREEDY_RIVAL_PERMILLE) << seat
    return seats


@rule
def model_move(game: Game, composition_values: Any, rival_strategy: int, greedy_seats: int, stream: Any) -> int:
    """Return the action of a simulated rival: that of his strategy, if it is known.

    Otherwise it is the planner's or the greedy strategy's action, sometimes replaced by a random one. Half of the bids
    are a dollar off.
    """
    if rival_strategy != UNKNOWN:
        return scripted_move(rival_strategy, game, stream)
    if draw_below(stream, 0, 1000) < RIVAL_RANDOM_MOVE_PERMILLE:
        return draw_member(stream, 1, legal_set(game) & ~_SALES)
    if greedy_seats >> int(game.player) & 1:
        action = greedy_move(game)
    else:
        action = plan_move(game, composition_values)
    if game.phase == CONTRIBUTE and draw_below(stream, 2, 1000) < RIVAL_BID_SHIFT_PERMILLE:
        return _shift_bid(game, action, 2 * draw_below(stream, 3, 2) - 1)
    return action


@rule
def _shift_bid(game: Game, action: int, dollars: int) -> int:
    """Change a bid of coins by so many dollars, if the result is legal; a bid with furniture stays unchanged."""
    total = action - BID + dollars
    if action > BID + MAX_CONTRIBUTION or not 0 <= total <= MAX_CONTRIBUTION:
        return action
    return BID + total if legal_set(game) >> BID + total & 1 else action


@rule
def _guess_closed_hands(
    game: Game, composition_values: Any, seat: int, rival_strategy: int, greedy_seats: int, chance: Any
) -> None:
    """Replace the hands that rivals have already closed by bids of their models.

    A model may want to sell furniture first. A real sale would be public, so $2 (or all his money) is bid instead.
    """
    if game.phase != CONTRIBUTE:
        return
    for player in range(game.num_players):
        if is_hand_hidden(game, seat, player):
            game.player = player
            stream = mix(skip_draws(chance, player))
            action = model_move(game, composition_values, rival_strategy, greedy_seats, stream)
            hand = action - BID if action >= BID else min(int(game.money[player]), 2)
            close_hand(game, player, HAND_TOTAL[hand], HAND_TOKEN[hand])
    game.player = seat


@entry
def search_rows(
    states: Any, rows: Any, playouts: int, rival_strategy: int, seed: Any, scratch: Any, tree: Any, actions: Any
) -> None:
    """Write an action for each of these rows to `actions`. `scratch` holds two states; `tree` comes from `new_tree`."""
    win_shares = np.empty(playouts)
    for index in range(len(rows)):
        scratch[0] = states[rows[index]]
        root = scratch[0]
        hide_unknown(root, int(root.player))
        legal = legal_set(root)
        if legal & (legal - 1) == 0:  # nothing to choose
            actions[index] = num_members(legal - 1)
        else:
            stream = mix(seed ^ public_digest(root))
            actions[index] = _search(root, legal, rival_strategy, stream, scratch[1:], tree, win_shares)


@entry
def compare_actions(
    states: Any, row: int, actions: Any, rival_strategy: int, seed: Any, scratch: Any, tree: Any, win_shares: Any
) -> None:
    """Search one game once for each of these legal actions, which all playouts of that search begin with.

    Each row of `win_shares` receives the values of an action's playouts. The actions face the same worlds, so their
    values can be compared playout by playout. These are other worlds than those in which `search_rows` chooses: its
    choice would look too good in them.
    """
    scratch[0] = states[row]
    root = scratch[0]
    hide_unknown(root, int(root.player))
    stream = mix(mix(seed ^ public_digest(root)))
    for index in range(len(actions)):
        _search(root, 1 << actions[index], rival_strategy, stream, scratch[1:], tree, win_shares[index])


def new_tree(playouts: int) -> tuple[Any, ...]:
    """Return an empty tree with room for one node per playout.

    It consists of the hash table of nodes and, by node, the keys, the planner's actions, and visits and wins by action.
    """
    return (
        np.empty(SLOTS_PER_NODE * playouts, np.int32),
        np.empty(playouts, np.uint64),
        np.empty(playouts, np.int64),
        np.empty((playouts, NUM_ACTIONS_DISCUSSION), np.int32),
        np.empty((playouts, NUM_ACTIONS_DISCUSSION), np.float32),
    )
