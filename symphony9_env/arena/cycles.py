"""Transitive and cyclic strength: how much of the results one number for each agent explains.

The log-odds of agents against each other are a flow on a graph whose edges are the pairs that met. The combinatorial
Hodge decomposition splits it into a gradient, differences between strengths, and a part that runs in circles, as in
rock, paper, scissors. The two are orthogonal, so that the squares of their sizes add up and have shares. Each edge has
the number of meetings as its weight.

Luck looks like a cycle as well: even if strength is purely transitive, few games give a cyclic share above zero.
Therefore the share is compared with two references, of which the larger counts. The first simulates as many games of a
transitive model, so that it also knows what few or one-sided results do to log-odds. The second resamples deals and
moves the results to a mean without a cyclic part, so that it also knows how games of one deal depend on each other.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations, permutations
from statistics import NormalDist
from typing import Final, NotRequired, TypedDict

import numpy as np

from symphony9_env.arena.pairs import Pairs, compute_logits, list_choices, resample_logits
from symphony9_env.arena.ratings import COVERAGE, NUM_RESAMPLES, Floats, Ints, estimate_rate, fit_strengths

SIGNIFICANCE: Final = 1 - COVERAGE  # the probability at most with which luck is called a cycle


NUM_CANDIDATES: Final = 201  # shares that are tried for the ends of an interval


class CycleResult(TypedDict):
    """Agents that each end ahead of the next one more often than not, and the last ahead of the first."""

    agents: list[str]
    ahead: list[float]  # how often each ends ahead of the next; the last number is for the last and the first


class CyclicStrengthResult(TypedDict):
    """How much of the log-odds between agents is a difference of strengths, and how much runs in circles."""

    transitive_share: float
    cyclic_share: float
    cyclic_share_95: list[float]
    share_by_chance: float  # the mean cyclic share if strength were purely transitive, for these games
    share_by_chance_95: float  # which luck exceeds in 5 % of such tournaments
    p_value: float  # how often luck gives a cyclic share as large as this
    cycle: NotRequired[CycleResult]  # the clearest one, if luck does not explain it


@dataclass(frozen=True)
class Splitter:
    """The decomposition for the pairs that met."""

    first: Ints  # (edges,): the agents of each pair
    second: Ints
    weights: Floats  # (edges,): meetings
    rest: Floats  # (edges, edges): the projection of a flow onto its cyclic part

    @classmethod
    def of(cls, pairs: Pairs) -> Splitter:
        """Return the decomposition with the meetings as weights."""
        first, second = np.nonzero(np.triu(pairs.totals, 1))
        weights = pairs.totals[first, second]
        eye = np.eye(len(pairs.totals))
        roots = np.sqrt(weights)
        gradients = roots[:, None] * (eye[first] - eye[second])  # of each agent's strength
        rest = np.eye(len(first)) - gradients @ np.linalg.pinv(gradients)
        return cls(first, second, weights, rest * roots / roots[:, None])

    def has_loops(self) -> bool:
        """Return whether the pairs form a loop; without one there is no cyclic part."""
        return bool(np.trace(self.rest) > 0.5)  # the trace is the number of independent loops

    def read_flows(self, logits: Floats) -> Floats:
        """Return the log-odds of each pair, (..., edges)."""
        return logits[..., self.first, self.second]

    def find_cyclic_parts(self, flows: Floats) -> Floats:
        """Return the cyclic part of each flow; what remains is the transitive part."""
        return flows @ self.rest.T

    def measure(self, flows: Floats) -> Floats:
        """Return the sum of the weighted squares of each flow."""
        squares: Floats = (self.weights * flows**2).sum(-1)
        return squares

    def compute_cyclic_shares(self, flows: Floats) -> Floats:
        """Return the cyclic share of each flow; 0 if there is no flow at all."""
        cyclic, total = self.measure(self.find_cyclic_parts(flows)), self.measure(flows)
        shares: Floats = np.divide(cyclic, total, out=np.zeros_like(total), where=total > 0)
        return shares


def measure_cycles(
    pairs: Pairs, agents: Ints, names: list[str], seed: int = 0, resamples: int = NUM_RESAMPLES
) -> CyclicStrengthResult | None:
    """Return the shares of transitive and cyclic strength; None if the agents that met can't form a cycle.

    `agents` has the shape (games, seats): who played.
    """
    splitter = Splitter.of(pairs)
    if not splitter.has_loops():
        return None
    rng = np.random.default_rng(seed)
    flow = splitter.read_flows(compute_logits(pairs.ahead.sum(0)))
    share = float(splitter.compute_cyclic_shares(flow))
    resampled = splitter.read_flows(resample_logits(pairs, rng, resamples))
    simulated = splitter.read_flows(compute_logits(simulate_wins(pairs, agents, rng, resamples)))
    references = [
        splitter.compute_cyclic_shares(flows) for flows in (simulated, resampled - splitter.find_cyclic_parts(flow))
    ]
    p_values = [float((1 + np.sum(reference >= share)) / (1 + resamples)) for reference in references]
    by_chance = references[int(np.argmax(p_values))]
    low, high = _find_interval(splitter, flow, resampled - flow)
    result: CyclicStrengthResult = {
        "transitive_share": 1 - share,
        "cyclic_share": share,
        "cyclic_share_95": [low if max(p_values) <= SIGNIFICANCE else 0.0, high],
        "share_by_chance": float(by_chance.mean()),
        "share_by_chance_95": float(np.quantile(by_chance, COVERAGE)),
        "p_value": max(p_values),
    }
    if max(p_values) <= SIGNIFICANCE and (cycle := find_cycle(pairs, names)):
        result["cycle"] = cycle
    return result


def _find_interval(splitter: Splitter, flow: Floats, noise: Floats) -> list[float]:
    """Return the 95 % interval of the cyclic share: the true shares with which the observed one would not be unusual.

    For each candidate, the two parts have the directions that were observed. Their size together is the observed one
    without what noise adds to it on average.
    """
    share = float(splitter.compute_cyclic_shares(flow))
    cyclic = splitter.find_cyclic_parts(flow)
    circle, slope = (part / np.sqrt(max(float(splitter.measure(part)), 1e-300)) for part in (cyclic, flow - cyclic))
    size = np.sqrt(max(0.0, float(splitter.measure(flow) - splitter.measure(noise).mean())))
    accepted = [share]
    for candidate in np.linspace(0, 1, NUM_CANDIDATES).tolist():
        true = size * (np.sqrt(candidate) * circle + np.sqrt(1 - candidate) * slope)
        found = splitter.compute_cyclic_shares(true + noise)
        if min(np.mean(found <= share), np.mean(found >= share)) >= SIGNIFICANCE / 2:
            accepted.append(candidate)
    return [min(accepted), max(accepted)]


def simulate_wins(pairs: Pairs, agents: Ints, rng: np.random.Generator, resamples: int = NUM_RESAMPLES) -> Floats:
    """Return how often agents end ahead of each other if one strength each decides, (resamples, agents, agents).

    Final orders are drawn from the Plackett-Luce model, in which the log-odds of two agents are the difference of their
    strengths whoever else plays. The strengths are those that explain best who ended ahead of whom.
    """
    num_agents = pairs.ahead.shape[1]
    strengths = fit_strengths(list_choices(pairs), np.ones((1, len(pairs.ahead))))[0]
    wins = np.zeros((resamples, num_agents * num_agents))
    lineups, counts = np.unique(np.sort(agents, axis=1), axis=0, return_counts=True)
    for lineup, count in zip(lineups, counts.tolist(), strict=True):
        orders = np.array(list(permutations(lineup.tolist())))
        powers = np.exp(strengths[orders] - strengths[lineup].max())
        chances = np.prod(powers / np.cumsum(powers[:, ::-1], axis=1)[:, ::-1], axis=1)
        drawn = rng.multinomial(count, chances / chances.sum(), resamples)
        for before, after in combinations(range(orders.shape[1]), 2):
            np.add.at(wins.T, orders[:, before] * num_agents + orders[:, after], drawn.T)
    matrices: Floats = wins.reshape(resamples, num_agents, num_agents) * (1 - np.eye(num_agents))
    return matrices


def find_cycle(pairs: Pairs, names: list[str]) -> CycleResult | None:
    """Return the clearest cycle of three agents that luck does not explain, if there is one.

    A pair counts if it is more often ahead than not by a one-sided test whose level is divided by the number of pairs.
    A cycle that does not exist needs a pair with the wrong sign, so that one is found with a probability of at most
    SIGNIFICANCE. If there are longer cycles among agents that all met, there is one of three.
    """
    clearness = np.full(pairs.totals.shape, -np.inf)  # in standard errors
    rates = np.zeros_like(clearness)
    met = np.argwhere(np.triu(pairs.totals, 1)).tolist()
    for one, other in met:
        in_deal = pairs.meetings[:, one, other] > 0
        rate, games = estimate_rate(pairs.ahead[in_deal, one, other], pairs.meetings[in_deal, one, other])
        clearness[one, other] = 2 * (rate.value - 0.5) * np.sqrt(games)
        clearness[other, one] = -clearness[one, other]
        rates[one, other], rates[other, one] = rate.value, 1 - rate.value
    needed = NormalDist().inv_cdf(1 - SIGNIFICANCE / len(met))
    cycles = []
    for three in combinations(range(len(names)), 3):
        for turn in (three, three[::-1]):
            steps = list(zip(turn, (*turn[1:], turn[0]), strict=True))
            cycles.append((min(clearness[step] for step in steps), steps))
    least, steps = max(cycles)
    if least <= needed:
        return None
    return {"agents": [names[one] for one, _ in steps], "ahead": [float(rates[step]) for step in steps]}
