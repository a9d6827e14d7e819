"""The commands of this package, run as modules from a checkout."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent.parent


def run_module(module: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", f"evaluation.{module}", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT)


@pytest.mark.parametrize("module", ["tournament", "benchmark", "exploit", "review", "gate_power"])
def test_help_has_examples(module: str) -> None:
    done = run_module(module, "--help")
    assert done.returncode == 0, done.stderr
    assert re.search(rf"^    (python -m evaluation\.|symphony9 ){module} --", done.stdout, re.MULTILINE)


@pytest.mark.parametrize(
    ("module", "arguments"),
    [
        ("tournament", ["--agents", "nobody,greedy"]),
        ("benchmark", ["--agent", "nobody", "--task", "2p"]),
        ("exploit", ["--agent", "nobody"]),
        ("coalition", ["nobody"]),
    ],
)
def test_bad_input_exits_with_status_2_and_one_line(module: str, arguments: list[str], tmp_path: Path) -> None:
    done = run_module(module, *arguments, "--out", str(tmp_path / "x"))
    assert done.returncode == 2
    lines = [line for line in done.stderr.splitlines() if "compiling" not in line]
    assert len(lines) == 1
    assert "nobody" in lines[0]


@pytest.mark.parametrize(("module", "num_agents"), [("gate", 2), ("variance", 2), ("coalition", 1)])
def test_help_of_commands_for_given_agents_has_examples(module: str, num_agents: int) -> None:
    done = run_module(module, "--help")
    assert done.returncode == 0, done.stderr
    named = r"[^-\s]\S* " * num_agents
    assert re.search(rf"^    python -m evaluation\.{module} {named}--", done.stdout, re.MULTILINE)


def test_errors_of_a_gate_have_a_status_that_is_no_verdict(tmp_path: Path) -> None:
    done = run_module("gate", "nobody", "greedy", "--out", str(tmp_path / "x"))
    assert done.returncode == 3
    assert "nobody" in done.stderr


def test_variances_are_compared(tmp_path: Path) -> None:
    done = run_module("variance", "planner", "greedy", "--num-players", "2", "--games", "60", "--redraws", "2")
    assert done.returncode == 0, done.stderr
    rows = [line.split() for line in done.stdout.splitlines()]
    assert [row[2] for row in rows if row[:2] == ["2", "players,"]] == ["plain", "corrections", "redraws", "both"]


def test_the_deals_of_a_review_follow_from_its_seed() -> None:
    given = ["--weak", "greedy", "--strong", "planner", "--games", "1", "--playouts", "5"]
    default, first, second = (run_module("review", *given, *seed) for seed in ([], ["--seed", "0"], ["--seed", "1"]))
    assert default.returncode == 0, default.stderr
    assert default.stdout == first.stdout != second.stdout
    refused = run_module("review", *given, "--seed", "-1")
    assert refused.returncode == 2
    assert "seed=-1; allowed" in refused.stderr


def test_a_tournament_runs_as_a_module(tmp_path: Path) -> None:
    given = ["--agents", "random,greedy", "--num-players", "2", "--games", "4", "--out", str(tmp_path / "t")]
    done = run_module("tournament", *given)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "t" / "results.json").exists()
