"""PPO on the decisions of all seats that the learner plays, with gradients averaged over the workers."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import numpy as np
import torch
from gymnasium import spaces
from numpy.typing import NDArray
from sb3_contrib import MaskablePPO
from stable_baselines3.common.utils import explained_variance
from torch import nn
from torch.nn import functional

from symphony9_env.actions import NUM_ACTIONS_DISCUSSION
from symphony9_env.agents.base import derive_agent_seed
from symphony9_env.agents.policy import PolicyAgent
from symphony9_env.envs.spaces import vector_space
from symphony9_env.rules.state import States
from symphony9_env.views import observation_fields
from training.config import Settings
from training.group import Group
from training.network import Evaluation, SelfPlayPolicy, export_weights, load_initial_weights, make_card
from training.self_play import Encoder, Floats, Rollout

Losses = dict[str, float]


def flatten_parameters(module: nn.Module) -> nn.Parameter:
    """Let all parameters, and their gradients, be parts of one tensor, and return it.

    The workers then exchange all gradients at once, and an optimizer takes its step on one tensor.
    """
    parameters = list(module.parameters())
    flat = nn.Parameter(torch.cat([values.detach().flatten() for values in parameters]))
    flat.grad = torch.zeros_like(flat)
    sizes = [values.numel() for values in parameters]
    parts = zip(torch.split(flat.detach(), sizes), torch.split(flat.grad, sizes), strict=True)
    for values, (part, gradient) in zip(parameters, parts, strict=True):
        values.data = part.view_as(values)
        values.grad = gradient.view_as(values)
    return flat


class LearnerActor:
    """Plays the learner's seats with the policy as it is now, compiled as saved policies are."""

    def __init__(self, model: SelfPlayPPO) -> None:
        self._model = model
        seed = derive_agent_seed(model.settings.seed, model._n_updates)
        self._agent = PolicyAgent("learner", make_card(model.settings, {}), export_weights(model.policy), seed)

    def act(self, states: States) -> tuple[NDArray[np.int64], Floats, Floats]:
        """Draw an action in each state; return the actions, their log-probabilities and the values of the positions."""
        rows = np.arange(len(states))
        actions, log_probs, values = self._agent.sample(states, rows)
        if self._model.policy.critic is not None:
            observation, _, hidden = self._model.encode(states, rows)
            with torch.no_grad():
                values = self._model.policy.evaluate_baseline(observation, hidden).cpu().numpy()
        return actions, log_probs, values


