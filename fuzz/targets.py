"""All fuzz targets by name."""

from __future__ import annotations

from typing import Final

from fuzz import agent_targets, arena_targets, checkpoint_target, file_targets, server_targets, settings_target
from fuzz.target import Target

TARGETS: Final[dict[str, Target]] = {
    target.name: target
    for module in (file_targets, agent_targets, settings_target, checkpoint_target, arena_targets, server_targets)
    for target in module.TARGETS
}
