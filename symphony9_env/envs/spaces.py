"""Gymnasium spaces of the observation, the actions and the state, from the fields of the layout."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from gymnasium import spaces

from symphony9_env.actions import num_actions
from symphony9_env.options import EnvOptions
from symphony9_env.views import Field, observation_fields

MASK_IN_INFO: Final = "info"
MASKS: Final = ("observation", MASK_IN_INFO)


def vector_space(fields: tuple[Field, ...]) -> spaces.Box:
    """Return the space of a vector with these fields."""
    low = np.concatenate([np.full(field.size, field.low, np.float32) for field in fields])
    high = np.concatenate([np.full(field.size, field.high, np.float32) for field in fields])
    return spaces.Box(low, high, dtype=np.float32)


def check_mask(mask: Any) -> str:
    """Return where the mask of legal actions is given, or raise a ValueError."""
    if not isinstance(mask, str) or mask not in MASKS:
        raise ValueError(f"mask={mask!r}; allowed: {', '.join(map(repr, MASKS))}")
    return mask


def observation_space(options: EnvOptions, mask: str) -> spaces.Space[Any]:
    """Return the space of what an agent observes, with the mask or without it."""
    vector = vector_space(observation_fields(options.ledger))
    if mask == MASK_IN_INFO:
        return vector
    num = num_actions(options.variant.discussion)
    return spaces.Dict({"observation": vector, "action_mask": spaces.Box(0, 1, (num,), np.int8)})


def action_space(options: EnvOptions) -> spaces.Discrete[np.int64]:
    """Return the space of the actions."""
    return spaces.Discrete(num_actions(options.variant.discussion))
