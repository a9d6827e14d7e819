"""Nash-averaged ratings: known equilibria, copies of agents, and intervals."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from symphony9_env.arena.nash import find_equilibria, rate_by_nash
from symphony9_env.arena.pairs import Pairs, count_pairs, list_choices
from symphony9_env.arena.ratings import ELO, is_undecided

Floats = NDArray[np.float64]
ROCK_PAPER_SCISSORS = np.array([[0.0, -1, 1], [1, 0, -1], [-1, 1, 0]])


def solve(payoffs: Floats) -> Floats:
    weights: Floats = find_equilibria(payoffs[None])[0]
    return weights


def draw_payoffs(rng: np.random.Generator, num_agents: int) -> Floats:
    drawn = rng.normal(0, 2, (num_agents, num_agents))
    return drawn - drawn.T


def copy_agent(payoffs: Floats, agent: int) -> Floats:
    """Add a copy of an agent at the end."""
    index = [*range(len(payoffs)), agent]
    return payoffs[np.ix_(index, index)]


def make_pairs(wins: list[list[float]], num_deals: int = 20) -> Pairs:
    """Return pairs that meet equally often in all deals, with these wins in each."""
    ahead = np.tile(np.array(wins), (num_deals, 1, 1))
    return Pairs(ahead, ahead + ahead.swapaxes(1, 2))


def test_rock_paper_scissors_has_equal_weights() -> None:
    np.testing.assert_allclose(solve(ROCK_PAPER_SCISSORS), 1 / 3, atol=1e-6)
    np.testing.assert_allclose(solve(1e-3 * ROCK_PAPER_SCISSORS), 1 / 3, atol=1e-6)


def test_unequal_wins_give_the_weights_of_the_known_solution() -> None:
    """In a cycle of three, the weight of an agent is proportional to the result of the two others."""
    a, b, c = 3.0, 1.0, 0.5
    payoffs = np.array([[0, a, -b], [-a, 0, c], [b, -c, 0]])
    np.testing.assert_allclose(solve(payoffs), np.array([c, b, a]) / (a + b + c), atol=1e-6)


def test_an_agent_that_beats_all_others_has_all_the_weight() -> None:
    payoffs = np.array([[0, 0.2, 3, 1], [-0.2, 0, -1, 1], [-3, 1, 0, -1], [-1, -1, 1, 0]])
    np.testing.assert_allclose(solve(payoffs), [1, 0, 0, 0], atol=1e-6)


def test_equal_agents_have_equal_weights() -> None:
    np.testing.assert_allclose(solve(np.zeros((4, 4))), 1 / 4, atol=1e-6)


def test_of_several_equilibria_the_one_with_the_highest_entropy_is_found() -> None:
    """The first two agents tie, and both beat the third: every mixture of the two is an equilibrium."""
    np.testing.assert_allclose(solve(np.array([[0, 0, 2], [0, 0, 1], [-2.0, -1, 0]])), [0.5, 0.5, 0], atol=1e-6)


def test_a_copy_of_one_of_several_equal_agents_takes_weight_from_the_others() -> None:
    """Each mixture of the first two is an equilibrium; with a copy of the first, the weakest agent loses more."""
    payoffs = np.array([[0, 0, 2], [0, 0, 1], [-2.0, -1, 0]])
    more = copy_agent(payoffs, 0)
    np.testing.assert_allclose(solve(more), [1 / 3, 1 / 3, 0, 1 / 3], atol=1e-6)
    assert payoffs[2] @ solve(payoffs) == pytest.approx(-3 / 2, abs=1e-5)
    assert more[2] @ solve(more) == pytest.approx(-5 / 3, abs=1e-5)


def test_near_a_tie_the_rating_of_a_weaker_agent_jumps_and_those_of_the_tied_agents_do_not() -> None:
    ratings = []
    for lead in (1e-3, -1e-3):
        payoffs = np.array([[0, lead, 2], [-lead, 0, 1], [-2.0, -1, 0]])
        ratings.append(payoffs @ solve(payoffs))
    np.testing.assert_allclose(ratings[0], [0, 0, -2], atol=2e-3)
    np.testing.assert_allclose(ratings[1], [0, 0, -1], atol=2e-3)


@pytest.mark.parametrize("num_agents", [2, 3, 5, 8, 12])
def test_a_copy_of_an_agent_shares_its_weight_and_changes_no_rating(num_agents: int) -> None:
    rng = np.random.default_rng(num_agents)
    for _ in range(10):
        payoffs = draw_payoffs(rng, num_agents)
        agent = int(rng.integers(num_agents))
        weights, more = solve(payoffs), solve(copy_agent(payoffs, agent))
        assert more[agent] == pytest.approx(more[-1], abs=1e-9)
        expected = np.where(np.arange(num_agents) == agent, weights / 2, weights)
        np.testing.assert_allclose(more[:-1], expected, atol=1e-5)
        np.testing.assert_allclose((copy_agent(payoffs, agent) @ more)[:-1], payoffs @ weights, atol=1e-5)


@pytest.mark.parametrize("num_agents", [3, 6, 10])
def test_no_agent_gains_against_the_equilibrium(num_agents: int) -> None:
    rng = np.random.default_rng(num_agents)
    payoffs = np.stack([draw_payoffs(rng, num_agents) for _ in range(50)])
    weights = find_equilibria(payoffs)
    np.testing.assert_allclose(weights.sum(1), 1)
    gains = np.einsum("rij,rj->ri", payoffs, weights)
    assert gains.max() < 1e-6
    assert np.abs(gains * weights).max() < 1e-6  # an agent with weight is as good as the mixture


def test_the_order_of_agents_does_not_matter() -> None:
    payoffs = draw_payoffs(np.random.default_rng(3), 6)
    order = np.random.default_rng(4).permutation(6)
    np.testing.assert_allclose(solve(payoffs[np.ix_(order, order)]), solve(payoffs)[order], atol=1e-6)


def test_ratings_are_log_odds_against_the_mixture_in_rating_points() -> None:
    """The first agent wins 3 of 4 against the second and 9 of 10 against the third, over 20 deals."""
    rated = rate_by_nash(make_pairs([[0, 3, 9], [1, 0, 6], [1, 4, 0]]), ["a", "b", "c"])
    assert rated is not None
    assert rated["a"]["weight"] == 1
    assert rated["a"]["rating"] == 0
    assert rated["b"]["rating"] == pytest.approx(ELO * np.log(20.5 / 60.5), abs=0.01)
    assert rated["c"]["rating"] == pytest.approx(ELO * np.log(20.5 / 180.5), abs=0.01)


def test_intervals_contain_the_estimates_and_shrink_with_more_deals() -> None:
    rng = np.random.default_rng(5)
    widths = []
    for num_deals in (20, 500):
        agents = np.tile([[0, 1], [1, 0], [1, 2], [2, 1], [0, 2], [2, 0]], (num_deals, 1))
        first = rng.random(len(agents)) < 1 / (1 + np.exp(agents[:, 0] - agents[:, 1]))
        ranks = np.where(np.stack([first, ~first], axis=1), 2, 1)
        rated = rate_by_nash(count_pairs(agents, ranks, np.arange(len(agents)) // 2, 3), ["a", "b", "c"])
        assert rated is not None
        for one in rated.values():
            assert one["rating_95"][0] <= one["rating"] <= one["rating_95"][1]
            assert one["weight_95"][0] <= one["weight"] <= one["weight_95"][1]
        widths.append(max(one["rating_95"][1] - one["rating_95"][0] for one in rated.values()))
    assert widths[1] < widths[0] / 2


def test_the_lead_of_an_agent_that_always_wins_is_uncertain() -> None:
    """Nothing but the prior says how large it is, so the interval must not be that of a known win rate."""
    rng = np.random.default_rng(0)
    mixed = rng.random(40) < 0.5
    ahead = np.zeros((40, 3, 3))
    ahead[:, 0, 1] = ahead[:, 0, 2] = 1
    ahead[:, 1, 2], ahead[:, 2, 1] = mixed, ~mixed
    assert is_undecided(list_choices(Pairs(ahead, ahead + ahead.swapaxes(1, 2))))
    ahead[0, 1, 0] = 1
    assert not is_undecided(list_choices(Pairs(ahead, ahead + ahead.swapaxes(1, 2))))


def test_agents_that_have_not_all_met_get_no_rating() -> None:
    pairs = make_pairs([[0, 1, 1], [1, 0, 0], [1, 0, 0]])
    assert rate_by_nash(pairs, ["a", "b", "c"]) is None
    assert rate_by_nash(make_pairs([[0]]), ["a"]) is None
