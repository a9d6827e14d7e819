# kernel: compiled by Numba; a change here changes the key of the compile cache
# mypy: disable-error-code="no-any-return"
"""`think:N`: simulated lines of play, guided by a saved policy, all of it compiled.

A *world* is a position that the thinking seat can't tell from the true one: the tokens and bot tiles to come are drawn
again, and a closed hand is drawn from what its owner's model would bid there. A *line* begins with one of the seat's
actions in a world. All seats then play on until the seat's first decision after the last round of the line, where the
policy estimates its value, or to the end of the game, where the result is its value.

The lines of a world differ in their first action only. The noise by which a move is drawn depends on the world and on
the decision, not on what was played before: lines in which a player comes to the same decision draw alike, so that the
difference between two first actions shows in fewer worlds.

The value of a line is a weighted sum of the seats' returns: the seat's own alone, or those of a team (`roles.py`). The
seats of a team play as the policy, as the thinking seat itself does.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from symphony9_env.actions import BID, NUM_ACTIONS_DISCUSSION
from symphony9_env.agents.inference import compute_logits, compute_value, logits_of, observe_game, policy_move
from symphony9_env.agents.planner import estimate_composition_values
from symphony9_env.agents.rival_models import draw_greedy_seats, model_move
from symphony9_env.agents.strategies import ASKED, POLICY, UNKNOWN, scripted_move
from symphony9_env.compilation import entry, rule
from symphony9_env.rewards import WIN, add_rewards
from symphony9_env.rules.chance import draw_below, mix, skip_draws
from symphony9_env.rules.concert import close_hand
from symphony9_env.rules.game import HAND_TOKEN, HAND_TOTAL, apply, legal_hands, legal_set
from symphony9_env.rules.state import CONTRIBUTE, NONE, NUM_BOARDS, NUM_MUSICIANS, OVER, Game
from symphony9_env.views.resample import resample_hidden
from symphony9_env.views.visible import hide_unknown, is_hand_hidden, public_digest

# The draws of a world's stream. The first ones are those of `resample_hidden` and of `draw_greedy_seats`.
_KINDS_OF_RIVALS: Final = 32
_DECISIONS: Final = 64


@rule
def _stream_of(game: Game, world: Any) -> Any:
    """Return the random stream of a decision in a world: the same in all its lines that come to this decision."""
    turn = (int(game.round_index) * 16 + int(game.phase)) * NUM_BOARDS + int(game.player)
    return mix(skip_draws(world, _DECISIONS + turn * 8 + int(game.pending)))


@rule
def _scripted_seats(world: Any, share: float) -> int:
    """Draw the set of rivals that play as the models of `search:N` in a world; the others play as the policy."""
    seats = 0
    for seat in range(NUM_BOARDS):
        seats |= (draw_below(world, _KINDS_OF_RIVALS + seat, 1000) < 1000 * share) << seat
    return seats


@rule
def _rival_move(game: Game, legal: int, models: Any, workspace: Any, values: Any, world: Any) -> int:
    """Return the action of a simulated rival. `values` are the estimated composition values of this round."""
    rivals, guide, network, own_temperature, rival_temperature, known_temperature, share, known, team = models
    stream = _stream_of(game, world)
    if known >> int(game.player) & 1:
        if rivals == POLICY:
            return policy_move(game, legal, network, workspace, known_temperature, stream)
        if rivals != UNKNOWN:
            return scripted_move(rivals, game, stream)
    if team >> int(game.player) & 1:
        return policy_move(game, legal, guide, workspace, own_temperature, stream)
    if _scripted_seats(world, share) >> int(game.player) & 1:
        return model_move(game, values, draw_greedy_seats(world), stream)
    return policy_move(game, legal, guide, workspace, rival_temperature, stream)


@entry
def prepare_root(states: Any, row: int, guide: Any, workspace: Any, roots: Any, priors: Any) -> int:
    """Copy a state to `roots[0]` without what the deciding seat can't know; return the set of its legal actions.

    Write the policy's probability of each to `priors`, if there are several.
    """
    roots[0] = states[row]
    root = roots[0]
    hide_unknown(root, int(root.player))
    legal = legal_set(root)
    if legal & (legal - 1) == 0:
        return legal
    observe_game(guide, workspace, root, int(root.player))
    compute_logits(guide, workspace, legal)
    logits = logits_of(workspace)
    largest, total = -np.inf, 0.0
    for action in range(NUM_ACTIONS_DISCUSSION):
        if legal >> action & 1:
            largest = max(largest, np.float64(logits[action]))
    for action in range(NUM_ACTIONS_DISCUSSION):
        priors[action] = np.exp(np.float64(logits[action]) - largest) if legal >> action & 1 else 0.0
        total += priors[action]
    for action in range(NUM_ACTIONS_DISCUSSION):
        priors[action] /= total
    return legal


@entry
def make_worlds(roots: Any, seed: Any, first: int, models: Any, workspace: Any, worlds: Any, streams: Any) -> None:
    """Make worlds of the root, numbered from `first` on, with a random stream for each.

    The hands of rivals that Python must ask about are drawn uniformly.
    """
    root = roots[0]
    stream = mix(seed ^ public_digest(root))
    values = np.zeros((NUM_BOARDS, NUM_MUSICIANS))
    estimate_composition_values(root, values)
    for number in range(len(worlds)):
        streams[number] = mix(skip_draws(stream, first + number))
        worlds[number] = root
        game = worlds[number]
        resample_hidden(game, int(root.player), streams[number])
        if game.phase == CONTRIBUTE and models[0] != ASKED:
            _draw_closed_hands(game, models, workspace, values, streams[number])


@rule
def _draw_closed_hands(game: Game, models: Any, workspace: Any, values: Any, world: Any) -> None:
    """Replace the hands that rivals have closed by bids of their models, which know only what those rivals knew."""
    seat = int(game.player)
    for player in range(game.num_players):
        if is_hand_hidden(game, seat, player):
            close_hand(game, player, NONE, NONE)
            game.player = player
            legal = legal_hands(game, player) << BID  # a sale would have been public
            action = _rival_move(game, legal, models, workspace, values, world)
            hand = action - BID if action >= BID else min(int(game.money[player]), 2)
            close_hand(game, player, HAND_TOTAL[hand], HAND_TOKEN[hand])
    game.player = seat


@entry
def begin_lines(worlds: Any, actions: Any, lines: Any, history: Any, length: Any) -> None:
    """Begin a line with each action in each world; line i is in world i // len(actions)."""
    for number in range(len(lines)):
        lines[number] = worlds[number // len(actions)]
        _play(lines[number], actions[number % len(actions)], number, history, length)


@rule
def _play(game: Game, action: int, number: int, history: Any, length: Any) -> None:
    """Play an action in a line, and add it to the line's moves."""
    history[number, length[number]] = action
    length[number] += 1
    apply(game, action, None)


@entry
def play_lines(
    lines: Any,
    numbers: Any,
    streams: Any,
    seat: int,
    weights: Any,
    last_round: int,
    models: Any,
    workspace: Any,
    values: Any,
    history: Any,
    length: Any,
) -> int:
    """Play these lines on to their ends and write their values for the seat: sums of returns with these weights.

    A line in which Python must ask a rival stops there. Return how many did: these are the first of `numbers` then.
    """
    points, ranks, rewards = np.zeros(NUM_BOARDS, np.int64), np.zeros(NUM_BOARDS), np.zeros(NUM_BOARDS)
    composition_values = np.zeros((NUM_BOARDS, NUM_MUSICIANS))
    per_world = len(lines) // len(streams)
    waiting = 0
    for item in range(len(numbers)):
        number = numbers[item]
        game = lines[number]
        estimated_round = NONE
        is_waiting = False
        while game.phase != OVER and not (game.round_index > last_round and game.player == seat) and not is_waiting:
            if game.round_index != estimated_round:
                estimate_composition_values(game, composition_values)
                estimated_round = game.round_index
            action = _choose_move(game, streams[number // per_world], seat, models, workspace, composition_values)
            is_waiting = action == NONE
            if not is_waiting:
                _play(game, action, number, history, length)
        if is_waiting:
            numbers[waiting] = number
            waiting += 1
        elif game.phase == OVER:
            rewards[:] = 0
            add_rewards(game, WIN, 0.0, points, ranks, rewards)
            values[number] = 0.0
            for player in range(game.num_players):
                values[number] += weights[player] * rewards[player]
        else:
            values[number] = 0.0
            for player in range(game.num_players):
                if weights[player] != 0:
                    observe_game(models[1], workspace, game, player)
                    values[number] += weights[player] * compute_value(models[1], workspace)
    return waiting


@rule
def _choose_move(game: Game, world: Any, seat: int, models: Any, workspace: Any, composition_values: Any) -> int:
    """Return the action of the deciding seat in a line; NONE if it is a rival that Python must ask."""
    rivals, guide, own_temperature = models[0], models[1], models[3]
    legal = legal_set(game)
    if game.player == seat:
        return policy_move(game, legal, guide, workspace, own_temperature, _stream_of(game, world))
    if rivals == ASKED:
        return NONE
    return _rival_move(game, legal, models, workspace, composition_values, world)
