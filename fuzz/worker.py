"""The process of one target: run inputs, save those that are findings, and report counts.

    python -m fuzz.worker record --seconds 60 --out /tmp/fuzz-record

Findings that are exceptions are saved here. If the process crashes, hangs, or is killed, the input that it was reading
is in the file `current`, for the program that started it.
"""

from __future__ import annotations

import argparse
import faulthandler
import hashlib
import json
import os
import sys
import tempfile
import time
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any, Final

from fuzz.target import Inputs, run_input
from fuzz.targets import TARGETS

DEADLINE_SECONDS: Final = 20.0  # for one input; many of them need a hundredth of a second
MAX_GROWTH: Final = 512 << 20  # bytes of memory that one input may add to the most used so far
MAX_ADDRESS_SPACE: Final = 4 << 30  # that may be reserved beyond what the target needs to start
REPORT_SECONDS: Final = 0.5
ROOT: Final = str(Path(__file__).parents[1])


class Coverage:
    """The lines of this project that were run so far, as far as they are Python (compiled rules are not)."""

    def __init__(self) -> None:
        self._lines: set[tuple[str, int]] = set()
        self.is_new = False  # whether the last input ran a line that none before it did

    @contextmanager
    def watch(self) -> Iterator[None]:
        """Watch the lines that the block runs in this thread."""
        self.is_new = False
        sys.settrace(self._trace_call)
        try:
            yield
        finally:
            sys.settrace(None)

    def _trace_call(self, frame: FrameType, event: str, argument: Any) -> Any:
        return self._trace_line if frame.f_code.co_filename.startswith(ROOT) else None

    def _trace_line(self, frame: FrameType, event: str, argument: Any) -> Any:
        line = (frame.f_code.co_filename, frame.f_lineno)
        if line not in self._lines:
            self._lines.add(line)
            self.is_new = True
        return self._trace_line


def measure_memory() -> int:
    """Return the most bytes of memory that this process has used; 0 where that can't be measured."""
    if sys.platform == "win32":
        return 0
    import resource

    used = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return used if sys.platform == "darwin" else used * 1024


@contextmanager
def limit_memory() -> Iterator[None]:
    """Let an attempt to reserve far more memory than is used now fail; only Linux supports that."""
    if sys.platform != "linux":
        yield
        return
    import resource

    before = resource.getrlimit(resource.RLIMIT_AS)
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    resource.setrlimit(resource.RLIMIT_AS, (pages * resource.getpagesize() + MAX_ADDRESS_SPACE, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, before)


class Run:
    """The run of one target: its counts and findings."""

    def __init__(self, name: str, out: Path, seed: int) -> None:
        self.name = name
        self.counts = {"inputs": 0, "accepted": 0, "refused": 0, "findings": 0}
        self._out = out
        self._seed = seed
        self._seen: set[str] = set()
        self._reported = 0.0

    def run(self, seconds: float, num_inputs: int) -> None:
        """Run inputs for some seconds, or up to a number of them."""
        coverage = Coverage()
        with tempfile.TemporaryDirectory() as folder, TARGETS[self.name].open(Path(folder)) as harness:
            for example in harness.examples:  # this also compiles what the target needs, which watching would slow down
                if (reason := run_input(harness, example)) is not None:
                    raise SystemExit(f"{self.name}: a valid example is refused: {reason}")
            inputs = Inputs(harness, self._seed)
            end = time.monotonic() + seconds
            with limit_memory():
                while time.monotonic() < end and self.counts["inputs"] < num_inputs:
                    data = inputs.next()
                    (self._out / "current").write_bytes(data)
                    faulthandler.dump_traceback_later(DEADLINE_SECONDS, exit=True)
                    self._run_one(harness, data, inputs, coverage)
                    faulthandler.cancel_dump_traceback_later()
                    self._report()
        self._report(is_last=True)

    def _run_one(self, harness: Any, data: bytes, inputs: Inputs, coverage: Coverage) -> None:
        before = measure_memory()
        try:
            with coverage.watch():
                reason = run_input(harness, data)
            if measure_memory() - before > MAX_GROWTH:
                raise MemoryError(f"used {measure_memory() - before >> 20} MB")
        except KeyboardInterrupt:
            raise
        except BaseException as error:
            self._save(data, error)
        else:
            self.counts["accepted" if reason is None else "refused"] += 1
            inputs.learn(data, reason, coverage.is_new)
        self.counts["inputs"] += 1

    def _save(self, data: bytes, error: BaseException) -> None:
        """Count a finding, and save its input and traceback unless another one was raised at the same place."""
        self.counts["findings"] += 1
        cause = error.__cause__ or error
        place = [frame for frame in traceback.extract_tb(cause.__traceback__) if frame.filename.startswith(ROOT)][-1:]
        kind = hashlib.sha256(f"{type(cause).__name__} {place}".encode()).hexdigest()[:8]
        if kind not in self._seen:
            self._seen.add(kind)
            path = self._out / f"{self.name}-{kind}"
            path.write_bytes(data)
            path.with_suffix(".txt").write_text("".join(traceback.format_exception(error)), encoding="utf-8")

    def _report(self, *, is_last: bool = False) -> None:
        if is_last or time.monotonic() - self._reported > REPORT_SECONDS:
            self._reported = time.monotonic()
            (self._out / "counts").write_text(json.dumps({**self.counts, "memory": measure_memory()}))


def main() -> None:
    """Run a target, or, with --replay, one input of it, whose error is shown."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("target", choices=TARGETS)
    parser.add_argument("--out", type=Path, default=Path.cwd(), help="folder for counts and findings")
    parser.add_argument("--seconds", type=float, default=1e9)
    parser.add_argument("--inputs", type=int, default=sys.maxsize)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--replay", type=Path, help="read this one input")
    chosen = parser.parse_args()
    faulthandler.enable()
    if chosen.replay is None:
        Run(chosen.target, chosen.out, chosen.seed).run(chosen.seconds, chosen.inputs)
        return
    data = chosen.replay.read_bytes()
    with tempfile.TemporaryDirectory() as folder, TARGETS[chosen.target].open(Path(folder)) as harness:
        faulthandler.dump_traceback_later(DEADLINE_SECONDS, exit=True)
        with limit_memory():
            reason = run_input(harness, data)
    print("accepted" if reason is None else f"refused: {reason}")


if __name__ == "__main__":
    main()
    sys.stdout.flush()
    os._exit(0)  # a thread that an input has left behind must not keep the process
