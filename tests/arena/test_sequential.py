"""The sequential test: its decisions, and its error rates in simulated matches."""

from __future__ import annotations

import math

import numpy as np
import pytest

from evaluation.gate_power import Model, simulate_matches
from symphony9_env.arena.sequential import (
    BETTER,
    MIN_DEALS,
    UNDECIDED,
    WORSE,
    SequentialTest,
    margin_of_rating,
)

TEST = SequentialTest(num_players=4, h0=0.0, h1=0.05, alpha=0.05, beta=0.05)


@pytest.mark.parametrize(
    ("margin", "verdict"), [(0.5, BETTER), (0.2, BETTER), (0.025, UNDECIDED), (0.0, WORSE), (-0.4, WORSE)]
)
def test_equal_margins_are_decided_as_expected(margin: float, verdict: int) -> None:
    decided, num_deals = TEST.decide(np.full((1, 400), margin))
    assert decided[0] == verdict
    assert MIN_DEALS <= num_deals[0] <= 400
    assert (num_deals[0] == 400) == (verdict == UNDECIDED)


def test_the_verdict_is_that_of_the_first_deal_that_decides_and_later_deals_do_not_change_it() -> None:
    rng = np.random.default_rng(1)
    margins = rng.choice([-0.25, 0.0, 0.25], size=(50, 1000), p=[0.2, 0.4, 0.4])
    verdicts, num_deals = TEST.decide(margins)
    assert (verdicts != UNDECIDED).all()
    low, high = TEST.bounds
    for row, verdict, number in zip(margins, verdicts, num_deals, strict=True):
        ratios = TEST.log_likelihood_ratios(row[:number])
        assert (ratios[-1] >= high) if verdict == BETTER else (ratios[-1] <= low)
        assert ((low < ratios[MIN_DEALS - 1 : -1]) & (ratios[MIN_DEALS - 1 : -1] < high)).all()
        assert TEST.decide(row[:number]) == (verdict, number)
        assert number == MIN_DEALS or TEST.decide(row[: number - 1])[0] == UNDECIDED


def test_the_ratio_is_that_of_the_normal_distribution_in_large_samples() -> None:
    margins = np.random.default_rng(2).normal(0.03, 0.2, 20_000)
    h0, h1, variance = TEST.h0, TEST.h1, margins.var()
    expected = np.sum((margins - h0) ** 2 - (margins - h1) ** 2) / (2 * variance)
    assert TEST.log_likelihood_ratios(margins)[-1] == pytest.approx(expected, rel=0.05)


@pytest.mark.parametrize("num_players", [2, 3, 4])
@pytest.mark.parametrize("affinity", [0.0, 2.0])
def test_error_rates_are_within_the_stated_bounds(num_players: int, affinity: float) -> None:
    """2,000 simulated matches for each hypothesis; three standard errors are left for chance."""
    num_matches = 2000
    test = SequentialTest(num_players, h0=0.0, h1=0.05, alpha=0.05, beta=0.1)
    model = Model(num_players, luck=0.5, affinity=affinity)
    for margin, wrong, bound in ((test.h0, BETTER, test.alpha), (test.h1, WORSE, test.beta)):
        shares, _ = simulate_matches(test, model, margin, num_matches, 1500, seed=num_players)
        assert shares[wrong] <= bound + 3 * math.sqrt(bound * (1 - bound) / num_matches)
        assert shares[UNDECIDED] < 0.05


def test_it_needs_fewer_games_than_a_test_of_fixed_size() -> None:
    test, model = SequentialTest(2, h0=0.0, h1=0.05, alpha=0.05, beta=0.05), Model(2, luck=0.5)
    margins = model.draw_margins(np.random.default_rng(0), 100_000, 0.0)
    for margin in (test.h0, test.h1):
        _, mean_deals = simulate_matches(test, model, margin, 500, 3000, seed=1)
        assert mean_deals < 0.75 * test.fixed_size(float(margins.var()))


def test_a_test_of_fixed_size_has_the_error_rates() -> None:
    """The number that sequential tests are compared with is right: reject at the middle of both hypotheses."""
    test, model = SequentialTest(2, h0=0.0, h1=0.05, alpha=0.05, beta=0.05), Model(2, luck=0.5)
    margins = model.draw_margins(np.random.default_rng(3), 1_000_000, 0.0)
    num_deals = round(test.fixed_size(float(margins.var())))
    means = margins[: len(margins) // num_deals * num_deals].reshape(-1, num_deals).mean(1)
    assert np.mean(means > (test.h0 + test.h1) / 2) == pytest.approx(test.alpha, abs=0.02)


def test_the_estimate_has_an_interval_also_if_all_games_were_won() -> None:
    estimate = TEST.estimate(np.full(10, 0.5))
    assert estimate.value == estimate.high == 0.5
    assert 0.3 < estimate.low < 0.49
    assert TEST.estimate(np.zeros(0)).interval() == [-0.5, 0.5]
    rng = np.random.default_rng(7)
    found = [TEST.estimate(rng.choice([-0.25, 0.0, 0.25], size=100, p=[0.2, 0.4, 0.4])) for _ in range(400)]
    assert np.mean([one.low <= 0.05 <= one.high for one in found]) == pytest.approx(0.95, abs=0.045)


@pytest.mark.parametrize("num_players", [2, 3, 4])
def test_margins_of_ratings_are_symmetric_and_grow(num_players: int) -> None:
    margins = [margin_of_rating(points, num_players) for points in (-400, -10, 0, 10, 400)]
    assert margins == sorted(margins)
    assert margins[2] == 0
    assert margins[0] == pytest.approx(-margins[4])


@pytest.mark.parametrize("margin", [-0.1, 0.0, 0.08])
@pytest.mark.parametrize("num_players", [2, 4])
def test_simulated_deals_have_the_margin_that_was_asked_for(num_players: int, margin: float) -> None:
    model = Model(num_players, luck=1.0, affinity=1.0)
    drawn = model.draw_margins(np.random.default_rng(5), 200_000, model.find_strength(margin))
    assert drawn.mean() == pytest.approx(margin, abs=0.004)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"h0": 0.05}, "h0 below h1"),
        ({"h1": 0.5}, "h0 below h1"),
        ({"alpha": 0.0}, "alpha=0.0; allowed: more than 0 and less than 0.5"),
        ({"beta": 0.6}, "beta=0.6; allowed"),
    ],
)
def test_impossible_tests_are_refused(changes: dict[str, float], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        SequentialTest(**{"num_players": 2, "h0": 0.0, "h1": 0.05, "alpha": 0.05, "beta": 0.05, **changes})  # type: ignore[arg-type]
