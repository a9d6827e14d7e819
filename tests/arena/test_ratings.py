"""Ratings recover known strengths, and their intervals cover the truth as often as they claim."""

from __future__ import annotations

import choix
import numpy as np
import pytest
from numpy.typing import NDArray

from symphony9_env.arena.ratings import (
    AVERAGE,
    ELO,
    count_choices,
    estimate_difference,
    fit_strengths,
    is_undecided,
    rate,
    win_rate,
)

Ints = NDArray[np.int64]
LUCK = (np.arange(1000) + 0.5) / 500  # the quantiles of a uniform distribution from 0 to 2


def simulate_games(
    theta: list[float], num_deals: int, rng: np.random.Generator, seats: int = 4, luck: float = 0.0
) -> tuple[Ints, Ints, Ints]:
    """Draw games from known strengths, each deal in `seats` rotations.

    `luck` is the standard deviation of the advantage that a seat's cards give in all rotations of a deal.
    """
    agents, ranks, deals = [], [], []
    for deal in range(num_deals):
        order = rng.permutation(len(theta))[:seats] if len(theta) >= seats else rng.integers(len(theta), size=seats)
        cards = rng.normal(0, luck, seats)
        for turn in range(seats):
            at = np.roll(order, turn)
            noise = rng.gumbel(size=seats)  # ordering strengths with Gumbel noise is the Plackett-Luce model
            finish = np.argsort(-(np.array(theta)[at] + cards + noise))
            rank = np.empty(seats, np.int64)
            rank[finish] = np.arange(1, seats + 1)
            agents.append(at)
            ranks.append(rank)
            deals.append(deal)
    return np.array(agents), np.array(ranks), np.array(deals)


def test_strengths_agree_with_an_independent_implementation() -> None:
    agents, ranks, deals = simulate_games([1.0, 0.3, -0.2, -1.1, 0.0], 60, np.random.default_rng(1))
    orders = [tuple(row[np.argsort(rank)].tolist()) for row, rank in zip(agents, ranks, strict=True)]
    theirs = choix.opt_rankings(5, orders, tol=1e-9)
    choices = count_choices(agents, ranks, deals, 5)
    ours = fit_strengths(choices, np.ones((1, len(choices.counts))))[0]
    np.testing.assert_allclose(ours, theirs - theirs.mean(), atol=0.03)  # our prior is weak, but it is there


def test_known_strengths_are_recovered() -> None:
    theta = np.array([1.5, 0.5, 0.0, -0.7, -1.3])
    agents, ranks, deals = simulate_games(theta.tolist(), 4000, np.random.default_rng(2))
    for estimate, true in zip(rate(agents, ranks, deals, 5), theta - theta.mean(), strict=True):
        assert estimate.value == pytest.approx(AVERAGE + ELO * true, abs=15)
        assert estimate.low < estimate.value < estimate.high


def test_two_agents_in_four_seats_are_rated_too() -> None:
    agents, ranks, deals = simulate_games([0.6, -0.6], 2000, np.random.default_rng(3))
    first, second = rate(agents, ranks, deals, 2)
    assert first.value - second.value == pytest.approx(ELO * 1.2, abs=20)


@pytest.mark.parametrize("luck", [0.0, 0.7])
def test_intervals_cover_the_truth_as_often_as_they_say(luck: float) -> None:
    """200 simulations, without and with luck in the cards, which the games of one deal share."""
    rng = np.random.default_rng(5)
    theta = np.array([0.9, 0.2, -0.3, -0.8])
    truth = theta if luck == 0 else _fit_with_luck(theta, luck)
    covered = []
    for run in range(200):
        estimates = rate(*simulate_games(theta.tolist(), 60, rng, luck=luck), 4, seed=run, resamples=200)
        for estimate, true in zip(estimates, truth - truth.mean(), strict=True):
            covered.append(estimate.low <= AVERAGE + ELO * true <= estimate.high)
    assert 0.90 <= np.mean(covered) <= 0.99


def _fit_with_luck(theta: NDArray[np.float64], luck: float) -> NDArray[np.float64]:
    """Return the strengths that the fit tends to when cards add luck: the fit over very many deals."""
    agents, ranks, deals = simulate_games(theta.tolist(), 20000, np.random.default_rng(9), luck=luck)
    choices = count_choices(agents, ranks, np.zeros_like(deals), 4)
    truth: NDArray[np.float64] = fit_strengths(choices, np.ones((1, 1)))[0]
    return truth


def test_ties_count_half_for_each_order() -> None:
    agents = np.array([[0, 1]] * 4)
    tied = count_choices(agents, np.array([[1, 1]] * 4), np.arange(4), 2)
    split = count_choices(agents, np.array([[1, 2], [2, 1]] * 2), np.arange(4), 2)
    once = np.ones((1, 4))
    np.testing.assert_allclose(fit_strengths(tied, once), fit_strengths(split, once), atol=1e-9)
    np.testing.assert_allclose(fit_strengths(tied, once), 0, atol=1e-9)


def test_an_agent_that_never_loses_has_a_finite_rating() -> None:
    agents, ranks = np.array([[0, 1]] * 50), np.array([[1, 2]] * 50)
    first, second = rate(agents, ranks, np.arange(50), 2)
    assert 1500 < first.value < 4000
    assert second.value < 1500


