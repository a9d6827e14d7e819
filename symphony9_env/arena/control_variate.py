"""Win rates of lower variance: corrections for luck, and games that are played again with other tokens.

*Redraws*: each game is played several more times from the same deal, with the budget tokens and the bot's tiles drawn
again. Given the deal, all these plays are equally distributed, so that their mean has the expectation of one of them
and, by Jensen's inequality, no larger variance.

*Corrections* (`luck.py`) have an expectation of zero. The estimate subtracts a multiple of them. The multiple that is
best for a deal is estimated from other deals only (cross-fitting): given those, the expectation of what is subtracted
is exactly zero, so the estimate stays unbiased. The coefficients are shrunk towards zero by as much as their own
uncertainty suggests, and are zero if the corrections explain nothing clearly, so that useless ones do no harm.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from symphony9_env.agents import Agent
from symphony9_env.arena.games_csv import CORRECTION_COLUMNS, MEAN_SHARE_COLUMN, CsvRow
from symphony9_env.arena.luck import KINDS, Luck, describe_actions
from symphony9_env.arena.matches import PlayedGame, deal_games, play
from symphony9_env.arena.ratings import Estimate, Floats, Ints, estimate_rate, sum_by_deal
from symphony9_env.options import Variant
from symphony9_env.rules.chance import next_seed
from symphony9_env.scores import score_sheet
from symphony9_env.views.resample import resample_game

NUM_FOLDS: Final = 10  # the deals of one fold get coefficients that were estimated from the other folds
MIN_DEALS: Final = 20  # with fewer, coefficients would be noise
# Of the F test, from which corrections are used. Useless corrections then add variance in one of 500 estimates, and a
# share of about MIN_F / deals at that.
MIN_F: Final = 10.0
MAX_REDRAWS: Final = 1000


@dataclass(frozen=True)
class Adjusted:
    """An adjusted win rate, and how many independent games would give an estimate as exact."""

    estimate: Estimate
    effective_games: float


def adjust_win_rate(shares: Floats, corrections: Floats, deals: Ints, plays: int = 1) -> Adjusted:
    """Return the win rate after corrections for luck.

    `shares` are the shares of the win of one seat a row, each the mean over so many `plays`. `corrections` have the
    shape (rows, kinds). As in `ratings.win_rate`, the rows of one deal are dependent.
    """
    index = np.unique(deals, return_inverse=True)[1]
    sizes = np.bincount(index).astype(np.float64)
    sums = sum_by_deal(index, shares)
    if len(sizes) >= MIN_DEALS and corrections.any():
        luck = np.stack([sum_by_deal(index, column) for column in corrections.T], axis=1)
        sums = sums - (luck * cross_fit(sums, sizes, luck)).sum(1)
    return Adjusted(*estimate_rate(sums, sizes, plays))


def cross_fit(sums: Floats, sizes: Floats, luck: Floats) -> Floats:
    """Return coefficients for each deal, (deals, kinds), estimated from the deals of the other folds.

    The deals are assigned to folds without regard to their results.
    """
    folds = np.random.default_rng(0).permutation(len(sums)) % NUM_FOLDS
    coefficients = np.zeros_like(luck)
    for fold in range(NUM_FOLDS):
        other = folds != fold
        rate = sums[other].sum() / sizes[other].sum()
        coefficients[~other] = _regress(sums[other] - rate * sizes[other], luck[other])
    return coefficients


def _regress(residuals: Floats, luck: Floats) -> Floats:
    """Return least-squares coefficients, shrunk by 1 - 1 / F, where F is the statistic of the F test.

    Return zeros if F is below MIN_F: corrections that explain nothing would add noise.
    """
    used = luck.any(0)
    coefficients = np.zeros(luck.shape[1])
    if not used.any():
        return coefficients
    found = np.linalg.lstsq(luck[:, used], residuals, rcond=None)[0]
    explained = luck[:, used] @ found
    freedom = len(residuals) - int(used.sum())
    noise = np.sum((residuals - explained) ** 2) / freedom
    signal = np.sum(explained**2) / used.sum()
    if signal > MIN_F * noise:
        coefficients[used] = found * (1 - noise / signal)
    return coefficients


class ControlVariate:
    """Measures what lowers the variance, for the games of a tournament."""

    def __init__(self, agents: Sequence[Agent], variant: Variant, redraws: int = 0) -> None:
        if not 0 <= redraws <= MAX_REDRAWS:
            raise ValueError(f"--redraws {redraws}; allowed: 0 to {MAX_REDRAWS}")
        self.agents = agents
        self.variant = variant
        self.redraws = redraws
        self._luck = Luck(agents, variant.num_players)

    def describe(self) -> dict[str, str]:
        """Return whether the actions of each agent are corrected, by its name."""
        return {agent.name: describe_actions(agent, self.variant.num_players) for agent in self.agents}

    def find_obstacle(self, num_deals: int) -> str | None:
        """Return why win rates can't be adjusted after so many deals; None if they can."""
        if len(self.agents) == 1:
            return "there is one agent only, so that its win rate is par"
        return f"there are {num_deals} deals; at least {MIN_DEALS} are needed" if num_deals < MIN_DEALS else None

    def redraw(self, games: Sequence[PlayedGame]) -> list[PlayedGame]:
        """Play each game again as often as there are redraws; the plays of one game follow each other."""
        if not self.redraws:
            return []
        scheduled = [one.game for one in games for _ in range(self.redraws)]
        states = deal_games(scheduled, self.variant)
        for row, game in enumerate(scheduled):
            seed = next_seed(next_seed(game.seed) ^ (row % self.redraws + 1))
            resample_game(states, row, 0, np.uint64(seed))  # nobody has a hand yet: only tokens and tiles are hidden
        return play(scheduled, self.agents, self.variant, states=states)

    def measure(self, games: Sequence[PlayedGame]) -> tuple[Floats, Floats]:
        """Return means over all plays: shares of the win (games, seats) and corrections (games, seats, kinds)."""
        again = self.redraw(games)
        plays = [
            one for game, first in enumerate(games) for one in (first, *again[game * self.redraws :][: self.redraws])
        ]
        shape = (len(games), self.redraws + 1, self.variant.num_players)
        shares = np.array([[line.win_share for line in score_sheet(one.final).values()] for one in plays])
        corrections = self._luck.correct(plays)
        return shares.reshape(shape).mean(1), corrections.reshape(*shape, len(KINDS)).mean(1)

    def extend_rows(self, games: Sequence[PlayedGame], rows: list[CsvRow]) -> None:
        """Add what was measured to the rows of games.csv, of which each game has one for each seat."""
        shares, corrections = self.measure(games)
        luck = corrections.reshape(-1, len(KINDS))
        for row, share, correction in zip(rows, shares.ravel().tolist(), luck.tolist(), strict=True):
            row[MEAN_SHARE_COLUMN] = share
            row |= dict(zip(CORRECTION_COLUMNS, correction, strict=True))
