"""Behaviour cloning: fit the network to an agent's decisions before reinforcement learning starts.

The agent plays against itself, with some moves replaced by random ones so that the learner also sees how the agent
handles unusual positions. The policy is fitted to the agent's choices and the value to the rewards, one chunk of games
after the other, each chunk once.
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch.nn import functional

from symphony9_env import agents
from symphony9_env.agents import Agent
from symphony9_env.agents.base import derive_agent_seed
from symphony9_env.batched import BatchedGames
from symphony9_env.rules.chance import next_seed
from symphony9_env.rules.state import States
from training.config import Settings
from training.ppo import SelfPlayPPO
from training.run import Run

CHUNK_SIZE: Final = 256  # games
MAX_GRAD_NORM: Final = 1.0


class Demonstrations(NamedTuple):
    """All decisions of some games."""

    states: States  # (n,)
    action: NDArray[np.int64]  # (n,) the agent's choice
    reward: NDArray[np.float32]  # (n,) of the deciding seat, at the end of the game


def collect_demonstrations(settings: Settings, seed: int, num_games: int = CHUNK_SIZE) -> Demonstrations:
    """Play one game on every row of a batch and return all decisions."""
    cloning = settings.behaviour_cloning
    batch = BatchedGames(num_games, seed=seed, **settings.game.options().as_keywords())
    with agents.make(cloning.agent or "planner", seed=seed) as teacher:
        return _play(batch, teacher, cloning.random_move_probability, seed)


def _play(batch: BatchedGames, teacher: Agent, random_move_probability: float, seed: int) -> Demonstrations:
    random_agent = agents.make("random", seed=next_seed(seed))
    rng = np.random.default_rng(seed)
    decisions: list[tuple[Any, ...]] = []
    final_rewards = np.zeros(batch.rewards.shape, np.float32)
    rows = np.arange(batch.num_games)
    while len(rows):
        choice = teacher.decide(batch, rows)
        decisions.append((rows, batch.player[rows], batch.states[rows], choice))
        is_random = rng.random(len(rows)) < random_move_probability
        batch.step(np.where(is_random, random_agent.decide(batch, rows), choice), rows=rows)
        over = batch.terminated[rows]
        final_rewards[rows[over]] = batch.rewards[rows[over]]
        rows = rows[~over]
    row, seat, states, action = (np.concatenate(parts) for parts in zip(*decisions, strict=True))
    return Demonstrations(states, action, final_rewards[row, seat])


def fit(
    model: SelfPlayPPO, demonstrations: Demonstrations, optimizer: torch.optim.Optimizer, batch_size: int
) -> tuple[float, float]:
    """Train for one epoch; return the fraction of decisions on which policy and agent agree, and the value loss.

    The workers train together: each takes as many steps as the one with the fewest decisions can.
    """
    num_decisions = model.group.least(len(demonstrations.action))
    agreed, losses = [], []
    for rows in torch.split(torch.randperm(len(demonstrations.action))[:num_decisions], batch_size):
        inputs = model.encode(demonstrations.states, rows.numpy())
        action, reward = (torch.from_numpy(part)[rows].to(model.device) for part in demonstrations[1:])
        evaluation = model.policy.evaluate_positions(*inputs)
        value_loss = model.compute_value_loss(evaluation, reward)
        loss = functional.nll_loss(evaluation.log_probs, action) + model.vf_coef * value_loss
        model.step(loss, optimizer, MAX_GRAD_NORM)
        agreed.append(float((evaluation.log_probs.argmax(1) == action).float().mean()))
        losses.append(float(value_loss.detach()))
    return float(np.mean(agreed)), float(np.mean(losses))


def clone_behaviour(model: SelfPlayPPO, settings: Settings, run: Run | None) -> None:
    """Fit the model to the agent's games; the learning rate decays linearly to 0."""
    cloning, group = settings.behaviour_cloning, model.group
    chunk = group.share(CHUNK_SIZE)
    num_chunks = -(-cloning.games // (chunk * group.size))
    optimizer = model.make_optimizer(cloning.learning_rate)
    seed = next_seed(settings.seed if group.rank == 0 else derive_agent_seed(settings.seed, group.rank))
    if run is not None:
        run.begin(num_chunks * chunk * group.size, 0, "games", f"cloning {cloning.agent}")
    for number in range(num_chunks):
        optimizer.param_groups[0]["lr"] = cloning.learning_rate * (1 - number / num_chunks)
        seed = next_seed(seed)
        demonstrations = collect_demonstrations(settings, seed, chunk)
        agreement, value_loss = fit(model, demonstrations, optimizer, group.share(cloning.batch_size))
        if run is not None:
            notes = {"agreement": f"{100 * agreement:.0f}%", "value_loss": f"{value_loss:.3f}"}
            run.show((number + 1) * chunk * group.size, notes)