class SelfPlayPPO(MaskablePPO):
    """sb3-contrib's MaskablePPO, which has the policy, the optimizer, the schedules and the log; rollouts are ours.

    Differences from its own update: advantages are normalised once for the whole rollout of all workers, and
    `target_kl` is looked at after each epoch, so that all workers do the same.
    """

    policy: SelfPlayPolicy

    def __init__(self, settings: Settings, group: Group, device: str = "cpu") -> None:
        ppo = settings.ppo
        decay = ppo.learning_rate - ppo.learning_rate_end
        super().__init__(
            SelfPlayPolicy,
            None,  # type: ignore[arg-type]
            learning_rate=lambda remaining: ppo.learning_rate_end + decay * remaining,
            n_steps=1,  # of MaskablePPO's own buffer, which is not used
            batch_size=group.share(ppo.batch_size),
            n_epochs=ppo.n_epochs,
            gamma=ppo.gamma,
            gae_lambda=ppo.gae_lambda,
            clip_range=ppo.clip_range,
            ent_coef=ppo.ent_coef,
            vf_coef=ppo.vf_coef,
            max_grad_norm=ppo.max_grad_norm,
            target_kl=ppo.target_kl,
            policy_kwargs={
                "network": settings.network,
                "ledger": settings.game.ledger,
            },
            seed=settings.seed % 2**32,
            device=device,
            _init_setup_model=False,
        )
        self.settings, self.group = settings, group
        self.encoder = Encoder(settings)
        self.observation_space = vector_space(observation_fields(settings.game.ledger))
        self.action_space = spaces.Discrete(NUM_ACTIONS_DISCUSSION)
        self.n_envs = 1
        self._setup_model()
        load_initial_weights(self.policy, settings)
        self.flat = flatten_parameters(self.policy)
        self.policy.optimizer = self.make_optimizer(ppo.learning_rate)
        # The slow copy of the policy from which the KL divergence is measured.
        self.reference = copy.deepcopy(self.policy).requires_grad_(False) if ppo.kl_coef > 0 else None

    def make_optimizer(self, learning_rate: float) -> torch.optim.Adam:
        """Return a new optimizer of all parameters."""
        return torch.optim.Adam([self.flat], learning_rate, eps=1e-5, fused=True)

    # Playing.

    def make_actor(self) -> LearnerActor:
        """Return what plays the learner's seats in the next rollout."""
        return LearnerActor(self)

    def encode(self, states: States, rows: NDArray[np.int64]) -> list[Any]:
        """Return the network's inputs for the deciding seats in these states."""
        inputs = self.encoder.encode(states, rows)
        return [None if array is None else torch.from_numpy(array).to(self.device) for array in inputs]

    # Learning.

    def set_progress(self, done: float) -> None:
        """Set what fraction of the run is done, for the schedule of the learning rate."""
        self._current_progress_remaining = 1 - done

    def update(self, rollout: Rollout) -> None:
        """Improve the policy with a rollout of this worker, together with those of the others."""
        self.policy.set_training_mode(True)
        self._update_learning_rate(self.policy.optimizer)
        advantage = self._normalise(rollout.advantage)
        reference = self._evaluate_reference(rollout)
        columns = [rollout.action, rollout.log_prob, advantage, rollout.returns]
        data = [torch.from_numpy(column).to(self.device) for column in columns]
        history: list[Losses] = []
        for _ in range(self.n_epochs):
            epoch = [self._learn(rollout, rows, data, reference) for rows in self._draw_minibatches(len(advantage))]
            history += epoch
            if self._is_too_far(epoch):
                break
        self._n_updates += 1
        self._move_reference()
        self._log(rollout, history)

    def _normalise(self, advantage: Floats) -> Floats:
        """Return advantages with mean 0 and standard deviation 1 over all workers."""
        moments = torch.tensor([advantage.mean(dtype=np.float64), np.square(advantage, dtype=np.float64).mean()])
        self.group.average(moments)
        mean, square = moments.tolist()
        normalised: Floats = (advantage - np.float32(mean)) / np.float32(np.sqrt(max(square - mean**2, 0.0)) + 1e-8)
        return normalised

    def _is_too_far(self, epoch: list[Losses]) -> bool:
        """Return whether the policy has moved so far in an epoch that the update ends, for all workers alike."""
        if self.target_kl is None:
            return False
        mean = torch.tensor(float(np.mean([losses["approx_kl"] for losses in epoch])), dtype=torch.float64)
        self.group.average(mean)
        return float(mean) > 1.5 * self.target_kl

    def _draw_minibatches(self, num_decisions: int) -> Iterator[NDArray[np.int64]]:
        """Yield the rows of one epoch in random order; a last, smaller minibatch is left out unless it is the only one.

        All workers have as many decisions, so they also have as many minibatches.
        """
        order = torch.randperm(num_decisions).numpy()
        assert self.batch_size is not None
        for first in range(0, max(num_decisions - self.batch_size + 1, 1), self.batch_size):
            yield order[first : first + self.batch_size]

    def _learn(
        self, rollout: Rollout, rows: NDArray[np.int64], data: list[torch.Tensor], reference: torch.Tensor | None
    ) -> Losses:
        """Take one step of the optimizer; return the losses."""
        with self._autocast():
            evaluation = self.policy.evaluate_positions(*self.encode(rollout.states, rows))
        index = torch.from_numpy(rows).to(self.device)
        action, old_log_prob, advantage, returns = (column[index] for column in data)
        log_ratio = evaluation.log_probs.gather(1, action[:, None])[:, 0] - old_log_prob
        ratio = log_ratio.exp()
        clip_range = self.clip_range(self._current_progress_remaining)  # type: ignore[operator]
        clipped = ratio.clamp(1 - clip_range, 1 + clip_range)
        policy_loss = -torch.min(ratio * advantage, clipped * advantage).mean()
        probabilities = evaluation.log_probs.exp()
        entropy = -(probabilities * evaluation.log_probs).sum(1).mean()
        value_loss = self.compute_value_loss(evaluation, returns)
        loss = policy_loss + self.vf_coef * value_loss - self.ent_coef * entropy
        losses = {"policy_gradient_loss": policy_loss, "value_loss": value_loss, "entropy_loss": -entropy}
        if reference is not None:
            divergence = (probabilities * (evaluation.log_probs - reference[index])).sum(1).mean()
            loss = loss + self.settings.ppo.kl_coef * divergence
            losses["reference_kl"] = divergence
        self.step(loss, self.policy.optimizer, self.max_grad_norm)
        with torch.no_grad():
            losses["approx_kl"] = (ratio - 1 - log_ratio).mean()
            losses["clip_fraction"] = ((ratio - 1).abs() > clip_range).float().mean()
            losses["loss"] = loss
        return dict(zip(losses, torch.stack(list(losses.values())).tolist(), strict=True))

    def compute_value_loss(self, evaluation: Evaluation, returns: torch.Tensor) -> torch.Tensor:
        """Return the mean squared error of the values, and of those of a separate critic."""
        loss = functional.mse_loss(evaluation.value, returns)
        return loss if self.policy.critic is None else loss + functional.mse_loss(evaluation.baseline, returns)

    def _autocast(self) -> AbstractContextManager[Any]:
        if self.settings.ppo.precision == "float32":
            return nullcontext()
        return torch.autocast(self.device.type, torch.bfloat16)

    def step(self, loss: torch.Tensor, optimizer: torch.optim.Optimizer, max_grad_norm: float) -> None:
        """Compute the gradient, average it over the workers, and take a step of an optimizer."""
        gradient = self.flat.grad
        assert gradient is not None
        gradient.zero_()
        loss.backward()  # type: ignore[no-untyped-call]
        self.group.average(gradient)
        norm = torch.linalg.vector_norm(gradient)
        gradient *= torch.clamp(max_grad_norm / (norm + 1e-6), max=1.0)
        optimizer.step()

    # The slow copy of the policy.

    @torch.no_grad()
    def _evaluate_reference(self, rollout: Rollout) -> torch.Tensor | None:
        """Return the log-probabilities of the slow copy in all positions of a rollout."""
        if self.reference is None:
            return None
        parts = np.array_split(np.arange(len(rollout.action)), -(-len(rollout.action) // 4096))
        inputs = (self.encode(rollout.states, rows) for rows in parts)
        return torch.cat([self.reference.evaluate_positions(*each).log_probs for each in inputs])

    def reset_reference(self) -> None:
        """Let the slow copy begin as the current policy."""
        if self.reference is not None:
            self.reference.load_state_dict(self.policy.state_dict())

    @torch.no_grad()
    def _move_reference(self) -> None:
        if self.reference is not None:
            for slow, values in zip(self.reference.parameters(), self.policy.parameters(), strict=True):
                slow.lerp_(values, 1 - self.settings.ppo.kl_decay)

    def _log(self, rollout: Rollout, history: list[Losses]) -> None:
        for name in history[0]:
            self.logger.record(f"train/{name}", float(np.mean([losses[name] for losses in history])))
        self.logger.record("train/explained_variance", explained_variance(rollout.value, rollout.returns))
        self.logger.record("train/clip_range", self.clip_range(self._current_progress_remaining))  # type: ignore[operator]
