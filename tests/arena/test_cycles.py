"""Cyclic strength: the decomposition, what luck gives, and cycles that are found or not."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from numpy.typing import NDArray

from symphony9_env.arena.cycles import CyclicStrengthResult, Splitter, find_cycle, measure_cycles, simulate_wins
from symphony9_env.arena.pairs import Pairs, compute_logits, count_pairs
from tests.arena.test_ratings import simulate_games

Ints = NDArray[np.int64]
NAMES = ["a", "b", "c", "d", "e"]


def play_pairs(
    logits: NDArray[np.float64], num_deals: int, rng: np.random.Generator, affinity: float = 0.0
) -> tuple[Ints, Ints, Ints]:
    """Draw games of two with these log-odds: each pair plays so many deals, twice each.

    `affinity` is the standard deviation of how much a deal suits the first of the two, in both games.
    """
    agents, ranks, deals = [], [], []
    for number, (one, other) in enumerate(combinations(range(len(logits)), 2)):
        for deal in range(num_deals):
            chance = 1 / (1 + np.exp(-logits[one, other] - rng.normal(0, affinity)))
            for seats in ((one, other), (other, one)):
                wins = rng.random() < chance
                agents.append(seats)
                ranks.append([1, 2] if wins == (seats[0] == one) else [2, 1])
                deals.append(number * num_deals + deal)
    return np.array(agents), np.array(ranks), np.array(deals)


def mix(slope: float, circle: float) -> NDArray[np.float64]:
    """Return log-odds of three agents: a transitive and a cyclic part."""
    strengths = slope * np.array([1.0, 0, -1])
    turn = np.array([[0, 1, -1], [-1, 0, 1], [1, -1, 0]])
    return strengths[:, None] - strengths + circle * turn


def measure(games: tuple[Ints, Ints, Ints], resamples: int = 300) -> CyclicStrengthResult:
    num_agents = int(games[0].max()) + 1
    found = measure_cycles(count_pairs(*games, num_agents), games[0], NAMES[:num_agents], resamples=resamples)
    assert found is not None
    return found


@pytest.mark.parametrize(("slope", "circle", "share"), [(1, 0, 0), (0, 1, 1), (1, 1, 1 / 3), (2, 0.5, 1 / 33)])
def test_the_decomposition_finds_known_shares(slope: float, circle: float, share: float) -> None:
    """The squares of the slope are 1, 1 and 4 times slope², and those of the circle 3 times circle²."""
    pairs = Pairs(np.zeros((1, 3, 3)), np.ones((1, 3, 3)))
    splitter = Splitter.of(pairs)
    flow = splitter.read_flows(mix(slope, circle))
    assert splitter.compute_cyclic_shares(flow) == pytest.approx(share, abs=1e-12)


def test_the_parts_are_orthogonal_whatever_the_weights() -> None:
    rng = np.random.default_rng(1)
    for _ in range(20):
        meetings = rng.integers(1, 50, (1, 5, 5)).astype(float)
        splitter = Splitter.of(Pairs(np.zeros((1, 5, 5)), meetings + meetings.swapaxes(1, 2)))
        strengths, flow = rng.normal(size=5), rng.normal(size=10)
        slope = strengths[splitter.first] - strengths[splitter.second]
        cyclic = splitter.find_cyclic_parts(flow)
        assert np.sum(splitter.weights * slope * cyclic) == pytest.approx(0, abs=1e-9)
        np.testing.assert_allclose(splitter.find_cyclic_parts(slope), 0, atol=1e-12)
        np.testing.assert_allclose(splitter.find_cyclic_parts(flow + slope), cyclic, atol=1e-12)


def test_agents_that_form_no_loop_have_no_cyclic_share() -> None:
    star = np.array([[0.0, 4, 4], [4, 0, 0], [4, 0, 0]])[None]
    assert measure_cycles(Pairs(star / 2, star), np.array([[0, 1], [0, 2]]), NAMES[:3]) is None


def test_simulated_games_have_the_log_odds_of_the_strengths() -> None:
    games = simulate_games([1.0, 0.2, -0.4, -0.8], 400, np.random.default_rng(2))
    pairs = count_pairs(*games, 4)
    wins = simulate_wins(pairs, games[0], np.random.default_rng(0), 400)
    np.testing.assert_array_equal(wins + wins.swapaxes(1, 2), np.broadcast_to(pairs.totals, wins.shape))
    expected = np.subtract.outer([1.0, 0.2, -0.4, -0.8], [1.0, 0.2, -0.4, -0.8])
    np.testing.assert_allclose(compute_logits(wins.mean(0)), expected, atol=0.15)


@pytest.mark.parametrize(
    ("strengths", "num_deals", "affinity"),
    [([0.0, 0, 0, 0], 8, 0.0), ([1.0, 0.3, -1], 10, 0.0), ([1.0, 0.3, -1], 30, 1.5), ([4.0, 0, -4], 20, 0.0)],
)
def test_luck_is_rarely_called_a_cycle(strengths: list[float], num_deals: int, affinity: float) -> None:
    """100 tournaments of agents without cycles: four standard errors above 5 % are 14."""
    rng = np.random.default_rng(7)
    significant = named = missed = 0
    logits = np.subtract.outer(strengths, strengths)
    for _ in range(100):
        found = measure(play_pairs(logits, num_deals, rng, affinity), 100)
        significant += found["p_value"] < 0.05
        missed += found["cyclic_share_95"][0] > 0
        named += "cycle" in found
    assert significant <= 14
    assert missed <= 14
    assert named <= 14


@pytest.mark.parametrize(("slope", "circle"), [(0.0, 0.8), (0.7, 0.7)])
def test_intervals_cover_the_truth(slope: float, circle: float) -> None:
    truth = 3 * circle**2 / (3 * circle**2 + 6 * slope**2)
    rng = np.random.default_rng(8)
    covered = 0
    for _ in range(100):
        low, high = measure(play_pairs(mix(slope, circle), 60, rng), 200)["cyclic_share_95"]
        covered += low <= truth <= high
    assert covered >= 86


def test_a_real_cycle_is_found_and_named() -> None:
    found = measure(play_pairs(mix(0, 1.0), 200, np.random.default_rng(3)))
    assert found["p_value"] < 0.05
    assert found["cyclic_share"] > found["share_by_chance_95"] > found["share_by_chance"]
    assert found["transitive_share"] + found["cyclic_share"] == 1
    names = found["cycle"]["agents"]
    assert "".join(names * 2).find("abc") >= 0  # a ahead of b, b of c, c of a
    assert found["cycle"]["ahead"] == pytest.approx([1 / (1 + np.exp(-1))] * 3, abs=0.1)


def test_a_cyclic_part_without_a_circle_of_winners_names_no_cycle() -> None:
    """Everybody beats those below, but not by as much as strengths would say."""
    found = measure(play_pairs(mix(1.5, 0.8), 200, np.random.default_rng(4)))
    assert found["p_value"] < 0.05
    assert "cycle" not in found


def test_the_clearest_of_several_cycles_is_named() -> None:
    """a > b > c > a by far, and b > c > d > b by little."""
    sure, likely = 95.0, 75.0
    ahead = np.full((4, 4), 50.0)
    for one, other, wins in ((0, 1, sure), (1, 2, sure), (2, 0, sure), (2, 3, likely), (3, 1, likely)):
        ahead[one, other], ahead[other, one] = wins, 100 - wins
    pairs = Pairs(np.tile(ahead / 100, (100, 1, 1)) * (1 - np.eye(4)), np.tile(1 - np.eye(4), (100, 1, 1)))
    cycle = find_cycle(pairs, NAMES[:4])
    assert cycle is not None
    assert set(cycle["agents"]) == {"a", "b", "c"}
    assert cycle["ahead"] == pytest.approx([0.95] * 3)
