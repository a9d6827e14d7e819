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

`search:N@NAME` assumes that all rivals play as the agent NAME: it approximates a best response to it. A scripted agent
and a policy are simulated here. Where it is any other agent's turn, a playout stops until Python has asked the agent.
In a search for a team (`roles.py`) all seats of the team follow the tree, each by what it may know, and the value of a
playout is the team's share of the win.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from symphony9_env.actions import BID, NUM_ACTIONS_DISCUSSION, SELL
from symphony9_env.agents.bidding import NUM_BIDS, sample_bid
from symphony9_env.agents.planner import estimate_composition_values, plan_move
from symphony9_env.agents.rival_models import ALL_ACTIONS, SALES, draw_greedy_seats, guess_closed_hands, rival_move
from symphony9_env.agents.strategies import UNKNOWN
from symphony9_env.compilation import entry, inlined_rule, rule
from symphony9_env.rules.chance import mix, num_members, skip_draws
from symphony9_env.rules.game import apply, legal_set
from symphony9_env.rules.scoring import rank_players, total_points, win_share
from symphony9_env.rules.state import CONTRIBUTE, NONE, NUM_BOARDS, NUM_MUSICIANS, OVER, Game
from symphony9_env.views.resample import resample_hidden
from symphony9_env.views.visible import hide_unknown, public_digest, purse_digest

MAX_DEPTH: Final = 64  # own decisions on one path through the tree
SLOTS_PER_NODE: Final = 4  # size of the hash table of nodes

EXPLORATION: Final = 0.6  # weight of the exploration bonus
PLANNER_PRIOR: Final = 0.5  # prior of the planner's action; the other actions share the rest
SALE_PRIOR: Final = 0.01  # prior of a sale of furniture, which is rarely good
WAITING: Final = -1.0  # the value of a playout that can't go on before Python has asked a rival for a move
# How far a playout and its tree have come, in an array.
NUM_NODES, NUM_MOVES, VALUED_ROUND, DEPTH, IN_TREE, NUM_PROGRESS = range(6)


@rule
def _search(
    root: Game, first_actions: int, assumptions: Any, policy: Any, world: Any, tree: Any, playout: Any, win_shares: Any
) -> int:
    """Run a playout for each element of `win_shares`, write its value there, and return the most visited action.

    All playouts begin with one of `first_actions`.
    """
    _clear(tree, playout)
    for number in range(len(win_shares)):
        _begin_playout(root, assumptions, policy, number, world, playout)
        win_shares[number] = _play_on(root, first_actions, assumptions, policy, world, tree, playout, None)
    return _most_visited(tree)


@rule
def _prepare_root(states: Any, row: int, seed: Any, is_comparison: bool, scratch: Any, playout: Any) -> int:
    """Copy a state to `scratch[0]` without what the deciding seat can't know; return the set of its legal actions."""
    streams = playout[0]
    scratch[0] = states[row]
    root = scratch[0]
    hide_unknown(root, int(root.player))
    streams[0] = mix(seed ^ public_digest(root))
    if is_comparison:
        streams[0] = mix(streams[0])
    return legal_set(root)


@rule
def _clear(tree: Any, playout: Any) -> None:
    """Make a tree empty."""
    slots, _, _, visits, wins = tree
    _, progress, _, composition_values, _, _, _ = playout
    slots[:] = NONE
    visits[:] = 0
    wins[:] = 0
    progress[NUM_NODES] = 0
    composition_values[:] = 0


@inlined_rule
def _begin_playout(root: Game, assumptions: Any, policy: Any, number: int, world: Any, playout: Any) -> None:
    """Draw a world for the playout with this number; the hands of rivals that Python must ask are drawn uniformly."""
    streams, progress, _, composition_values, _, _, _ = playout
    streams[1] = mix(skip_draws(streams[0], number))
    world[0] = root
    resample_hidden(world[0], int(root.player), streams[1])
    guess_closed_hands(world[0], composition_values, assumptions, policy, streams[1])
    progress[NUM_MOVES] = NUM_BOARDS  # the draws before are those of closed hands
    progress[VALUED_ROUND] = NONE
    progress[DEPTH] = 0
    progress[IN_TREE] = 1


