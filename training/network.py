"""The learner's networks in PyTorch, and their conversion to and from policy files."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, NamedTuple

import numpy as np
import torch
from sb3_contrib.common.maskable.policies import MaskableActorCriticPolicy
from torch import nn

from symphony9_env.actions import NUM_ACTIONS_DISCUSSION
from symphony9_env.agents.networks import SHAPES, Weights, musician_columns
from symphony9_env.agents.policy import Card, load_policy
from symphony9_env.views.fields import HIDDEN_SIZE
from training.config import NetworkSettings, Settings
from training.fused_layers import MusicianLayers

ACTIVATIONS: Final[dict[str, type[nn.Module]]] = {"tanh": nn.Tanh, "relu": nn.ReLU}
OUTPUT_LAYERS: Final = ("choice.weight", "rest.weight", "value.weight")
OUTPUT_GAIN: Final = 0.01  # of the initial weights of output layers, so that the first policy is nearly uniform
HIDDEN_GAIN: Final = 2**0.5
MASKED_LOGIT: Final = -1e9  # of an illegal action: its probability is exactly 0, and 0 times this is still a number


class Musicians(nn.Module):
    """The trainable version of `symphony9_env.agents.networks.Musicians`, as a stable-baselines3 MLP extractor.

    Its policy output is the logits themselves; its value output goes into stable-baselines3's own value layer.
    """

    columns: torch.Tensor
    global_columns: torch.Tensor

    def __init__(self, network: NetworkSettings, ledger: bool) -> None:
        super().__init__()
        columns, global_columns = musician_columns(ledger)
        self.register_buffer("columns", torch.from_numpy(columns), persistent=False)
        self.register_buffer("global_columns", torch.from_numpy(global_columns), persistent=False)
        self.activate: Callable[[torch.Tensor], torch.Tensor] = ACTIVATIONS[network.activation]()
        self.is_fused = network.activation == "relu"
        shapes = SHAPES["musicians"](network.hidden, ledger)
        self.names = [name for name in shapes if name not in ("value.weight", "value.bias")]  # SB3's layer
        self.weights = nn.ParameterDict()
        for name in self.names:
            self.weights[name.replace(".", "_")] = nn.Parameter(_initial_values(name, shapes[name]))
        self.latent_dim_pi = NUM_ACTIONS_DISCUSSION
        self.latent_dim_vf = network.hidden[2]

    def forward(self, observation: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        choices, position = self._encode(observation)
        return self._logits(choices, position), self._head(position, "value_third")

    def forward_actor(self, observation: torch.Tensor) -> torch.Tensor:
        return self._logits(*self._encode(observation))

    def forward_critic(self, observation: torch.Tensor) -> torch.Tensor:
        return self._head(self._encode(observation)[1], "value_third")

    def _encode(self, observation: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Return the logits of each musician's choices, and the features of the whole position."""
        global_features = observation[:, self.global_columns]
        shared = nn.functional.linear(global_features, self.weights["first_table"])
        names = ("first_weight", "first_place", "second_weight", "second_pool", "second_bias", "choice_weight")
        weights = [self.weights[name] for name in (*names, "choice_bias")]
        is_fused = self.is_fused and observation.device.type == "cpu" and not torch.is_autocast_enabled("cpu")
        apply: Any = MusicianLayers.apply if is_fused else self._apply_layers
        choices, pooled = apply(observation[:, self.columns], shared, *weights)
        return choices, torch.cat([pooled, global_features], dim=1)

    def _apply_layers(
        self, features: torch.Tensor, shared: torch.Tensor, *weights: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Compute what `MusicianLayers` does, on any device and with any activation function."""
        first_weight, place, second_weight, pool, bias, choice, choice_bias = weights
        linear = nn.functional.linear
        first = self.activate(linear(features, first_weight) + shared[:, None, :] + place)
        second_shared = linear(_pool(first), pool, bias)
        second = self.activate(linear(first, second_weight) + second_shared[:, None, :])
        return linear(second, choice, choice_bias), _pool(second)

    def _logits(self, choices: torch.Tensor, position: torch.Tensor) -> torch.Tensor:
        weights = self.weights
        rest = nn.functional.linear(self._head(position, "third"), weights["rest_weight"], weights["rest_bias"])
        return torch.cat([choices.transpose(1, 2).flatten(1), rest], dim=1)

    def _head(self, position: torch.Tensor, name: str) -> torch.Tensor:
        layer = nn.functional.linear(position, self.weights[f"{name}_weight"], self.weights[f"{name}_bias"])
        return self.activate(layer)


def _pool(values: torch.Tensor) -> torch.Tensor:
    """Return the mean and the maximum over musicians."""
    return torch.cat([values.mean(dim=1), values.amax(dim=1)], dim=1)


def _initial_values(name: str, shape: tuple[int, ...]) -> torch.Tensor:
    values = torch.zeros(shape)
    if len(shape) == 2 and name != "first.place":
        nn.init.orthogonal_(values, OUTPUT_GAIN if name in OUTPUT_LAYERS else HIDDEN_GAIN)
    return values


class Evaluation(NamedTuple):
    """What the networks say of some positions."""

    log_probs: torch.Tensor  # (n, actions), of illegal actions close to minus infinity
    value: torch.Tensor  # (n,) the expected return, from the observation alone
    baseline: torch.Tensor  # (n,) from which advantages are computed; the same unless the critic knows the state


class SelfPlayPolicy(MaskableActorCriticPolicy):
    """stable-baselines3's maskable policy with the networks of this package, whose policies can be saved.

    A critic that knows the state has layers of its own after those of the value. It only computes advantages and is
    not saved with policies.
    """

    def __init__(self, *args: Any, network: NetworkSettings, ledger: bool, **kwargs: Any) -> None:
        self._network = network
        self._ledger = ledger
        kwargs["net_arch"] = list(network.hidden)
        kwargs["activation_fn"] = ACTIVATIONS[network.activation]
        kwargs["ortho_init"] = network.kind == "mlp"
        super().__init__(*args, **kwargs)

    def _build_mlp_extractor(self) -> None:
        if self._network.kind == "mlp":
            super()._build_mlp_extractor()
        else:
            self.mlp_extractor = Musicians(self._network, self._ledger)  # type: ignore[assignment]

    def _build(self, lr_schedule: Callable[[float], float]) -> None:
        super()._build(lr_schedule)
        if self._network.kind == "musicians":
            self.action_net = nn.Identity()  # the extractor computes the logits
            nn.init.orthogonal_(self.value_net.weight, 1.0)
        size = self._network.critic_size
        self.critic = make_critic(self.mlp_extractor.latent_dim_vf, size) if self._network.critic == "state" else None
        self.optimizer = self.optimizer_class(self.parameters(), lr=lr_schedule(1), **self.optimizer_kwargs)  # type: ignore[call-arg]

    def evaluate_positions(
        self, observation: torch.Tensor, mask: torch.Tensor, hidden: torch.Tensor | None = None
    ) -> Evaluation:
        """Return the log-probabilities of all actions and the values; `hidden` is for a critic that knows it."""
        latent_pi, latent_vf = self.mlp_extractor(observation)
        logits = self.action_net(latent_pi).float().masked_fill(~mask, MASKED_LOGIT)
        value = self.value_net(latent_vf).float()[:, 0]
        baseline = value if self.critic is None else self._criticise(latent_vf, hidden)
        return Evaluation(logits.log_softmax(dim=1), value, baseline)

    def evaluate_baseline(self, observation: torch.Tensor, hidden: torch.Tensor) -> torch.Tensor:
        """Return the values of the critic that knows what is hidden."""
        return self._criticise(self.mlp_extractor.forward_critic(observation), hidden)

    def _criticise(self, latent_vf: torch.Tensor, hidden: torch.Tensor | None) -> torch.Tensor:
        assert self.critic is not None
        assert hidden is not None
        values: torch.Tensor = self.critic(torch.cat([latent_vf, hidden], dim=1)).float()[:, 0]
        return values


def make_critic(num_features: int, size: int) -> nn.Sequential:
    """Return a critic that is given the features of the value and what is hidden, with two hidden layers."""
    layers = [nn.Linear(num_features + HIDDEN_SIZE, size), nn.Linear(size, size), nn.Linear(size, 1)]
    for layer, gain in zip(layers, (HIDDEN_GAIN, HIDDEN_GAIN, 1.0), strict=True):
        nn.init.orthogonal_(layer.weight, gain)
        nn.init.zeros_(layer.bias)
    return nn.Sequential(layers[0], nn.ReLU(), layers[1], nn.ReLU(), layers[2])


def parameters_by_name(policy: MaskableActorCriticPolicy) -> dict[str, torch.Tensor]:
    """Return the network's parameters by their names in a policy file."""
    extractor = policy.mlp_extractor
    if isinstance(extractor, Musicians):
        named = {name: extractor.weights[name.replace(".", "_")] for name in extractor.names}
        return {**named, "value.weight": policy.value_net.weight, "value.bias": policy.value_net.bias}
    layers = {
        "policy": [*extractor.policy_net, policy.action_net],
        "value": [*extractor.value_net, policy.value_net],
    }
    found: dict[str, torch.Tensor] = {}
    for kind, modules in layers.items():
        linear = [module for module in modules if isinstance(module, nn.Linear)]
        for number, layer in enumerate(linear):
            found |= {f"{kind}.{number}.weight": layer.weight, f"{kind}.{number}.bias": layer.bias}
    return found


def export_weights(policy: MaskableActorCriticPolicy) -> Weights:
    """Return a copy of the network's weights as a policy file contains them."""
    return {
        name: np.ascontiguousarray(values.detach().cpu().numpy(), np.float32).copy()
        for name, values in parameters_by_name(policy).items()
    }


def load_initial_weights(policy: MaskableActorCriticPolicy, settings: Settings) -> None:
    """Load the weights of the saved policy that `start_from` names, if any."""
    if settings.start_from is None:
        return
    try:
        set_weights(policy, *load_policy(settings.start_from))
    except ValueError as error:
        raise ValueError(f"start_from: {error}") from None


def set_weights(policy: MaskableActorCriticPolicy, card: Card, weights: Weights) -> None:
    """Copy the weights of a saved policy, which must have the same network."""
    own = parameters_by_name(policy)
    if {name: tuple(values.shape) for name, values in own.items()} != card.shapes():
        saved = f"{card.network}, hidden layers {list(card.hidden)}, ledger {card.ledger}"
        raise ValueError(f"the saved policy's network ({saved}) differs from this run's")
    with torch.no_grad():
        for name, values in own.items():
            values.copy_(torch.from_numpy(weights[name]))


def make_card(settings: Settings, training: dict[str, Any]) -> Card:
    """Return the description of a policy trained with these settings."""
    return Card(
        num_players=(settings.game.num_players,),
        network=settings.network.kind,
        hidden=settings.network.hidden,
        activation=settings.network.activation,
        ledger=settings.game.ledger,
        temperature=settings.temperature,
        options=settings.game.as_json(),
        training=training,
    )
