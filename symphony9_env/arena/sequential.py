"""A sequential probability ratio test on deals that two agents play in paired, seat-rotated games.

The observation is one deal. The new agent plays it alone against copies of the old one in every seat, and the old agent
alone against copies of the new one in every seat; with two players both are the same games. A and B are the mean win
shares of the agent that was alone. The *margin* of the deal is (A - B) / 2: its expectation is 0 for equal agents, and
with two players it is the new agent's win rate above par. Deals are independent; the games of one deal are not, which
does no harm, because only the margins of whole deals are used.

The test is Wald's for the mean of the margins: h0 or less against h1 or more. Margins are neither normal nor of known
variance, so the likelihood ratio is generalised: under each hypothesis the variance is the one that makes the margins
most likely, as if they were normal,

    LLR = N / 2 * log((v + (mean - h0)^2) / (v + (mean - h1)^2)),

where v is the variance of the N margins around their mean. Only the first two moments matter in large samples
(docs/statistics.md derives it). In small ones v could be far too small, so it begins with imagined deals of a large
variance, and nothing is decided before the eighth deal.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import NormalDist
from typing import Final

import numpy as np
from numpy.typing import NDArray

from symphony9_env.arena.ratings import NUM_IMAGINED, Estimate, estimate_bounded_mean

BETTER, WORSE, UNDECIDED = range(3)  # the verdicts, which are also the exit status of the command
VERDICTS: Final = ("better", "worse", "undecided")
MAX_MARGIN: Final = 0.5  # of a deal: A = 1 and B = 0
MIN_DEALS: Final = 8  # before a verdict

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True)
class SequentialTest:
    """The hypotheses and error rates of a test, fixed before the first game.

    >>> test = SequentialTest(num_players=4, h0=0.0, h1=0.05, alpha=0.05, beta=0.05)
    >>> [round(bound, 2) for bound in test.bounds]
    [-2.94, 2.94]
    """

    num_players: int
    h0: float  # the new agent is not better: a mean margin of this or less
    h1: float  # it is better: a mean margin of this or more
    alpha: float  # the probability of the verdict "better" if the mean margin is h0
    beta: float  # the probability of the verdict "worse" if the mean margin is h1

    def __post_init__(self) -> None:
        if not -MAX_MARGIN < self.h0 < self.h1 < MAX_MARGIN:
            allowed = f"h0 below h1, both between {-100 * MAX_MARGIN:g} and {100 * MAX_MARGIN:g} % of the games"
            raise ValueError(f"margins {100 * self.h0:g} % and {100 * self.h1:g} %; allowed: {allowed}")
        for name in ("alpha", "beta"):
            if not 0 < getattr(self, name) < 0.5:
                raise ValueError(f"{name}={getattr(self, name)}; allowed: more than 0 and less than 0.5")

    @property
    def cycle_size(self) -> int:
        """The number of games on one deal."""
        return self.num_players if self.num_players == 2 else 2 * self.num_players

    @property
    def imagined_variance(self) -> float:
        """The variance of an imagined deal: twice that of a deal whose games are independent games of equal agents."""
        par = 1 / self.num_players
        of_one_agent = par * (1 - par) / self.num_players
        return 2 * of_one_agent if self.num_players == 2 else of_one_agent

    @property
    def bounds(self) -> tuple[float, float]:
        """The log-likelihood ratios at which the test ends: at or below the first, at or above the second."""
        return math.log(self.beta / (1 - self.alpha)), math.log((1 - self.beta) / self.alpha)

    def log_likelihood_ratios(self, margins: Floats) -> Floats:
        """Return the log-likelihood ratio after each deal; the last axis of `margins` is the deals of one match."""
        count, mean, variance = self.moments(margins)
        ratios: Floats = count / 2 * np.log((variance + (mean - self.h0) ** 2) / (variance + (mean - self.h1) ** 2))
        return ratios

    def moments(self, margins: Floats) -> tuple[Ints, Floats, Floats]:
        """Return the number, mean and estimated variance of the margins after each deal."""
        count = np.arange(1, margins.shape[-1] + 1)
        mean = np.cumsum(margins, axis=-1) / count
        squares = np.cumsum(margins**2, axis=-1) - count * mean**2
        variance = (np.maximum(squares, 0) + NUM_IMAGINED * self.imagined_variance) / (count + NUM_IMAGINED)
        return count, mean, variance

    def estimate(self, margins: Floats) -> Estimate:
        """Return the mean margin with its 95 % interval, as if the number of deals had been fixed in advance."""
        return estimate_bounded_mean(margins, self.imagined_variance, MAX_MARGIN)

    def decide(self, margins: Floats) -> tuple[Ints, Ints]:
        """Return the verdict of each match and after how many deals it was reached; all deals if it is undecided.

        The last axis of `margins` is the deals of one match, in the order in which they were played.
        """
        low, high = self.bounds
        ratios = self.log_likelihood_ratios(margins)
        is_over = ((ratios <= low) | (ratios >= high)) & (np.arange(ratios.shape[-1]) >= MIN_DEALS - 1)
        num_deals = np.where(is_over.any(-1), is_over.argmax(-1) + 1, margins.shape[-1])
        last = np.take_along_axis(ratios, num_deals[..., None] - 1, -1)[..., 0]
        verdicts = np.where(last >= high, BETTER, WORSE)
        return np.where(is_over.any(-1), verdicts, UNDECIDED), num_deals

    def fixed_size(self, variance: float) -> float:
        """Return how many deals a test of the same error rates needs if their number is fixed in advance."""
        quantiles = [NormalDist().inv_cdf(1 - rate) for rate in (self.alpha, self.beta)]
        return variance * (sum(quantiles) / (self.h1 - self.h0)) ** 2


def margin_of_rating(points: float, num_players: int) -> float:
    """Return the mean margin of an agent that is rated so many points higher, by the Plackett-Luce model.

    >>> round(margin_of_rating(400, 2), 3)  # odds of ten to one
    0.409
    """
    odds = 10 ** (points / 400)
    alone, against = odds / (odds + num_players - 1), 1 / (1 + (num_players - 1) * odds)
    return (alone - against) / 2
