"""The coalition command: who plays, what is measured, continuing, bad input."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from evaluation import coalition, trained_responses
from evaluation.coalition_results import COALITION, INDEPENDENT, PARTNER, TRAINED, summarise
from symphony9_env import agents
from symphony9_env.agents import Card, save_policy
from symphony9_env.arena.games_csv import COLUMNS
from symphony9_env.arena.results import GameData
from symphony9_env.arguments import run
from symphony9_env.options import Variant
from tests.agents.test_protocol import random_weights
from tests.arena.test_report import Tags

SMALL = ["--num-players", "3", "--members", "search:2", "--games", "6"]


def measure(out: Path, *arguments: str) -> dict[str, Any]:
    coalition.main([*arguments, "--out", str(out)])
    return dict(json.loads((out / "results.json").read_text()))


def check(agent: str, member: str, num_players: int = 3, **given: Any) -> coalition.Members:
    given = {"informed": False, "is_trained": False} | given
    return coalition.check_members(agent, member, Variant(num_players=num_players), **given)


def test_each_condition_has_its_players_and_all_have_the_same_deals() -> None:
    schedule = coalition.CoalitionSchedule(check("planner", "search:5", 4, informed=True), seed=3)
    assert schedule.conditions == [INDEPENDENT, COALITION, PARTNER]
    games = [schedule.game(number) for number in range(2 * schedule.cycle_size)]
    assert [game.deal for game in games] == [0] * 12 + [1] * 12
    assert len({game.seed for game in games}) == 2
    seated = [[schedule.players[agent] for agent in game.agents] for game in games]
    alone = "independent who knows seat 1=search:5@1:planner"
    assert seated[1] == [alone, "planner", alone, alone]
    member = "coalition against seat 1=search:5+023@1:planner"
    assert seated[4 + 1] == [member, "planner", member, member]
    assert seated[8 + 1] == [alone, "planner", "partner 2 of seat 1=search:5+12@1:planner", alone]
    assert seated[12 + 8 + 1] == [alone, "planner", alone, "partner 3 of seat 1=search:5+13@1:planner"]
    assert all(seats[number % 4] == "planner" for number, seats in enumerate(seated))
    for recipe in schedule.list_recipes(5, num_threads=1, timeout=1):
        recipe.make().check_players(4)
    assert len({recipe.seed for recipe in schedule.list_recipes(5, num_threads=1, timeout=1)[1:]}) == 1


def fake_games(shares: list[list[float]], names: list[str]) -> GameData:
    """Return games in which the seats have these win shares; the score is a hundred times the share."""
    rows = []
    for number, game in enumerate(shares):
        for seat, share in enumerate(game):
            row: dict[str, Any] = dict.fromkeys(COLUMNS, 0.0)
            row |= {"game": number, "deal": number // 9, "seat": seat, "agent": names[seat != number % 3]}
            rows.append(row | {"win_share": share, "score": 100 * share, "rank": 1})
    return GameData(rows, names, 3)


def test_losses_and_contributions_are_differences_on_the_same_deals() -> None:
    """One deal: the agent wins twice of three times alone, never against the coalition, once with the partner."""
    first, second, third = np.eye(3).tolist()
    independent = [first, second, first]
    against_coalition = [second, third, first]
    with_partner = [first, third, second]  # the partner sits behind the agent: in the seats 1, 2 and 0
    games = fake_games([*independent, *against_coalition, *with_partner], ["me", "other"])
    settings = {"members": "search:5", "num_players": 3}
    results = summarise(games, [INDEPENDENT, COALITION, PARTNER], lambda deal: [1, 2, 0], settings, "command")
    assert [one["win_rate"] for one in results["conditions"].values()] == pytest.approx([2 / 3, 0, 1 / 3])
    assert results["loss"][COALITION]["difference"] == pytest.approx(2 / 3)
    assert results["conditions"][INDEPENDENT]["mean_score"] == pytest.approx(200 / 3)
    assert results["conditions"][INDEPENDENT]["others_mean_score"] == pytest.approx(100 / 6)
    partner = results["partner"]
    assert partner["independent"]["win_rate"] == pytest.approx(1)  # in the third game the partner, in seat 0, won
    assert partner["together"]["win_rate"] == pytest.approx(2 / 3)
    assert partner["contribution"]["difference"] == pytest.approx(-1 / 3)
    assert partner["agent_gain"]["difference"] == pytest.approx(-1 / 3)
    assert partner["partner_gain"]["difference"] == pytest.approx(0)
    low, high = results["loss"][COALITION]["difference_95"]
    assert low < 0 < high  # one deal says little


def test_the_command_writes_results_and_a_report_and_continues(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    whole = measure(tmp_path / "whole", "planner", *SMALL)
    assert whole["games"] == 18
    assert list(whole["conditions"]) == [INDEPENDENT, COALITION, PARTNER]
    lost = whole["conditions"][INDEPENDENT]["win_rate"] - whole["conditions"][COALITION]["win_rate"]
    assert whole["loss"][COALITION]["difference"] == pytest.approx(lost)
    assert "a coalition" in capsys.readouterr().out
    page = Tags()
    page.feed((tmp_path / "whole" / "report.html").read_text())
    assert page.tags.count("figure") == page.tags.count("figcaption") == 2
    assert "script" not in page.tags
    assert page.links == ["results.json"]
    measure(tmp_path / "parts", "planner", *SMALL, "--games", "3")
    measure(tmp_path / "parts", "planner", *SMALL)
    assert (tmp_path / "parts" / "games.csv").read_bytes() == (tmp_path / "whole" / "games.csv").read_bytes()


def test_a_coalition_wins_more_often_than_independent_players(tmp_path: Path) -> None:
    """Of 60 games on other deals, the policy won 47 % against three of `search:100`, and 3 % if they combined."""
    results = measure(tmp_path, "policy", "--num-players", "4", "--members", "search:60", "--games", "24")
    assert results["loss"][COALITION]["difference_95"][0] > 0


def test_a_trained_coalition_is_a_condition_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "c" / "training" / "best.safetensors"
    card = Card(num_players=(3,), hidden=(4,))

    def train(command: list[str]) -> int:
        assert command[1:5] == ["-m", "training.best_response", "--agent", "random"]
        assert "--coalition" in command
        path.parent.mkdir(parents=True, exist_ok=True)
        save_policy(path, card, random_weights(card))
        return 0

    monkeypatch.setattr(trained_responses, "run_to_end", train)
    given = ["random", "--num-players", "3", "--members", "greedy", "--games", "3", "--trained", "5"]
    results = measure(tmp_path / "c", *given)
    assert list(results["conditions"]) == [INDEPENDENT, TRAINED]
    assert list(results["loss"]) == [TRAINED]
    assert "partner" not in results
    seated = {row["agent"] for row in csv.DictReader((tmp_path / "c" / "games.csv").read_text().splitlines())}
    assert seated == {"random", "independent", "trained coalition"}


@pytest.mark.parametrize(("status", "expected"), [(2, ValueError), (130, KeyboardInterrupt)])
def test_a_training_that_fails_or_is_interrupted_ends_the_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, status: int, expected: type[BaseException]
) -> None:
    monkeypatch.setattr(trained_responses, "run_to_end", lambda command: status)
    with pytest.raises(expected):
        coalition.main(["random", *SMALL, "--trained", "5", "--out", str(tmp_path / "c")])
    assert not (tmp_path / "c" / "games.csv").exists()


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["planner", "--num-players", "2"], "--num-players 2: a coalition needs two members or more; allowed: 3, 4"),
        (["nobody"], "unknown agent 'nobody'"),
        (["planner", "--members", "nobody"], "unknown agent 'nobody'"),
        (["planner", "--members", "policy"], "--members policy: can't be given a goal; allowed: search:N"),
        (["planner", "--members", "search:5+12"], "--members search:5+12: can't be given a goal"),
        (["planner", "--members", "search:5@planner"], "--members search:5@planner: can't be given a goal"),
        (["search:5", "--members", "think:5", "--informed"], "--informed: think:5 can't simulate search:5"),
    ],
)
def test_bad_input_is_one_line_and_writes_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], expected: str
) -> None:
    assert run("coalition", lambda: coalition.main([*arguments, "--out", str(tmp_path / "c")])) == 2
    error = capsys.readouterr().err
    assert expected in error
    assert error.count("\n") == 1
    assert not (tmp_path / "c").exists()


def test_the_agent_may_be_the_member_or_have_a_label() -> None:
    for agent in ("search:5", "mine=planner"):
        schedule = coalition.CoalitionSchedule(check(agent, "mine=search:5"), seed=3)
        names = [recipe.find_name() for recipe in schedule.list_recipes(5, num_threads=1, timeout=1)]
        assert len(set(names)) == len(names)
    informed = coalition.CoalitionSchedule(check("mine=planner", "think:5", informed=True), seed=3)
    assert agents.make(informed.players[1], seed=0).spec == "think:5@0:planner"