@inlined_rule
def _play_on(
    root: Game, first_actions: int, assumptions: Any, policy: Any, world: Any, tree: Any, playout: Any, moves: Any
) -> float:
    """Play a playout to its end and return its value.

    If `moves` is not None, add its moves there, and return WAITING where Python must ask a rival for one.
    """
    streams, progress, path, composition_values, probabilities, points, ranks = playout
    slots, keys, planner_action, visits, wins = tree
    rivals, roles = assumptions
    known, team = roles[int(root.player)]
    tree_seats = team & ~known if rivals != UNKNOWN else team
    game, chance = world[0], streams[1]
    greedy_seats = draw_greedy_seats(chance)
    number, valued_round = progress[NUM_MOVES], progress[VALUED_ROUND]
    depth, in_tree = progress[DEPTH], progress[IN_TREE] == 1
    while game.phase != OVER:
        number += 1
        if game.round_index != valued_round:
            estimate_composition_values(game, composition_values)
            valued_round = np.int64(game.round_index)
        if game.phase == CONTRIBUTE and game.round_index > root.round_index and not in_tree:
            action = sample_bid(game, int(game.player), probabilities, mix(skip_draws(chance, number)))
        elif not tree_seats >> int(game.player) & 1:
            followed = rivals if known >> int(game.player) & 1 else UNKNOWN
            stream = mix(skip_draws(chance, number))
            action = rival_move(game, composition_values, followed, policy, ALL_ACTIONS, greedy_seats, stream)
        elif in_tree and depth < MAX_DEPTH:
            node, is_new = _reach_node(game, composition_values, slots, keys, planner_action, progress)
            in_tree = not is_new
            legal = first_actions if depth == 0 else legal_set(game)
            action = _select(visits[node], wins[node], legal, planner_action[node])
            path[depth, 0], path[depth, 1] = node, action
            depth += 1
        else:
            action = plan_move(game, composition_values)
        if moves is not None:
            if action == NONE:
                _save_progress(progress, number, valued_round, depth, in_tree)
                return WAITING
            _record(action, moves)
        apply(game, action, None)
    share = _score_playout(game, team, points, ranks)
    for level in range(depth):
        visits[path[level, 0], path[level, 1]] += 1
        wins[path[level, 0], path[level, 1]] += share
    return share


@rule
def _save_progress(progress: Any, number: int, valued_round: int, depth: int, in_tree: bool) -> None:
    """Keep how far a playout has come until it goes on."""
    progress[NUM_MOVES], progress[VALUED_ROUND], progress[DEPTH], progress[IN_TREE] = (
        number,
        valued_round,
        depth,
        in_tree,
    )


@rule
def _record(action: int, moves: Any) -> None:
    """Add an action to the moves of a game."""
    history, length = moves
    history[0, length[0]] = action
    length[0] += 1


@inlined_rule
def _reach_node(game: Game, composition_values: Any, slots: Any, keys: Any, planner_action: Any, progress: Any) -> Any:
    """Return the node of this decision, and whether it was added to the tree just now."""
    key = mix(public_digest(game) ^ purse_digest(game))
    node, num_nodes, is_new = _find_node(slots, keys, key, progress[NUM_NODES])
    if is_new:
        progress[NUM_NODES] = num_nodes
        planner_action[node] = plan_move(game, composition_values)
    return node, is_new


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
    rest = (1 - PLANNER_PRIOR) / max(num_members(legal & ~SALES) - 1, 1)
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
def _most_visited(tree: Any) -> int:
    """Return the most visited action at the root; in a tie, the planner's is preferred."""
    _, _, planner_action, visits, _ = tree
    best = int(planner_action[0])
    for action in range(NUM_ACTIONS_DISCUSSION):
        if visits[0, action] > visits[0, best]:
            best = action
    return best


