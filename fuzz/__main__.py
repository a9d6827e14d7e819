"""Fuzz all readers of data from outside, or some of them, each in a process of its own.

    python -m fuzz                               all targets, 300 seconds in all
    python -m fuzz --seconds 3600 --jobs 2
    python -m fuzz --targets policy,record
    python -m fuzz.worker record --replay fuzz/crashes/record-0a1b2c3d

Ctrl-C stops and prints what there is. The exit status is 1 if there is a finding: an exception other than the
documented one, a crash, an input that takes 20 seconds, or one that needs 512 MB of memory. Its input is saved.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from fuzz.targets import TARGETS

CRASHES: Final = Path(__file__).parent / "crashes"
MIN_SECONDS: Final = 2.0  # for each target
START_SECONDS: Final = 600.0  # in which a target must be ready; it may have to compile first
PROGRESS_SECONDS: Final = 10.0
MAX_RESTARTS: Final = 20
COLUMNS: Final = ("inputs", "accepted", "refused", "findings")


@dataclass
class Campaign:
    """The run of one target, with as many processes, one after the other, as it needs."""

    name: str
    seconds: float
    seed: int
    crashes: Path
    counts: dict[str, int] = field(default_factory=lambda: dict.fromkeys(COLUMNS, 0))
    memory: int = 0
    num_starts: int = 0

    def start(self) -> None:
        """Start a process for the time that is left."""
        self._out = Path(tempfile.mkdtemp(prefix="symphony9-fuzz-"))
        self._errors = (self._out / "errors").open("wb")
        command = [sys.executable, "-m", "fuzz.worker", self.name, "--out", str(self._out)]
        command += ["--seconds", str(self.seconds), "--seed", str(self.seed + self.num_starts)]
        self._begun = time.monotonic()
        self._process = subprocess.Popen(command, stderr=self._errors, start_new_session=True)
        self.num_starts += 1

    def poll(self) -> bool:
        """Return whether the target is done; after a crash, save the input and start again."""
        if self._process.poll() is None and time.monotonic() < self._begun + self.seconds + START_SECONDS:
            return False
        status = self._end()
        if status == 0:
            return True
        self.counts["findings"] += 1
        self._save_current(status)
        self.seconds -= time.monotonic() - self._begun
        if self.seconds < MIN_SECONDS or self.num_starts > MAX_RESTARTS:
            return True
        self.start()
        return False

    def stop(self) -> None:
        """Stop early, and keep the counts."""
        self._end()

    def _end(self) -> int | None:
        status = self._process.poll()
        self._process.kill()
        self._process.wait()
        self._errors.close()
        for path in self._out.glob(f"{self.name}-*"):
            self.crashes.mkdir(parents=True, exist_ok=True)
            shutil.copy(path, self.crashes)
        if (self._out / "counts").exists():
            counts = json.loads((self._out / "counts").read_text() or "{}")
            self.memory = max(self.memory, counts.get("memory", 0))
            for name in COLUMNS:
                self.counts[name] += counts.get(name, 0)
        errors = (self._out / "errors").read_bytes()
        self._last_errors = errors[-10_000:]
        self._last_input = (self._out / "current").read_bytes() if (self._out / "current").exists() else b""
        shutil.rmtree(self._out, ignore_errors=True)
        return status

    def _save_current(self, status: int | None) -> None:
        self.crashes.mkdir(parents=True, exist_ok=True)
        path = self.crashes / f"{self.name}-crash-{os.getpid()}-{self.num_starts}"
        path.write_bytes(self._last_input)
        path.with_suffix(".txt").write_bytes(f"exit status {status}\n".encode() + self._last_errors)


def run_campaigns(names: list[str], seconds: float, jobs: int, seed: int, crashes: Path) -> list[Campaign]:
    """Run the targets, several at once, so that all of them together take about this long."""
    end = time.monotonic() + seconds
    waiting, running, done = list(names), list[Campaign](), list[Campaign]()
    shown = time.monotonic()
    try:
        while waiting or running:
            while waiting and len(running) < jobs:
                share = (end - time.monotonic()) * jobs / (len(waiting) + len(running))
                campaign = Campaign(waiting.pop(0), max(share, MIN_SECONDS), seed, crashes)
                campaign.start()
                running.append(campaign)
            for campaign in [one for one in running if one.poll()]:
                running.remove(campaign)
                done.append(campaign)
                print(f"{format_row(campaign)}   [{len(done)} of {len(names)}]", file=sys.stderr, flush=True)
            if time.monotonic() - shown > PROGRESS_SECONDS:
                shown = time.monotonic()
                left = max(0.0, end - shown)
                print(f"running: {', '.join(one.name for one in running)}; {left:.0f} s left", file=sys.stderr)
            time.sleep(0.1)
    except KeyboardInterrupt:
        print("stopped", file=sys.stderr)
        for campaign in running:
            campaign.stop()
            done.append(campaign)
    return done


def format_row(campaign: Campaign) -> str:
    """Return the counts of a target as a line of the table."""
    counts = "".join(f"{campaign.counts[name]:>12,}" for name in COLUMNS)
    return f"{campaign.name:<20}{counts}{campaign.memory >> 20:>9,} MB"


def format_table(campaigns: list[Campaign]) -> str:
    """Return the counts of all targets."""
    head = f"{'target':<20}{''.join(f'{name:>12}' for name in COLUMNS)}{'memory':>12}"
    total = Campaign("all", 0, 0, Path())
    total.memory = max((one.memory for one in campaigns), default=0)
    total.counts = {name: sum(one.counts[name] for one in campaigns) for name in COLUMNS}
    return "\n".join([head, *(format_row(one) for one in campaigns), format_row(total)])


def main(arguments: list[str] | None = None) -> int:
    """Run the command and return its exit status."""
    parser = argparse.ArgumentParser(
        "python -m fuzz", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seconds", type=float, default=300.0, help="for all targets together (default: 300)")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="processes at a time (default: cores)")
    parser.add_argument("--targets", default=",".join(TARGETS), help=f"some of: {', '.join(TARGETS)}")
    parser.add_argument("--seed", type=int, default=time.time_ns() % 2**32, help="seed of the changes")
    parser.add_argument("--crashes", type=Path, default=CRASHES, help="folder for findings (default: fuzz/crashes)")
    chosen = parser.parse_args(arguments)
    names = chosen.targets.split(",")
    if unknown := [name for name in names if name not in TARGETS]:
        parser.error(f"--targets: unknown target {unknown[0]!r}; allowed: {', '.join(TARGETS)}")
    print(f"{len(names)} targets, {chosen.seconds:g} s, seed {chosen.seed}", file=sys.stderr)
    campaigns = run_campaigns(names, chosen.seconds, chosen.jobs, chosen.seed, chosen.crashes)
    print(format_table(campaigns))
    num_findings = sum(one.counts["findings"] for one in campaigns)
    if num_findings:
        print(f"{num_findings} findings; their inputs are in {chosen.crashes}")
    return int(num_findings > 0)


if __name__ == "__main__":
    sys.exit(main())
