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
from sb3_contrib import MaskablePPO
from torch.nn import functional

from symphony9_env import agents
from symphony9_env.actions import NUM_ACTIONS_DISCUSSION
from symphony9_env.agents import Agent
from symphony9_env.arena.console import show_progress
from symphony9_env.batched import BatchedGames
from symphony9_env.rules.chance import next_seed
from training.config import Settings

CHUNK_SIZE: Final = 256  # games
MAX_GRAD_NORM: Final = 1.0
MASKED_LOGIT: Final = -1e9


class Demonstrations(NamedTuple):
    """All decisions of some games."""

    observation: NDArray[np.float32]  # (n, size)
    mask: NDArray[np.bool_]  # (n, actions)
    action: NDArray[np.int64]  # (n,) the agent's choice
    reward: NDArray[np.float32]  # (n,) of the deciding seat, at the end of the game


def collect_demonstrations(settings: Settings, seed: int) -> Demonstrations:
    """Play one game on every row of a batch and return all decisions."""
    cloning = settings.behaviour_cloning
    batch = BatchedGames(CHUNK_SIZE, seed=seed, **settings.game.options().as_keywords())
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
        decisions.append((rows, batch.player[rows], batch.observation[rows], batch.action_mask[rows] == 1, choice))
        is_random = rng.random(len(rows)) < random_move_probability
        batch.step(np.where(is_random, random_agent.decide(batch, rows), choice), rows=rows)
        over = batch.terminated[rows]
        final_rewards[rows[over]] = batch.rewards[rows[over]]
        rows = rows[~over]
    row, seat, observation, mask, action = (np.concatenate(parts) for parts in zip(*decisions, strict=True))
    padded = np.pad(mask, ((0, 0), (0, NUM_ACTIONS_DISCUSSION - mask.shape[1])))
    return Demonstrations(observation, padded, action, final_rewards[row, seat])


def fit(
    model: MaskablePPO, demonstrations: Demonstrations, optimizer: torch.optim.Optimizer, batch_size: int
) -> tuple[float, float]:
    """Train for one epoch; return the fraction of decisions on which policy and agent agree, and the value loss."""
    data = [torch.from_numpy(array) for array in demonstrations]
    order = torch.randperm(len(demonstrations.action))
    num_agreed, total_loss = 0.0, 0.0
    for minibatch in torch.split(order, batch_size):
        observation, mask, action, reward = (array[minibatch] for array in data)
        features = model.policy.extract_features(observation)
        latent_pi, latent_vf = model.policy.mlp_extractor(features)
        logits = model.policy.action_net(latent_pi).masked_fill(~mask, MASKED_LOGIT)
        value = model.policy.value_net(latent_vf)[:, 0]
        value_loss = functional.mse_loss(value, reward)
        loss = functional.cross_entropy(logits, action) + model.vf_coef * value_loss
        optimizer.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        torch.nn.utils.clip_grad_norm_(model.policy.parameters(), MAX_GRAD_NORM)
        optimizer.step()
        num_agreed += float((logits.argmax(1) == action).sum())
        total_loss += float(value_loss.detach()) * len(minibatch)
    return num_agreed / len(order), total_loss / len(order)


def clone_behaviour(model: MaskablePPO, settings: Settings) -> None:
    """Fit the model to the agent's games; the learning rate decays linearly to 0."""
    cloning = settings.behaviour_cloning
    num_chunks = -(-cloning.games // CHUNK_SIZE)
    optimizer = torch.optim.Adam(model.policy.parameters(), cloning.learning_rate)
    seed = next_seed(settings.seed)
    with show_progress(num_chunks * CHUNK_SIZE, 0, label=f"cloning {cloning.agent}") as advance:
        for number in range(num_chunks):
            optimizer.param_groups[0]["lr"] = cloning.learning_rate * (1 - number / num_chunks)
            seed = next_seed(seed)
            demonstrations = collect_demonstrations(settings, seed)
            agreement, value_loss = fit(model, demonstrations, optimizer, cloning.batch_size)
            advance(CHUNK_SIZE, {"agreement": f"{100 * agreement:.0f}%", "value_loss": f"{value_loss:.3f}"})
