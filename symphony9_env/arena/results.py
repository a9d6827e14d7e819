"""The results of a tournament, computed from its games: the contents of `results.json` (`symphony9-results/1`)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import permutations
from typing import Any, Final, NotRequired, TypedDict, TypeVar

import numpy as np
from numpy.typing import NDArray

from symphony9_env.arena.control_variate import Adjusted, adjust_win_rate
from symphony9_env.arena.cycles import CyclicStrengthResult, measure_cycles
from symphony9_env.arena.deciding import DecidingResults, find_deciding
from symphony9_env.arena.games_csv import (
    CORRECTION_COLUMNS,
    MEAN_SHARE_COLUMN,
    OTHER_SOURCES,
    ROUNDS,
    TILE_COLUMNS,
    CsvRow,
)
from symphony9_env.arena.nash import NashResult, rate_by_nash
from symphony9_env.arena.pairs import Pairs, count_pairs
from symphony9_env.arena.ratings import rate, win_rate
from symphony9_env.rules.state import OUTCOMES

FORMAT: Final = "symphony9-results/1"
Values = NDArray[Any]
Mask = NDArray[np.bool_]
T = TypeVar("T")


class AdjustedResult(TypedDict):
    """A win rate of lower variance: means over redraws, corrected for luck (`control_variate.py`)."""

    win_rate: float
    win_rate_95: list[float]
    effective_games: float  # how many independent games would give an estimate as exact


class ControlVariateResult(TypedDict):
    """What lowered the variance of the adjusted win rates, or why there are none."""

    redraws: int  # how many more times each game was played, with other tokens and bot tiles
    actions: dict[str, str]  # whether the actions of each agent are corrected, and why
    disabled: NotRequired[str]  # why there are no adjusted win rates


class WinResult(TypedDict):
    """How often some seats won."""

    win_rate: float  # a shared win counts its share
    win_rate_95: list[float]  # lower and upper end of the 95 % interval
    effective_games: float  # how many independent games would give a win rate as exact
    adjusted: NotRequired[AdjustedResult]  # with a control variate


class AgentResult(WinResult):
    """One agent's results. Rates and means are per seat: an agent may have several seats in one game."""

    games: int
    seats: int
    rating: float
    rating_95: list[float]
    mean_score: float
    mean_rank: float


class PairResult(TypedDict):
    """How one agent did against another in games in which both played."""

    ahead: float  # how often it ended ahead, over all pairs of their seats; a tie counts half
    meetings: int  # pairs of seats


class MatchResult(WinResult):
    """The games of one agent alone against opponents who are all the same agent."""

    agent: str
    against: str
    games: int


class SeatResult(TypedDict):
    """How often one position in the first round's turn order won, whoever sat there."""

    offset: int  # seats clockwise from the first start player
    win_rate: float
    win_rate_95: list[float]


class TileResult(TypedDict):
    """The points of one side of a scoring tile, over the games in which it was in play."""

    games: int
    mean: float
    winners_mean: float
    scoring_seats: float  # share of the seats that scored points with it


class BidResult(TypedDict):
    """An agent's contributions in one round."""

    mean: float
    low_quartile: float
    high_quartile: float


class LengthResult(TypedDict):
    """The number of decisions in a game."""

    mean: float
    fewest: int
    most: int
    quartiles: list[float]


class GateResult(TypedDict):
    """The result of `symphony9 gate`: a sequential test of the first agent against the second."""

    verdict: str  # "better", "worse" or "undecided"
    log_likelihood_ratio: float  # after the deal that decided, or after the last one
    bounds: list[float]  # at or below the first: worse; at or above the second: better
    deals: int  # up to the one that decided; a batch may have played more
    games: int  # on these deals
    margin: float  # half of the difference between the win rates of the two agents, each alone against the other
    margin_95: list[float]  # as if the number of deals had been fixed in advance
    h0: float  # the margins and error rates of the test
    h1: float
    alpha: float
    beta: float


