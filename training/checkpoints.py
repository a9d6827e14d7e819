"""The folder of a run, and its checkpoint: everything needed to resume exactly, written atomically."""

from __future__ import annotations

import os
from typing import Any, Final

import numpy as np
import torch
from sb3_contrib import MaskablePPO

from symphony9_env import files
from training.config import Settings, parse_settings_json
from training.vec_env import SelfPlayVecEnv

FORMAT: Final = "symphony9-training/1"


class RunFolder:
    """The files of a run; TensorBoard's events are in `tensorboard/`."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = files.make_folder(path)
        self.pool = files.make_folder(self.path / "pool")  # snapshots
        self.config = self.path / "config.json"
        self.checkpoint = self.path / "checkpoint.pt"
        self.best = self.path / "best.safetensors"
        self.last = self.path / "last.safetensors"
        self.progress = self.path / "progress.csv"
        self.curve = self.path / "curve.png"


def save_checkpoint(
    folder: RunFolder, settings: Settings, model: MaskablePPO, env: SelfPlayVecEnv, callback: dict[str, Any]
) -> None:
    """Write the checkpoint atomically, with the state of the callback."""
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
        "episode_starts": model._last_episode_starts.tobytes(),  # type: ignore[union-attr]
        "env": env.state_dict(),
        "callback": callback,
    }
    try:
        files.write(folder.checkpoint, lambda draft: torch.save(state, draft))
    except (OSError, RuntimeError) as error:  # torch raises RuntimeError when the disk is full
        reason = getattr(error, "strerror", None) or str(error).splitlines()[0]
        raise ValueError(
            f"{folder.checkpoint}: cannot be written ({reason}); the previous checkpoint is unchanged"
        ) from None


def read_checkpoint(folder: RunFolder) -> dict[str, Any]:
    """Return the contents of the checkpoint; raise a ValueError if there is none or it cannot be read."""
    if not folder.checkpoint.exists():
        raise ValueError(f"--resume {folder.path}: the folder contains no {folder.checkpoint.name}")
    try:
        state: dict[str, Any] = torch.load(folder.checkpoint, weights_only=True)
    except Exception as error:
        reason = " ".join(str(error).split())[:200]
        raise ValueError(f"--resume {folder.checkpoint}: cannot be read ({reason})") from None
    if not isinstance(state, dict) or state.get("format") != FORMAT:
        raise ValueError(f"--resume {folder.checkpoint}: not a checkpoint in the format {FORMAT}")
    return state


def read_settings(state: dict[str, Any], folder: RunFolder) -> Settings:
    """Return the settings of a checkpoint."""
    return parse_settings_json(state["settings"], f"--resume {folder.checkpoint}")


def restore_checkpoint(state: dict[str, Any], model: MaskablePPO, env: SelfPlayVecEnv) -> dict[str, Any]:
    """Restore a new model and environment from a checkpoint; return the state of the callback."""
    model.policy.load_state_dict(state["policy"])
    model.policy.optimizer.load_state_dict(state["optimizer"])
    model.num_timesteps = state["num_timesteps"]
    model._n_updates = state["num_updates"]
    model._last_obs = env.load_state_dict(state["env"])  # `learn` resets the environment only if this is None
    model._last_episode_starts = np.frombuffer(state["episode_starts"], bool).copy()
    torch.set_rng_state(state["torch_rng"])
    name, keys, *rest = state["numpy_rng"]
    np.random.set_state((name, np.frombuffer(keys, np.uint32), *rest))
    callback: dict[str, Any] = state["callback"]
    return callback
