"""Runs survive kills, power cuts, full disks and signals; damaged and invalid checkpoints are noticed."""

from __future__ import annotations

import errno
import hashlib
import io
import json
import os
import random
import shutil
import signal
import sys
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import yaml
from numpy.typing import NDArray
from safetensors.numpy import save

from symphony9_env.arguments import Terminated, run
from symphony9_env.options import Variant
from tests.power_cut import record_syncs
from tests.training.test_learner import TINY, settings
from tests.training.test_runs import same, steps
from training import best_response, progress, train
from training.callbacks import TrainingCallback
from training.checkpoints import FORMAT, InvalidCheckpointError, RunFolder, pack, read_checkpoint, unpack
from training.stopping import StopSignals

linux_only = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="uses /proc")

SHORT: dict[str, Any] = {"total_steps": 512, "save_every": 1e-9}  # two updates, with a checkpoint before each


def resume(folder: Path, capsys: pytest.CaptureFixture[str]) -> tuple[int, str]:
    """Resume a run in this process; return the exit status and what it said on standard error."""
    capsys.readouterr()
    status = run("train", lambda: train.main(["--resume", str(folder)]))
    return status, capsys.readouterr().err


def read_tree(folder: Path) -> dict[str, bytes]:
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file() and path.name != ".lock"
    }


@pytest.fixture(scope="module")
def short(tmp_path_factory: pytest.TempPathFactory) -> RunFolder:
    """A complete short run."""
    folder = RunFolder(tmp_path_factory.mktemp("runs") / "short")
    train.train(settings(**SHORT), folder)
    return folder


@pytest.fixture
def copied(short: RunFolder, tmp_path: Path) -> RunFolder:
    """A copy of the short run, whose checkpoints are after 512 and after 256 steps."""
    shutil.copytree(short.path, tmp_path / "copy")
    folder = RunFolder(tmp_path / "copy")
    assert read_checkpoint(folder.checkpoint).counters.num_timesteps == 512
    assert read_checkpoint(folder.previous).counters.num_timesteps == 256
    return folder


# Kills, power cuts and full disks.


