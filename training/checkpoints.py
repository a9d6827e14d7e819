"""A run's folder, and saves that are whole or not there at all: everything that is needed to go on exactly."""

from __future__ import annotations

import os
from typing import Any, Final

import numpy as np
import torch
from sb3_contrib import MaskablePPO

from symphony9_env import files
from training.config import Settings
from training.vec_env import SelfPlayVecEnv

FORMAT: Final = "symphony9-training/1"


class RunFolder:
    """config.json, checkpoint.pt, best and last policy, pool/, progress.csv, curve.png, TensorBoard's events."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = files.make_folder(path)
        self.pool = files.make_folder(self.path / "pool")
        self.config = self.path / "config.json"
        self.checkpoint = self.path / "checkpoint.pt"
        self.best = self.path / "best.safetensors"
        self.last = self.path / "last.safetensors"
        self.progress = self.path / "progress.csv"
        self.curve = self.path / "curve.png"


def save(folder: RunFolder, settings: Settings, model: MaskablePPO, env: SelfPlayVecEnv, more: dict[str, Any]) -> None:
    """Written under another name and then renamed: a kill at any moment leaves the last save as it was."""
    rng: Any = np.random.get_state()
    state = {
        "format": FORMAT,
        "settings": settings.model_dump_json(),
        "num_timesteps": model.num_timesteps,
        "policy": model.policy.state_dict(),
        "optimizer": model.policy.optimizer.state_dict(),
        "torch_rng": torch.get_rng_state(),
        "numpy_rng": (rng[0], rng[1].tobytes(), *rng[2:]),
        "num_updates": model._n_updates,
        "starts": model._last_episode_starts.tobytes(),  # type: ignore[union-attr]
        "env": env.state(),
        "more": more,
    }
    try:
        files.write(folder.checkpoint, lambda draft: torch.save(state, draft))
    except (OSError, RuntimeError) as error:  # torch says RuntimeError when the disk is full
        reason = getattr(error, "strerror", None) or str(error).splitlines()[0]
        raise ValueError(f"{folder.checkpoint}: can't be written ({reason}); the save before stands") from None


def read(folder: RunFolder) -> dict[str, Any]:
    """The last save; a ValueError says why there is none to go on from."""
    if not folder.checkpoint.exists():
        raise ValueError(f"--resume {folder.path}: no checkpoint.pt there")
    try:
        state: dict[str, Any] = torch.load(folder.checkpoint, weights_only=True)
    except Exception as error:
        raise ValueError(
            f"--resume {folder.checkpoint}: can't be read ({' '.join(str(error).split())[:200]})"
        ) from None
    if not isinstance(state, dict) or state.get("format") != FORMAT:
        raise ValueError(f"--resume {folder.checkpoint}: is no save of this version ({FORMAT})")
    return state


def restore(state: dict[str, Any], model: MaskablePPO, env: SelfPlayVecEnv) -> dict[str, Any]:
    """Bring a fresh model and environment to where the save was made; returns what else was saved."""
    model.policy.load_state_dict(state["policy"])
    model.policy.optimizer.load_state_dict(state["optimizer"])
    model.num_timesteps = state["num_timesteps"]
    model._n_updates = state["num_updates"]
    model._last_obs = env.restore(state["env"])  # with it there, `learn` does not deal anew
    model._last_episode_starts = np.frombuffer(state["starts"], bool).copy()
    torch.set_rng_state(state["torch_rng"])
    name, keys, *rest = state["numpy_rng"]
    np.random.set_state((name, np.frombuffer(keys, np.uint32), *rest))
    more: dict[str, Any] = state["more"]
    return more
