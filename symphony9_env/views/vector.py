# kernel: compiled by Numba; a change here changes the key of the compile cache
# mypy: disable-error-code="no-any-return"
"""Encode the observation and the state as vectors, with the layout of `fields.py`."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from symphony9_env.actions import MAX_CONTRIBUTION
from symphony9_env.compilation import entry, rule
from symphony9_env.components import MAX_REPUTATION, MAX_SPACES, PLAYER_COUNTS, SCORING_METHODS
from symphony9_env.rules.boards import offset_of, seat_at
from symphony9_env.rules.state import (
    NONE,
    NUM_BOARDS,
    NUM_CLASSES,
    NUM_FURNITURE,
    NUM_MUSICIANS,
    NUM_ROUNDS,
    OVER,
    Game,
)
from symphony9_env.rules.tracks import fame
from symphony9_env.rules.turns import FREE_CUBES
from symphony9_env.views.fields import (
    BUDGET_VALUES,
    CUBES_UNIT,
    LEDGER_SIZE,
    MAX_COLOUR,
    MONEY_SHOWN,
    MONEY_UNIT,
    OBSERVATION_SIZE,
    PERFORMERS_UNIT,
    SEEN_UNIT,
    TILES_UNIT,
    TOKEN_UNIT,
    TOTAL_UNIT,
    at,
)
from symphony9_env.views.visible import num_tokens_shown

_f4 = np.float32
_ONE: Final = _f4(1)
_PER_MONEY: Final = _f4(1 / MONEY_UNIT)
_PER_CUBE: Final = _f4(1 / CUBES_UNIT)
_PER_TILE: Final = _f4(1 / TILES_UNIT)
_PER_TOTAL: Final = _f4(1 / TOTAL_UNIT)
_PER_BID: Final = _f4(1 / MAX_CONTRIBUTION)
_PER_REPUTATION: Final = _f4(1 / MAX_REPUTATION)
_PER_SPACE: Final = _f4(1 / MAX_SPACES)
_PER_TRACK_CUBE: Final = _f4(1 / MAX_COLOUR)
_PER_PLACE: Final = _f4(1 / NUM_MUSICIANS)
_PER_PENDING: Final = _f4(1 / FREE_CUBES)
_PER_ROUND: Final = _f4(1 / NUM_ROUNDS)
_PER_SEEN: Final = _f4(1 / SEEN_UNIT)
_PER_PERFORMER: Final = _f4(1 / PERFORMERS_UNIT)
_PER_TOKEN: Final = _f4(1 / TOKEN_UNIT)

_FEWEST_PLAYERS: Final = min(PLAYER_COUNTS)
_LOWEST_TOKEN: Final = BUDGET_VALUES[0]
_TOKEN_STEP: Final = BUDGET_VALUES[1] - BUDGET_VALUES[0]
_NUM_METHODS: Final = len(SCORING_METHODS)

# The part in between is mostly one-hot: it is set to zero first, then what is not zero is written.
_FIRST_SPARSE, _FIRST_DENSE = at("num_players"), at("money")

# Where the fields start. Compiled code reads these as constants.
_NUM_PLAYERS, _BOT, _DISCUSSION = at("num_players"), at("bot"), at("discussion")
_ROUND, _DECISION, _PENDING = at("round"), at("decision"), at("pending")
_REPUTATION, _SENIORITY, _PLACE, _FAME = at("reputation"), at("seniority"), at("place"), at("fame")
_DEAD, _CUBES_LEFT = at("dead"), at("cubes_left")
_AHEAD_REPUTATION, _AHEAD_CUBES, _SCORING = at("ahead_reputation"), at("ahead_cubes"), at("scoring")
_BUDGET_TOKEN, _BUDGET_SEEN = at("budget_token"), at("budget_seen")
_SUCCESSES, _PERFORMERS, _OUTCOME, _TOTAL = at("successes"), at("performers"), at("outcome"), at("total")
_TO_DECIDE, _START_PLAYER = at("to_decide"), at("start_player")
_MONEY, _FURNITURE, _HAND, _HAND_TOKEN = at("money"), at("furniture"), at("hand"), at("hand_token")
_EARLIER, _NEW, _COMPOSITIONS = at("earlier_cubes"), at("new_cubes"), at("compositions")
_SALES, _ANNOUNCED, _KEPT = at("sales"), at("announced"), at("kept")
_CONTRIBUTION, _CONTRIBUTION_TOKEN = at("contribution"), at("contribution_token")
_OTHERS_MONEY, _OTHERS_FURNITURE = at("others_money"), at("others_furniture")
_ALL_HANDS, _ALL_HAND_TOKENS = at("all_hands"), at("all_hand_tokens")
_ALL_BUDGET, _ALL_BOT_TILES = at("all_budget"), at("all_bot_tiles")


@rule
def _encode_common(game: Game, out: Any) -> None:
    """Encode what is the same for every seat."""
    out[_NUM_PLAYERS + int(game.num_players) - _FEWEST_PLAYERS] = _ONE
    out[_BOT] = game.has_bot
    out[_DISCUSSION] = game.discussion
    out[_ROUND + int(game.round_index)] = _ONE
    out[_DECISION + int(game.phase)] = _ONE
    out[_PENDING] = game.pending * _PER_PENDING
    for musician in range(game.num_musicians):
        out[_FAME + NUM_CLASSES * musician + fame(game, musician)] = _ONE
        out[_SCORING + _NUM_METHODS * musician + int(game.scoring_method[musician])] = _ONE
    for round_index in range(num_tokens_shown(game)):
        kind = (int(game.budget[round_index]) - _LOWEST_TOKEN) // _TOKEN_STEP
        out[_BUDGET_SEEN + kind] += _PER_SEEN
        if round_index == game.round_index:
            out[_BUDGET_TOKEN + kind] = _ONE
    out[_SUCCESSES] = game.num_successes * _PER_ROUND
    out[_PERFORMERS] = game.num_performers * _PER_PERFORMER
    if game.outcome != NONE:
        out[_OUTCOME + int(game.outcome)] = _ONE
        out[_TOTAL] = game.total * _PER_TOTAL


@rule
def _encode_musicians(game: Game, out: Any) -> None:
    """Encode tracks and ranking, always of all six: loops of a fixed length compile to better code."""
    for musician in range(NUM_MUSICIANS):
        out[_PLACE + musician] = _f4(NUM_MUSICIANS - game.rank[musician]) * _PER_PLACE
    _copy(game.reputation, NUM_MUSICIANS, out, _REPUTATION, _PER_REPUTATION)
    _copy(game.num_uncovered, NUM_MUSICIANS, out, _SENIORITY, _PER_SPACE)
    _copy(game.dead, NUM_MUSICIANS, out, _DEAD, _ONE)
    _copy(game.cubes_left, NUM_MUSICIANS, out, _CUBES_LEFT, _PER_TRACK_CUBE)
    _spread(game.ahead_reputation, out, _AHEAD_REPUTATION, _PER_REPUTATION)
    _spread(game.ahead_cubes, out, _AHEAD_CUBES, _PER_TRACK_CUBE)


@rule
def _copy(source: Any, length: int, out: Any, start: int, unit: Any) -> None:
    """Write a field, or one seat's part of it."""
    for spot in range(length):
        out[start + spot] = _f4(source[spot]) * unit


