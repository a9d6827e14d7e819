"""Nash-averaged ratings: how strong agents are against the mixture of agents that nobody does well against.

The log-odds of agents against each other are the pay-offs of a game in which two players choose an agent each. In its
equilibrium, the players choose agents by weights that no agent gains against. Several mixtures may be equilibria, for
instance if an agent has a copy; the one with the highest entropy is unique and treats copies alike. The Nash-averaged
rating of an agent is its mean log-odds against it (Balduzzi et al. 2018, "Re-evaluating evaluation").
"""

from __future__ import annotations

from typing import Final, TypedDict

import numpy as np

from symphony9_env.arena.pairs import Pairs, compute_logits, resample_logits
from symphony9_env.arena.ratings import COVERAGE, ELO, NUM_RESAMPLES, Floats

# The weights tend to those of the equilibrium as a penalty goes to zero, which it does in stages.
PENALTIES: Final = tuple(10.0**-stage for stage in range(1, 11))
DIGITS: Final = 6  # after the point, to which the weights are exact
MAX_STEPS: Final = 100  # of Newton's method, in one stage
MAX_HALVINGS: Final = 40  # of one step


class NashResult(TypedDict):
    """An agent against the equilibrium of the agents."""

    weight: float  # the agent's share of the equilibrium
    weight_95: list[float]
    rating: float  # against the equilibrium, in rating points: 0 for agents that are part of it, below 0 for others
    rating_95: list[float]


def rate_by_nash(
    pairs: Pairs, names: list[str], seed: int = 0, resamples: int = NUM_RESAMPLES
) -> dict[str, NashResult] | None:
    """Return each agent's weight and Nash-averaged rating, with 95 % intervals; None if not all agents have met."""
    if len(names) < 2 or not pairs.are_complete():
        return None
    weights, ratings = _average(compute_logits(pairs.ahead.sum(0))[None])
    resampled = _average(resample_logits(pairs, np.random.default_rng(seed), resamples))
    ends = [np.quantile(values, [(1 - COVERAGE) / 2, (1 + COVERAGE) / 2], axis=0).T.tolist() for values in resampled]
    return {
        name: {
            "weight": float(weights[0, agent]),
            "weight_95": ends[0][agent],
            "rating": float(ratings[0, agent]),
            "rating_95": ends[1][agent],
        }
        for agent, name in enumerate(names)
    }


def _average(logits: Floats) -> tuple[Floats, Floats]:
    """Return the weights and ratings of each matrix of log-odds, (rows, agents)."""
    weights = find_equilibria(logits)
    ratings = ELO * np.einsum("rij,rj->ri", logits, weights)
    return weights.round(DIGITS), ratings.round(DIGITS - 3) + 0.0  # not -0.0


def find_equilibria(payoffs: Floats) -> Floats:
    """Return the weights of the equilibrium with the highest entropy for each antisymmetric matrix of pay-offs.

    `payoffs` has the shape (rows, agents, agents), and the result (rows, agents). The weights p maximise the entropy
    subject to `payoffs @ p <= 0`. The dual problem is to minimise log(sum(exp(payoffs @ v))) for v >= 0, and p =
    softmax(payoffs @ v). Its minimum may lie at infinity, so penalty * sum(v - log(v)) is added. That function is
    strictly convex and has its minimum inside. As the penalty decreases, p tends to the equilibrium, with an error in
    the order of the penalty.
    """
    scale = np.abs(payoffs).max((1, 2), keepdims=True)
    matrices = payoffs / np.where(scale > 0, scale, 1)  # which has the same equilibria
    duals = np.ones(matrices.shape[:2])
    for penalty in PENALTIES:
        duals = _minimise(matrices, duals, penalty)
    return _compute_weights(matrices, duals)


def _compute_weights(matrices: Floats, duals: Floats) -> Floats:
    values = np.einsum("rij,rj->ri", matrices, duals)
    powers = np.exp(values - values.max(1, keepdims=True))
    weights: Floats = powers / powers.sum(1, keepdims=True)
    return weights


def _minimise(matrices: Floats, duals: Floats, penalty: float) -> Floats:
    """Minimise with Newton's method, for all rows at once, in units of the duals.

    A step is halved while it leads too far up on the other side of the minimum. Slopes tell that more exactly than
    values of the function, which hardly differ near the minimum.
    """
    slopes = _differentiate(matrices, duals, penalty)
    for _ in range(MAX_STEPS):
        weights = _compute_weights(matrices, duals)
        scaled = matrices * duals[:, None, :]
        centred = scaled - np.einsum("ri,rij->rj", weights, scaled)[:, None, :]
        # The curvature is root.T @ root + penalty. Singular values of the root are exact enough where it hardly curves.
        _, values, axes = np.linalg.svd(np.sqrt(weights)[:, :, None] * centred)
        along = np.einsum("rij,rj->ri", axes, duals * slopes) / (values**2 + penalty)
        step = -duals * np.einsum("rij,ri->rj", axes, along)
        descent = -(slopes * step).sum(1)
        if descent.max() <= 1e-9 * penalty:
            break
        lengths = np.minimum(1, 0.9 / np.maximum((-step / duals).max(1), 0.9))  # so that the duals stay positive
        for _ in range(MAX_HALVINGS):
            found = _differentiate(matrices, duals + lengths[:, None] * step, penalty)
            is_too_long = (found * step).sum(1) > 0.5 * descent
            if not is_too_long.any():
                break
            lengths = np.where(is_too_long, lengths / 2, lengths)
        duals = duals + lengths[:, None] * step
        slopes = _differentiate(matrices, duals, penalty)
    return duals


def _differentiate(matrices: Floats, duals: Floats, penalty: float) -> Floats:
    """Return the gradient of the function that is minimised."""
    gains = np.einsum("rij,rj->ri", matrices, _compute_weights(matrices, duals))
    slopes: Floats = penalty * (1 - 1 / duals) - gains
    return slopes
