"""Rows of games.csv agree with the games, and results have the published format."""

from __future__ import annotations

import json
from typing import get_type_hints

import pytest

from symphony9_env import agents
from symphony9_env.arena.games_csv import COLUMNS, make_game_record, make_rows
from symphony9_env.arena.matches import PlayedGame, Schedule, play
from symphony9_env.arena.results import (
    FORMAT,
    AgentResult,
    BidResult,
    GameData,
    LengthResult,
    MatchResult,
    PairResult,
    Results,
    SeatResult,
    TileResult,
    summarise,
)
from symphony9_env.options import Variant
from symphony9_env.records import replay
from symphony9_env.rules.state import BUY_4, BUY_8, CONTRIBUTE, NONE, NUM_ROUNDS, OUTCOMES

NAMES = ["planner", "random"]


def play_games(variant: Variant, num_games: int) -> list[PlayedGame]:
    schedule = Schedule(len(NAMES), variant.num_players, seed=4)
    players = [agents.make(name, seed=1) for name in NAMES]
    return play([schedule.game(number) for number in range(num_games)], players, variant)


@pytest.mark.parametrize("num_players", [2, 3, 4])
def test_rows_agree_with_the_states_of_the_game(num_players: int) -> None:
    """Purchases, contributions and outcomes come from events; here they are read from the replayed states."""
    variant = Variant(num_players=num_players, discussion=num_players == 3)
    for played in play_games(variant, 2):
        rows = make_rows(played, NAMES)
        record = make_game_record(played)
        bought, concerts = [0] * num_players, []
        phase, player = NONE, NONE
        for move, env in enumerate(replay(record)):
            state = env.states[0]
            if phase in (BUY_4, BUY_8) and record["actions"][move - 1][1].startswith("take"):
                bought[player] += 1
            if phase == CONTRIBUTE != state["phase"]:
                concerts.append((OUTCOMES[state["outcome"]], int(state["total"]), state["contribution"].tolist()))
            phase, player = int(state["phase"]), int(state["player"])
        assert [row["cubes_bought"] for row in rows] == bought
        assert max(bought) > 0
        assert len(concerts) == NUM_ROUNDS
        for seat, row in enumerate(rows):
            assert tuple(row) == COLUMNS
            for number, (outcome, total, contributions) in enumerate(concerts, 1):
                assert row[f"outcome_{number}"] == outcome
                assert row[f"total_{number}"] == total
                assert row[f"bid_{number}"] == contributions[seat]


@pytest.mark.parametrize("num_players", [2, 4])
def test_results_have_the_published_format(num_players: int) -> None:
    variant = Variant(num_players=num_players)
    rows = [row for played in play_games(variant, 24) for row in make_rows(played, NAMES)]
    for row in rows:
        row |= {name: None for name, value in row.items() if value == ""}  # as read from games.csv
    results = summarise(GameData(rows, NAMES, num_players), variant.as_json())
    assert results == json.loads(json.dumps(results))
    assert results["format"] == FORMAT == "symphony9-results/1"
    assert set(results) == set(get_type_hints(Results)) - {"command", "gate", "control_variate", "cyclic_strength"}
    assert [row["offset"] for row in results["win_rate_by_seat"]] == list(range(num_players))
    parts: list[tuple[object, type]] = [
        (results["agents"]["planner"], AgentResult),
        (results["head_to_head"]["planner"]["random"], PairResult),
        (results["one_against_rest"][0], MatchResult),
        (results["win_rate_by_seat"][0], SeatResult),
        (next(iter(results["scoring_tiles"].values())), TileResult),
        (results["bids_by_round"]["random"][0], BidResult),
        (results["length"], LengthResult),
    ]
    for part, kind in parts:
        assert isinstance(part, dict)
        assert set(part) == set(get_type_hints(kind)) - {"adjusted"}
