"""The parts of RLlib training: the module, the assignment of modules to seats, the callback, the configuration.

`training/rllib.py` runs it.
"""

from __future__ import annotations

import math
import random
from typing import Any, Final

import torch
from gymnasium import spaces
from ray.rllib.algorithms.ppo import PPOConfig
from ray.rllib.algorithms.ppo.torch.ppo_torch_learner import PPOTorchLearner
from ray.rllib.callbacks.callbacks import RLlibCallback
from ray.rllib.core.columns import Columns
from ray.rllib.core.rl_module.apis.value_function_api import ValueFunctionAPI
from ray.rllib.core.rl_module.multi_rl_module import MultiRLModuleSpec
from ray.rllib.core.rl_module.rl_module import RLModuleSpec
from ray.rllib.core.rl_module.torch.torch_rl_module import TorchRLModule
from ray.rllib.utils.torch_utils import FLOAT_MIN

from symphony9_env.actions import NUM_ACTIONS_DISCUSSION
from symphony9_env.integrations.rllib import FreshDealsEnv
from symphony9_env.names import seat_number
from symphony9_env.rules.chance import MAX_SEED, next_seed
from training.config import OpponentSettings, Settings
from training.network import policy_class

LEARNER: Final = "learner"
DECISIONS: Final = "learner_decisions"


class MaskedModule(TorchRLModule, ValueFunctionAPI):
    """The network of `training.train` as an RLlib module; illegal actions get the lowest possible logits."""

    def setup(self) -> None:
        kind, arguments = policy_class(Settings.model_validate(self.model_config["settings"]))
        actions: Any = spaces.Discrete(NUM_ACTIONS_DISCUSSION)
        self.policy: Any = kind(self.observation_space["observations"], actions, lambda _: 0.0, **arguments)

    def _forward(self, batch: dict[str, Any], **_: Any) -> dict[str, torch.Tensor]:
        """Return the logits, and the value's features, so that a gradient step encodes each observation once."""
        observation, mask = batch[Columns.OBS]["observations"], batch[Columns.OBS]["action_mask"]
        latent_pi, latent_vf = self.policy.mlp_extractor(observation)
        logits = self.policy.action_net(latent_pi)[:, : mask.shape[1]]  # fewer actions without the discussion
        return {Columns.ACTION_DIST_INPUTS: torch.where(mask > 0, logits, FLOAT_MIN), Columns.EMBEDDINGS: latent_vf}

    def compute_values(self, batch: dict[str, Any], embeddings: torch.Tensor | None = None) -> torch.Tensor:
        if embeddings is None:
            embeddings = self.policy.mlp_extractor.forward_critic(batch[Columns.OBS]["observations"])
        values: torch.Tensor = self.policy.value_net(embeddings)[:, 0]
        return values


class OneOptimizer(PPOTorchLearner):
    """A learner with an optimizer for the trained module only; those of frozen modules would slow updates down."""

    def configure_optimizers_for_module(self, module_id: str, config: Any = None) -> None:
        if module_id == LEARNER:
            super().configure_optimizers_for_module(module_id, config)


class Seats:
    """Assigns modules to the seats of a game, from the game's id: one seat is the learner's, the others are drawn."""

    def __init__(self, settings: OpponentSettings, num_players: int) -> None:
        if settings.latest + settings.past <= 0:
            raise ValueError("opponents.latest and opponents.past are 0; RLlib training supports no other opponents")
        self.num_players = num_players
        self.same_kind = settings.same_kind
        self.latest = settings.latest / (settings.latest + settings.past)
        self.past = [f"past_{number}" for number in range(settings.max_snapshots)] if self.latest < 1 else []
        self.learner_share = (1 + (num_players - 1) * self.latest) / num_players  # of all decisions, on average

    def __call__(self, agent: str, episode: Any, **_: Any) -> str:
        chance = random.Random(episode.id_)
        own, same = chance.randrange(self.num_players), chance.random() < self.same_kind
        drawn = [LEARNER if chance.random() < self.latest else chance.choice(self.past) for _ in range(4)]
        seat = seat_number(agent)
        return LEARNER if seat == own else drawn[0 if same else seat]


class OwnDecisions(RLlibCallback):
    """Removes the decisions of frozen modules from what a runner sends, and counts the learner's."""

    def on_sample_end(self, *, metrics_logger: Any, samples: list[Any], **_: Any) -> None:
        for episode in samples:
            for agent, part in list(episode.agent_episodes.items()):
                if part.module_id != LEARNER:
                    del episode.agent_episodes[agent]
        count = sum(len(part) for episode in samples for part in episode.agent_episodes.values())
        metrics_logger.log_value(DECISIONS, count, reduce="sum")


def make_config(settings: Settings, runners: int, steps: int = 0) -> PPOConfig:
    """Return RLlib's configuration for a run that starts or resumes after so many steps."""
    ppo, seats = settings.ppo, Seats(settings.opponents, settings.game.num_players)
    end = math.ceil(settings.total_steps / seats.learner_share)  # RLlib's schedules count everybody's decisions
    spec = RLModuleSpec(module_class=MaskedModule, model_config={"settings": settings.model_dump(mode="json")})
    modules = dict.fromkeys([LEARNER, *seats.past], spec)
    return (
        PPOConfig()
        .environment(FreshDealsEnv, env_config=settings.game.as_json(), disable_env_checking=True)
        .env_runners(
            num_env_runners=runners,
            num_envs_per_env_runner=math.ceil(ppo.n_envs / max(runners, 1)),
            batch_mode="complete_episodes",  # RLlib loses decisions and rewards of waiting seats where it cuts a game
            sample_timeout_s=3600,
        )
        .multi_agent(policies=set(modules), policy_mapping_fn=seats, policies_to_train=[LEARNER])
        .rl_module(rl_module_spec=MultiRLModuleSpec(rl_module_specs=modules))
        .learners(num_learners=0, learner_class=OneOptimizer)  # in this process
        .training(
            train_batch_size_per_learner=math.ceil(ppo.n_envs * ppo.n_steps / seats.learner_share),
            minibatch_size=ppo.batch_size,
            num_epochs=ppo.n_epochs,
            lr=[[0, ppo.learning_rate], [end, ppo.learning_rate_end]],
            entropy_coeff=[[0, ppo.ent_coef], [end, ppo.ent_coef_end]],
            gamma=ppo.gamma,
            lambda_=ppo.gae_lambda,
            clip_param=ppo.clip_range,
            vf_loss_coeff=ppo.vf_coef,
            vf_clip_param=math.inf,
            grad_clip=ppo.max_grad_norm,
            grad_clip_by="global_norm",
            use_kl_loss=False,
        )
        .callbacks(OwnDecisions)
        .fault_tolerance(restart_failed_env_runners=True, env_runner_health_probe_timeout_s=1)
        .debugging(seed=next_seed((settings.seed + steps) & MAX_SEED) % 2**31, log_level="ERROR")
    )
