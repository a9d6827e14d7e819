# kernel: compiled by Numba; a change here changes the key of the compile cache
# mypy: disable-error-code="no-any-return"
"""`search:N`: information-set Monte-Carlo tree search with N playouts a decision, all of it compiled.

Before each playout all that the seat can't know is drawn anew, so a playout is one possible world. In it the seat
follows its tree and, past the tree's edge, the planner; its rivals are played by models of players. A node is a
decision of the seat as it would see it: worlds that look alike share it. Closed hands stay hidden: each rival's
is a fresh guess of what he would contribute, and the seat's own bid is chosen against all of them at once. In the
rounds after this one everybody's bid is such a guess: thinking it through would cost too many playouts.
A playout counts as its share of the win. The planner's choice comes first at every node; others must prove better.

`search:N@planner` is told how its rivals play: a best response to them, as far as N playouts find it.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from symphony9_env.actions import BID, MAX_CONTRIBUTION, NUM_ACTIONS_DISCUSSION, SELL
from symphony9_env.agents.bidding import BIDS, likely_bid
from symphony9_env.agents.greedy import greedy_move
from symphony9_env.agents.planner import appraise_tiles, plan
from symphony9_env.agents.strategies import scripted_move
from symphony9_env.compilation import entry, rule
from symphony9_env.rules.chance import draw_below, draw_member, mix, num_members, skip_draws
from symphony9_env.rules.concert import close_hand
from symphony9_env.rules.game import HAND_TOKEN, HAND_TOTAL, apply, legal_set
from symphony9_env.rules.scoring import rank_players, total_points, win_share
from symphony9_env.rules.state import CONTRIBUTE, NONE, NUM_BOARDS, NUM_MUSICIANS, OVER, Game
from symphony9_env.views.resample import resample_hidden
from symphony9_env.views.visible import hide_unknown, public_digest, purse_digest

MAX_DEPTH: Final = 64  # own decisions in a tree
SLOTS: Final = 4  # of the node table, for each node

EXPLORATION: Final = 0.6
PRIOR: Final = 0.5  # of the planner's choice; the others share the rest
PRIOR_OF_SALE: Final = 0.01
GREEDY_RIVALS: Final = 250  # of 1000 rivals in playouts; the others plan
SLIPS: Final = 80  # of 1000 moves of a rival are any legal one
NUDGES: Final = 500  # of 1000 contributions of a rival are a dollar off

UNKNOWN: Final = NONE  # what strategy the rivals follow
_SALES: Final = ((1 << BID - SELL) - 1) << SELL


@rule
def _search(root: Game, seat: int, playouts: int, rivals: int, stream: Any, world: Any, tree: Any) -> int:
    """The action most visited after all playouts."""
    table, keys, favourite, visits, wins = tree
    _clear(table, visits, wins)
    nodes, actions = np.empty(MAX_DEPTH, np.int64), np.empty(MAX_DEPTH, np.int64)
    points, ranks = np.zeros(NUM_BOARDS, np.int64), np.zeros(NUM_BOARDS)
    tiles = np.zeros((NUM_BOARDS, NUM_MUSICIANS))
    odds = np.zeros(BIDS)
    num_nodes = 0
    for playout in range(playouts):
        chance = mix(skip_draws(stream, playout))
        world[0] = root
        game = world[0]
        resample_hidden(game, seat, chance)
        greedy = _greedy_seats(chance)
        _guess_closed_hands(game, tiles, seat, rivals, greedy, chance)
        depth, in_tree, number, appraised = 0, True, NUM_BOARDS, NONE
        while game.phase != OVER:
            number += 1
            if game.round_index != appraised:
                appraise_tiles(game, tiles)
                appraised = game.round_index
            if game.phase == CONTRIBUTE and game.round_index > root.round_index and not in_tree:
                action = likely_bid(game, int(game.player), odds, mix(skip_draws(chance, number)))
            elif game.player != seat:
                action = _model_move(game, tiles, rivals, greedy, mix(skip_draws(chance, number)))
            elif in_tree and depth < MAX_DEPTH:
                key = mix(public_digest(game) ^ purse_digest(game))
                node, num_nodes, is_new = _find(table, keys, key, num_nodes)
                if is_new:
                    favourite[node] = plan(game, tiles)
                    in_tree = False
                action = _select(visits[node], wins[node], legal_set(game), favourite[node])
                nodes[depth], actions[depth] = node, action
                depth += 1
            else:
                action = plan(game, tiles)
            apply(game, action, None)
        share = _share_of_win(game, seat, points, ranks)
        for step in range(depth):
            visits[nodes[step], actions[step]] += 1
            wins[nodes[step], actions[step]] += share
    return _most_visited(visits[0], favourite[0])


@rule
def _clear(table: Any, visits: Any, wins: Any) -> None:
    table[:] = NONE
    visits[:] = 0
    wins[:] = 0


@rule
def _find(table: Any, keys: Any, key: Any, num_nodes: int) -> Any:
    """The node of this key, how many there are then, and whether it is new. The root is node 0."""
    slot = np.int64(key % np.uint64(len(table)))
    while table[slot] != NONE:
        if keys[table[slot]] == key:
            return np.int64(table[slot]), num_nodes, False
        slot = slot + 1 if slot + 1 < len(table) else np.int64(0)
    table[slot] = num_nodes
    keys[num_nodes] = key
    return np.int64(num_nodes), num_nodes + 1, True


@rule
def _select(visits: Any, wins: Any, legal: int, favourite: int) -> int:
    """The action with the best sum of its mean and a bonus for being likely and little tried."""
    total, won = 0, 0.0
    for action in range(NUM_ACTIONS_DISCUSSION):
        total += visits[action]
        won += wins[action]
    mean = won / total if total > 0 else 0.5  # what an action untried is taken to be worth
    bonus = EXPLORATION * np.sqrt(total + 1.0)
    rest = (1 - PRIOR) / max(num_members(legal & ~_SALES) - 1, 1)
    best, most = NONE, -1.0
    while legal != 0:
        action = num_members((legal & -legal) - 1)
        legal &= legal - 1
        prior = PRIOR if action == favourite else PRIOR_OF_SALE if SELL <= action < BID else rest
        tried = int(visits[action])
        value = (wins[action] / tried if tried > 0 else mean) + bonus * prior / (1 + tried)
        if value > most:
            best, most = action, value
    return best


@rule
def _most_visited(visits: Any, favourite: int) -> int:
    best = int(favourite)
    for action in range(NUM_ACTIONS_DISCUSSION):
        if visits[action] > visits[best]:
            best = action
    return best


@rule
def _share_of_win(game: Game, seat: int, points: Any, ranks: Any) -> float:
    for player in range(game.num_players):
        points[player] = total_points(game, player)
    rank_players(game, points, ranks)
    return win_share(ranks, game.num_players, seat)


# Models of the rivals.


@rule
def _greedy_seats(chance: Any) -> int:
    """Which seats are greedy in this world, as a set; the others plan."""
    seats = 0
    for seat in range(NUM_BOARDS):
        seats |= (draw_below(chance, seat, 1000) < GREEDY_RIVALS) << seat
    return seats


@rule
def _model_move(game: Game, tiles: Any, rivals: int, greedy: int, stream: Any) -> int:
    """What a rival is taken to do: his strategy's move, if that is known.

    Else the planner's or the greedy player's, now and then any other, and half of the bids a dollar off.
    """
    if rivals != UNKNOWN:
        return scripted_move(rivals, game, stream)
    if draw_below(stream, 0, 1000) < SLIPS:
        return draw_member(stream, 1, legal_set(game) & ~_SALES)
    if greedy >> int(game.player) & 1:
        action = greedy_move(game)
    else:
        action = plan(game, tiles)
    if game.phase == CONTRIBUTE and draw_below(stream, 2, 1000) < NUDGES:
        return _nudged(game, action, 2 * draw_below(stream, 3, 2) - 1)
    return action


@rule
def _nudged(game: Game, action: int, dollars: int) -> int:
    """A bid of coins, so many dollars more, if that is one too; else the bid as it is."""
    total = action - BID + dollars
    if action > BID + MAX_CONTRIBUTION or not 0 <= total <= MAX_CONTRIBUTION:
        return action
    return BID + total if legal_set(game) >> BID + total & 1 else action


@rule
def _bid_of_model(game: Game, tiles: Any, rivals: int, greedy: int, stream: Any) -> int:
    """A rival may have sold something first; the sale would be known, so only a bid will do."""
    action = _model_move(game, tiles, rivals, greedy, stream)
    return action if action >= BID else BID + min(int(game.money[game.player]), 2)


@rule
def _guess_closed_hands(game: Game, tiles: Any, seat: int, rivals: int, greedy: int, chance: Any) -> None:
    """Rivals who closed their hands before the seat to decide did so without knowing its own."""
    if game.phase != CONTRIBUTE:
        return
    for player in range(game.num_players):
        if player != seat and game.hand[player] != NONE:
            game.player = player
            hand = _bid_of_model(game, tiles, rivals, greedy, mix(skip_draws(chance, player))) - BID
            close_hand(game, player, HAND_TOTAL[hand], HAND_TOKEN[hand])
    game.player = seat


@entry
def search_rows(
    states: Any, rows: Any, playouts: int, rivals: int, seed: Any, scratch: Any, tree: Any, actions: Any
) -> None:
    """An action for each of these rows. `scratch` has room for two games, `tree` is of `new_tree`."""
    for place in range(len(rows)):
        scratch[0] = states[rows[place]]
        root = scratch[0]
        seat = int(root.player)
        hide_unknown(root, seat)
        legal = legal_set(root)
        if legal & (legal - 1) == 0:  # nothing to choose
            actions[place] = num_members(legal - 1)
        else:
            stream = mix(seed ^ public_digest(root))
            actions[place] = _search(root, seat, playouts, rivals, stream, scratch[1:], tree)


def new_tree(playouts: int) -> tuple[Any, ...]:
    """Room for a node a playout: the table of nodes, their keys, the planner's choice, visits and wins by action."""
    return (
        np.empty(SLOTS * playouts, np.int32),
        np.empty(playouts, np.uint64),
        np.empty(playouts, np.int64),
        np.empty((playouts, NUM_ACTIONS_DISCUSSION), np.int32),
        np.empty((playouts, NUM_ACTIONS_DISCUSSION), np.float32),
    )
