# kernel: compiled by Numba; a change here changes the key of the compile cache
# mypy: disable-error-code="no-any-return"
"""How the rivals of a seat that searches are simulated, and what they are taken to have in their closed hands."""

from __future__ import annotations

from typing import Any, Final

from symphony9_env.actions import BID, MAX_CONTRIBUTION, SELL
from symphony9_env.agents.greedy import greedy_move
from symphony9_env.agents.inference import policy_move
from symphony9_env.agents.planner import plan_move
from symphony9_env.agents.strategies import ASKED, UNKNOWN, scripted_move
from symphony9_env.compilation import inlined_rule, rule
from symphony9_env.rules.chance import draw_below, draw_member, mix, skip_draws
from symphony9_env.rules.concert import close_hand
from symphony9_env.rules.game import HAND_TOKEN, HAND_TOTAL, legal_set
from symphony9_env.rules.state import CONTRIBUTE, NONE, NUM_BOARDS, Game
from symphony9_env.views.visible import is_hand_hidden

GREEDY_RIVAL_PERMILLE: Final = 250  # how often a simulated rival is greedy; otherwise he follows the planner
RIVAL_RANDOM_MOVE_PERMILLE: Final = 80  # how often a simulated rival plays a uniformly random legal move
RIVAL_BID_SHIFT_PERMILLE: Final = 500  # how often a simulated rival bids a dollar more or less

SALES: Final = ((1 << BID - SELL) - 1) << SELL
ALL_ACTIONS: Final = -1  # as a set
BIDS: Final = ~SALES  # of those who have closed a hand: a sale would have been public


@rule
def draw_greedy_seats(chance: Any) -> int:
    """Draw the set of seats that follow the greedy strategy in this world; the others follow the planner."""
    seats = 0
    for seat in range(NUM_BOARDS):
        seats |= (draw_below(chance, seat, 1000) < GREEDY_RIVAL_PERMILLE) << seat
    return seats


@inlined_rule
def rival_move(
    game: Game,
    composition_values: Any,
    rivals: int,
    policy: Any,
    allowed: int,
    greedy_seats: int,
    stream: Any,
) -> int:
    """Return the action of a simulated rival; NONE if Python must ask him. A policy chooses among `allowed` actions."""
    if rivals == UNKNOWN:
        return model_move(game, composition_values, greedy_seats, stream)
    if rivals == ASKED:
        return NONE
    if policy is None:
        return scripted_move(rivals, game, stream)
    network, workspace, temperature = policy
    return policy_move(game, legal_set(game) & allowed, network, workspace, temperature, stream)


@rule
def model_move(game: Game, composition_values: Any, greedy_seats: int, stream: Any) -> int:
    """Return the action of a simulated rival of whom nothing is known.

    It is the planner's or the greedy strategy's action, sometimes replaced by a random one. Half of the bids are a
    dollar off.
    """
    if draw_below(stream, 0, 1000) < RIVAL_RANDOM_MOVE_PERMILLE:
        return draw_member(stream, 1, legal_set(game) & ~SALES)
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


@inlined_rule
def guess_closed_hands(game: Game, composition_values: Any, assumptions: Any, policy: Any, chance: Any) -> None:
    """Replace the hands that others have already closed by bids of their models.

    A model may want to sell furniture first. A real sale would be public, so $2 (or all his money) is bid instead. The
    hands of rivals that Python must ask stay as they are.
    """
    if game.phase != CONTRIBUTE:
        return
    rivals, roles = assumptions
    seat, greedy_seats = int(game.player), draw_greedy_seats(chance)
    known, _ = roles[seat]
    for player in range(game.num_players):
        followed = rivals if known >> player & 1 else UNKNOWN
        if is_hand_hidden(game, seat, player) and followed != ASKED:
            close_hand(game, player, NONE, NONE)
            game.player = player
            stream = mix(skip_draws(chance, player))
            action = rival_move(game, composition_values, followed, policy, BIDS, greedy_seats, stream)
            hand = action - BID if action >= BID else min(int(game.money[player]), 2)
            close_hand(game, player, HAND_TOTAL[hand], HAND_TOKEN[hand])
    game.player = seat