class Results(TypedDict):
    """The contents of `results.json`. Dictionaries without a comment have the agents' names as keys."""

    format: str
    settings: dict[str, Any]  # the tournament's settings, as in `tournament.json`
    games: int
    deals: int
    par: float  # the win rate of a seat if all agents are equally strong
    agents: dict[str, AgentResult]
    head_to_head: dict[str, dict[str, PairResult]]
    one_against_rest: list[MatchResult]
    win_rate_by_seat: list[SeatResult]
    score_by_source: dict[str, dict[str, float]]  # mean points of each agent by source
    scoring_tiles: dict[str, TileResult]  # by side, such as "4A"
    concerts: list[dict[str, float]]  # by round: the share of each outcome, and "mean_total"
    bids_by_round: dict[str, list[BidResult]]
    furniture_sold: dict[str, list[float]]  # the share of seats that sold 0, 1, 2, 3 tokens
    cubes_bought: dict[str, float]
    length: LengthResult
    deciding: DecidingResults
    nash: NotRequired[dict[str, NashResult]]  # if there are two agents or more and all have met
    cyclic_strength: NotRequired[CyclicStrengthResult]  # if three agents or more have met each other
    command: NotRequired[str]  # the command that wrote the results
    control_variate: NotRequired[ControlVariateResult]
    gate: NotRequired[GateResult]  # if the games are those of `symphony9 gate`


class GameData:
    """The rows of `games.csv` as arrays of shape (games, seats); `seats` has a mask of the seats of each agent.

    `redraws` says how often each game was played again; None without a control variate.
    """

    def __init__(self, rows: Sequence[CsvRow], names: list[str], num_players: int, redraws: int | None = None) -> None:
        self.redraws = redraws
        self._rows = rows
        self.names = names
        self.num_players = num_players
        self.num_games = len(rows) // num_players
        number = {name: index for index, name in enumerate(names)}
        self.agents = np.array([number[row["agent"]] for row in rows]).reshape(-1, num_players)
        self.seats: dict[str, Mask] = {name: self.agents == number[name] for name in names}
        self.ranks = self.column("rank").astype(np.int64)
        self.deals = np.unique(self.column("deal")[:, 0], return_inverse=True)[1]

    def column(self, name: str) -> Values:
        """Return a column of `games.csv`."""
        values = [row[name] for row in self._rows]
        kind = object if isinstance(values[0], str) else float
        return np.array(values, kind).reshape(-1, self.num_players)


def summarise(games: GameData, settings: dict[str, Any]) -> Results:
    """Compute a tournament's results."""
    pairs = count_pairs(games.agents, games.ranks, games.deals, len(games.names))
    results: Results = {
        "format": FORMAT,
        "settings": settings,
        "games": games.num_games,
        "deals": int(games.deals.max()) + 1,
        "par": 1 / games.num_players,
        "agents": _summarise_agents(games),
        "head_to_head": _summarise_head_to_head(games.names, pairs),
        "one_against_rest": _summarise_one_against_rest(games),
        "win_rate_by_seat": _summarise_win_rate_by_seat(games),
        "score_by_source": _summarise_by_agent(games, _summarise_sources),
        "scoring_tiles": _summarise_scoring_tiles(games),
        "concerts": _summarise_concerts(games),
        "bids_by_round": _summarise_by_agent(games, _summarise_bids),
        "furniture_sold": _summarise_by_agent(games, _summarise_furniture_sold),
        "cubes_bought": _summarise_by_agent(games, lambda games, own: float(games.column("cubes_bought")[own].mean())),
        "length": _summarise_length(games),
        "deciding": find_deciding(games),
    }
    if averaged := rate_by_nash(pairs, games.names):
        results["nash"] = averaged
    if cycles := measure_cycles(pairs, games.agents, games.names):
        results["cyclic_strength"] = cycles
    return results


def _summarise_agents(games: GameData) -> dict[str, AgentResult]:
    ratings = rate(games.agents, games.ranks, games.deals, len(games.names))
    scores = games.column("score")
    agents: dict[str, AgentResult] = {}
    for (name, own), rating in zip(games.seats.items(), ratings, strict=True):
        agents[name] = {
            "games": int(own.any(1).sum()),
            "seats": int(own.sum()),
            **_summarise_wins(games, own),
            "rating": rating.value,
            "rating_95": rating.interval(),
            "mean_score": float(scores[own].mean()),
            "mean_rank": float(games.ranks[own].mean()),
        }
    return agents


def _summarise_wins(games: GameData, own: Mask) -> WinResult:
    """Return the win rate of some seats, and the adjusted one if the games have a control variate."""
    deals = np.broadcast_to(games.deals[:, None], own.shape)[own]
    index, none = np.unique(deals, return_inverse=True)[1], np.zeros((len(deals), 0))
    shares = games.column("win_share")[own]
    plain = _format_win_rate(adjust_win_rate(shares, none, index))
    result: WinResult = {
        "win_rate": plain["win_rate"],
        "win_rate_95": plain["win_rate_95"],
        "effective_games": plain["effective_games"],
    }
    if games.redraws is not None:
        luck = np.stack([games.column(name)[own] for name in CORRECTION_COLUMNS], axis=1)
        means = games.column(MEAN_SHARE_COLUMN)[own]
        result["adjusted"] = _format_win_rate(adjust_win_rate(means, luck, index, games.redraws + 1))
    return result


