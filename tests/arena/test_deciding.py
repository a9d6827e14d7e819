"""What decides games: differences by source add up, and agree with the rows of games.csv."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from symphony9_env.arena.deciding import POINTS, find_deciding
from symphony9_env.arena.games_csv import COLUMNS, OTHER_SOURCES, ROUNDS, TILE_COLUMNS, CsvRow, make_rows
from symphony9_env.arena.ratings import win_rate
from symphony9_env.arena.results import GameData
from symphony9_env.options import Variant
from symphony9_env.rules.state import OUTCOMES
from tests.arena.test_results import NAMES, play_games


def read_rows(num_players: int, num_games: int) -> list[CsvRow]:
    rows = [
        row for played in play_games(Variant(num_players=num_players), num_games) for row in make_rows(played, NAMES)
    ]
    return [{name: None if value == "" else value for name, value in row.items()} for row in rows]


def make_row(game: int, seat: int, agent: str, rank: int, **values: Any) -> CsvRow:
    """Return a row of a game of two with nothing but these values."""
    row: CsvRow = dict.fromkeys(COLUMNS, 0.0)
    row |= dict.fromkeys(TILE_COLUMNS, None)
    row |= {f"outcome_{number}": OUTCOMES[-1] for number in ROUNDS}  # a failure
    return row | {
        "game": game, "deal": game, "seat": seat, "agent": agent, "rank": rank, "win_share": float(rank == 1), **values
    }  # fmt: skip


@pytest.mark.parametrize("num_players", [2, 4])
def test_the_points_of_all_sources_add_up_to_the_margin(num_players: int) -> None:
    rows = read_rows(num_players, 24)
    games = GameData(rows, NAMES, num_players)
    found = find_deciding(games)
    score, ranks = games.column("score"), games.ranks
    margins, differences = [], []
    for game in range(games.num_games):
        for one in range(num_players):
            for other in range(num_players):
                if ranks[game, one] == 1 < ranks[game, other]:
                    margins.append(score[game, one] - score[game, other])
                if games.agents[game, one] == 0 and games.agents[game, other] == 1:
                    differences.append(score[game, one] - score[game, other])
    winners, pair = found["winners"], found["pairs"][0]
    assert winners["meetings"] == len(margins)
    assert winners["margin"] == pytest.approx(np.mean(margins))
    assert sum(one["margin_share"] for one in winners["points"].values()) == pytest.approx(1)
    assert (pair["agent"], pair["against"]) == tuple(NAMES)
    assert sum(one["difference"] for one in pair["points"].values()) == pytest.approx(np.mean(differences))
    for quantity in (*winners["points"].values(), *winners["other"].values()):
        assert quantity["lead_95"][0] <= quantity["lead"] <= quantity["lead_95"][1]


def test_every_source_of_points_is_counted_once() -> None:
    row = make_row(0, 0, "a", 1, **{name: float(2**bit) for bit, name in enumerate((*TILE_COLUMNS, *OTHER_SOURCES))})
    found = find_deciding(GameData([row, make_row(0, 1, "b", 2)], ["a", "b"], 2))
    assert found["winners"]["margin"] == 2 ** (len(TILE_COLUMNS) + len(OTHER_SOURCES)) - 1
    assert tuple(found["winners"]["points"]) == POINTS


def test_bids_bonuses_and_associations() -> None:
    """a bids more and wins in two games of three; concerts succeed in round one only."""
    success = {"outcome_1": "low"}
    rows = []
    for game, rank in enumerate((1, 1, 2)):
        rows.append(make_row(game, 0, "a", rank, bid_1=5.0, bid_2=2.0, furniture_sold=3.0, **success))
        rows.append(make_row(game, 1, "b", 3 - rank, bid_1=4.0, bid_2=1.0, furniture_sold=3.0, **success))
    found = find_deciding(GameData(rows, ["a", "b"], 2))
    other = found["pairs"][0]["other"]
    assert other["contributed"]["difference"] == 2
    assert other["paid_to_concerts"]["difference"] == 1
    assert other["bonuses_won"]["difference"] == 1
    assert other["contributed"]["lead"] == pytest.approx(2 / 3)
    assert other["contributed"]["more_is_ahead"] == pytest.approx(2 / 3)
    assert "more_is_ahead" not in other["furniture_sold"]  # the same for both
    assert "more_is_ahead_95" not in other["furniture_sold"]
    low, high = other["contributed"]["lead_95"]
    assert low < -1 < 2 < high  # three deals say little
    assert other["contributed"]["more_is_ahead_95"] == win_rate(np.array([1.0, 1, 0]), np.arange(3)).interval()


def test_the_interval_of_an_association_treats_the_games_of_a_deal_as_dependent() -> None:
    """a has more in every game, and the twelve games of a deal all end alike: they count as one."""
    rows = []
    for game in range(48):
        rank = 1 + (game // 12) % 2
        rows.append(make_row(game, 0, "a", rank, deal=game // 12, bid_1=5.0))
        rows.append(make_row(game, 1, "b", 3 - rank, deal=game // 12, bid_1=4.0))
    one = find_deciding(GameData(rows, ["a", "b"], 2))["pairs"][0]["other"]["contributed"]
    assert one["more_is_ahead"] == 0.5
    assert one["more_is_ahead_95"] == win_rate(np.array([1.0, 0, 1, 0]), np.arange(4)).interval()


def test_equal_contributions_share_the_bonus() -> None:
    rows = [make_row(0, seat, name, seat + 1, bid_1=3.0, outcome_1="high") for seat, name in enumerate(("a", "b"))]
    found = find_deciding(GameData(rows, ["a", "b"], 2))
    assert found["winners"]["other"]["bonuses_won"]["lead"] == 0
    assert "lead_95" not in found["winners"]["other"]["bonuses_won"]  # a single deal


def test_games_without_a_winner_have_no_lead() -> None:
    rows = [make_row(0, seat, name, 1, score=5.0) for seat, name in enumerate(("a", "b"))]
    found = find_deciding(GameData(rows, ["a", "b"], 2))
    assert found["winners"]["meetings"] == found["pairs"][0]["meetings"] == 0
    assert found["winners"]["margin"] == 0
    assert "margin_share" not in found["winners"]["points"]["money"]


def test_one_agent_alone_has_winners_but_no_pairs() -> None:
    rows = [make_row(game, seat, "a", seat + 1, points_money=float(2 - seat)) for game in range(3) for seat in range(2)]
    found = find_deciding(GameData(rows, ["a"], 2))
    assert found["pairs"] == []
    assert found["winners"]["margin"] == 1
    assert found["winners"]["points"]["money"]["margin_share"] == 1