@pytest.mark.parametrize("num_deals", [1, 4, 100])
def test_winning_every_game_does_not_make_the_rating_certain(num_deals: int) -> None:
    """Two games in each deal, all won by the same agent: 8:0 with four deals."""
    agents, deals = np.array([[0, 1], [1, 0]] * num_deals), np.repeat(np.arange(num_deals), 2)
    ranks = np.where(agents == 0, 1, 2)
    first, second = rate(agents, ranks, deals, 2)
    assert first.low < first.value < first.high
    assert second.low < second.value < second.high
    assert first.low > AVERAGE > second.high or num_deals == 1
    assert first.high - first.low > 100  # how much stronger it is remains unknown


def test_an_agent_that_is_ahead_of_all_others_in_every_game_has_a_wide_interval() -> None:
    """The others win against each other now and then, so that resampled deals differ."""
    agents, deals = np.tile([0, 1, 2], (60, 1)), np.repeat(np.arange(20), 3)
    ranks = np.array([[1, 2, 3] if game % 5 < 2 else [1, 3, 2] for game in range(60)])
    best, *others = rate(agents, ranks, deals, 3)
    assert best.high - best.low > 100
    assert all(best.low > other.high for other in others)


@pytest.mark.parametrize("num_deals", [1, 10])
def test_deals_that_are_all_alike_do_not_make_the_rating_certain(num_deals: int) -> None:
    """Whoever sits first wins, in every deal."""
    agents, deals = np.array([[0, 1], [1, 0]] * num_deals), np.repeat(np.arange(num_deals), 2)
    for one in rate(agents, np.tile([1, 2], (2 * num_deals, 1)), deals, 2):
        assert one.low < AVERAGE - 1 < AVERAGE + 1 < one.high


def test_the_bootstrap_over_deals_is_used_if_results_lead_from_each_agent_to_every_other() -> None:
    agents, ranks = np.array([[0, 1]] * 20), np.array([[1, 2]] * 20)
    assert is_undecided(count_choices(agents, ranks, np.arange(20), 2))
    ranks[3] = [2, 1]
    assert not is_undecided(count_choices(agents, ranks, np.arange(20), 2))
    ranks[3] = [1, 1]
    assert not is_undecided(count_choices(agents, ranks, np.arange(20), 2))
    in_turn = np.array([[0, 1], [1, 2], [2, 0], [0, 1]])  # each wins against the next
    assert not is_undecided(count_choices(in_turn, np.array([[1, 2]] * 4), np.arange(4), 3))


@pytest.mark.parametrize(("rate_", "same"), [(0.25, 0.0), (0.6, 0.5), (0.97, 0.0), (0.99, 1.0)])
def test_win_rate_intervals_cover_the_truth(rate_: float, same: float) -> None:
    """`same` is the share of deals whose four games all have the same result."""
    rng = np.random.default_rng(6)
    deals = np.repeat(np.arange(100), 4)
    covered = 0
    for _ in range(400):
        equal = np.repeat(rng.random(100) < same, 4)
        shares = np.where(equal, np.repeat(rng.random(100) < rate_, 4), rng.random(400) < rate_).astype(float)
        estimate = win_rate(shares, deals)
        covered += estimate.low <= rate_ <= estimate.high
    assert covered / 400 >= 0.90
    if rate_ < 0.99:  # near certainty the interval is wider than needed
        assert covered / 400 <= 0.99


def test_winning_every_game_does_not_make_the_interval_a_point() -> None:
    estimate = win_rate(np.ones(400), np.repeat(np.arange(100), 4))
    assert estimate.value == 1
    assert estimate.low == pytest.approx(100 / (100 + 1.959964**2))  # Wilson's interval with one game a deal
    assert estimate.high == 1


def test_rotations_that_balance_out_make_intervals_narrower() -> None:
    """Each agent wins once in each deal, whatever the cards: more informative than 400 separate games."""
    deals = np.repeat(np.arange(100), 4)
    balanced = win_rate(np.tile([1.0, 0, 0, 0], 100), deals)
    independent = win_rate((np.random.default_rng(0).random(400) < 0.25).astype(float), np.arange(400))
    assert balanced.high - balanced.low < independent.high - independent.low


@pytest.mark.parametrize("num_deals", [5, 40])
@pytest.mark.parametrize(("before", "after"), [(0.25, 0.25), (0.6, 0.1), (0.3, 0.02)])
def test_intervals_of_paired_differences_cover_the_truth(num_deals: int, before: float, after: float) -> None:
    """A deal's luck moves both win rates; the interval holds for few deals, too, where it may be wider than needed."""
    rng = np.random.default_rng(0)
    covered, runs = 0, 1000
    for _ in range(runs):
        luck = rng.uniform(0, 2, num_deals)[:, None]
        first, second = (rng.random((num_deals, 4)) < np.minimum(rate * luck, 1) for rate in (before, after))
        found = estimate_difference(first.mean(1), second.mean(1), 0.25, 4)
        truth = np.minimum(before * LUCK, 1).mean() - np.minimum(after * LUCK, 1).mean()
        covered += found.low <= truth <= found.high
    assert covered / runs > 0.95 - 3 * np.sqrt(0.95 * 0.05 / runs)


def test_paired_differences_use_the_pairs() -> None:
    """The same luck in both makes the interval narrow; without the pairs it would be as wide as the luck."""
    rng = np.random.default_rng(1)
    luck = rng.random(200)
    paired = estimate_difference(luck + 0.1, luck, 0.25, 4)
    shuffled = estimate_difference(luck + 0.1, rng.permutation(luck), 0.25, 4)
    assert paired.value == pytest.approx(shuffled.value) == pytest.approx(0.1)
    assert paired.high - paired.low < (shuffled.high - shuffled.low) / 3
    assert estimate_difference(np.zeros(0), np.zeros(0), 0.25, 4).interval() == [-1, 1]