def _format_win_rate(found: Adjusted) -> AdjustedResult:
    return {
        "win_rate": found.estimate.value,
        "win_rate_95": found.estimate.interval(),
        "effective_games": found.effective_games,
    }


def _summarise_by_agent(games: GameData, compute: Callable[[GameData, Mask], T]) -> dict[str, T]:
    """Return by name what `compute` returns for the seats of each agent."""
    return {name: compute(games, own) for name, own in games.seats.items()}


def _summarise_head_to_head(names: list[str], pairs: Pairs) -> dict[str, dict[str, PairResult]]:
    results: dict[str, dict[str, PairResult]] = {name: {} for name in names}
    ahead, meetings = pairs.ahead.sum(0), pairs.totals
    for one, other in np.argwhere(meetings > 0).tolist():
        share = float(ahead[one, other] / meetings[one, other])
        results[names[one]][names[other]] = {"ahead": share, "meetings": int(meetings[one, other])}
    return results


def _summarise_one_against_rest(games: GameData) -> list[MatchResult]:
    matches: list[MatchResult] = []
    for name, rival in permutations(games.names, 2):
        own = games.seats[name]
        alone = (own.sum(1) == 1) & (own | games.seats[rival]).all(1)
        if alone.any():
            wins = _summarise_wins(games, own & alone[:, None])
            matches.append({"agent": name, "against": rival, "games": int(alone.sum()), **wins})
    return matches


def _summarise_win_rate_by_seat(games: GameData) -> list[SeatResult]:
    first = games.column("starts").argmax(1)
    shares = games.column("win_share")
    seats: list[SeatResult] = []
    for offset in range(games.num_players):
        wins = win_rate(shares[np.arange(games.num_games), (first + offset) % games.num_players], games.deals)
        seats.append({"offset": offset, "win_rate": wins.value, "win_rate_95": wins.interval()})
    return seats


def _summarise_sources(games: GameData, own: Mask) -> dict[str, float]:
    """Return mean points by source; a scoring tile that was not in a game counts as 0."""
    columns = (*TILE_COLUMNS, *OTHER_SOURCES)
    return {name.removeprefix("points_"): float(np.nan_to_num(games.column(name)[own]).mean()) for name in columns}


def _summarise_scoring_tiles(games: GameData) -> dict[str, TileResult]:
    tiles: dict[str, TileResult] = {}
    shares = games.column("win_share")
    for name in TILE_COLUMNS:
        points = games.column(name)
        in_play = ~np.isnan(points)
        if in_play.any():
            won = in_play & (shares > 0)
            scoring = in_play & (points > 0)
            tiles[name.removeprefix("points_")] = {
                "games": int(in_play.any(1).sum()),
                "mean": float(points[in_play].mean()),
                "winners_mean": float(points[won].mean()) if won.any() else 0.0,
                "scoring_seats": float(scoring.sum() / in_play.sum()),
            }
    return tiles


def _summarise_concerts(games: GameData) -> list[dict[str, float]]:
    rounds = []
    for number in ROUNDS:
        outcomes = games.column(f"outcome_{number}")[:, 0]
        totals = games.column(f"total_{number}")[:, 0]
        shares = {outcome: float((outcomes == outcome).mean()) for outcome in OUTCOMES}
        rounds.append({**shares, "mean_total": float(totals.mean())})
    return rounds


def _summarise_bids(games: GameData, own: Mask) -> list[BidResult]:
    rounds: list[BidResult] = []
    for number in ROUNDS:
        bids = games.column(f"bid_{number}")[own]
        low, high = np.quantile(bids, [0.25, 0.75])
        rounds.append({"mean": float(bids.mean()), "low_quartile": float(low), "high_quartile": float(high)})
    return rounds


def _summarise_furniture_sold(games: GameData, own: Mask) -> list[float]:
    sold = games.column("furniture_sold")[own].astype(int)
    return [float(share) for share in np.bincount(sold, minlength=4) / len(sold)]


def _summarise_length(games: GameData) -> LengthResult:
    moves = games.column("moves")[:, 0]
    return {
        "mean": float(moves.mean()),
        "fewest": int(moves.min()),
        "most": int(moves.max()),
        "quartiles": np.quantile(moves, [0.25, 0.5, 0.75]).tolist(),
    }