@rule
def _spread(source: Any, out: Any, start: int, unit: Any) -> None:
    """Write a whole field. The bound is odd on purpose: a loop of known length is unrolled rather than vectorised."""
    _copy(source, min(len(source), len(out) - start), out, start, unit)


@rule
def board_at(game: Game, seat: int, offset: int) -> int:
    """Return the board at an offset from a seat: the seat itself first, then clockwise; the bot after the players."""
    return seat_at(game, seat, offset) if offset < game.num_players else offset


@rule
def _encode_seat(game: Game, seat: int, out: Any) -> None:
    """Encode what is relative to a seat: its own hand and what is public of everybody."""
    if game.phase != OVER:
        out[_TO_DECIDE + offset_of(game, seat, game.player)] = _ONE
    out[_START_PLAYER + offset_of(game, seat, game.start)] = _ONE
    _encode_hand(game, seat, 0, out, _HAND, _HAND_TOKEN)
    for offset in range(game.num_boards):
        _encode_actions(game, board_at(game, seat, offset), offset, out)


@rule
def _encode_hand(game: Game, seat: int, offset: int, out: Any, hand: int, hand_token: int) -> None:
    if game.hand[seat] != NONE:
        out[hand + 2 * offset] = _ONE
        out[hand + 2 * offset + 1] = game.hand[seat] * _PER_BID
        if game.hand_token[seat] != NONE:
            out[hand_token + NUM_FURNITURE * offset + int(game.hand_token[seat])] = _ONE


