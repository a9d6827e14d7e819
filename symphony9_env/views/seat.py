"""What one seat may know, as plain Python data. Text, images and messages are made from this alone."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from itertools import compress
from types import SimpleNamespace
from typing import Any

import numpy as np

from symphony9_env.actions import num_actions
from symphony9_env.compilation import as_python
from symphony9_env.components import (
    BUDGET_TOKENS,
    CLASSES,
    FURNITURE_VALUES,
    MAX_SPACES,
    PLAYER_COUNT_RULES,
    SCORING_TILES,
)
from symphony9_env.names import BOT_NAME, agent_name
from symphony9_env.rules.game import legal_actions
from symphony9_env.rules.state import DECISIONS, NONE, OUTCOMES, OVER, SIXTHS, States
from symphony9_env.rules.tracks import fame
from symphony9_env.scores import Points, ScoreLine, score_sheet
from symphony9_env.views.visible import is_purse_hidden, num_bot_tiles_shown, num_tokens_shown


@dataclass(frozen=True)
class Musician:
    """A musician and his career track."""

    name: str
    reputation: int
    fame: str  # low, medium, high
    rank: int  # 1 is first in the ranking
    is_dead: bool
    cubes_left: int
    uncovered: tuple[int, ...]  # reputations of the spaces without cubes, left to right; the last one counts
    ahead: tuple[tuple[int, int], ...]  # (cubes until uncovered, reputation) of the coming spaces
    scoring_tile: str
    scoring_points: tuple[float, ...]


@dataclass(frozen=True)
class Board:
    """What a seat may know of one player or of the bot."""

    seat: int  # the number of players for the bot
    name: str
    earlier_cubes: tuple[int, ...]
    new_cubes: tuple[int, ...]
    compositions: tuple[int, ...]
    sold_this_round: tuple[int, ...]  # furniture values
    announced: int | None
    has_closed_hand: bool
    kept: str | None  # musician
    last_contribution: tuple[int, int | None] | None  # total, value of the furniture in it
    money: int | None  # the observer's own; the others' only with the ledger
    furniture: tuple[int, ...] | None


@dataclass(frozen=True)
class SeatView:
    """All that one seat may know of a game; `seat_view` makes it. Text, images and JSON are made from it alone.

    >>> from symphony9_env import seat_view, symphony9_v0
    >>> env = symphony9_v0.raw_env(num_players=2)
    >>> env.reset(seed=7)
    >>> view = seat_view(env.states, 0, seat=1)
    >>> view.decision, view.to_decide, view.boards[1].money
    ('take', 'player_1', None)
    """

    num_players: int
    limit: int
    classes: tuple[tuple[str, int, int, int], ...]  # name, from, to, income
    seat: int
    round: int  # 1 to 6
    start_seat: int
    decision: str
    deciding_seat: int | None  # None once the game is over
    pending: int
    budget_token: int | None
    budget_seen: tuple[int, ...]
    budget_left: tuple[int, ...]  # tokens not shown yet; some of them never are
    bot_tiles_seen: tuple[tuple[int, ...], ...]
    successes: int
    performers: int
    outcome: str | None
    total: int | None
    performing: tuple[str, ...]
    musicians: tuple[Musician, ...]
    boards: tuple[Board, ...]  # the observer first, then clockwise; the bot last
    hand: tuple[int, int | None] | None  # the observer's own closed hand: total, furniture value in it
    legal: tuple[int, ...]  # action numbers; empty unless the observer is to decide
    points: Points  # the observer's own, if the game ended now; a rank would reveal something of the others' money
    score_sheet: dict[str, ScoreLine] | None  # everybody's, once the game is over

    @property
    def name(self) -> str:
        """The observer's agent name."""
        return agent_name(self.seat)

    @property
    def start_player(self) -> str:
        """The agent name of the round's start player."""
        return agent_name(self.start_seat)

    @property
    def to_decide(self) -> str | None:
        """The name of the agent to decide; None once the game is over."""
        return None if self.deciding_seat is None else agent_name(self.deciding_seat)


def seat_view(states: States, index: int, seat: int, ledger: bool = False) -> SeatView:
    """Return what `seat` may know of game `index` of an array of states; with `ledger` also the others' money.

    >>> from symphony9_env import BatchedGames, seat_view
    >>> games = BatchedGames(num_games=8, num_players=4, seed=0)
    >>> seat_view(games.states, 5, seat=2).name
    'player_2'
    """
    game = _copy_fields(states, index)
    num_players = int(game.num_players)
    if not 0 <= seat < num_players:
        raise ValueError(f"seat={seat!r}; allowed: 0 to {num_players - 1}")
    order = [(seat + offset) % num_players for offset in range(num_players)]
    order += [num_players] if game.has_bot else []
    ranges = (column.tolist() for column in (game.class_from, game.class_to, game.income))
    return SeatView(
        num_players=num_players,
        limit=int(game.limit),
        classes=tuple(zip(CLASSES, *ranges, strict=True)),
        round=int(game.round_index) + 1,
        start_seat=int(game.start),
        decision=DECISIONS[game.phase],
        deciding_seat=None if game.phase == OVER else int(game.player),
        pending=int(game.pending),
        **_see_tokens(game),
        **_see_last_concert(game),
        **_see_own(states, index, game, seat),
        musicians=tuple(_musician(game, row) for row in range(game.num_musicians)),
        boards=tuple(_board(game, board, seat, ledger) for board in order),
    )


