"""The folder of a run, and its checkpoints: everything needed to resume exactly.

A checkpoint is a line with the format and a hash, then arrays in the safetensors format. (What `torch.save` writes is a
pickle: reading it runs no code, but a few bytes of it can use any amount of memory.) It is written atomically, and the
one before is kept. Before it is used, everything in it is checked; nothing in the folder changes until then.
"""

from __future__ import annotations

import hashlib
import json
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from io import FileIO
from pathlib import Path
from typing import Annotated, Any, Final, TypeVar

import numpy as np
import torch
from pydantic import BaseModel, ConfigDict, Field, ValidationError
from safetensors import SafetensorError
from safetensors.numpy import load, save
from sb3_contrib import MaskablePPO

from symphony9_env import files
from symphony9_env.agents.policy import check_values
from symphony9_env.saved_arrays import Arrays
from training.config import Settings, parse_settings_json
from training.network import export_weights, make_card
from training.progress import Row, check_rows
from training.vec_env import SelfPlayVecEnv

FORMAT: Final = "symphony9-training/3"
MAX_BYTES: Final = 1 << 32
KEY_BYTES: Final = 624 * 4  # of NumPy's random state
CONTENTS: Final[dict[str, type]] = {
    "settings": str,
    "counters": str,
    "policy": dict,
    "optimizer": dict,
    "torch_rng": torch.Tensor,
    "numpy_rng": tuple,
    "episode_starts": bytes,
    "env": dict,
}

T = TypeVar("T")
Count = Annotated[int, Field(ge=0, le=2**53)]  # larger ones are not exact as floats, and may be too large for one


class RunFolder:
    """The files of a run; TensorBoard's events are in `tensorboard/`."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = files.make_folder(path)
        self.pool = self.path / "pool"  # snapshots
        self.config = self.path / "config.json"
        self.checkpoint = self.path / "checkpoint.pt"
        self.previous = self.path / "previous.pt"
        self.best = self.path / "best.safetensors"
        self.last = self.path / "last.safetensors"
        self.progress = self.path / "progress.csv"
        self.curve = self.path / "curve.png"

    def lock(self) -> FileIO:
        """Lock the folder against other runs until the file returned is closed; remove what killed runs left."""
        lock = files.lock_folder(self.path, "training run")
        if self.pool.is_dir():
            files.remove_temporary_files(self.pool)
        return lock


class InvalidCheckpointError(ValueError):
    """A checkpoint can't be used; the message begins with its path."""


