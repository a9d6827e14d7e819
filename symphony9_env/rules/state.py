# kernel: compiled by Numba; a change here changes the key of the compile cache
# mypy: disable-error-code="no-any-return"
"""The state of one game: everything there is to know about it, in one NumPy structured value.

All random draws are made at set-up and stored here, so a copy of the state is a full save and the rest of the game is
a pure function of the actions. Boards are numbered like players; in a 2-player game board 2 is the bot's.
"""

from __future__ import annotations

from typing import Any, Final, Protocol, cast

import numpy as np
from numpy.typing import NDArray

from symphony9_env.compilation import as_recarray
from symphony9_env.components import (
    BUDGET_TOKENS,
    CLASSES,
    FURNITURE_VALUES,
    MAX_PLAYERS,
    MAX_SPACES,
    MUSICIANS,
    NUM_BOT_TILES,
    SCORING_TILES,
    SIDES,
)

NUM_BOARDS: Final = MAX_PLAYERS
NUM_MUSICIANS: Final = len(MUSICIANS)
NUM_FURNITURE: Final = len(FURNITURE_VALUES)
NUM_CLASSES: Final = len(CLASSES)
NUM_LEVELS: Final = 3
NUM_ROUNDS: Final = 6
MAX_STARTING_CUBES: Final = 2

NONE: Final = -1  # no musician, no token, no amount
SIXTHS: Final = 6  # points are counted in sixths: halves and thirds occur (R11)

# What players decide, in the order of a round: one decision for each phase.
DECISIONS: Final[tuple[str, ...]] = (
    "take",  # two cubes, free
    "take_for_bot",  # two cubes for the bot (2 players)
    "buy_4",
    "buy_8",
    "announce",  # an amount (option)
    "bid",  # close a hand
    "keep",  # bonus of a low class concert
    "bonus",  # bonus of a high class concert
    "discard",  # penalty of a failed concert
    "sell",  # after round six
    "over",
)
(
    TAKE_FREE,
    TAKE_FOR_BOT,
    BUY_4,
    BUY_8,
    DISCUSS,
    CONTRIBUTE,
    KEEP_CUBE,
    TAKE_BONUS,
    GIVE_UP,
    SELL_LAST,
    OVER,
) = range(len(DECISIONS))

# How a concert ended: its class, or why it failed.
OUTCOMES: Final[tuple[str, ...]] = (*CLASSES, "too little", "too much")
LOW, MEDIUM, HIGH, TOO_LITTLE, TOO_MUCH = range(len(OUTCOMES))

_i1, _i2 = np.int8, np.int16
_PER_BOARD: Final = (NUM_BOARDS,)
_PER_MUSICIAN: Final = (NUM_MUSICIANS,)
_AHEAD: Final = (NUM_MUSICIANS * MAX_SPACES,)  # flat, so that views can copy it in one loop
_CUBES: Final = (NUM_BOARDS, NUM_MUSICIANS)
_TOKENS: Final = (NUM_BOARDS, NUM_FURNITURE)

# What depends on the number of players; the same in the box and in every game dealt from it.
_PLAYER_COUNT_FIELDS: Final[list[Any]] = [
    ("num_players", _i1),
    ("num_boards", _i1),  # players and the bot
    ("num_musicians", _i1),
    ("has_bot", _i1),
    ("discussion", _i1),
    ("limit", _i1),  # the most one player may contribute
    ("class_from", _i1, (NUM_CLASSES,)),
    ("class_to", _i1, (NUM_CLASSES,)),
    ("income", _i2, (NUM_CLASSES,)),
    ("bot_tile_set", _i1, (NUM_BOT_TILES, NUM_CLASSES)),  # what the bot's tiles are drawn from
]

# Both types are packed: padding between fields would make equal games differ in their bytes.
# The box: what a game is dealt from. It depends on the variant and on the component file.
BOX: Final = np.dtype(
    [
        *_PLAYER_COUNT_FIELDS,
        ("starting_cubes", _i1, _PER_BOARD),  # how many, clockwise from the start player
        ("budget_tokens", _i1, (len(BUDGET_TOKENS),)),
        ("board_length", _i1, (NUM_MUSICIANS, len(SIDES))),
        ("board_reputations", _i1, (NUM_MUSICIANS, len(SIDES), MAX_SPACES)),
        ("board_cubes", _i1, (NUM_MUSICIANS, len(SIDES), MAX_SPACES)),
        ("tile_method", _i1, (len(SCORING_TILES),)),
        ("tile_points", _i2, (len(SCORING_TILES), NUM_LEVELS)),
        ("random_tracks", _i1),
        ("scoring_side", _i1),  # 0 or 1 for all A or all B; NONE: each tile on a random side
        ("scoring_by_hand", _i1, _PER_MUSICIAN),  # tile sides; NONE: dealt
    ]
)