def _copy_fields(states: States, index: int) -> Any:
    """Return the fields of a game as attributes: NumPy takes microseconds to read one, and a view reads 200."""
    game = states[index]
    return SimpleNamespace(**{name: game[name] for name in game.dtype.names})


# Parts of a view, by the names of their fields.


def _see_tokens(game: Any) -> dict[str, Any]:
    """Return the budget tokens and bot tiles that have been shown."""
    shown = game.budget[: as_python(num_tokens_shown)(game)].tolist()
    tiles = game.bot_tiles[: as_python(num_bot_tiles_shown)(game)] if game.has_bot else ()
    return {
        "budget_token": shown[-1] if len(shown) > game.round_index else None,
        "budget_seen": tuple(shown),
        "budget_left": tuple((Counter(BUDGET_TOKENS) - Counter(shown)).elements()),
        "bot_tiles_seen": tuple(tuple(tile.tolist()) for tile in tiles),
    }


def _see_last_concert(game: Any) -> dict[str, Any]:
    had_concert = game.outcome != NONE
    return {
        "successes": int(game.num_successes),
        "performers": int(game.num_performers),
        "outcome": OUTCOMES[game.outcome] if had_concert else None,
        "total": int(game.total) if had_concert else None,
        "performing": tuple(compress(_musicians(game), game.performing)),
    }


def _see_own(states: States, index: int, game: Any, seat: int) -> dict[str, Any]:
    """Return what only this seat knows, and the score sheet once the game is over."""
    sheet = score_sheet(states, index)
    own = sheet[agent_name(seat)]
    return {
        "seat": seat,
        "hand": None if game.hand[seat] == NONE else (int(game.hand[seat]), _value(game.hand_token[seat])),
        "legal": legal_numbers(states, index) if game.player == seat else (),
        "points": Points(own.total, own.breakdown),
        "score_sheet": sheet if game.phase == OVER else None,
    }


def legal_numbers(states: States, index: int) -> tuple[int, ...]:
    """Return the legal actions of the player to decide; none when the game is over."""
    mask = np.zeros(num_actions(bool(states["discussion"][index])), np.int8)
    legal_actions(states, index, mask)
    return tuple(np.flatnonzero(mask).tolist())


def _musicians(game: Any) -> tuple[str, ...]:
    return PLAYER_COUNT_RULES[int(game.num_players)].musicians


def _value(token: Any) -> int | None:
    return None if token == NONE else FURNITURE_VALUES[token]


def _musician(game: Any, row: int) -> Musician:
    covered = range(MAX_SPACES * row, MAX_SPACES * row + game.track_length[row] - game.num_uncovered[row])
    return Musician(
        name=_musicians(game)[row],
        reputation=int(game.reputation[row]),
        fame=CLASSES[as_python(fame)(game, row)],
        rank=int(game.rank[row]) + 1,
        is_dead=bool(game.dead[row]),
        cubes_left=int(game.cubes_left[row]),
        uncovered=tuple(game.track_reputations[row, : game.num_uncovered[row]].tolist()),
        ahead=tuple((int(game.ahead_cubes[space]), int(game.ahead_reputation[space])) for space in covered),
        scoring_tile=SCORING_TILES[game.scoring_tile[row]],
        scoring_points=tuple((game.scoring_points[row] / SIXTHS).tolist()),
    )


def _board(game: Any, board: int, seat: int, ledger: bool) -> Board:
    is_bot = board == game.num_players
    in_play = slice(game.num_musicians)
    contribution = (int(game.contribution[board]), _value(game.contribution_token[board]))
    is_purse_visible = not is_bot and not as_python(is_purse_hidden)(game, seat, board, ledger)
    return Board(
        seat=board,
        name=BOT_NAME if is_bot else agent_name(board),
        earlier_cubes=tuple(game.earlier_cubes[board, in_play].tolist()),
        new_cubes=tuple(game.new_cubes[board, in_play].tolist()),
        compositions=tuple(game.compositions[board, in_play].tolist()),
        sold_this_round=tuple(compress(FURNITURE_VALUES, game.sales[board])),
        announced=None if game.announced[board] == NONE else int(game.announced[board]),
        has_closed_hand=bool(game.hand[board] != NONE),
        kept=None if game.kept[board] == NONE else _musicians(game)[game.kept[board]],
        last_contribution=None if game.outcome == NONE else contribution,
        money=int(game.money[board]) if is_purse_visible else None,
        furniture=tuple(compress(FURNITURE_VALUES, game.furniture[board])) if is_purse_visible else None,
    )
