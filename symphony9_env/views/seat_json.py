"""A seat's view as JSON data, `symphony9-view/1`: what web pages, agent messages and language models receive.

It is made from a `SeatView` alone, so it can't hold more than that seat may know.
"""

from __future__ import annotations

from typing import Any, Final, TypedDict, TypeVar

from symphony9_env.components import FURNITURE_POINTS, FURNITURE_VALUES, scoring_method
from symphony9_env.rules.state import NUM_ROUNDS
from symphony9_env.views.choices import ChoiceJson, describe_choice
from symphony9_env.views.seat import SeatView
from symphony9_env.views.text import QUESTIONS

_JsonT = TypeVar("_JsonT")

FORMAT: Final = "symphony9-view/1"

ClassJson = TypedDict("ClassJson", {"name": str, "from": int, "to": int, "income": int})


class FurnitureJson(TypedDict):
    """A furniture token: its value in dollars and its points while unsold."""

    value: int
    points: int


class ScoringTileJson(TypedDict):
    """A musician's scoring tile: its side, what it counts, and its points at level 1, 2 and 3."""

    musician: str
    tile: str
    counts: str
    points: list[float]


class GameJson(TypedDict):
    """What does not change during a game."""

    num_players: int
    num_rounds: int
    has_bot: bool
    limit: int  # the most a player may contribute
    classes: list[ClassJson]
    furniture: list[FurnitureJson]
    scoring_tiles: list[ScoringTileJson]


class MusicianJson(TypedDict):
    """A musician's career track now."""

    name: str
    rank: int
    fame: str
    reputation: int
    is_dead: bool
    cubes_left: int
    uncovered: list[int]  # reputations of the uncovered spaces; the last one counts
    ahead: list[tuple[int, int]]  # (cubes until it is uncovered, reputation) of the coming spaces


class HandJson(TypedDict):
    """A contribution: its amount, and the value of the furniture token in it."""

    amount: int
    furniture: int | None


class BoardJson(TypedDict):
    """A player's or the bot's board as this seat may see it; lists run over the musicians in play."""

    seat: int  # the number of players for the bot
    name: str
    earlier_cubes: list[int]
    new_cubes: list[int]
    compositions: list[int]
    sold_this_round: list[int]
    announced: int | None
    has_closed_hand: bool
    kept: str | None
    last_contribution: HandJson | None
    money: int | None  # None if this seat may not see it
    furniture: list[int] | None


class PointsJson(TypedDict):
    """Points in all and by source."""

    total: float
    breakdown: dict[str, float]


class ScoreLineJson(PointsJson):
    """A player's line of the final score sheet."""

    rank: int
    win_share: float


class PositionJson(TypedDict):
    """Where the game stands."""

    round: int
    start_player: int
    decision: str
    question: str
    to_decide: int | None
    pending: int
    budget_token: int | None
    budget_seen: list[int]
    budget_left: list[int]
    bot_tiles_seen: list[list[int]]
    successes: int
    performers: int
    outcome: str | None
    total: int | None
    performing: list[str]
    musicians: list[MusicianJson]
    boards: list[BoardJson]  # in seating order, the bot last
    score_sheet: list[ScoreLineJson] | None


class OwnJson(TypedDict):
    """What only this seat knows."""

    money: int
    furniture: list[int]
    hand: HandJson | None
    points: PointsJson


class ViewJson(TypedDict):
    """All that a seat may know."""

    format: str
    seat: int
    game: GameJson
    position: PositionJson
    own: OwnJson
    choices: list[ChoiceJson]


def seat_json(view: SeatView) -> ViewJson:
    """Return a view as plain JSON data."""
    return {
        "format": FORMAT,
        "seat": view.seat,
        "game": game_json(view),
        "position": position_json(view),
        "own": own_json(view),
        "choices": [describe_choice(view, action) for action in view.legal],
    }


def game_json(view: SeatView) -> GameJson:
    """Return what does not change during a game."""
    return {
        "num_players": view.num_players,
        "num_rounds": NUM_ROUNDS,
        "has_bot": len(view.boards) > view.num_players,
        "limit": view.limit,
        "classes": [
            {"name": name, "from": low, "to": high, "income": income} for name, low, high, income in view.classes
        ],
        "furniture": [
            {"value": value, "points": points} for value, points in zip(FURNITURE_VALUES, FURNITURE_POINTS, strict=True)
        ],
        "scoring_tiles": [
            {
                "musician": musician.name,
                "tile": musician.scoring_tile,
                "counts": scoring_method(musician.scoring_tile),
                "points": list(musician.scoring_points),
            }
            for musician in view.musicians
        ],
    }


def position_json(view: SeatView) -> PositionJson:
    """Return where the game stands, as this seat may see it."""
    sheet = view.score_sheet
    return _copy_fields(
        PositionJson,
        view,
        start_player=view.start_seat,
        question=QUESTIONS[view.decision],
        to_decide=view.deciding_seat,
        bot_tiles_seen=[list(tile) for tile in view.bot_tiles_seen],
        musicians=[_copy_fields(MusicianJson, musician) for musician in view.musicians],
        boards=[
            _copy_fields(BoardJson, board, last_contribution=_hand_json(board.last_contribution))
            for board in sorted(view.boards, key=lambda board: board.seat)
        ],
        score_sheet=None if sheet is None else [_copy_fields(ScoreLineJson, line) for line in sheet.values()],
    )


def own_json(view: SeatView) -> OwnJson:
    """Return what only this seat knows."""
    points = _copy_fields(PointsJson, view.points)
    return _copy_fields(OwnJson, view.boards[0], hand=_hand_json(view.hand), points=points)


def _hand_json(hand: tuple[int, int | None] | None) -> HandJson | None:
    return None if hand is None else {"amount": hand[0], "furniture": hand[1]}


def _copy_fields(kind: type[_JsonT], source: object, **given: Any) -> _JsonT:
    """Return a TypedDict of this kind: the fields that are given, the others copied from the source's attributes."""
    values = {name: given[name] if name in given else getattr(source, name) for name in kind.__annotations__}
    return kind(**{name: list(value) if isinstance(value, tuple) else value for name, value in values.items()})