class Counters(BaseModel):
    """What the callback and stable-baselines3 count."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, allow_inf_nan=False)

    num_timesteps: Count
    num_updates: Count
    next_snapshot: Count
    next_evaluation: Count
    best_mean_win_rate: float
    seconds: Annotated[float, Field(ge=0)]
    rows: list[Row]  # all evaluations


@dataclass(frozen=True)
class Checkpoint:
    """The contents of a checkpoint; its hash, types, settings and counters have been checked."""

    path: Path
    settings: Settings
    counters: Counters
    state: dict[str, Any]


def save_checkpoint(
    folder: RunFolder, settings: Settings, model: MaskablePPO, env: SelfPlayVecEnv, counters: Counters
) -> None:
    """Write the checkpoint atomically and durably; keep the one before as `previous`."""
    rng: Any = np.random.get_state()
    state = {
        "settings": settings.model_dump_json(),
        "counters": json.dumps(counters.model_dump()),
        "policy": model.policy.state_dict(),
        "optimizer": model.policy.optimizer.state_dict()["state"],
        "torch_rng": torch.get_rng_state(),
        "numpy_rng": (rng[1].tobytes(), *rng[2:]),
        "episode_starts": model._last_episode_starts.tobytes(),  # type: ignore[union-attr]
        "env": env.state_dict(),
    }
    try:
        files.write(folder.checkpoint, lambda draft: draft.write_bytes(pack(state)), folder.previous)
    except OSError as error:
        kept = describe_kept(folder.checkpoint, folder.previous)
        raise ValueError(f"{folder.checkpoint}: can't be written ({error.strerror or error}); {kept}") from None


def describe_kept(*checkpoints: Path) -> str:
    """Return what there is to resume after a failure, for its message."""
    return "the last checkpoint is unchanged" if any(path.exists() for path in checkpoints) else "nothing is saved"


def pack(state: dict[str, Any]) -> bytes:
    """Return the bytes of a checkpoint."""
    arrays: Arrays = {}
    tree = json.dumps(_encode(state, arrays)).encode()
    contents = save({**arrays, "tree": np.frombuffer(tree, np.uint8)})
    return f"{FORMAT} {hashlib.sha256(contents).hexdigest()}\n".encode() + contents


def _encode(value: Any, arrays: Arrays) -> Any:
    """Return a value as JSON; tensors and bytes in it become arrays, to which the JSON refers by their names."""
    match value:
        case dict():
            return {"dict": [[key, _encode(item, arrays)] for key, item in value.items()]}
        case tuple():
            return {"tuple": [_encode(item, arrays) for item in value]}
        case bytes():
            arrays[name := str(len(arrays))] = np.frombuffer(value, np.uint8)
            return {"bytes": name}
        case torch.Tensor():
            arrays[name := str(len(arrays))] = value.detach().cpu().numpy()
            return {"tensor": name}
    return value


def _decode(value: Any, arrays: Arrays) -> Any:
    """Return what `_encode` encoded. It takes each array once: with references, little data could stand for much."""
    if not isinstance(value, dict):
        return value
    [(kind, content)] = value.items()
    match kind:
        case "dict":
            return {key: _decode(item, arrays) for key, item in content}
        case "tuple":
            return tuple(_decode(item, arrays) for item in content)
        case "bytes":
            return arrays.pop(content).tobytes()
        case "tensor":
            return torch.from_numpy(arrays.pop(content))
    raise ValueError(f"unknown kind {kind[:100]!r}")


def unpack(data: bytes) -> dict[str, Any]:
    """Return what was packed; raise a ValueError unless the hash is right and everything has the right type."""
    head, _, contents = data.partition(b"\n")
    name, _, digest = head[:200].decode("ascii", "replace").partition(" ")
    if name != FORMAT:
        raise ValueError(f"not a checkpoint in the format {FORMAT}")
    if hashlib.sha256(contents).hexdigest() != digest:
        raise ValueError("damaged: its contents do not match its hash")
    try:
        arrays = load(contents)
        state = _decode(json.loads(arrays.pop("tree").tobytes()), arrays)
    except (SafetensorError, ValueError, KeyError, TypeError, RecursionError) as error:
        raise ValueError(f"can't be read ({error})") from None
    if not isinstance(state, dict) or set(state) != set(CONTENTS):
        raise ValueError(f"invalid: must contain exactly {', '.join(CONTENTS)}")
    for name, kind in CONTENTS.items():
        if not isinstance(state[name], kind):
            raise ValueError(f"invalid: {name} is of type {type(state[name]).__name__}; needed: {kind.__name__}")
    return state


def read_checkpoint(path: Path) -> Checkpoint:
    """Read a checkpoint and check what can be checked without a model; raise an `InvalidCheckpointError` otherwise."""
    try:
        state = unpack(files.read_bytes(path, MAX_BYTES))
        settings = parse_settings_json(state["settings"], "its settings")
        counters = Counters.model_validate(json.loads(state["counters"]))
        check_rows(counters.rows, settings)
    except ValidationError as error:
        first = error.errors()[0]
        raise _invalid(path, f"invalid: {'.'.join(map(str, first['loc']))}: {first['msg']}") from None
    except OSError as error:
        raise _invalid(path, error.strerror or error) from None
    except (ValueError, RecursionError) as error:
        raise _invalid(path, error) from None
    return Checkpoint(path, settings, counters, state)


def restore_checkpoint(checkpoint: Checkpoint, model: MaskablePPO, env: SelfPlayVecEnv) -> None:
    """Restore a new model and environment; raise an `InvalidCheckpointError` if the contents don't fit them."""
    try:
        _restore(checkpoint, model, env)
    except (ValueError, TypeError, KeyError, RuntimeError, OverflowError) as error:
        raise _invalid(checkpoint.path, f"invalid: {error}") from None


