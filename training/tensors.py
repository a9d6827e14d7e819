"""Tensors in checkpoints: conversion and checks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch

from symphony9_env.agents.networks import Weights


def to_tensors(weights: Weights) -> dict[str, torch.Tensor]:
    """Return arrays as tensors that share their memory."""
    return {name: torch.from_numpy(values) for name, values in weights.items()}


def check_tensors(name: str, found: Any, wanted: Mapping[Any, torch.Tensor]) -> None:
    """Raise a ValueError unless there are exactly the wanted tensors, of the same types and shapes, and finite."""
    if not isinstance(found, dict) or set(found) != set(wanted):
        raise ValueError(f"{name}: needed: {', '.join(map(str, wanted))}")
    for key, like in wanted.items():
        value = found[key]
        if not isinstance(value, torch.Tensor) or (value.dtype, value.shape) != (like.dtype, like.shape):
            raise ValueError(f"{name} {key}: needed: {like.dtype} of shape {tuple(like.shape)}")
        if not torch.isfinite(value).all():
            raise ValueError(f"{name} {key}: has values that are not finite numbers")
