"""How often agents end ahead of each other: counts by deal, and log-odds."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from symphony9_env.arena.ratings import NUM_RESAMPLES, PRIOR, Choices, Floats, Ints, draw_weights, is_undecided


@dataclass(frozen=True)
class Pairs:
    """Meetings of agents, that is pairs of their seats in one game, by deal: (deals, agents, agents).

    An agent does not meet itself.
    """

    ahead: Floats  # how often the first agent ended ahead of the second; a tie counts half
    meetings: Floats

    @property
    def totals(self) -> Floats:
        """The meetings over all deals, (agents, agents)."""
        totals: Floats = self.meetings.sum(0)
        return totals

    def are_complete(self) -> bool:
        """Return whether all agents have met each other."""
        return bool((self.totals + np.eye(len(self.totals)) > 0).all())


def count_pairs(agents: Ints, ranks: Ints, deals: Ints, num_agents: int) -> Pairs:
    """Count the meetings in all games, from the arrays that `ratings.count_choices` takes."""
    seated = (agents[:, :, None] == np.arange(num_agents)).astype(np.float64)  # (games, seats, agents)
    differences = ranks[:, None, :] - ranks[:, :, None]
    scores = 0.5 * (np.sign(differences) + 1)
    num_deals, others = int(deals.max()) + 1, 1 - np.eye(num_agents)
    counts = []
    for values in (scores, np.ones_like(scores)):
        by_game = np.einsum("gai,gab,gbj->gij", seated, values, seated, optimize=True) * others
        by_deal = np.zeros((num_deals, num_agents, num_agents))
        np.add.at(by_deal, deals, by_game)
        counts.append(by_deal)
    return Pairs(*counts)


def compute_logits(ahead: Floats, prior: Floats | float = PRIOR) -> Floats:
    """Return the log-odds that the agent of a row ends ahead of that of a column, (..., agents, agents).

    `prior` is the weight of an imagined win of each agent against each other one, which keeps them finite. They are
    antisymmetric, and zero for agents that have not met.
    """
    wins = ahead + prior
    logits: Floats = np.log(wins) - np.log(np.swapaxes(wins, -1, -2))
    return logits


def list_choices(pairs: Pairs) -> Choices:
    """Return the meetings as choices between two seats, for `ratings.fit_strengths`: those that occurred."""
    num_agents = pairs.ahead.shape[1]
    first, second = np.nonzero(pairs.ahead.sum(axis=0) > 0)
    eye = np.eye(num_agents, dtype=np.int64)
    return Choices(field=eye[first] + eye[second], first=first, counts=pairs.ahead[:, first, second])


def resample_logits(pairs: Pairs, rng: np.random.Generator, resamples: int = NUM_RESAMPLES) -> Floats:
    """Return the log-odds of resampled deals, (resamples, agents, agents), drawn as for the intervals of ratings."""
    num_deals, num_agents, _ = pairs.ahead.shape
    is_bayesian = is_undecided(list_choices(pairs))
    weights = draw_weights(num_deals, rng, resamples, is_bayesian)
    prior = rng.gamma(PRIOR, size=(resamples, num_agents, num_agents)) if is_bayesian else PRIOR
    return compute_logits(np.einsum("rd,dij->rij", weights, pairs.ahead, optimize=True), prior)
