"""The learner's network, and its way into a policy file and back."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import torch
from gymnasium import spaces
from sb3_contrib.common.maskable.policies import MaskableActorCriticPolicy
from stable_baselines3.common.torch_layers import BaseFeaturesExtractor
from torch import nn

from symphony9_env.agents.policy import Card, Weights
from training.config import NetworkSettings, Settings

ACTIVATIONS: Final[dict[str, type[nn.Module]]] = {"tanh": nn.Tanh, "relu": nn.ReLU}


class SharedLayers(BaseFeaturesExtractor):
    """The layers that policy and value have in common."""

    def __init__(self, observation_space: spaces.Box, sizes: tuple[int, ...], activation: str) -> None:
        inputs = observation_space.shape[0]
        super().__init__(observation_space, sizes[-1] if sizes else inputs)
        layers: list[nn.Module] = []
        for size in sizes:
            layers += [nn.Linear(inputs, size), ACTIVATIONS[activation]()]
            inputs = size
        self.layers = nn.Sequential(*layers)

    def forward(self, observations: torch.Tensor) -> torch.Tensor:
        shared: torch.Tensor = self.layers(observations)
        return shared


def policy_kwargs(network: NetworkSettings) -> dict[str, Any]:
    """What stable-baselines3 wants to know."""
    return {
        "features_extractor_class": SharedLayers,
        "features_extractor_kwargs": {"sizes": network.shared, "activation": network.activation},
        "net_arch": {"pi": list(network.policy), "vf": list(network.value)},
        "activation_fn": ACTIVATIONS[network.activation],
        "optimizer_kwargs": {"eps": 1e-5},
    }


def linear_layers(policy: MaskableActorCriticPolicy) -> dict[str, list[nn.Linear]]:
    """Both networks from the observation on; the shared layers are in both."""
    shared = _linear(policy.features_extractor)
    return {
        "policy": [*shared, *_linear(policy.mlp_extractor.policy_net), policy.action_net],  # type: ignore[list-item]
        "value": [*shared, *_linear(policy.mlp_extractor.value_net), policy.value_net],  # type: ignore[list-item]
    }


def _linear(module: nn.Module) -> list[nn.Linear]:
    return [layer for layer in module.modules() if isinstance(layer, nn.Linear)]


def weights_of(policy: MaskableActorCriticPolicy, network: NetworkSettings) -> Weights:
    """As a policy file has them: the value's layers begin after the shared ones."""
    weights: Weights = {}
    for kind, layers in linear_layers(policy).items():
        for number, layer in enumerate(layers):
            if kind == "policy" or number >= len(network.shared):
                weights[f"{kind}.{number}.weight"] = layer.weight.detach().cpu().numpy().astype(np.float32).copy()
                weights[f"{kind}.{number}.bias"] = layer.bias.detach().cpu().numpy().astype(np.float32).copy()
    return weights


def set_weights(policy: MaskableActorCriticPolicy, card: Card, weights: Weights, network: NetworkSettings) -> None:
    """Begin with the weights of a saved policy, whose layers must be of the same sizes."""
    layers = linear_layers(policy)
    with torch.no_grad():
        for name, values in weights.items():
            kind, number, part = name.split(".")
            known = kind in layers and int(number) < len(layers[kind])
            there = getattr(layers[kind][int(number)], part) if known else None
            if there is None or tuple(there.shape) != values.shape:
                raise ValueError(f"its layers {card.sizes()} are not those of this network: {network.model_dump()}")
            there.copy_(torch.from_numpy(values))


def make_card(settings: Settings, training: dict[str, Any]) -> Card:
    network = settings.network
    options = settings.game.options()
    return Card(
        num_players=(options.num_players,),
        hidden=(*network.shared, *network.policy),
        shared_layers=len(network.shared),
        value_hidden=network.value,
        activation=network.activation,
        ledger=options.ledger,
        temperature=settings.temperature,
        options=settings.game.model_dump(),
        training=training,
    )
