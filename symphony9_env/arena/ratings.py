"""Ratings and win rates with confidence intervals.

The Plackett-Luce model explains the final order of a game by one strength for each agent: the winner is drawn among all
seats in proportion to exp(strength), the second among the remaining seats, and so on. A tie counts half for each order.
The intervals come from a bootstrap over deals. Games of one deal (the same cards, the agents rotated) are not
independent, so whole deals are resampled, never single games. If some agents always ended ahead of all the others, they
would do so in every resample, and if all deals had the same result, all resamples would look alike: the interval would
be too narrow, or have no width at all. Then it comes from a Bayesian bootstrap, which gives random weights to the deals
and to the imagined games of the prior.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import permutations
from typing import Final

import numpy as np
from numpy.typing import NDArray

ELO: Final = 400 / np.log(10)  # rating points per unit of strength: as in chess, 400 points are odds of 10 to 1
AVERAGE: Final = 1500  # the mean rating
# Weight of an imagined win and an imagined loss of each agent against an average one. They keep the rating finite of
# an agent that won or lost every game.
PRIOR: Final = 0.5
NUM_RESAMPLES: Final = 1000
NUM_IMAGINED: Final = 4  # deals in the estimate of a variance before the first real one
COVERAGE: Final = 0.95  # of the intervals
Z: Final = 1.959964  # the quantile of the normal distribution for this coverage

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True)
class Estimate:
    """An estimated value with its 95 % interval."""

    value: float
    low: float
    high: float

    def interval(self) -> list[float]:
        """Return the ends of the interval."""
        return [self.low, self.high]


@dataclass(frozen=True)
class Choices:
    """The choices of the Plackett-Luce model: which agent came next among the seats that had no rank yet.

    Equal choices are stored once, with how often they occurred in each deal.
    """

    field: Ints  # (kinds, agents): how many seats of each agent had no rank yet
    first: Ints  # (kinds,): the agent that came next
    counts: Floats  # (deals, kinds)


def count_choices(agents: Ints, ranks: Ints, deals: Ints, num_agents: int) -> Choices:
    """Count the choices in all games.

    `agents` and `ranks` have the shape (games, seats). `deals` has the shape (games,) and holds numbers from 0 up.
    """
    kinds: dict[tuple[int, ...], int] = {}
    entries: list[tuple[int, int, float]] = []
    for game in range(len(agents)):
        orders = _list_orders(ranks[game].tolist())
        for order in orders:
            field = np.bincount(agents[game], minlength=num_agents)
            for seat in order[:-1]:
                agent = int(agents[game, seat])
                kind = kinds.setdefault((agent, *field.tolist()), len(kinds))
                entries.append((int(deals[game]), kind, 1 / len(orders)))
                field[agent] -= 1
    counts = np.zeros((int(deals.max()) + 1, len(kinds)))
    for deal, kind, weight in entries:
        counts[deal, kind] += weight
    rows = np.array(list(kinds), np.int64).reshape(len(kinds), num_agents + 1)
    return Choices(field=rows[:, 1:], first=rows[:, 0], counts=counts)


def _list_orders(ranks: list[int]) -> list[tuple[int, ...]]:
    """Return every order of the seats that agrees with the ranks: one without ties, several with ties."""
    orders: list[tuple[int, ...]] = [()]
    for rank in sorted(set(ranks)):
        tied = [seat for seat, own in enumerate(ranks) if own == rank]
        orders = [order + more for order in orders for more in permutations(tied)]
    return orders


def fit_strengths(choices: Choices, weights: Floats, prior: Floats | None = None) -> Floats:
    """Return the most likely strengths, with mean zero, for each row of `weights` (how often each deal counts).

    `prior` holds the weights of the imagined win and loss of each agent, (rows, agents, 2); both are PRIOR by default.
    Uses Newton's method on the concave log-likelihood, for all rows at once.
    """
    field, first = choices.field.astype(float), choices.first
    counts = weights @ choices.counts  # (rows, kinds)
    num_rows, num_agents = len(weights), field.shape[1]
    wins = np.stack([counts[:, first == agent].sum(1) for agent in range(num_agents)], axis=1)
    imagined = np.full((num_rows, num_agents, 2), PRIOR) if prior is None else prior
    imagined_wins, imagined_games = imagined[:, :, 0], imagined.sum(2)
    theta = np.zeros((num_rows, num_agents))
    eye = np.eye(num_agents)
    for _ in range(100):
        shares = field * np.exp(theta)[:, None, :]  # (rows, kinds, agents)
        shares /= shares.sum(2, keepdims=True)
        expected = np.einsum("rk,rka->ra", counts, shares)
        beats_average = 1 / (1 + np.exp(-theta))  # the probability of winning against an average agent
        gradient = wins - expected + (imagined_wins - imagined_games * beats_average)
        information = np.einsum("ra,ab->rab", expected + imagined_games * beats_average * (1 - beats_average), eye)
        information -= np.einsum("rk,rka,rkb->rab", counts, shares, shares)
        step = np.linalg.solve(information + 1e-9 * eye, gradient[:, :, None])[:, :, 0]
        theta += np.clip(step, -2, 2)
        if np.abs(step).max() < 1e-9:
            break
    centred: Floats = theta - theta.mean(1, keepdims=True)
    return centred


def rate(
    agents: Ints, ranks: Ints, deals: Ints, num_agents: int, seed: int = 0, resamples: int = NUM_RESAMPLES
) -> list[Estimate]:
    """Return the rating of each agent with its 95 % interval."""
    choices = count_choices(agents, ranks, deals, num_agents)
    num_deals = len(choices.counts)
    value = fit_strengths(choices, np.ones((1, num_deals)))[0]
    rng = np.random.default_rng(seed)
    is_bayesian = is_undecided(choices)
    weights = draw_weights(num_deals, rng, resamples, is_bayesian)
    prior = rng.gamma(PRIOR, size=(resamples, num_agents, 2)) if is_bayesian else None
    resampled = fit_strengths(choices, weights, prior)
    low, high = np.quantile(resampled, [(1 - COVERAGE) / 2, (1 + COVERAGE) / 2], axis=0)
    return [
        Estimate(*(float(AVERAGE + ELO * number[agent]) for number in (value, low, high)))
        for agent in range(num_agents)
    ]


def draw_weights(num_deals: int, rng: np.random.Generator, resamples: int, is_bayesian: bool) -> Floats:
    """Return how often each deal counts in each resample: how often it is drawn, or random weights with a mean of 1."""
    if is_bayesian:
        return rng.exponential(size=(resamples, num_deals))
    return rng.multinomial(num_deals, np.full(num_deals, 1 / num_deals), resamples).astype(np.float64)


def is_undecided(choices: Choices) -> bool:
    """Return whether resampled deals would say too little about how uncertain the ratings are.

    That is so if all deals had the same result, or if some agents always ended ahead of all the others: how much
    stronger they are is then known from the prior alone. Otherwise a chain of results leads from each agent to every
    other one.
    """
    num_agents = choices.field.shape[1]
    ahead = np.eye(num_agents, dtype=bool)
    for agent, field in zip(choices.first.tolist(), choices.field, strict=True):
        ahead[agent] |= field > 0
    for _ in range(num_agents):
        ahead |= ahead @ ahead
    return not ahead.all() or bool((choices.counts == choices.counts[0]).all())


def win_rate(shares: Floats, deals: Ints) -> Estimate:
    """Return the mean win share with a 95 % interval that treats the games of one deal as dependent.

    This is Wilson's interval, which also holds near 0 and 1, for the effective number of independent games. That number
    is lower than the number of games if the games of a deal tend to have the same result, and higher if they balance
    each other (everybody gets the same luck). It is limited to at least one game a deal and at most twice the number of
    games. If all games or none were won, the variance within deals is unknown, and each deal counts as one game.
    """
    index = np.unique(deals, return_inverse=True)[1]
    return estimate_rate(sum_by_deal(index, shares), np.bincount(index).astype(np.float64))[0]


def sum_by_deal(deals: Ints, values: Floats) -> Floats:
    """Return the sum of the values of each deal; deals are numbered from 0."""
    return np.bincount(deals, values).astype(np.float64)


def estimate_rate(sums: Floats, sizes: Floats, plays: int = 1) -> tuple[Estimate, float]:
    """Return the win rate of `win_rate` and its effective number of games.

    `sums` are the win shares of each deal, and `sizes` the numbers of games. Each game stands for so many `plays`.
    """
    num_deals, num_games = len(sums), float(sizes.sum())
    rate = float(sums.sum() / num_games)
    effective, most = float(num_deals), 2 * plays * num_games
    if num_deals > 1 and 0 < rate < 1:
        variance = _estimate_variance(sums, sizes, rate)
        effective = rate * (1 - rate) / variance if variance > 0 else most
    effective = min(max(effective, num_deals), most)
    return _wilson(rate, effective), effective


def estimate_mean(sums: Floats, sizes: Floats) -> Estimate:
    """Return a mean with a 95 % interval that treats what belongs to one deal as dependent.

    `sums` are the sums of the values of each deal, and `sizes` the numbers of values. After a single deal, nothing is
    known about the spread, and the interval is infinite.
    """
    mean = float(sums.sum() / sizes.sum())
    spread = Z * float(np.sqrt(_estimate_variance(sums, sizes, mean))) if len(sums) > 1 else float("inf")
    return Estimate(mean, mean - spread, mean + spread)


def _estimate_variance(sums: Floats, sizes: Floats, mean: float) -> float:
    """Return the variance of a mean over deals, from how much the sums of the deals differ from what the mean says."""
    num_deals, total = len(sums), float(sizes.sum())
    return float(np.sum((sums - mean * sizes) ** 2) * num_deals / (num_deals - 1) / total**2)


def estimate_bounded_mean(values: Floats, imagined_variance: float, limit: float) -> Estimate:
    """Return the mean of one value for each deal, from -limit to limit, with its 95 % interval.

    The variance of a few values may be far too small, so its estimate begins with `NUM_IMAGINED` imagined deals.
    """
    if not len(values):
        return Estimate(0.0, -limit, limit)
    mean = float(values.mean())
    variance = (((values - mean) ** 2).sum() + NUM_IMAGINED * imagined_variance) / (len(values) + NUM_IMAGINED)
    spread = Z * float(np.sqrt(variance / len(values)))
    return Estimate(mean, max(mean - spread, -limit), min(mean + spread, limit))


def estimate_difference(first: Floats, second: Floats, par: float, num_games: int) -> Estimate:
    """Return the difference between two win rates on the same deals, with a 95 % interval for the pairs of results.

    `first` and `second` hold the mean win share of each deal, over so many games, in which `par` is won among equals.
    The imagined deals have twice the variance of independent games of equal agents.
    """
    return estimate_bounded_mean(first - second, 4 * par * (1 - par) / num_games, 1.0)


def _wilson(rate: float, games: float) -> Estimate:
    inside = min(max(rate, 0.0), 1.0)  # a corrected rate may lie outside
    middle = (inside + Z * Z / (2 * games)) / (1 + Z * Z / games)
    spread = Z / (1 + Z * Z / games) * np.sqrt(inside * (1 - inside) / games + Z * Z / (4 * games * games))
    return Estimate(rate, min(rate, max(0.0, float(middle - spread))), max(rate, min(1.0, float(middle + spread))))
