"""Adjusted win rates: unbiased, with intervals that cover, and never worse than plain ones by more than noise."""

from __future__ import annotations

from pathlib import Path

import jsonschema
import numpy as np
import pytest

from symphony9_env import agents, schemas
from symphony9_env.arena import control_variate, tournament
from symphony9_env.arena.control_variate import ControlVariate, adjust_win_rate, cross_fit
from symphony9_env.arena.matches import Schedule, play, win_rate_against
from symphony9_env.arena.ratings import win_rate
from symphony9_env.arguments import run
from symphony9_env.options import Variant
from tests.arena.tournaments import SMALL
from tests.arena.tournaments import play as play_tournament

Floats = np.ndarray


def simulate(rng: np.random.Generator, num_deals: int, rate: float, strength: float) -> tuple[Floats, Floats, Floats]:
    """Return win shares, corrections of two kinds and deals of simulated games, two on each deal.

    The first kind explains the result as far as `strength` says, and the second one is noise. The games of a deal have
    some luck in common, and corrections are not normal.
    """
    shared = rng.uniform(-0.1, 0.1, num_deals).repeat(2)
    luck = rng.choice([-1.0, 1.0], 2 * num_deals) * strength * min(rate, 1 - rate, 0.35)
    wins = (rng.random(2 * num_deals) < np.clip(rate + luck + shared * min(rate, 1 - rate), 0, 1)).astype(float)
    corrections = np.stack([-luck, rng.exponential(1, 2 * num_deals) - 1], axis=1)
    return wins, corrections, np.arange(num_deals).repeat(2)


@pytest.mark.parametrize("rate", [0.5, 0.9])
@pytest.mark.parametrize("strength", [0.0, 0.95])
def test_adjusted_win_rates_are_unbiased_and_their_intervals_cover(rate: float, strength: float) -> None:
    """600 simulated tournaments of 60 deals. The standard error of the coverage is 0.9 %; four are allowed."""
    rng = np.random.default_rng(4)
    found = [adjust_win_rate(*simulate(rng, 60, rate, strength)) for _ in range(600)]
    values = np.array([one.estimate.value for one in found])
    assert abs(values.mean() - rate) < 4 * values.std() / np.sqrt(len(values))
    covered = np.mean([one.estimate.low <= rate <= one.estimate.high for one in found])
    assert covered == pytest.approx(0.95, abs=0.036)


def test_corrections_that_explain_the_result_raise_the_effective_number_of_games() -> None:
    wins, corrections, deals = simulate(np.random.default_rng(1), 2000, 0.5, 0.95)
    plain = adjust_win_rate(wins, np.zeros_like(corrections), deals)
    adjusted = adjust_win_rate(wins, corrections, deals)
    assert plain.estimate == win_rate(wins, deals)
    assert adjusted.effective_games > 1.5 * plain.effective_games


def test_useless_corrections_do_no_harm() -> None:
    """The true variance over 400 simulated tournaments grows by less than the few per cent that coefficients cost."""
    rng, plain, adjusted = np.random.default_rng(2), [], []
    for _ in range(400):
        wins, corrections, deals = simulate(rng, 60, 0.5, 0.0)
        plain.append(wins.mean())
        adjusted.append(adjust_win_rate(wins, corrections, deals).estimate.value)
    assert np.var(adjusted) < 1.05 * np.var(plain)


def test_the_coefficients_of_a_deal_do_not_depend_on_its_own_result() -> None:
    rng = np.random.default_rng(3)
    sums, sizes, luck = rng.random(50), np.ones(50), rng.normal(size=(50, 2))
    sums -= 0.4 * luck[:, 0]
    before = cross_fit(sums, sizes, luck)
    assert (before[:, 0] < -0.2).all()
    changed = sums.copy()
    changed[7] += 100
    after = cross_fit(changed, sizes, luck)
    np.testing.assert_array_equal(before[7], after[7])
    assert not np.array_equal(before, after)


def test_few_deals_are_not_corrected() -> None:
    wins, corrections, deals = simulate(np.random.default_rng(5), 19, 0.5, 0.95)
    assert adjust_win_rate(wins, corrections, deals).estimate == win_rate(wins, deals)


def test_games_that_were_all_won_stay_uncertain() -> None:
    deals = np.arange(30).repeat(2)
    luck = np.random.default_rng(6).normal(size=(60, 3))
    found = adjust_win_rate(np.ones(60), luck, deals, plays=4)
    assert found.estimate.value == 1
    assert found.effective_games == 30
    assert 0.8 < found.estimate.low < 0.95


def make_control(num_players: int, redraws: int, names: tuple[str, str] = ("planner", "greedy")) -> ControlVariate:
    players = [agents.make(name, seed=number) for number, name in enumerate(names)]
    return ControlVariate(players, Variant(num_players=num_players), redraws)


