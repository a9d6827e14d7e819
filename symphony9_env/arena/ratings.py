"""Ratings and win rates with intervals that can be trusted.

A game's final order is explained by one strength for each agent (Plackett-Luce): the winner is drawn in proportion
to exp(strength) among all seats, the second among the rest, and so on. Ties count half for each order. Intervals
come from a bootstrap over deals: games of one deal (the same cards, the agents rotated) belong together, so whole
deals are drawn again, never single games.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import permutations
from typing import Final

import numpy as np
from numpy.typing import NDArray

ELO: Final = 400 / np.log(10)  # strengths are shown on the scale of chess ratings: 400 points are odds of 10 to 1 ...
AVERAGE: Final = 1500  # ... around this average
PRIOR: Final = 0.5  # of one imagined win and loss of every agent against an average one: keeps ratings finite
NUM_RESAMPLES: Final = 1000
COVER: Final = 0.95

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True)
class Estimate:
    value: float
    low: float
    high: float

    def interval(self) -> list[float]:
        return [self.low, self.high]


@dataclass(frozen=True)
class Choices:
    """All stages of all games: who came next among whom, with how often that happened in each deal."""

    field: Ints  # (kinds, agents) how many seats of each agent were still in the running
    first: Ints  # (kinds,) the agent who came next
    counts: Floats  # (deals, kinds)


def choices_of(agents: Ints, ranks: Ints, deals: Ints, num_agents: int) -> Choices:
    """`agents` and `ranks` are (games, seats), `deals` (games,) numbers from 0 up."""
    kinds: dict[tuple[int, ...], int] = {}
    entries: list[tuple[int, int, float]] = []
    for game in range(len(agents)):
        orders = _orders(ranks[game].tolist())
        for order in orders:
            left = np.bincount(agents[game], minlength=num_agents)
            for seat in order[:-1]:
                agent = int(agents[game, seat])
                kind = kinds.setdefault((agent, *left.tolist()), len(kinds))
                entries.append((int(deals[game]), kind, 1 / len(orders)))
                left[agent] -= 1
    counts = np.zeros((int(deals.max()) + 1, len(kinds)))
    for deal, kind, weight in entries:
        counts[deal, kind] += weight
    table = np.array(list(kinds), np.int64).reshape(len(kinds), num_agents + 1)
    return Choices(field=table[:, 1:], first=table[:, 0], counts=counts)


def _orders(ranks: list[int]) -> list[tuple[int, ...]]:
    """Every order of seats that fits the ranks: one without ties, several with."""
    orders: list[tuple[int, ...]] = [()]
    for rank in sorted(set(ranks)):
        tied = [seat for seat, own in enumerate(ranks) if own == rank]
        orders = [order + more for order in orders for more in permutations(tied)]
    return orders


def strengths(choices: Choices, weights: Floats) -> Floats:
    """The most likely strengths for each row of `weights` (how often each deal counts), of mean zero.

    Newton's method on the concave log-likelihood, all rows at once.
    """
    field, first = choices.field.astype(float), choices.first
    counts = weights @ choices.counts  # (rows, kinds)
    num_rows, num_agents = len(weights), field.shape[1]
    wins = np.stack([counts[:, first == agent].sum(1) for agent in range(num_agents)], axis=1)
    theta = np.zeros((num_rows, num_agents))
    eye = np.eye(num_agents)
    for _ in range(100):
        shares = field * np.exp(theta)[:, None, :]  # (rows, kinds, agents)
        shares /= shares.sum(2, keepdims=True)
        expected = np.einsum("rk,rka->ra", counts, shares)
        against = 1 / (1 + np.exp(-theta))  # of winning against an average agent
        slope = wins - expected + PRIOR * (1 - 2 * against)
        curve = np.einsum("ra,ab->rab", expected + 2 * PRIOR * against * (1 - against), eye)
        curve -= np.einsum("rk,rka,rkb->rab", counts, shares, shares)
        step = np.linalg.solve(curve + 1e-9 * eye, slope[:, :, None])[:, :, 0]
        theta += np.clip(step, -2, 2)
        if np.abs(step).max() < 1e-9:
            break
    centred: Floats = theta - theta.mean(1, keepdims=True)
    return centred


def rate(
    agents: Ints, ranks: Ints, deals: Ints, num_agents: int, seed: int = 0, resamples: int = NUM_RESAMPLES
) -> list[Estimate]:
    """Everybody's rating with its 95 % interval."""
    choices = choices_of(agents, ranks, deals, num_agents)
    once = np.ones((1, len(choices.counts)))
    value = strengths(choices, once)[0]
    again = strengths(choices, redrawn(len(choices.counts), seed, resamples))
    low, high = np.quantile(again, [(1 - COVER) / 2, (1 + COVER) / 2], axis=0)
    return [
        Estimate(*(float(AVERAGE + ELO * number[agent]) for number in (value, low, high)))
        for agent in range(num_agents)
    ]


def redrawn(num_deals: int, seed: int, resamples: int) -> Floats:
    """How often each deal is drawn, when as many as there are are drawn again: (resamples, deals)."""
    rng = np.random.default_rng(seed)
    return rng.multinomial(num_deals, np.full(num_deals, 1 / num_deals), resamples).astype(float)


def win_rate(shares: Floats, deals: Ints) -> Estimate:
    """The mean share of wins, with a 95 % interval that takes games of one deal together.

    Wilson's interval, which is sound near 0 and 1 too, for as many independent games as these are worth: fewer than
    were played if games of a deal go alike, more if they balance out (the same luck for everybody). At most twice
    as many, and at least one a deal; one a deal where all or none were won, which tells nothing of how alike they go.
    """
    rate = float(shares.mean())
    names, place = np.unique(deals, return_inverse=True)
    sums, sizes = np.bincount(place, shares), np.bincount(place)
    worth = float(len(names))
    if len(names) > 1 and 0 < rate < 1:
        scatter = np.sum((sums - rate * sizes) ** 2) * len(names) / (len(names) - 1) / len(shares) ** 2
        worth = rate * (1 - rate) / scatter if scatter > 0 else 2 * len(shares)
    worth = min(max(worth, len(names)), 2 * len(shares))
    return _wilson(rate, worth)


def _wilson(rate: float, games: float) -> Estimate:
    z = 1.959964
    middle = (rate + z * z / (2 * games)) / (1 + z * z / games)
    spread = z / (1 + z * z / games) * np.sqrt(rate * (1 - rate) / games + z * z / (4 * games * games))
    return Estimate(rate, min(rate, max(0.0, float(middle - spread))), max(rate, min(1.0, float(middle + spread))))
