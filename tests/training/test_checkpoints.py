"""Damaged and invalid checkpoints are noticed; the previous one takes their place."""

from __future__ import annotations

import hashlib
import io
import json
import random
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from safetensors.numpy import save

from tests.training.runs import read_tree, resume, same, steps
from training.checkpoints import FORMAT, InvalidCheckpointError, pack, read_checkpoint, unpack
from training.run import RunFolder
from training.trainer import Trainer


def test_every_flipped_bit_is_noticed(short: RunFolder, tmp_path: Path) -> None:
    contents = short.checkpoint.read_bytes()
    rng = random.Random(0)
    path = tmp_path / "checkpoint.pt"
    for position in [*range(120), *(rng.randrange(len(contents)) for _ in range(300))]:
        damaged = bytearray(contents)
        damaged[position] ^= 1 << rng.randrange(8)
        path.write_bytes(damaged)
        with pytest.raises(InvalidCheckpointError, match=r"checkpoint.pt: (damaged|not a checkpoint)"):
            read_checkpoint(path)
    for size in (0, 1, 80, 100, len(contents) // 2, len(contents) - 1):
        path.write_bytes(contents[:size])
        with pytest.raises(InvalidCheckpointError):
            read_checkpoint(path)


def test_a_damaged_checkpoint_is_replaced_by_the_previous_one(
    short: RunFolder, copied: RunFolder, capsys: pytest.CaptureFixture[str]
) -> None:
    contents = bytearray(copied.checkpoint.read_bytes())
    contents[len(contents) // 2] ^= 1
    copied.checkpoint.write_bytes(contents)
    status, error = resume(copied.path, capsys)
    assert status == 0, error
    line = f"{copied.checkpoint}: damaged: its contents do not match its hash; continuing from {copied.previous}\n"
    assert error.startswith(line)
    assert same(copied.last, short.last)
    assert steps(copied) == steps(short)
    # The previous checkpoint is still the one that was good, not the damaged one.
    assert read_checkpoint(copied.checkpoint).counters.num_timesteps == 512
    assert read_checkpoint(copied.previous).counters.num_timesteps == 256


def test_the_previous_checkpoint_replaces_a_damaged_one_before_the_next_save(
    copied: RunFolder, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Otherwise the save would keep the damaged one as the previous one, and a kill in it would leave only that."""
    copied.checkpoint.write_bytes(b"")
    save = Trainer.save
    found = []

    def look_and_save(trainer: Trainer) -> None:
        found.append(read_checkpoint(copied.checkpoint).counters.num_timesteps)
        save(trainer)

    monkeypatch.setattr(Trainer, "save", look_and_save)
    status, error = resume(copied.path, capsys)
    assert status == 0, error
    assert found[0] == 256


def test_two_damaged_checkpoints_are_refused_in_one_line(copied: RunFolder, capsys: pytest.CaptureFixture[str]) -> None:
    for path in (copied.checkpoint, copied.previous):
        path.write_bytes(path.read_bytes()[:-1])
    before = read_tree(copied.path)
    status, error = resume(copied.path, capsys)
    assert (status, error.count("\n")) == (2, 1)
    assert error.count("do not match its hash") == 2
    assert read_tree(copied.path) == before


def edit_json(key: str, change: Callable[[Any], object]) -> Callable[[dict[str, Any]], object]:
    """Return a function that changes the JSON data in one entry of a checkpoint."""

    def edit(state: dict[str, Any]) -> None:
        holder = state["workers"][0] if key == "members" else state
        data = json.loads(holder[key])
        change(data)
        holder[key] = json.dumps(data)

    return edit


def edit(**values: Any) -> Callable[[dict[str, Any]], object]:
    return lambda state: state.update(values)


def edit_worker(**values: Any) -> Callable[[dict[str, Any]], object]:
    return lambda state: state["workers"][0].update(values)


def edit_rate(rate: Any) -> Callable[[dict[str, Any]], object]:
    return lambda state: state["pool"].update(ahead_rates=(rate, *state["pool"]["ahead_rates"][1:]))


def edit_snapshot(change: Callable[[Any, Any], Any]) -> Callable[[dict[str, Any]], object]:
    def edit(state: dict[str, Any]) -> None:
        first, *rest = state["pool"]["snapshots"]
        state["pool"]["snapshots"] = (change(*first), *rest)

    return edit


def first_tensor(state: dict[str, Any]) -> torch.Tensor:
    tensor: torch.Tensor = state["policy"]["mlp_extractor.weights.first_weight"]
    return tensor


INVALID: dict[str, Callable[[dict[str, Any]], object]] = {
    "no settings": lambda state: state.pop("settings"),
    "an unknown entry": edit(more=1),
    "settings of a wrong type": edit(settings=5),
    "settings that are no JSON": edit(settings="{"),
    "settings that are nested deeply": edit(settings="[" * 100_000),
    "settings that are a list": edit(settings="[]"),
    "an unknown setting": edit_json("settings", lambda data: data.update(color="red")),
    "settings out of range": edit_json("settings", lambda data: data.update(total_steps=-1)),
    "settings of another network": edit_json("settings", lambda data: data["network"].update(hidden=[9, 9, 9])),
    "settings of another game": edit_json("settings", lambda data: data["game"].update(num_players=2)),
    "settings with other opponents": edit_json("settings", lambda data: data["opponents"].update(fixed={"random": 1})),
    "settings with fewer games": edit_json("settings", lambda data: data["ppo"].update(n_envs=8)),
    "counters that are no JSON": edit(counters="nothing"),
    "counters that are nested deeply": edit(counters="[" * 100_000),
    "no number of steps": edit_json("counters", lambda data: data.pop("num_timesteps")),
    "negative steps": edit_json("counters", lambda data: data.update(num_timesteps=-1)),
    "steps as text": edit_json("counters", lambda data: data.update(num_timesteps="5")),
    "more steps than a float can hold": edit_json("counters", lambda data: data.update(num_timesteps=10**400)),
    "seconds that are no number": edit_json("counters", lambda data: data.update(seconds=float("nan"))),
    "an incomplete evaluation": edit_json("counters", lambda data: data["rows"][0].pop("random")),
    "an evaluation twice": edit_json("counters", lambda data: data["rows"].append(data["rows"][0])),
    "evaluations as a number": edit_json("counters", lambda data: data.update(rows=3)),
    "a missing weight": lambda state: state["policy"].popitem(),
    "an unknown weight": lambda state: state["policy"].update(more=torch.zeros(3)),
    "a weight of a wrong shape": lambda state: state["policy"].update(
        {name: torch.zeros(1, 1) for name in list(state["policy"])[:1]}
    ),
    "a weight of a wrong type": lambda state: state["policy"].update(
        {name: value.double() for name, value in list(state["policy"].items())[:1]}
    ),
    "a weight that is no tensor": lambda state: state["policy"].update(dict.fromkeys(list(state["policy"])[:1], 1)),
    "a weight that is not a number": lambda state: first_tensor(state).fill_(float("nan")),
    "an infinite weight": lambda state: first_tensor(state).fill_(float("inf")),
    "weights that overflow": lambda state: [values.fill_(1e30) for values in state["policy"].values()],
    "an optimizer of other parameters": edit(optimizer={99: {}}),
    "an optimizer with a missing entry": lambda state: state["optimizer"][0].pop("step"),
    "an optimizer of wrong shapes": lambda state: state["optimizer"][0].update(exp_avg=torch.zeros(2)),
    "an optimizer with negative squares": lambda state: state["optimizer"][0]["exp_avg_sq"].fill_(-1),
    "an optimizer with values that are not numbers": lambda state: state["optimizer"][0]["exp_avg"].fill_(float("nan")),
    "an optimizer that is a list": edit(optimizer=[]),
    "a slow copy that the settings do not have": edit(reference={"weight": torch.zeros(3)}),
    "a slow copy that is a list": edit(reference=[]),
    "no slow copy though the settings have one": edit_json("settings", lambda data: data["ppo"].update(kl_coef=0.1)),
    "no workers": edit(workers=()),
    "a worker that is no dictionary": edit(workers=(1,)),
    "more workers than the settings say": lambda state: state.update(workers=state["workers"] * 2),
    "settings with more workers": edit_json("settings", lambda data: data.update(workers=10**9)),
    "settings without workers": edit_json("settings", lambda data: data.update(workers=None)),
    "no random state": lambda state: state["workers"][0].pop("torch_rng"),
    "a random state that is too short": edit_worker(torch_rng=torch.zeros(10, dtype=torch.uint8)),
    "an impossible random state": lambda state: state["workers"][0]["torch_rng"].fill_(255),
    "no games": lambda state: state["workers"][0].pop("games"),
    "games that are none": edit_worker(games=b"games"),
    "games as text": edit_worker(games="games"),
    "members that are no JSON": edit_worker(members="["),
    "members that are nested deeply": edit_worker(members="[" * 100_000),
    "members that are no numbers": edit_worker(members='["a"]'),
    "an unknown member in a game": edit_json("members", lambda data: data[0].__setitem__(0, 99)),
    "a negative member in a game": edit_json("members", lambda data: data[0].__setitem__(0, -1)),
    "half a member in a game": edit_json("members", lambda data: data[0].__setitem__(0, 0.5)),
    "a game without the learner": edit_json("members", lambda data: data.__setitem__(0, [1, 1, 1])),
    "members of too few games": edit_json("members", lambda data: data.pop()),
    "members of too few seats": edit_json("members", lambda data: data[0].pop()),
    "an empty pool": edit(pool={}),
    "a pool that is a tuple": edit(pool=()),
    "too few rates": lambda state: state["pool"].update(ahead_rates=state["pool"]["ahead_rates"][1:]),
    "a rate above 1": edit_rate(2.0),
    "a rate that is not a number": edit_rate(float("nan")),
    "a rate as text": edit_rate("a"),
    "a rate larger than a float": edit_rate(10**400),
    "snapshots that are no tuple": lambda state: state["pool"].update(snapshots={}),
    "more snapshots than the settings allow": lambda state: state["pool"].update(
        snapshots=state["pool"]["snapshots"] * 3
    ),
    "fewer snapshots than rates": lambda state: state["pool"].update(snapshots=()),
    "a snapshot without weights": edit_snapshot(lambda number, weights: (number,)),
    "a snapshot with the number of none": edit_snapshot(lambda number, weights: (-1, weights)),
    "a snapshot with a name": edit_snapshot(lambda number, weights: ("../last", weights)),
    "a snapshot that is a number": edit_snapshot(lambda number, weights: 1),
    "a snapshot with a missing weight": edit_snapshot(
        lambda number, weights: (number, dict(list(weights.items())[1:]))
    ),
    "a snapshot with a weight of a wrong shape": edit_snapshot(
        lambda number, weights: (number, {**weights, "value.bias": torch.zeros(2)})
    ),
    "a snapshot with a weight that is no tensor": edit_snapshot(
        lambda number, weights: (number, {**weights, "value.bias": 1.0})
    ),
    "a snapshot with a weight that is not a number": edit_snapshot(
        lambda number, weights: (number, {**weights, "value.bias": torch.full((1,), float("nan"))})
    ),
    "a snapshot with weights that overflow": edit_snapshot(
        lambda number, weights: (number, {name: torch.full_like(values, 1e30) for name, values in weights.items()})
    ),
}


@pytest.mark.parametrize("change", INVALID.values(), ids=INVALID)
def test_invalid_contents_are_refused_in_one_line_and_nothing_is_changed(
    copied: RunFolder, capsys: pytest.CaptureFixture[str], change: Callable[[dict[str, Any]], object]
) -> None:
    state = unpack(copied.checkpoint.read_bytes())
    change(state)
    copied.checkpoint.write_bytes(pack(state))
    copied.previous.unlink()
    before = read_tree(copied.path)
    status, error = resume(copied.path, capsys)
    assert (status, error.count("\n")) == (2, 1), error
    assert error.startswith(f"train: --resume {copied.checkpoint}: ")
    assert len(error) < 1000
    assert read_tree(copied.path) == before


def test_invalid_contents_are_replaced_by_the_previous_checkpoint(
    short: RunFolder, copied: RunFolder, capsys: pytest.CaptureFixture[str]
) -> None:
    state = unpack(copied.checkpoint.read_bytes())
    first_tensor(state).fill_(float("nan"))
    copied.checkpoint.write_bytes(pack(state))
    status, error = resume(copied.path, capsys)
    assert status == 0, error
    assert f"has values that are not finite numbers; continuing from {copied.previous}\n" in error
    assert same(copied.last, short.last)


def sign(contents: bytes) -> bytes:
    return f"{FORMAT} {hashlib.sha256(contents).hexdigest()}\n".encode() + contents


def pack_tree(tree: Any, **arrays: NDArray[Any]) -> bytes:
    return sign(save({**arrays, "tree": np.frombuffer(json.dumps(tree).encode(), np.uint8)}))


def pack_pickle() -> bytes:
    """Return a pickle of 1 kB from which `torch.load` makes 1 GB, even with `weights_only`."""
    contents = io.BytesIO()
    torch.save({}, contents)
    bomb = b"\x80\x02cbuiltins\nbytearray\n\x8a\x05" + (10**9).to_bytes(5, "little") + b"\x85R."
    target = io.BytesIO()
    with zipfile.ZipFile(contents) as old, zipfile.ZipFile(target, "w") as new:
        for name in old.namelist():
            new.writestr(name, bomb if name.endswith("/data.pkl") else old.read(name))
    return sign(target.getvalue())


HARMFUL = {
    "a pickle": pack_pickle(),
    "nothing": sign(b""),
    "no tree": sign(save({"0": np.zeros(1)})),
    "a tree that is no JSON": sign(save({"tree": np.zeros(9)})),
    "a deep tree": sign(save({"tree": np.frombuffer(b"[" * 100_000, np.uint8)})),
    "an array that is named twice": pack_tree({"tuple": [{"bytes": "0"}] * 2}, **{"0": np.zeros(9)}),
    "an array that is missing": pack_tree({"tensor": "0"}),
    "an unknown kind": pack_tree({"object": "os.system"}),
    "two kinds": pack_tree({"tuple": [], "dict": []}),
    "a kind without a value": pack_tree({}),
    "a list as a key": pack_tree({"dict": [[[], 1]]}),
    "a number as a dictionary": pack_tree({"dict": 5}),
}


@pytest.mark.parametrize("data", HARMFUL.values(), ids=HARMFUL)
def test_a_checkpoint_that_is_not_in_the_format_is_not_unpacked(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "checkpoint.pt"
    path.write_bytes(data)
    with pytest.raises(InvalidCheckpointError, match=r"can't be read \("):
        read_checkpoint(path)
