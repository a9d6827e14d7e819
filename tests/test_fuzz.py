"""Every fuzz target accepts its examples and survives some hundred changed ones; findings are noticed and saved."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from random import Random

import pytest

from fuzz import __main__ as command
from fuzz import worker
from fuzz.mutations import mutate_bytes
from fuzz.target import Harness, Inputs, Target, run_input
from fuzz.targets import TARGETS

NUM_INPUTS = 150
NUM_SLOW_INPUTS = 15
SLOW = ("process-output", "server-folder")  # they start a process or write several files for each input


@pytest.mark.parametrize("name", TARGETS)
def test_changed_examples_are_accepted_or_refused_as_documented(name: str, tmp_path: Path) -> None:
    with TARGETS[name].open(tmp_path) as harness:
        for example in harness.examples:
            assert run_input(harness, example) is None
        inputs = Inputs(harness, seed=9)
        for _ in range(NUM_SLOW_INPUTS if name in SLOW else NUM_INPUTS):
            data = inputs.next()
            inputs.learn(data, run_input(harness, data), is_new=False)


def test_inputs_follow_from_the_seed() -> None:
    harness = Harness([b"example"], mutate_bytes, lambda data: None)
    first, second, other = (Inputs(harness, seed) for seed in (1, 1, 2))
    drawn = [first.next() for _ in range(20)]
    assert drawn == [second.next() for _ in range(20)]
    assert drawn != [other.next() for _ in range(20)]


# What counts as a finding.


def read_with(read: Callable[[bytes], None]) -> str | None:
    return run_input(Harness([b""], lambda data, rng: data, read), b"")


def raise_error(error: Exception) -> Callable[[bytes], None]:
    def read(data: bytes) -> None:
        raise error

    return read


def test_only_the_documented_error_is_a_refusal() -> None:
    assert read_with(raise_error(ValueError("refused"))) == "refused"
    for error in (KeyError("key"), RecursionError(), UnicodeDecodeError("utf-8", b"", 0, 1, "no")):
        with pytest.raises(type(error)):
            read_with(raise_error(error))
    for text in ("", "two\nlines"):
        with pytest.raises(AssertionError, match="not one line"):
            read_with(raise_error(ValueError(text)))


BAD_TARGETS = {
    "exception": "raise KeyError('finding')",
    "crash": "import os; os.abort()",
    "hang": "import time; time.sleep(1000)",
    "memory": "bytes(20 << 30)",
}


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux limits the memory of a process")
@pytest.mark.parametrize("kind", BAD_TARGETS)
def test_a_target_that_fails_is_a_finding_with_its_input(kind: str, tmp_path: Path) -> None:
    code = f"""
import sys
from contextlib import contextmanager
from fuzz import worker
from fuzz.target import Harness, Target

def read(data):
    if data != b"fine":
        {BAD_TARGETS[kind]}

@contextmanager
def open_target(folder):
    yield Harness([b"fine"], lambda data, rng: b"bad", read)

worker.DEADLINE_SECONDS = 1
worker.TARGETS["bad"] = Target("bad", open_target)
worker.main()
"""
    arguments = ["bad", "--out", str(tmp_path), "--inputs", "3"]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run([sys.executable, "-c", code, *arguments], env=environment, capture_output=True, check=False)
    if kind in ("crash", "hang"):
        assert done.returncode != 0
        assert (tmp_path / "current").read_bytes() == b"bad"
    else:
        assert done.returncode == 0, done.stderr
        assert json.loads((tmp_path / "counts").read_text())["findings"] == 3
        assert [path.read_bytes() for path in tmp_path.glob("bad-????????")] == [b"bad"]


# The command.


@contextmanager
def open_simple(folder: Path) -> Iterator[Harness]:
    def read(data: bytes) -> None:
        if data != b"example":
            raise ValueError("not the example")

    yield Harness([b"example"], mutate_bytes, read)


def test_a_run_counts_what_is_accepted_and_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(TARGETS, "simple", Target("simple", open_simple))
    run = worker.Run("simple", tmp_path, seed=Random(1).randrange(100))
    run.run(seconds=60, num_inputs=50)
    assert run.counts["inputs"] == 50
    assert run.counts["accepted"] + run.counts["refused"] == 50
    assert run.counts["findings"] == 0


def test_the_command_prints_a_table_and_fails_only_if_there_are_findings(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ["--targets", "compile-cache", "--seconds", "2", "--crashes", str(tmp_path / "crashes")]
    assert command.main(arguments) == 0
    table = capsys.readouterr().out.splitlines()
    assert table[0].split() == ["target", *command.COLUMNS, "memory"]
    assert table[1].startswith("compile-cache")
    assert not (tmp_path / "crashes").exists()


def test_an_unknown_target_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        command.main(["--targets", "nothing"])
    assert "unknown target 'nothing'" in capsys.readouterr().err
