"""Gymnasium spaces of the observation, the actions and the state, from the fields of the layout."""

from __future__ import annotations

import numpy as np
from gymnasium import spaces

from symphony9_env.actions import num_actions
from symphony9_env.options import EnvOptions
from symphony9_env.views import Field, observation_fields


def vector_space(fields: tuple[Field, ...]) -> spaces.Box:
    """Return the space of a vector with these fields."""
    low = np.concatenate([np.full(field.size, field.low, np.float32) for field in fields])
    high = np.concatenate([np.full(field.size, field.high, np.float32) for field in fields])
    return spaces.Box(low, high, dtype=np.float32)


def observation_space(options: EnvOptions) -> spaces.Dict:
    """Return the space of what an agent observes."""
    return spaces.Dict(
        {
            "observation": vector_space(observation_fields(options.ledger)),
            "action_mask": spaces.Box(0, 1, (num_actions(options.variant.discussion),), np.int8),
        }
    )


def action_space(options: EnvOptions) -> spaces.Discrete[np.int64]:
    """Return the space of the actions."""
    return spaces.Discrete(num_actions(options.variant.discussion))
