"""Ctrl-C and SIGTERM stop a run, which saves first."""

from __future__ import annotations

import signal
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
import yaml

from symphony9_env.agents import Card
from symphony9_env.arguments import Terminated, run
from tests.training.runs import SHORT, TINY, read_tree, resume, same, settings, steps
from training import progress, train, trainer
from training.config import Settings
from training.run import RunFolder
from training.stopping import StopSignals


@pytest.fixture
def tiny(tmp_path: Path) -> Iterator[list[str]]:
    """The arguments of a short run in a folder `run`."""
    config = tmp_path / "tiny.yaml"
    config.write_text(yaml.safe_dump({**TINY, **SHORT}))
    handlers = [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)]
    yield ["--config", str(config), "--out", str(tmp_path / "run")]
    assert [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)] == handlers


def test_a_run_in_another_thread_is_the_same(short: RunFolder, tmp_path: Path) -> None:
    folder = RunFolder(tmp_path / "run")
    handlers = [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)]
    with ThreadPoolExecutor(1) as threads:
        threads.submit(train.train, settings(**SHORT), folder).result()
    assert same(folder.last, short.last)
    assert steps(folder) == steps(short)
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

    def stop(chosen: Settings, card: Card, *rest: Any) -> progress.Parts:
        if card.training["steps"] == (512 if is_last else 0):
            signal.raise_signal(number)
            pytest.fail("the evaluation went on")
        return evaluate(chosen, card, *rest)

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

    monkeypatch.setattr(trainer, "clone_behaviour", stop)
    assert run("train", lambda: train.main([*tiny, "behaviour_cloning.agent=greedy"])) == STATUS[number]
    assert capsys.readouterr().err.endswith("stopped before the first update; nothing was saved\n")
    monkeypatch.undo()
    train.main(tiny)  # the folder can be used again


@pytest.mark.parametrize("number", STATUS)
@pytest.mark.parametrize("is_resumed", [False, True], ids=["new", "resumed"])
def test_a_signal_while_the_workers_start_stops_at_once(
    copied: RunFolder,
    tiny: list[str],
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
    number: signal.Signals,
    is_resumed: bool,
) -> None:
    def stop(*_: Any) -> None:
        signal.raise_signal(number)
        pytest.fail("the start went on")

    arguments = ["--resume", str(copied.path)] if is_resumed else tiny
    before = read_tree(copied.path)
    monkeypatch.setattr(train, "Trainer", stop)
    assert run("train", lambda: train.main(arguments)) == STATUS[number]
    assert capfd.readouterr().err == "\nstopped before the training began\n"
    assert read_tree(copied.path) == before
    monkeypatch.undo()
    train.main(arguments)  # nothing is in the way


def test_a_signal_in_a_callback_of_the_compiler_comes_again_after_it(capfd: pytest.CaptureFixture[str]) -> None:
    """Python prints and ignores exceptions there, so none may be raised."""
    source = "def call_back(function):\n    function()\n"
    names: dict[str, Any] = {}
    exec(compile(source, "/somewhere/llvmlite/binding/executionengine.py", "exec"), names)
    with StopSignals() as signals:
        names["call_back"](lambda: signal.raise_signal(signal.SIGINT))
        assert signals.received is None
        assert capfd.readouterr().err == ""
        with pytest.raises(KeyboardInterrupt):
            time.sleep(30)
        assert signals.received == signal.SIGINT


def test_the_first_signal_is_remembered_and_the_second_stops_at_once(capfd: pytest.CaptureFixture[str]) -> None:
    with StopSignals() as signals:
        signals.has_begun = True
        signal.raise_signal(signal.SIGINT)
        assert signals.received == signal.SIGINT
        assert "stopping after this update" in capfd.readouterr().err
        with pytest.raises(Terminated):
            signal.raise_signal(signal.SIGTERM)
        with pytest.raises(Terminated), signals.interruptible():
            pytest.fail("a block that may be interrupted began after a signal")