@rule
def _score_playout(game: Game, team: int, points: Any, ranks: Any) -> float:
    """Return the share of the win of a set of seats in a finished game."""
    for player in range(game.num_players):
        points[player] = total_points(game, player)
    rank_players(game, points, ranks)
    share = 0.0
    for player in range(game.num_players):
        if team >> player & 1:
            share += win_share(ranks, game.num_players, player)
    return share


@entry
def search_rows(
    states: Any,
    rows: Any,
    assumptions: Any,
    policy: Any,
    seed: Any,
    scratch: Any,
    tree: Any,
    playout: Any,
    win_shares: Any,
    actions: Any,
) -> None:
    """Write an action for each of these rows to `actions`, with a playout for each element of `win_shares`.

    `assumptions` are how rivals play (UNKNOWN, POLICY, or a strategy's number) and, for each seat that may decide, the
    set of seats that do and the team, as a set of seats. `policy` is the network, a workspace for it and the
    temperature of rivals that play as a policy, and None for others. `scratch` holds two states; `tree` comes from
    `new_tree`, `playout` from `new_playout`.
    """
    for index in range(len(rows)):
        legal = _prepare_root(states, rows[index], seed, False, scratch, playout)
        if legal & (legal - 1) == 0:  # nothing to choose
            actions[index] = num_members(legal - 1)
        else:
            actions[index] = _search(scratch[0], legal, assumptions, policy, scratch[1:], tree, playout, win_shares)


@entry
def compare_actions(
    states: Any,
    row: int,
    actions: Any,
    assumptions: Any,
    policy: Any,
    seed: Any,
    scratch: Any,
    tree: Any,
    playout: Any,
    win_shares: Any,
) -> None:
    """Search one game once for each of these legal actions, which all playouts of that search begin with.

    Each row of `win_shares` receives the values of an action's playouts. The actions face the same worlds, so their
    values can be compared playout by playout. These are other worlds than those in which `search_rows` chooses: its
    choice would look too good in them.
    """
    _prepare_root(states, row, seed, True, scratch, playout)
    for index in range(len(actions)):
        first_actions = 1 << actions[index]
        _search(scratch[0], first_actions, assumptions, policy, scratch[1:], tree, playout, win_shares[index])


# The same search with rivals that Python asks: it calls these functions one after the other.


@entry
def begin_search(states: Any, row: int, seed: Any, is_comparison: bool, scratch: Any, playout: Any) -> int:
    """Prepare the search of a game; return the set of its legal actions."""
    return _prepare_root(states, row, seed, is_comparison, scratch, playout)


@entry
def clear_tree(tree: Any, playout: Any) -> None:
    """Make a tree empty, before its first playout."""
    _clear(tree, playout)


@entry
def begin_playout(assumptions: Any, number: int, scratch: Any, playout: Any) -> None:
    """Draw the world of the playout with this number, but for the hands that rivals who are asked have closed."""
    _begin_playout(scratch[0], assumptions, None, number, scratch[1:], playout)


@entry
def play_on(
    first_actions: int, assumptions: Any, scratch: Any, tree: Any, playout: Any, history: Any, length: Any
) -> float:
    """Play the playout on to its end and return its value, or to a rival to be asked, and return WAITING."""
    return _play_on(scratch[0], first_actions, assumptions, None, scratch[1:], tree, playout, (history, length))


@entry
def choose_action(tree: Any) -> int:
    """Return the choice after all playouts."""
    return _most_visited(tree)


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


def new_playout() -> tuple[Any, ...]:
    """Return buffers for the playout that is being played."""
    return (
        np.zeros(2, np.uint64),  # the random streams of the search and of the playout
        np.zeros(NUM_PROGRESS, np.int64),
        np.zeros((MAX_DEPTH, 2), np.int64),  # the nodes on its path through the tree, and the actions there
        np.zeros((NUM_BOARDS, NUM_MUSICIANS)),  # estimated composition values
        np.zeros(NUM_BIDS),  # probabilities of bids
        np.zeros(NUM_BOARDS, np.int64),  # points
        np.zeros(NUM_BOARDS),  # ranks
    )
