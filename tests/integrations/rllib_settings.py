"""The settings of tiny runs with RLlib."""

from __future__ import annotations

from typing import Any

from training.config import Settings, parse_settings

TINY: dict[str, Any] = {
    "total_steps": 600,
    "num_threads": 1,
    "game": {"num_players": 3},
    "network": {"hidden": [8, 8, 8]},
    "ppo": {"n_envs": 4, "n_steps": 32, "batch_size": 64, "n_epochs": 2},
    "opponents": {"snapshot_every": 200, "max_snapshots": 2},
    "evaluation": {"every": 300, "games": 6, "opponents": ["random"]},
}


def settings(**changes: Any) -> Settings:
    return parse_settings({**TINY, **changes}, "test")