@linux_only
def test_a_kill_or_power_cut_at_any_moment_loses_nothing_that_was_saved(
    short: RunFolder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    root = tmp_path / "disk"
    root.mkdir()
    saved = [-1]
    moments: list[tuple[Path, int]] = []
    save, replace = TrainingCallback.save, os.replace

    def record_save(callback: TrainingCallback) -> None:
        save(callback)
        saved.append(callback.saved_steps)

    with record_syncs(root) as disk:
        sync = disk.sync

        def keep(copy: Path) -> None:
            moments.append((copy, saved[-1]))

        def record_power_cut(descriptor: int) -> None:
            sync(descriptor)
            keep(disk.restore(tmp_path / f"power cut {len(moments)}"))

        def record_kill(source: Any, target: Any) -> None:
            replace(source, target)
            keep(shutil.copytree(root, tmp_path / f"kill {len(moments)}"))

        disk.sync = record_power_cut  # type: ignore[method-assign]
        monkeypatch.setattr(os, "replace", record_kill)
        monkeypatch.setattr(TrainingCallback, "save", record_save)
        train.train(settings(**SHORT), RunFolder(root / "run"))
    monkeypatch.undo()
    assert saved == [-1, 0, 256, 512]
    assert len(moments) > 30
    different = {key: (copy, steps_saved) for copy, steps_saved in moments if (key := resumed_files(copy / "run"))}
    assert len(different) >= 6
    for copy, steps_saved in different.values():  # of equal ones the last, when most had been acknowledged
        if steps_saved >= 0:
            check_resumed(copy / "run", steps_saved, short, capsys)


def resumed_files(folder: Path) -> frozenset[tuple[str, bytes]]:
    """What resuming depends on."""
    return frozenset(
        item for item in read_tree(folder).items() if item[0].endswith(".pt") or item[0].startswith("pool")
    )


def check_resumed(copy: Path, steps_saved: int, short: RunFolder, capsys: pytest.CaptureFixture[str]) -> None:
    folder = RunFolder(copy)
    last = folder.checkpoint if folder.checkpoint.exists() else folder.previous
    assert read_checkpoint(last).counters.num_timesteps >= steps_saved, copy
    status, error = resume(copy, capsys)
    assert status == 0, error
    assert same(folder.last, short.last)
    assert steps(folder) == ["0.0", "512.0"]
    assert not list(copy.rglob("*.tmp"))


@pytest.mark.parametrize("num_writes", range(0, 25, 4))
def test_a_full_disk_stops_a_run_in_one_line_and_leaves_its_checkpoint(
    short: RunFolder,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    num_writes: int,
) -> None:
    folder = RunFolder(tmp_path / "run")
    config = tmp_path / "tiny.yaml"
    config.write_text(yaml.safe_dump({**TINY, **SHORT}))
    saved = [-1]
    num_left = num_writes
    save, sync = TrainingCallback.save, os.fsync

    def fill_up(descriptor: int) -> None:
        nonlocal num_left
        if num_left == 0:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        num_left -= 1
        sync(descriptor)

    def record_save(callback: TrainingCallback) -> None:
        save(callback)
        saved.append(callback.saved_steps)

    monkeypatch.setattr(os, "fsync", fill_up)
    monkeypatch.setattr(TrainingCallback, "save", record_save)
    assert run("train", lambda: train.main(["--config", str(config), "--out", str(folder.path)])) == 2
    monkeypatch.undo()
    *_, line = capsys.readouterr().err.splitlines()
    assert "No space left on device" in line
    assert str(folder.path) in line
    if saved[-1] >= 0:
        check_resumed(folder.path, saved[-1], short, capsys)


def test_progress_is_that_of_the_checkpoint(
    short: RunFolder, copied: RunFolder, capsys: pytest.CaptureFixture[str]
) -> None:
    """Rows that were written after the checkpoint, or only in part, are gone after resuming."""
    os.replace(copied.previous, copied.checkpoint)
    copied.progress.write_text(copied.progress.read_text() + "768.0,1.0,0.5,0.4,0.6\n768.0,1.")
    status, error = resume(copied.path, capsys)
    assert status == 0, error
    assert steps(copied) == steps(short)


# Damaged and invalid checkpoints.


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
        holder = state["env"] if key == "pool" else state
        data = json.loads(holder[key])
        change(data)
        holder[key] = json.dumps(data)

    return edit


def edit(**values: Any) -> Callable[[dict[str, Any]], object]:
    return lambda state: state.update(values)


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
    "no number of steps": edit_json("counters", lambda data: data.pop("num_timesteps")),
    "negative steps": edit_json("counters", lambda data: data.update(num_timesteps=-1)),
    "steps as text": edit_json("counters", lambda data: data.update(num_timesteps="5")),
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
    "an optimizer that is a list": edit(optimizer=[]),
    "a random state that is too short": edit(torch_rng=torch.zeros(10, dtype=torch.uint8)),
    "an impossible random state": lambda state: state["torch_rng"].fill_(255),
    "no random state of NumPy": edit(numpy_rng=()),
    "a position outside NumPy's random state": lambda state: state.update(
        numpy_rng=(state["numpy_rng"][0], 10**9, 0, 0.0)
    ),
    "too few flags": edit(episode_starts=b"\0"),
    "flags that are none": edit(episode_starts=b"\7" * 16),
    "no games": edit(env={}),
    "games that are none": lambda state: state["env"].update(games=b"games"),
    "a pool that is no JSON": lambda state: state["env"].update(pool="{"),
    "a pool without names": edit_json("pool", lambda data: data.pop("names")),
    "a pool that is a list": lambda state: state["env"].update(pool="[]"),
    "a snapshot in another folder": edit_json(
        "pool", lambda data: (data["names"].append("../last"), data["hashes"].update({"../last": ""}))
    ),
    "a snapshot without a file": edit_json(
        "pool", lambda data: (data["names"].append("step-7"), data["hashes"].update({"step-7": ""}))
    ),
    "another snapshot": edit_json("pool", lambda data: data["hashes"].update({"step-256": "0" * 64})),
    "too few rates": edit_json("pool", lambda data: data["ahead_rates"].pop()),
    "a rate above 1": edit_json("pool", lambda data: data.update(ahead_rates=[2.0] * len(data["ahead_rates"]))),
    "an unknown opponent in a game": edit_json("pool", lambda data: data["member_at"][0].__setitem__(0, 99)),
    "opponents of too few games": edit_json("pool", lambda data: data["member_at"].pop()),
    "an unknown retired snapshot": edit_json("pool", lambda data: data.update(retired=["nobody"])),
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


@pytest.mark.parametrize("is_missing", [True, False], ids=["missing", "damaged"])
def test_a_snapshot_that_is_missing_or_damaged_is_named(
    copied: RunFolder, capsys: pytest.CaptureFixture[str], is_missing: bool
) -> None:
    snapshot = copied.pool / "step-256.safetensors"
    if is_missing:
        snapshot.unlink()
    else:
        snapshot.write_bytes(b"")
    status, error = resume(copied.path, capsys)
    assert (status, error.count("\n")) == (2, 1)
    assert str(snapshot) in error


# Signals.


@pytest.fixture
def tiny(tmp_path: Path) -> Iterator[list[str]]:
    """The arguments of a short run in a folder `run`."""
    config = tmp_path / "tiny.yaml"
    config.write_text(yaml.safe_dump({**TINY, **SHORT}))
    handlers = [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)]
    yield ["--config", str(config), "--out", str(tmp_path / "run")]
    assert [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)] == handlers


