# kernel: compiled by Numba; a change here changes the key of the compile cache
# mypy: disable-error-code="no-any-return"
"""The rules and the observation in one compiled call, for one game and for many at once.

Buffers belong to the caller and are filled in place; nothing is allocated here. A row of a batch holds one game after
the other; rows are independent of each other.
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from symphony9_env.actions import NUM_ACTIONS_DISCUSSION
from symphony9_env.compilation import entry, rule
from symphony9_env.rewards import add_rewards
from symphony9_env.rules.chance import derive_seed, draw_member, mix, skip_draws
from symphony9_env.rules.events import clear_events
from symphony9_env.rules.game import apply, legal_set, mark_legal
from symphony9_env.rules.scoring import total_points
from symphony9_env.rules.setup import deal_game
from symphony9_env.rules.state import NONE, NUM_BOARDS, OVER, SIXTHS, Game
from symphony9_env.views.vector import encode

SEATS: Final = NUM_BOARDS
# Most decisions in a game. A round of four: 8 free picks, 8 purchases, 4 announcements, 4 hands, 8 penalties
# (or fewer bonuses); six rounds, 12 sales and 4 passes at the end.
MAX_DECISIONS: Final = 6 * (8 + 8 + 4 + 4 + 8) + 12 + 4


@entry
def advance(states: Any, index: int, action: int, observation: Any, mask: Any) -> int:
    """Play a legal action in game `index` (NONE: play nothing), then write the deciding seat's observation and mask.

    Return phase * SEATS + the seat to decide.
    """
    game = states[index]
    if action != NONE:
        apply(game, action, None)
    return _observe_decision(game, observation, mask)


@entry
def advance_with_events(states: Any, index: int, action: int, observation: Any, mask: Any, events: Any) -> int:
    """Do what `advance` does for a legal action, and fill the event buffer with what the move sets off."""
    game = states[index]
    clear_events(events)
    apply(game, action, events)
    return _observe_decision(game, observation, mask)


@rule
def _observe_decision(game: Game, observation: Any, mask: Any) -> int:
    encode(game, int(game.player), observation)
    mark_legal(legal_set(game), mask)
    return int(game.phase) * SEATS + int(game.player)


class Buffers(NamedTuple):
    """The arrays of a batch of n rows, besides the states of its games."""

    observation: NDArray[np.float32]  # (n, size) of the seat to decide
    action_mask: NDArray[np.int8]  # (n, actions)
    legal: NDArray[np.int64]  # (n,) the same as sets, to check and to sample actions
    player: NDArray[np.int64]  # (n,) the seat to decide
    terminated: NDArray[np.bool_]  # (n,) whether the last step ended the game
    rewards: NDArray[np.float64]  # (n, players) of the last step
    final_scores: NDArray[np.float64]  # (n, players) of the last game that ended on the row
    final_ranks: NDArray[np.float64]  # (n, players)
    seeds: NDArray[np.int64]  # (n,) of the game now on the row
    num_dealt: NDArray[np.int64]  # (n,) games dealt on the row so far
    stream: NDArray[np.uint64]  # (n,) the random stream of the row's sampled actions
    points: NDArray[np.int64]  # (n, players) if the game ended now, in sixths; updated only for shaping
    history: NDArray[np.uint8]  # (n, MAX_DECISIONS) actions of the game now on the row
    length: NDArray[np.int64]  # (n,) how many
    ended_seeds: NDArray[
        np.int64
    ]  # (n,) the seed, actions and number of actions of the last game that ended on the row
    ended_history: NDArray[np.uint8]  # (n, MAX_DECISIONS)
    ended_length: NDArray[np.int64]  # (n,)


def new_buffers(n: int, num_players: int, actions: int, size: int) -> Buffers:
    """Return empty arrays for a batch of n rows, with observations of this size."""
    return Buffers(
        observation=np.zeros((n, size), np.float32),
        action_mask=np.zeros((n, actions), np.int8),
        legal=np.zeros(n, np.int64),
        player=np.zeros(n, np.int64),
        terminated=np.zeros(n, np.bool_),
        rewards=np.zeros((n, num_players)),
        final_scores=np.full((n, num_players), np.nan),
        final_ranks=np.full((n, num_players), np.nan),
        seeds=np.zeros(n, np.int64),
        num_dealt=np.zeros(n, np.int64),
        stream=np.zeros(n, np.uint64),
        points=np.zeros((n, num_players), np.int64),
        history=np.zeros((n, MAX_DECISIONS), np.uint8),
        length=np.zeros(n, np.int64),
        ended_seeds=np.zeros(n, np.int64),
        ended_history=np.zeros((n, MAX_DECISIONS), np.uint8),
        ended_length=np.zeros(n, np.int64),
    )


@entry
def deal_rows(box: Any, batch_seed: Any, states: Any, buffers: Any, rows: Any) -> None:
    """Deal the next game on each of these rows."""
    observation, mask, legal, player, _, _, _, _, seeds, num_dealt, stream, points, _, length, _, _, _ = buffers
    for row in rows:
        game = states[row]
        _deal_row(box[0], batch_seed, game, row, seeds, num_dealt, stream, points, length)
        player[row] = game.player
        encode(game, int(game.player), observation[row])
        legal[row] = legal_set(game)
        mark_legal(legal[row], mask[row])


@rule
def _deal_row(
    contents: Any,
    batch_seed: Any,
    game: Game,
    row: int,
    seeds: Any,
    num_dealt: Any,
    stream: Any,
    points: Any,
    length: Any,
) -> None:
    seed = derive_seed(batch_seed, row, num_dealt[row])
    deal_game(contents, game, seed)
    seeds[row] = np.int64(seed)
    stream[row] = mix(mix(seed))
    num_dealt[row] += 1
    length[row] = 0
    for player in range(game.num_players):
        points[row, player] = total_points(game, player)


@entry
def first_illegal(legal: Any, rows: Any, actions: Any) -> int:
    """Return the first index into `rows` whose action is not legal there, or NONE."""
    for index in range(len(rows)):
        action = actions[index]
        if action < 0 or action >= NUM_ACTIONS_DISCUSSION or not legal[rows[index]] >> action & 1:
            return index
    return NONE


@entry
def step_rows(
    box: Any, batch_seed: Any, states: Any, ended: Any, buffers: Any, rows: Any, actions: Any, kind: int, shaping: float
) -> None:
    """Play one legal action on each of these rows; copy a finished game to `ended` and deal the next one."""
    # Unpack the tuple once: every `buffers.name` in the loop would count references, at half the speed.
    (
        observation,
        mask,
        legal,
        player,
        terminated,
        rewards,
        scores,
        ranks,
        seeds,
        num_dealt,
        stream,
        points,
        history,
        length,
        ended_seeds,
        ended_history,
        ended_length,
    ) = buffers
    for index in range(len(rows)):
        row = rows[index]
        game = states[row]
        history[row, length[row]] = actions[index]
        length[row] += 1
        apply(game, actions[index], None)
        over = game.phase == OVER
        if shaping != 0 or over:
            add_rewards(game, kind, shaping, points[row], ranks[row], rewards[row])
        if over:
            for seat in range(game.num_players):
                scores[row, seat] = points[row, seat] / SIXTHS
            ended[row] = game
            ended_seeds[row] = seeds[row]
            ended_length[row] = length[row]
            for move in range(length[row]):
                ended_history[row, move] = history[row, move]
            _deal_row(box[0], batch_seed, game, row, seeds, num_dealt, stream, points, length)
        terminated[row] = over
        player[row] = game.player
        encode(game, int(game.player), observation[row])
        legal[row] = legal_set(game)
        mark_legal(legal[row], mask[row])


@entry
def sample_rows(legal: Any, stream: Any, rows: Any, actions: Any) -> None:
    """Draw a legal action uniformly for each of these rows, from the row's own stream."""
    for index in range(len(rows)):
        row = rows[index]
        actions[index] = draw_member(stream[row], 0, legal[row])
        stream[row] = skip_draws(stream[row], 1)


@entry
def play_rows(states: Any, rows: Any, actions: Any, history: Any, length: Any) -> int:
    """Play one action on each of these rows and add it to the history; write no observation and deal no next game.

    Return the first index whose action is illegal, in which case nothing was played, or NONE.
    """
    for index in range(len(rows)):
        action = actions[index]
        if action < 0 or action >= NUM_ACTIONS_DISCUSSION or not legal_set(states[rows[index]]) >> action & 1:
            return index
    for index in range(len(rows)):
        row = rows[index]
        history[row, length[row]] = actions[index]
        length[row] += 1
        apply(states[row], actions[index], None)
    return NONE


@entry
def observe_rows(states: Any, rows: Any, observation: Any, mask: Any) -> None:
    """Write the deciding seat's observation and mask on each of these rows."""
    for index in range(len(rows)):
        game = states[rows[index]]
        encode(game, int(game.player), observation[index])
        mark_legal(legal_set(game), mask[index])