def _restore(checkpoint: Checkpoint, model: MaskablePPO, env: SelfPlayVecEnv) -> None:
    state, optimizer = checkpoint.state, model.policy.optimizer
    check_tensors("policy", state["policy"], model.policy.state_dict())
    model.policy.load_state_dict(state["policy"])
    check_values(make_card(checkpoint.settings, {}), export_weights(model.policy))
    _check_optimizer(state["optimizer"], list(model.policy.parameters()))
    optimizer.load_state_dict({**optimizer.state_dict(), "state": state["optimizer"]})
    starts = np.frombuffer(state["episode_starts"], np.uint8)
    if starts.shape != (env.num_envs,) or starts.max() > 1:
        raise ValueError(f"episode_starts: needed: {env.num_envs} flags")
    numpy_rng = _read_numpy_rng(state["numpy_rng"])
    check_tensors("torch_rng", {"": state["torch_rng"]}, {"": torch.get_rng_state()})
    torch.Generator().set_state(state["torch_rng"])  # raises an error if the state is not possible
    model._last_obs = env.load_state_dict(state["env"])  # `learn` resets the environment only if this is None
    model._last_episode_starts = starts.astype(bool)
    model.num_timesteps = checkpoint.counters.num_timesteps
    model._n_updates = checkpoint.counters.num_updates
    torch.set_rng_state(state["torch_rng"])
    np.random.set_state(numpy_rng)


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


def _check_optimizer(state: dict[Any, Any], parameters: Sequence[torch.Tensor]) -> None:
    """Raise a ValueError unless this can be the state of Adam for these parameters; it is empty before an update."""
    if not set(state) <= set(range(len(parameters))):
        raise ValueError(f"optimizer: needed: the numbers of parameters, 0 to {len(parameters) - 1}")
    for number, values in state.items():
        like = parameters[number].detach()
        check_tensors(f"optimizer {number}", values, {"step": torch.zeros(()), "exp_avg": like, "exp_avg_sq": like})
        if values["step"] < 0 or (values["exp_avg_sq"] < 0).any():
            raise ValueError(f"optimizer {number}: step and exp_avg_sq must not be negative")


def _read_numpy_rng(saved: tuple[Any, ...]) -> Any:
    """Return a state for `np.random.set_state`, which itself would accept a position outside the keys."""
    keys, position, has_gauss, gauss = saved if len(saved) == 4 else (None,) * 4
    if type(keys) is not bytes or len(keys) != KEY_BYTES or type(position) is not int or not 0 <= position <= 624:
        raise ValueError(f"numpy_rng: needed: {KEY_BYTES} bytes, and a position from 0 to 624")
    if type(has_gauss) is not int or has_gauss not in (0, 1) or type(gauss) is not float or not np.isfinite(gauss):
        raise ValueError("numpy_rng: needed: 0 or 1, and a finite number")
    return "MT19937", np.frombuffer(keys, np.uint32), position, has_gauss, gauss


def _invalid(path: Path, reason: object) -> InvalidCheckpointError:
    return InvalidCheckpointError(f"{path}: {' '.join(str(reason).split())[:300]}")


# Falling back to the previous checkpoint.


def resume(last: Path, previous: Path, continue_from: Callable[[Path, str], T]) -> T:
    """Continue a run from its last checkpoint; if that is missing or invalid, from the one before.

    `continue_from` takes the path, and the problem with the last one, if any. It raises an `InvalidCheckpointError`,
    and has changed nothing, if it can't continue.
    """
    if not last.exists() and not previous.exists():
        raise ValueError(f"--resume {last.parent}: the folder contains no {last.name}")
    try:
        return continue_from(last, "")
    except InvalidCheckpointError as error:
        problem = str(error)
    if not previous.exists():
        raise ValueError(f"--resume {problem}; there is no {previous.name}")
    try:
        return continue_from(previous, problem)
    except InvalidCheckpointError as error:
        raise ValueError(f"--resume {problem}; {error}") from None


def use_previous(last: Path, previous: Path, problem: str) -> None:
    """Say that the previous checkpoint is used, and let it replace the last one, so that the next save keeps it."""
    print(f"{problem}; continuing from {previous}", file=sys.stderr)
    os.replace(previous, last)
    files.sync_folder(last.parent)
