"""The figures of a tournament, from its games: what `results.json` holds and the report shows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from symphony9_env.arena.games_csv import OTHER_SOURCES, ROUNDS, TILE_COLUMNS, Line
from symphony9_env.arena.ratings import rate, win_rate
from symphony9_env.rules.state import OUTCOMES

FORMAT: Final = "symphony9-tournament/1"
Results = dict[str, Any]
Values = NDArray[Any]


class Games:
    """The games' lines as arrays of (games, seats)."""

    def __init__(self, lines: Sequence[Line], names: list[str], num_players: int) -> None:
        self._lines = lines
        self.names = names
        self.num_players = num_players
        self.num_games = len(lines) // num_players
        number = {name: index for index, name in enumerate(names)}
        self.agents = np.array([number[line["agent"]] for line in lines]).reshape(-1, num_players)
        self.ranks = self.column("rank").astype(np.int64)
        self.deals = np.unique(self.column("deal")[:, 0], return_inverse=True)[1]

    def column(self, name: str) -> Values:
        values = [line[name] for line in self._lines]
        kind = object if isinstance(values[0], str) else float
        return np.array(values, kind).reshape(-1, self.num_players)

    def seats_of(self, agent: int) -> NDArray[np.bool_]:
        seats: NDArray[np.bool_] = self.agents == agent
        return seats


def summarise(games: Games, settings: dict[str, Any]) -> Results:
    ratings = rate(games.agents, games.ranks, games.deals, len(games.names))
    shares, scores = games.column("win_share"), games.column("score")
    agents = {}
    for agent, name in enumerate(games.names):
        own = games.seats_of(agent)
        wins = win_rate(shares[own], np.broadcast_to(games.deals[:, None], own.shape)[own])
        agents[name] = {
            "games": int(own.any(1).sum()),
            "seats": int(own.sum()),
            "win_rate": wins.value,
            "win_rate_95": wins.interval(),
            "rating": ratings[agent].value,
            "rating_95": ratings[agent].interval(),
            "mean_score": float(scores[own].mean()),
            "mean_rank": float(games.ranks[own].mean()),
        }
    return {
        "format": FORMAT,
        "settings": settings,
        "games": games.num_games,
        "deals": int(games.deals.max()) + 1,
        "par": 1 / games.num_players,
        "agents": agents,
        "head_to_head": _head_to_head(games),
        "one_against_rest": _one_against_rest(games),
        "win_rate_by_seat": _by_seat(games),
        "score_by_source": _by_agent(games, _sources),
        "scoring_tiles": _scoring_tiles(games),
        "concerts": _concerts(games),
        "bids_by_round": _by_agent(games, _bids),
        "furniture_sold": _by_agent(games, _furniture),
        "cubes_bought": _by_agent(games, lambda games, own: float(games.column("cubes_bought")[own].mean())),
        "length": _length(games),
    }


def _by_agent(games: Games, figure: Callable[[Games, NDArray[np.bool_]], Any]) -> dict[str, Any]:
    return {name: figure(games, games.seats_of(agent)) for agent, name in enumerate(games.names)}


def _head_to_head(games: Games) -> dict[str, dict[str, dict[str, float]]]:
    """How often one agent ends ahead of another at the same table, over all pairs of their seats; ties count half."""
    table: dict[str, dict[str, dict[str, float]]] = {name: {} for name in games.names}
    for one, name in enumerate(games.names):
        for other, rival in enumerate(games.names):
            mine, theirs = games.seats_of(one)[:, :, None], games.seats_of(other)[:, None, :]
            meet = mine & theirs
            if one == other or not meet.any():
                continue
            ranks = games.ranks[:, :, None] - games.ranks[:, None, :]
            ahead = (ranks[meet] < 0).mean() + 0.5 * (ranks[meet] == 0).mean()
            table[name][rival] = {"ahead": float(ahead), "meetings": int(meet.sum())}
    return table


def _one_against_rest(games: Games) -> list[dict[str, Any]]:
    """Games of one agent against a table full of another: the plainest measure of strength."""
    rows = []
    shares = games.column("win_share")
    for one, name in enumerate(games.names):
        for other, rival in enumerate(games.names):
            own = games.seats_of(one)
            alone = (own.sum(1) == 1) & ((own | games.seats_of(other)).all(1)) & (one != other)
            if alone.any():
                wins = win_rate(shares[alone][own[alone]], games.deals[alone])
                row = {"agent": name, "against": rival, "games": int(alone.sum())}
                rows.append({**row, "win_rate": wins.value, "win_rate_95": wins.interval()})
    return rows


def _by_seat(games: Games) -> list[dict[str, Any]]:
    """Win rate by place in the first round's turn order: 0 is the first start player."""
    first = games.column("starts").argmax(1)
    shares = games.column("win_share")
    rows = []
    for place in range(games.num_players):
        wins = win_rate(shares[np.arange(games.num_games), (first + place) % games.num_players], games.deals)
        rows.append({"place": place, "win_rate": wins.value, "win_rate_95": wins.interval()})
    return rows


def _sources(games: Games, own: NDArray[np.bool_]) -> dict[str, float]:
    """Mean points by source; a scoring tile that was not in a game counts as none."""
    columns = (*TILE_COLUMNS, *OTHER_SOURCES)
    return {name.removeprefix("points_"): float(np.nan_to_num(games.column(name)[own]).mean()) for name in columns}


def _scoring_tiles(games: Games) -> dict[str, dict[str, float]]:
    """By tile side: how often in play, mean points when in play, of everybody and of the winners."""
    tiles = {}
    shares = games.column("win_share")
    for name in TILE_COLUMNS:
        points = games.column(name)
        there = ~np.isnan(points)
        if there.any():
            won = there & (shares > 0)
            scorers = there & (points > 0)
            tiles[name.removeprefix("points_")] = {
                "games": int(there.any(1).sum()),
                "mean": float(points[there].mean()),
                "winners_mean": float(points[won].mean()),
                "scoring_seats": float(scorers.sum() / there.sum()),
            }
    return tiles


def _concerts(games: Games) -> list[dict[str, float]]:
    """Each round's share of outcomes."""
    rounds = []
    for number in ROUNDS:
        outcomes = games.column(f"outcome_{number}")[:, 0]
        totals = games.column(f"total_{number}")[:, 0]
        shares = {outcome: float((outcomes == outcome).mean()) for outcome in OUTCOMES}
        rounds.append({**shares, "mean_total": float(totals.mean())})
    return rounds


def _bids(games: Games, own: NDArray[np.bool_]) -> list[dict[str, float]]:
    rounds = []
    for number in ROUNDS:
        bids = games.column(f"bid_{number}")[own]
        low, high = np.quantile(bids, [0.25, 0.75])
        rounds.append({"mean": float(bids.mean()), "low_quartile": float(low), "high_quartile": float(high)})
    return rounds


def _furniture(games: Games, own: NDArray[np.bool_]) -> list[float]:
    """Share of games in which 0, 1, 2, 3 tokens were sold."""
    sold = games.column("furniture_sold")[own].astype(int)
    return [float(part) for part in np.bincount(sold, minlength=4) / len(sold)]


def _length(games: Games) -> dict[str, Any]:
    moves = games.column("moves")[:, 0]
    quartiles = np.quantile(moves, [0.25, 0.5, 0.75])
    return {
        "mean": float(moves.mean()),
        "fewest": int(moves.min()),
        "most": int(moves.max()),
        "quartiles": quartiles.tolist(),
    }
