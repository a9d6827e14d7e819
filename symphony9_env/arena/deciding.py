"""What decides games: in what those who end ahead differ from those who end behind.

Two seats of one game are compared, and whole deals are the unit of the intervals. The points of all sources add up to
the score, so the leads in them add up to the margin. Other quantities (contributions, furniture sold …) are compared in
the same way, but they are no part of the score. All are associations: they don't say what causes a win.
"""

from __future__ import annotations

from itertools import combinations
from typing import TYPE_CHECKING, Final, NotRequired, TypedDict

import numpy as np
from numpy.typing import NDArray

from symphony9_env.arena.games_csv import OTHER_SOURCES, ROUNDS, TILE_COLUMNS
from symphony9_env.arena.ratings import Estimate, Floats, estimate_mean, estimate_rate, sum_by_deal
from symphony9_env.components import CLASSES

if TYPE_CHECKING:
    from symphony9_env.arena.results import GameData

PREFIX: Final = "points_"
TILES: Final = tuple(sorted({column.removeprefix(PREFIX)[:-1] for column in TILE_COLUMNS}))  # without their sides
# Points by source: the two sides of a scoring tile count as one, since a game has one of them.
POINTS: Final = (*(f"tile_{tile}" for tile in TILES), *(column.removeprefix(PREFIX) for column in OTHER_SOURCES))
COUNTS: Final = ("compositions", "furniture_sold", "cubes_bought")  # columns of games.csv


class QuantityResult(TypedDict):
    """How one quantity differs between two seats. Differences have no interval after a single deal."""

    lead: float  # mean of the seat that ended ahead minus that of the seat that ended behind
    lead_95: NotRequired[list[float]]
    margin_share: NotRequired[float]  # of points: the part of the margin that comes from this source
    more_is_ahead: NotRequired[float]  # how often the seat with more ended ahead, where the two differ
    more_is_ahead_95: NotRequired[list[float]]
    difference: NotRequired[float]  # of a pair of agents: mean of the first minus that of the second
    difference_95: NotRequired[list[float]]


class DecidingResult(TypedDict):
    """What separates the seats that ended ahead from those that ended behind."""

    meetings: int  # pairs of seats of which one ended ahead
    margin: float  # the mean difference of their scores
    points: dict[str, QuantityResult]  # by source
    other: dict[str, QuantityResult]  # contributions, bonuses, furniture sold …


class PairDecidingResult(DecidingResult):
    """What separates two agents."""

    agent: str
    against: str


class DecidingResults(TypedDict):
    """What decides games: over all games, and for each pair of agents."""

    winners: DecidingResult  # winners ahead of the other players, whoever they are
    pairs: list[PairDecidingResult]


def find_deciding(games: GameData) -> DecidingResults:
    """Return what decides the games, and what decides between each pair of agents that met."""
    values = {**_read_points(games), **_read_other(games)}
    won = games.column("win_share") > 0
    pairs: list[PairDecidingResult] = []
    for name, rival in combinations(games.names, 2):
        meet = games.seats[name][:, :, None] & games.seats[rival][:, None, :]
        if meet.any():
            pairs.append({"agent": name, "against": rival, **_compare(games, values, meet, is_pair=True)})
    return {"winners": _compare(games, values, won[:, :, None] & ~won[:, None, :], is_pair=False), "pairs": pairs}


def _read_points(games: GameData) -> dict[str, Floats]:
    """Return the points by source, each (games, seats)."""
    sides = {
        f"tile_{tile}": [column for column in TILE_COLUMNS if column.removeprefix(PREFIX)[:-1] == tile]
        for tile in TILES
    }
    columns = {**sides, **{column.removeprefix(PREFIX): [column] for column in OTHER_SOURCES}}
    return {
        source: np.sum([np.nan_to_num(games.column(name)) for name in names], axis=0)
        for source, names in columns.items()
    }


def _read_other(games: GameData) -> dict[str, Floats]:
    """Return what else players do and get, each (games, seats)."""
    bids = np.stack([games.column(f"bid_{number}") for number in ROUNDS])  # (rounds, games, seats)
    succeeded = np.isin(np.stack([games.column(f"outcome_{number}") for number in ROUNDS]), CLASSES)
    is_highest = bids == bids.max(2, keepdims=True)
    return {
        "contributed": bids.sum(0),
        "paid_to_concerts": (bids * succeeded).sum(0),  # a failed concert costs nothing
        "bonuses_won": (is_highest & succeeded).sum(0).astype(np.float64),
        **{name: games.column(name) for name in COUNTS},
    }


def _compare(games: GameData, values: dict[str, Floats], meet: NDArray[np.bool_], is_pair: bool) -> DecidingResult:
    """Compare pairs of seats, (games, seats, seats): the first seat of each with the second."""
    game, first, second = np.nonzero(meet)
    deals = np.unique(games.deals[game], return_inverse=True)[1]
    ahead = np.sign(games.ranks[game, second] - games.ranks[game, first]).astype(np.float64)  # 0 for a tie
    results: dict[str, QuantityResult] = {}
    for name, value in values.items():
        differences = value[game, first] - value[game, second]
        results[name] = _compare_quantity(differences, ahead, deals)
        if is_pair:
            whole = _estimate(differences, deals)
            results[name] |= {"difference": whole.value}
            if np.isfinite(whole.low):
                results[name]["difference_95"] = whole.interval()
    margin = sum(results[name]["lead"] for name in POINTS)
    for name in POINTS:
        if margin > 0:
            results[name]["margin_share"] = results[name]["lead"] / margin
    return {
        "meetings": int((ahead != 0).sum()),
        "margin": float(margin),
        "points": {name: results[name] for name in POINTS},
        "other": {name: one for name, one in results.items() if name not in POINTS},
    }


def _compare_quantity(differences: Floats, ahead: Floats, deals: NDArray[np.int64]) -> QuantityResult:
    """Return the lead in one quantity of those who ended ahead."""
    decided, differing = ahead != 0, (ahead != 0) & (differences != 0)
    lead = _estimate((ahead * differences)[decided], deals[decided])
    result: QuantityResult = {"lead": lead.value}
    if np.isfinite(lead.low):
        result["lead_95"] = lead.interval()
    if differing.any():
        has_more = ahead[differing] == np.sign(differences[differing])
        index = np.unique(deals[differing], return_inverse=True)[1]
        share = estimate_rate(sum_by_deal(index, has_more.astype(np.float64)), np.bincount(index).astype(np.float64))[0]
        result |= {"more_is_ahead": share.value, "more_is_ahead_95": share.interval()}
    return result


def _estimate(values: Floats, deals: NDArray[np.int64]) -> Estimate:
    """Return the mean of values with its interval; 0, with an infinite one, if there are none."""
    if not len(values):
        return Estimate(0.0, float("-inf"), float("inf"))
    index = np.unique(deals, return_inverse=True)[1]
    return estimate_mean(sum_by_deal(index, values), np.bincount(index).astype(np.float64))
