"""Checkpoints: everything needed to resume a run exactly.

A checkpoint is a line with the format and a hash, then arrays in the safetensors format. (What `torch.save` writes is a
pickle: reading it runs no code, but a few bytes of it can use any amount of memory.) It is written atomically, and the
one before is kept. Before it is used, everything in it is checked; nothing in the folder changes until then.
"""

from __future__ import annotations

import hashlib
import json
import os
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Final, TypeVar

import numpy as np
import torch
from pydantic import BaseModel, ConfigDict, Field, ValidationError
from safetensors import SafetensorError
from safetensors.numpy import load, save

from symphony9_env import files
from symphony9_env.agents.base import derive_agent_seed
from symphony9_env.agents.policy import check_values
from symphony9_env.saved_arrays import Arrays
from training.config import Settings, parse_settings_json
from training.network import export_weights, make_card
from training.ppo import SelfPlayPPO
from training.progress import Row, check_rows
from training.self_play import SelfPlay
from training.tensors import check_tensors

FORMAT: Final = "symphony9-training/5"
MAX_BYTES: Final = 1 << 32
CONTENTS: Final[dict[str, type]] = {
    "settings": str,
    "counters": str,
    "policy": dict,
    "optimizer": dict,
    "reference": dict,  # the slow copy of the policy; empty without one
    "pool": dict,
    "workers": tuple,  # of each worker its games and random state; on a cluster they may be fewer than the settings say
}

T = TypeVar("T")
Count = Annotated[int, Field(ge=0, le=2**53)]  # larger ones are not exact as floats, and may be too large for one


class InvalidCheckpointError(ValueError):
    """A checkpoint can't be used; the message begins with its path."""


class Counters(BaseModel):
    """What a trainer and stable-baselines3 count."""

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


def collect_state(settings: Settings, counters: Counters, model: SelfPlayPPO, games: SelfPlay) -> dict[str, Any]:
    """Return the contents of a checkpoint; raise a ValueError if the workers' parameters differ.

    Only worker 0 gets the states of all workers.
    """
    hashes = model.group.gather(hash_parameters(model))
    if len(set(hashes)) > 1:
        raise ValueError("the workers' parameters differ; do all machines have the same kind of processor?")
    own = {**games.state_dict(), "torch_rng": torch.get_rng_state()}
    return {
        "settings": settings.model_dump_json(),
        "counters": json.dumps(counters.model_dump()),
        "policy": model.policy.state_dict(),
        "optimizer": model.policy.optimizer.state_dict()["state"],
        "reference": {} if model.reference is None else model.reference.state_dict(),
        "pool": games.pool.state_dict(),
        "workers": tuple(model.group.gather(own)),
    }


def hash_parameters(model: SelfPlayPPO) -> str:
    """Return a hash of all parameters of the policy."""
    digest = hashlib.sha256()
    for values in model.policy.parameters():
        digest.update(values.detach().cpu().numpy().tobytes())
    return digest.hexdigest()


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
        return parse_checkpoint(files.read_bytes(path, MAX_BYTES), path)
    except OSError as error:
        raise _invalid(path, error.strerror or error) from None
    except ValueError as error:
        raise error if isinstance(error, InvalidCheckpointError) else _invalid(path, error) from None


def parse_checkpoint(data: bytes, path: Path) -> Checkpoint:
    """Return a checkpoint from its contents, as `read_checkpoint` does; `path` begins error messages."""
    try:
        state = unpack(data)
        settings = parse_settings_json(state["settings"], "its settings")
        counters = Counters.model_validate(json.loads(state["counters"]))
        check_rows(counters.rows, settings)
        if not 1 <= len(state["workers"]) <= (settings.workers or 0):
            raise ValueError(f"invalid: has {len(state['workers'])} workers; its settings say {settings.workers}")
    except ValidationError as error:
        first = error.errors()[0]
        raise _invalid(path, f"invalid: {'.'.join(map(str, first['loc']))}: {first['msg']}") from None
    except (ValueError, RecursionError) as error:
        raise _invalid(path, error) from None
    return Checkpoint(path, settings, counters, state)


def restore_checkpoint(checkpoint: Checkpoint, model: SelfPlayPPO, games: SelfPlay) -> None:
    """Restore a new model and new games; raise an `InvalidCheckpointError` if the contents don't fit them.

    With another number of workers than before, new games are dealt.
    """
    try:
        _restore(checkpoint, model, games)
    except (ValueError, TypeError, KeyError, RuntimeError, OverflowError) as error:
        raise _invalid(checkpoint.path, f"invalid: {error}") from None


def _restore(checkpoint: Checkpoint, model: SelfPlayPPO, games: SelfPlay) -> None:
    state, optimizer, counters = checkpoint.state, model.policy.optimizer, checkpoint.counters
    check_tensors("policy", state["policy"], model.policy.state_dict())
    model.policy.load_state_dict(state["policy"])
    check_values(make_card(checkpoint.settings, {}), export_weights(model.policy))
    _check_optimizer(state["optimizer"], model.flat.detach())
    optimizer.load_state_dict({**optimizer.state_dict(), "state": state["optimizer"]})
    wanted = {} if model.reference is None else model.reference.state_dict()
    check_tensors("reference", state["reference"], wanted)
    if model.reference is not None:
        model.reference.load_state_dict(state["reference"])
    games.pool.load_state_dict(state["pool"])
    _restore_worker(state["workers"], model, games, counters.num_timesteps)
    model.num_timesteps = counters.num_timesteps
    model._n_updates = counters.num_updates


def _restore_worker(workers: tuple[Any, ...], model: SelfPlayPPO, games: SelfPlay, steps: int) -> None:
    """Restore this worker's games and random state, or begin new games if the number of workers has changed."""
    group = model.group
    if not all(isinstance(worker, dict) for worker in workers):
        raise ValueError("workers: needed: the state of each worker")
    if len(workers) != group.size:
        games.deal(steps)
        torch.manual_seed(derive_agent_seed(model.settings.seed ^ steps, group.rank))
        return
    own = workers[group.rank]
    check_tensors("torch_rng", {"": own.get("torch_rng")}, {"": torch.get_rng_state()})
    torch.Generator().set_state(own["torch_rng"])  # raises an error if the state is not possible
    games.load_state_dict(own)
    torch.set_rng_state(own["torch_rng"])


def _check_optimizer(state: dict[Any, Any], like: torch.Tensor) -> None:
    """Raise a ValueError unless this can be the state of Adam for one tensor; it is empty before an update."""
    if not set(state) <= {0}:
        raise ValueError("optimizer: needed: the state of one tensor, 0")
    for values in state.values():
        check_tensors("optimizer 0", values, {"step": torch.zeros(()), "exp_avg": like, "exp_avg_sq": like})
        if values["step"] < 0 or (values["exp_avg_sq"] < 0).any():
            raise ValueError("optimizer 0: step and exp_avg_sq must not be negative")


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