@pytest.mark.parametrize("num_players", [2, 4])
def test_redraws_keep_the_deal_and_change_only_tokens_and_bot_tiles(num_players: int) -> None:
    control = make_control(num_players, 5)
    schedule = Schedule(2, num_players, 1, "first-against-rest")
    games = play([schedule.game(number) for number in range(num_players)], control.agents, control.variant)
    again = control.redraw(games)
    assert len(again) == 5 * num_players
    for number, other in enumerate(again):
        first = games[number // 5]
        assert other.game == first.game
        for field in ("first_start", "dealt_cubes", "scoring_tile", "track_reputations", "track_cubes"):
            assert (other.final[field] == first.final[field]).all()
    assert len({bytes(one.final["budget"].tobytes()) for one in again[:5]}) > 1
    tokens = [one.final["budget"].tolist() for one in again]
    assert tokens[:5] == tokens[5:10]  # the games of one deal have the same redraws
    assert [one.moves for one in again] == [one.moves for one in control.redraw(games)]


def test_adjusted_win_rates_agree_with_a_long_plain_run() -> None:
    """The same pair on other deals: 4,000 plain games and 300 adjusted ones, within four standard errors."""
    control = make_control(2, 3)
    schedule = Schedule(2, 2, 11, "first-against-rest")
    games = play([schedule.game(number) for number in range(300)], control.agents, control.variant)
    shares, corrections = control.measure(games)
    seats = np.array([one.game.agents.index(0) for one in games])
    rows, deals = np.arange(len(games)), np.array([one.game.deal for one in games])
    adjusted = adjust_win_rate(shares[rows, seats], corrections[rows, seats], deals, 4)
    first, second = control.agents
    long = win_rate_against(first, second, control.variant, 4000, seed=99)
    error = np.sqrt(long.value * (1 - long.value) * (1 / adjusted.effective_games + 1 / 4000))
    assert abs(adjusted.estimate.value - long.value) < 4 * error
    own = [one.score_line(0).win_share for one in games]
    assert (
        adjusted.effective_games > adjust_win_rate(np.array(own), corrections[rows, seats] * 0, deals).effective_games
    )


MORE = ["--control-variate", "--redraws", "2", "--games", "60"]


def test_a_tournament_with_a_control_variate_has_adjusted_win_rates(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    results = play_tournament(tmp_path / "t", *MORE)
    jsonschema.validate(results, schemas.load("symphony9-results/1"))
    assert results["control_variate"]["redraws"] == 2
    assert results["control_variate"]["actions"]["random"].startswith("corrected")
    both = [results["agents"][name]["adjusted"] for name in ("random", "greedy")]
    assert both[0]["win_rate"] + both[1]["win_rate"] == pytest.approx(1, abs=0.1)
    assert results["one_against_rest"][0]["adjusted"] == both[0]
    out = capsys.readouterr().out
    assert "effective  adjusted" in out
    assert "actions of greedy: not random" in out
    report = (tmp_path / "t" / "report.html").read_text()
    assert "Win rates of lower variance" in report
    assert f"<td>{100 * both[0]['win_rate']:.1f} %</td>" in report
    assert f"<td>{both[0]['effective_games']:,.0f}</td>" in report
    assert "actions of greedy: not random" in report


def test_the_games_are_the_same_with_and_without_a_control_variate(tmp_path: Path) -> None:
    plain = play_tournament(tmp_path / "plain", "--games", "60")
    adjusted = play_tournament(tmp_path / "adjusted", *MORE)
    assert "control_variate" not in plain
    for name, one in plain["agents"].items():
        assert "adjusted" not in one
        assert {**one, "adjusted": None} == {**adjusted["agents"][name], "adjusted": None}


def test_a_tournament_that_was_stopped_continues_to_the_same_results(tmp_path: Path) -> None:
    whole = play_tournament(tmp_path / "whole", *MORE)
    play_tournament(tmp_path / "parts", *MORE[:-1], "10")
    assert play_tournament(tmp_path / "parts", *MORE)["agents"] == whole["agents"]


@pytest.mark.parametrize("changed", [[], ["--control-variate"], ["--redraws", "3"]])
def test_a_control_variate_cannot_be_changed_later(
    changed: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    play_tournament(tmp_path / "t", "--redraws", "1", "--games", "4")
    given = [*SMALL, "--out", str(tmp_path / "t"), *changed]
    assert run("tournament", lambda: tournament.main(given)) == 2
    assert "holds another tournament (control_variate 1, not" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--agents", "greedy", "--games", "60"], "there is one agent only, so that its win rate is par"),
        (["--games", "12"], "there are 6 deals; at least 20 are needed"),
    ],
)
def test_it_says_why_win_rates_are_not_adjusted(
    arguments: list[str], said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    results = play_tournament(tmp_path / "t", "--control-variate", *arguments)
    assert results["control_variate"]["disabled"] == said
    assert f"win rates are not adjusted: {said}" in capsys.readouterr().out
    assert all("adjusted" not in one for one in results["agents"].values())
    assert f"Win rates are not adjusted: {said}" in (tmp_path / "t" / "report.html").read_text()


@pytest.mark.parametrize("redraws", ["-1", str(control_variate.MAX_REDRAWS + 1)])
def test_impossible_redraws_are_refused(redraws: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    given = [*SMALL, "--redraws", redraws, "--out", str(tmp_path / "t")]
    assert run("tournament", lambda: tournament.main(given)) == 2
    assert f"--redraws {redraws}; allowed: 0 to 1000" in capsys.readouterr().err
    assert not (tmp_path / "t").exists()