GAME: Final = np.dtype(
    [
        *_PLAYER_COUNT_FIELDS,
        # The deal: tracks, scoring tiles and all that is drawn. Never changes.
        ("track_length", _i1, _PER_MUSICIAN),
        ("track_reputations", _i1, (NUM_MUSICIANS, MAX_SPACES)),
        ("track_cubes", _i1, (NUM_MUSICIANS, MAX_SPACES)),  # at the start
        ("scoring_tile", _i1, _PER_MUSICIAN),  # index into SCORING_TILES
        ("scoring_method", _i1, _PER_MUSICIAN),  # index into SCORING_METHODS
        ("scoring_points", _i2, (NUM_MUSICIANS, NUM_LEVELS)),  # in sixths
        ("budget", _i1, (NUM_ROUNDS,)),
        ("bot_tiles", _i1, (NUM_ROUNDS, NUM_CLASSES)),
        ("first_start", _i1),  # who started round one
        ("dealt_cubes", _i1, (NUM_BOARDS, MAX_STARTING_CUBES)),  # musicians, or NONE
        # Where the game stands.
        ("round_index", _i1),
        ("start", _i1),  # the start player of this round
        ("phase", _i1),  # TAKE_FREE ... OVER
        ("turn", _i1),  # whose turn it is in this phase, clockwise from the start player
        ("player", _i1),  # the seat to decide
        ("pending", _i1),  # decisions left in this turn, the present one included
        # Tracks.
        ("cubes_left", _i1, _PER_MUSICIAN),  # on his track
        ("reputation", _i1, _PER_MUSICIAN),  # of his rightmost uncovered space
        ("num_uncovered", _i1, _PER_MUSICIAN),  # spaces
        ("ahead_reputation", _i1, _AHEAD),  # of the spaces still covered, the next first
        ("ahead_cubes", _i1, _AHEAD),  # how many more cubes must go until that space is uncovered
        ("rank", _i1, _PER_MUSICIAN),  # in the ranking, 0 is first; NUM_MUSICIANS: not in this game
        ("dead", _i1, _PER_MUSICIAN),
        # Boards.
        ("earlier_cubes", _i1, _CUBES),
        ("new_cubes", _i1, _CUBES),  # taken this round
        ("compositions", _i1, _CUBES),
        ("money", _i2, _PER_BOARD),
        ("furniture", _i1, _TOKENS),  # 1 while unsold
        ("sales", _i1, _TOKENS),  # 1 if sold this round (not by contributing)
        # Concerts.
        ("announced", _i1, _PER_BOARD),  # NONE: nothing announced
        ("hand", _i1, _PER_BOARD),  # total in a closed hand; NONE: no closed hand
        ("hand_token", _i1, _PER_BOARD),
        ("kept", _i1, _PER_BOARD),  # musician whose cube the low bonus saves, or NONE
        ("outcome", _i1),  # of the last concert; NONE before the first
        ("total", _i2),
        ("contribution", _i1, _PER_BOARD),  # to the last concert, the bot's too
        ("contribution_token", _i1, _PER_BOARD),
        ("performing", _i1, _PER_MUSICIAN),  # in the last concert, if it succeeded
        ("num_successes", _i1),
        ("num_performers", _i1),  # over the game
    ]
)

States = NDArray[np.void]  # an array of GAME values


class Game(Protocol):
    """One game's state: an element of `States`. The comments on `GAME` say what each field holds.

    Un-compiled it is a `np.record`, compiled a Numba record.
    """

    num_players: int
    num_boards: int
    num_musicians: int
    has_bot: int
    discussion: int
    limit: int
    class_from: NDArray[np.int8]
    class_to: NDArray[np.int8]
    income: NDArray[np.int16]
    bot_tile_set: NDArray[np.int8]
    track_length: NDArray[np.int8]
    track_reputations: NDArray[np.int8]
    track_cubes: NDArray[np.int8]
    scoring_tile: NDArray[np.int8]
    scoring_method: NDArray[np.int8]
    scoring_points: NDArray[np.int16]
    budget: NDArray[np.int8]
    bot_tiles: NDArray[np.int8]
    first_start: int
    dealt_cubes: NDArray[np.int8]
    round_index: int
    start: int
    phase: int
    turn: int
    player: int
    pending: int
    cubes_left: NDArray[np.int8]
    reputation: NDArray[np.int8]
    num_uncovered: NDArray[np.int8]
    ahead_reputation: NDArray[np.int8]
    ahead_cubes: NDArray[np.int8]
    rank: NDArray[np.int8]
    dead: NDArray[np.int8]
    earlier_cubes: NDArray[np.int8]
    new_cubes: NDArray[np.int8]
    compositions: NDArray[np.int8]
    money: NDArray[np.int16]
    furniture: NDArray[np.int8]
    sales: NDArray[np.int8]
    announced: NDArray[np.int8]
    hand: NDArray[np.int8]
    hand_token: NDArray[np.int8]
    kept: NDArray[np.int8]
    outcome: int
    total: int
    contribution: NDArray[np.int8]
    contribution_token: NDArray[np.int8]
    performing: NDArray[np.int8]
    num_successes: int
    num_performers: int


def new_states(num_games: int) -> States:
    """Return the states of this many games, all zeros."""
    return np.zeros(num_games, GAME)


def game_at(states: States, index: int = 0) -> Game:
    """Return one game's state, to read (or write) its fields from Python."""
    return cast(Game, as_recarray(states)[index])