STATUS = {signal.SIGINT: 130, signal.SIGTERM: 143}


@pytest.mark.parametrize("number", STATUS)
@pytest.mark.parametrize("is_last", [False, True], ids=["first evaluation", "last evaluation"])
def test_a_signal_during_an_evaluation_saves_at_once(
    short: RunFolder,
    tiny: list[str],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    number: signal.Signals,
    is_last: bool,
) -> None:
    folder = RunFolder(tiny[-1])
    evaluate = progress.evaluate

    def stop(chosen: Any, num_steps: int, *rest: Any) -> progress.Row:
        if num_steps == (512 if is_last else 0):
            signal.raise_signal(number)
            pytest.fail("the evaluation went on")
        return evaluate(chosen, num_steps, *rest)

    with monkeypatch.context() as patched:
        patched.setattr(progress, "evaluate", stop)
        assert run("train", lambda: train.main(tiny)) == STATUS[number]
    said = capsys.readouterr()
    assert f"saved after {512 if is_last else 0} steps; continue with:" in said.out
    status, error = resume(folder.path, capsys)
    assert status == 0, error
    assert same(folder.last, short.last)
    assert steps(folder) == steps(short)


@pytest.mark.parametrize("number", STATUS)
def test_a_signal_during_behaviour_cloning_stops_at_once(
    tiny: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], number: signal.Signals
) -> None:
    def stop(*_: Any) -> None:
        signal.raise_signal(number)
        pytest.fail("behaviour cloning went on")

    monkeypatch.setattr(train, "clone_behaviour", stop)
    assert run("train", lambda: train.main([*tiny, "behaviour_cloning.agent=greedy"])) == STATUS[number]
    assert capsys.readouterr().err.endswith("stopped during behaviour cloning; nothing was saved\n")
    monkeypatch.undo()
    train.main(tiny)  # the folder can be used again


def test_the_first_signal_is_remembered_and_the_second_stops_at_once(capfd: pytest.CaptureFixture[str]) -> None:
    with StopSignals() as signals:
        signal.raise_signal(signal.SIGINT)
        assert signals.received == signal.SIGINT
        assert "stopping after this update" in capfd.readouterr().err
        with pytest.raises(Terminated):
            signal.raise_signal(signal.SIGTERM)
        with pytest.raises(Terminated), signals.interruptible():
            pytest.fail("a block that may be interrupted began after a signal")


# Two runs in one folder.


def test_a_second_run_in_the_same_folder_is_refused(copied: RunFolder, tmp_path: Path) -> None:
    config = tmp_path / "tiny.yaml"
    config.write_text(yaml.safe_dump(TINY))
    before = read_tree(copied.path)
    with copied.lock():
        for start in (
            lambda: train.main(["--resume", str(copied.path)]),
            lambda: train.main(["--config", str(config), "--out", str(copied.path)]),
            lambda: best_response.train_response("greedy", Variant(num_players=3), copied.path, 256, 0),
        ):
            with pytest.raises(ValueError, match="another training run is using this folder"):
                start()
    assert read_tree(copied.path) == before


# Progress.


def test_progress_is_shown_as_lines_if_there_is_no_terminal(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    chosen = settings(**SHORT, behaviour_cloning={"agent": "greedy", "games": 256})
    train.train(chosen, RunFolder(tmp_path / "run"))
    lines = capsys.readouterr().err.splitlines()
    assert lines[0].startswith("cloning greedy: 0 of 256 games after 0 s")
    assert lines[1].startswith("cloning greedy: 256 of 256 games after ")
    assert ", agreement " in lines[1]
    assert lines[2].startswith("0 of 512 steps after 0 s")
    assert lines[-1].startswith("512 of 512 steps after ")
    assert lines[-1].endswith(", saved 512")
