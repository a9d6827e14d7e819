"""Target: checkpoints of training runs, with a right hash."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from random import Random
from typing import Any, Final

import numpy as np
import torch

from fuzz.agent_targets import sandbox
from fuzz.file_targets import mutate_save
from fuzz.mutations import VALUES, mutate_arrays, mutate_bytes, mutate_json
from fuzz.target import Harness, Target, must_work
from training.checkpoints import pack, read_checkpoint, restore_checkpoint, unpack
from training.config import parse_settings
from training.group import Group
from training.ppo import SelfPlayPPO
from training.run import RunFolder, make_logger
from training.self_play import SelfPlay
from training.train import train

_SETTINGS: Final[dict[str, Any]] = {
    "total_steps": 64,
    "workers": 1,
    "num_threads": 1,
    "game": {"num_players": 2},
    "network": {"hidden": [4, 4, 4]},
    "ppo": {"n_envs": 4, "n_steps": 8, "batch_size": 32, "n_epochs": 1, "kl_coef": 0.1},
    "opponents": {"snapshot_every": 32, "fixed": {"random": 1.0}},
    "evaluation": {"every": 64, "games": 4, "opponents": ["random"]},
    "behaviour_cloning": {"agent": None},
}


def _change(value: Any, rng: Random) -> Any:
    """Return a part of a checkpoint with something in it changed, by its type."""
    if rng.random() < 0.05:
        return rng.choice(VALUES)
    match value:
        case dict() if value:
            key = rng.choice(list(value))
            rest = {name: part for name, part in value.items() if name != key}
            return rest if rng.random() < 0.05 else {**rest, key: _change(value[key], rng)}
        case tuple() if value:
            at = rng.randrange(len(value))
            return (*value[:at], _change(value[at], rng), *value[at + 1 :])
        case torch.Tensor():
            changed = mutate_arrays({"": value.numpy()}, rng).get("", np.zeros(1))
            return torch.from_numpy(np.ascontiguousarray(changed)) if changed.dtype != np.uint64 else None
        case bytes():  # the games
            return mutate_save(value, rng)
        case str():
            return mutate_json(value.encode(), rng).decode("utf-8", "replace")
    return rng.choice(VALUES)


def _mutate(data: bytes, rng: Random) -> bytes:
    try:
        state = unpack(data)
    except ValueError:
        return mutate_bytes(data, rng)
    return mutate_bytes(data, rng) if rng.random() < 0.1 else pack(_change(state, rng))


@contextmanager
def _open(folder: Path) -> Iterator[Harness]:
    run = RunFolder(folder / "run")
    settings = parse_settings(_SETTINGS, "example")

    def read(data: bytes) -> None:
        path = run.path / "mutated.pt"
        path.write_bytes(data)
        checkpoint = read_checkpoint(path)
        if checkpoint.settings != settings:  # a run of another size
            return
        with closing(SelfPlay(settings, Group())) as games:
            model = SelfPlayPPO(settings, Group())
            restore_checkpoint(checkpoint, model, games)
            with must_work():
                model.set_logger(make_logger(None))
                model.update(games.collect(model.make_actor(), 32))

    with sandbox():
        train(settings, run)
        yield Harness([run.checkpoint.read_bytes()], _mutate, read)


TARGETS: Final = (Target("checkpoint", _open),)
