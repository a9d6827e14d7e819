"""A head start: learn what an agent does from its games, before learning to do better.

States of the agent against itself are played in chunks, with some moves replaced by random ones so that the
learner also sees what the agent does about odd positions. Policy and value are fitted to each chunk once: to the
agent's choices, and to who won.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from sb3_contrib import MaskablePPO
from torch.nn import functional
from tqdm import tqdm

from symphony9_env import agents
from symphony9_env.actions import NUM_ACTIONS_DISCUSSION
from symphony9_env.batched import BatchedGames
from symphony9_env.rules.chance import next_seed
from training.config import Settings

CHUNK = 256  # games


@dataclass(frozen=True)
class Chunk:
    """Decisions of whole games."""

    observation: NDArray[np.float32]  # (n, size)
    mask: NDArray[np.bool_]  # (n, actions)
    action: NDArray[np.int64]  # (n,) the agent's choice
    reward: NDArray[np.float32]  # (n,) what the game brought the deciding seat


def play_chunk(settings: Settings, seed: int) -> Chunk:
    """Play games until all rows have ended one, and keep every decision of those."""
    options = settings.game.model_dump()
    games = BatchedGames(CHUNK, seed=seed, reward="win", **options)
    teacher = agents.make(settings.warm_start.agent or "planner", seed=seed)
    stray = agents.make("random", seed=next_seed(seed))
    rng = np.random.default_rng(seed)
    seen: list[tuple[Any, ...]] = []
    result = np.zeros((CHUNK, settings.game.num_players), np.float32)
    rows = np.arange(CHUNK)
    while len(rows):
        choice = teacher.decide(games, rows)
        seen.append((rows, games.player[rows], games.observation[rows], games.action_mask[rows] == 1, choice))
        played = np.where(rng.random(len(rows)) < settings.warm_start.slips, stray.decide(games, rows), choice)
        games.step(played, rows=rows)
        over = games.terminated[rows]
        result[rows[over]] = games.rewards[rows[over]]
        rows = rows[~over]
    row, seat, observation, mask, action = (np.concatenate(parts) for parts in zip(*seen, strict=True))
    wide = np.zeros((len(mask), NUM_ACTIONS_DISCUSSION), bool)
    wide[:, : mask.shape[1]] = mask
    return Chunk(observation, wide, action, result[row, seat])


def fit(model: MaskablePPO, chunk: Chunk, optimizer: torch.optim.Optimizer, batch_size: int) -> tuple[float, float]:
    """One pass over a chunk; returns how often the policy would have chosen as the agent did, and the value's error."""
    order = torch.randperm(len(chunk.action))
    data = [torch.from_numpy(array) for array in (chunk.observation, chunk.mask, chunk.action, chunk.reward)]
    agreed, error = 0.0, 0.0
    for part in torch.split(order, batch_size):
        observation, mask, action, reward = (array[part] for array in data)
        features = model.policy.extract_features(observation)
        for_policy, for_value = model.policy.mlp_extractor(features)
        logits = model.policy.action_net(for_policy).masked_fill(~mask, -1e9)
        value = model.policy.value_net(for_value)[:, 0]
        value_loss = functional.mse_loss(value, reward)
        loss = functional.cross_entropy(logits, action) + model.vf_coef * value_loss
        optimizer.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        torch.nn.utils.clip_grad_norm_(model.policy.parameters(), 1.0)
        optimizer.step()
        agreed += float((logits.argmax(1) == action).sum())
        error += float(value_loss.detach()) * len(part)
    return agreed / len(order), error / len(order)


def warm_up(model: MaskablePPO, settings: Settings) -> None:
    """Fit the model to the agent's games; the learning rate falls to nothing towards the end."""
    chosen = settings.warm_start
    num_chunks = -(-chosen.games // CHUNK)
    optimizer = torch.optim.Adam(model.policy.parameters(), chosen.learning_rate)
    seed = next_seed(settings.seed)
    with tqdm(total=num_chunks * CHUNK, unit=" games", desc=f"learning from {chosen.agent}", disable=None) as bar:
        for number in range(num_chunks):
            optimizer.param_groups[0]["lr"] = chosen.learning_rate * (1 - number / num_chunks)
            seed = next_seed(seed)
            agreed, error = fit(model, play_chunk(settings, seed), optimizer, chosen.batch_size)
            bar.update(CHUNK)
            bar.set_postfix(agreement=f"{100 * agreed:.0f}%", value_error=f"{error:.3f}")