@rule
def _encode_actions(game: Game, board: int, offset: int, out: Any) -> None:
    """Encode what is public of what a player or the bot did in this round and in the last concert."""
    _copy(game.sales[board], NUM_FURNITURE, out, _SALES + NUM_FURNITURE * offset, _ONE)
    if game.announced[board] != NONE:
        out[_ANNOUNCED + 2 * offset] = _ONE
        out[_ANNOUNCED + 2 * offset + 1] = game.announced[board] * _PER_BID
    if game.kept[board] != NONE:
        out[_KEPT + NUM_MUSICIANS * offset + int(game.kept[board])] = _ONE
    if game.contribution_token[board] != NONE:
        out[_CONTRIBUTION_TOKEN + NUM_FURNITURE * offset + int(game.contribution_token[board])] = _ONE


@rule
def _encode_boards(game: Game, seat: int, out: Any) -> None:
    """Encode the observer's money and furniture and everybody's board, always four: an absent board is zeros."""
    out[_MONEY] = min(game.money[seat], MONEY_SHOWN) * _PER_MONEY
    _copy(game.furniture[seat], NUM_FURNITURE, out, _FURNITURE, _ONE)
    for offset in range(NUM_BOARDS):
        board = board_at(game, seat, offset)
        row = NUM_MUSICIANS * offset
        _copy(game.earlier_cubes[board], NUM_MUSICIANS, out, _EARLIER + row, _PER_CUBE)
        _copy(game.new_cubes[board], NUM_MUSICIANS, out, _NEW + row, _PER_CUBE)
        _copy(game.compositions[board], NUM_MUSICIANS, out, _COMPOSITIONS + row, _PER_TILE)
        out[_CONTRIBUTION + offset] = game.contribution[board] * _PER_BID


@rule
def _encode_ledger(game: Game, seat: int, out: Any) -> None:
    """Encode what a perfect memory of all payments knows of the others."""
    for offset in range(1, game.num_players):
        other = board_at(game, seat, offset)
        out[_OTHERS_MONEY + offset - 1] = min(game.money[other], MONEY_SHOWN) * _PER_MONEY
        _copy(game.furniture[other], NUM_FURNITURE, out, _OTHERS_FURNITURE + NUM_FURNITURE * (offset - 1), _ONE)


@rule
def encode(game: Game, seat: int, out: Any) -> None:
    """Encode a seat's observation, with the ledger if the vector is long enough for it."""
    for spot in range(_FIRST_SPARSE, _FIRST_DENSE):
        out[spot] = 0
    _encode_musicians(game, out)
    _encode_common(game, out)
    _encode_seat(game, seat, out)
    _encode_boards(game, seat, out)
    if len(out) >= LEDGER_SIZE:
        out[OBSERVATION_SIZE:] = 0
        _encode_ledger(game, seat, out)


@entry
def observe(states: Any, index: int, seat: int, out: Any) -> None:
    """Write what `seat` may know of game `index` into `out` (float32)."""
    encode(states[index], seat, out)


@entry
def observe_all(states: Any, index: int, out: Any) -> None:
    """Write everything there is to know of game `index`, hidden information included, into `out` (float32)."""
    game = states[index]
    encode(game, 0, out)
    for offset in range(game.num_players):
        _encode_hand(game, offset, offset, out, _ALL_HANDS, _ALL_HAND_TOKENS)
    _copy(game.budget, NUM_ROUNDS, out, _ALL_BUDGET, _PER_TOKEN)
    for round_index in range(NUM_ROUNDS):
        _copy(game.bot_tiles[round_index], NUM_CLASSES, out, _ALL_BOT_TILES + NUM_CLASSES * round_index, _PER_BID)


@entry
def observe_hidden(states: Any, rows: Any, out: Any) -> None:
    """Write what is hidden from the deciding seat on each of these rows into `out`, (rows, HIDDEN_SIZE) float32.

    These are the hidden fields of the state, but the seats are counted from the deciding one and the rounds from the
    present one on.
    """
    out[:] = 0
    for index in range(len(rows)):
        game, hidden = states[rows[index]], out[index]
        for offset in range(game.num_players):
            board = seat_at(game, int(game.player), offset)
            _encode_hand(game, board, offset, hidden, _ALL_HANDS - LEDGER_SIZE, _ALL_HAND_TOKENS - LEDGER_SIZE)
        for round_index in range(int(game.round_index), NUM_ROUNDS):
            ahead = round_index - int(game.round_index)
            hidden[_ALL_BUDGET - LEDGER_SIZE + ahead] = game.budget[round_index] * _PER_TOKEN
            first = _ALL_BOT_TILES - LEDGER_SIZE + NUM_CLASSES * ahead
            _copy(game.bot_tiles[round_index], NUM_CLASSES, hidden, first, _PER_BID)
