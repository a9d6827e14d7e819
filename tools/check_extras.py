"""Check that every extra works when it is installed alone.

    python -m tools.check_extras                (or: make test-extras)
    python -m tools.check_extras minari render

This builds the wheel once. For each extra of pyproject.toml except `dev`, it creates a virtual environment, installs
the wheel with that extra and the pinned versions, and runs a short command of what the extra is for. Two extras are
checked at a time, and their environments are deleted.
"""

from __future__ import annotations

import argparse
import itertools
import os
import subprocess
import sys
import tempfile
import time
import tomllib
import venv
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Final

from symphony9_env.arena.console import format_table
from symphony9_env.arguments import Parser
from tools.constraints import ROOT, merge_pins

NOT_CHECKED: Final = ("dev",)  # `make check` runs its tools
AT_A_TIME: Final = 2
OUTPUT_LINES: Final = 15  # of a command that failed

PLAY: Final = """
import re, subprocess, sys, urllib.request
command = [sys.executable, "-m", "symphony9_env.cli", "play", "--no-browser", "--port", "0"]
with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
    try:
        link = re.search(r"http://[^#\\s]+", server.stdout.readline())
        assert b"<html" in urllib.request.urlopen(link[0], timeout=60).read()
    finally:
        server.terminate()
"""
RENDER: Final = """
import os, gymnasium
from gymnasium.wrappers import RecordVideo
os.environ["SDL_VIDEODRIVER"] = "dummy"
for mode in ("rgb_array", "human"):
    env = gymnasium.make("symphony9_env:Symphony9-v0", render_mode=mode)
    env = RecordVideo(env, "videos") if mode == "rgb_array" else env
    _, info = env.reset(seed=0)
    env.step(info["action_mask"].argmax())
    env.close()
assert os.listdir("videos")
"""
OPENSPIEL: Final = """
import pyspiel, symphony9_env.integrations.openspiel
pyspiel.random_sim_test(pyspiel.load_game("python_symphony9(players=2,deals=10)"), 1, True, True)
"""
BENCH: Final = """
from speed.throughput import make_workloads
workloads, missing = make_workloads()
assert not missing, missing
for play in workloads.values():
    play()
"""
TRAIN: Final = ("total_steps=512", "ppo.n_envs=8", "ppo.batch_size=256", "behaviour_cloning.games=16")

Command = tuple[str, ...]  # {root} is the folder of the checkout
SMOKE_CHECKS: Final[dict[str, Command]] = {  # arguments of Python
    "bench": ("-c", BENCH),
    "cluster": ("-c", "import training.cluster"),
    "eval": ("-m", "symphony9_env.cli", "tournament", "--agents", "random,greedy", "--games", "8", "--out", "games"),
    "inspect": ("{root}/examples/inspect_benchmark.py",),
    "kaggle": ("{root}/examples/kaggle_game.py",),
    "minari": ("{root}/examples/minari_dataset.py", "--games", "3"),
    "openenv": ("{root}/examples/openenv_game.py",),
    "openspiel": ("-c", OPENSPIEL),
    "play": ("-c", PLAY),
    "render": ("-c", RENDER),
    "rllib": ("{root}/examples/rllib_selfplay.py", "--steps", "500", "--games", "2"),
    "sb3": ("{root}/examples/sb3_plain.py", "--steps", "1024", "--games", "2"),
    "textarena": ("{root}/examples/textarena_game.py",),
    "tianshou": ("{root}/examples/tianshou_ppo.py", "--steps", "1024", "--games", "8"),
    "torchrl": ("{root}/examples/torchrl_ppo.py", "--frames", "500", "--games", "2"),
    "train": ("-m", "training.train", "--config", "{root}/configs/quick.yaml", "--out", "run", *TRAIN),
    "trl": ("{root}/examples/trl_game.py",),
    "verifiers": ("{root}/examples/verifiers_game.py",),
}
INSTALLED_ALONE: Final = {"kaggle": "kaggle-environments"}  # without its dependencies, because it pins old versions
NEEDS_CHECKOUT: Final = ("bench", "cluster", "train")  # they run packages that the wheel does not contain


def list_extras() -> list[str]:
    """Return the extras of pyproject.toml that are checked."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    return sorted(name for name in project["optional-dependencies"] if name not in NOT_CHECKED)


def build_wheel(folder: Path) -> Path:
    """Build the wheel of the package in a folder."""
    command = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", str(folder), str(ROOT)]
    subprocess.run(command, env={**os.environ, "PIP_CONSTRAINT": str(ROOT / "constraints.txt")}, check=True)
    (wheel,) = folder.glob("*.whl")
    return wheel


def check(extra: str, wheel: Path, folder: Path) -> str:
    """Install an extra alone and run its command; return what failed with the end of its output, or nothing."""
    venv.create(folder / "venv")
    python = str(folder / "venv" / ("Scripts/python.exe" if os.name == "nt" else "bin/python"))
    work = folder / "work"
    work.mkdir()
    constraints = folder / "constraints.txt"
    constraints.write_text(merge_pins(extra), encoding="utf-8")
    options = ("--quiet", "--no-compile", "--constraint", str(constraints))
    pip = (sys.executable, "-m", "pip", "--python", python, "install", *options)
    steps: list[tuple[str, Command]] = [("installation", (*pip, f"{wheel}[{extra}]"))]
    if extra in INSTALLED_ALONE:
        steps.append(("installation", (*pip, "--no-deps", INSTALLED_ALONE[extra])))
    command = (argument.replace("{root}", str(ROOT)) for argument in SMOKE_CHECKS[extra])
    for name, step in (*steps, ("command", (python, *command))):
        done = subprocess.run(
            step,
            cwd=work,
            env=_make_environment(extra),
            text=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            check=False,
        )
        if done.returncode:
            return f"{name}:\n" + "\n".join(done.stdout.splitlines()[-OUTPUT_LINES:])
    return ""


def check_and_time(extra: str, wheel: Path) -> tuple[str, str, float]:
    """Check an extra in a folder of its own; return its name, what failed and the seconds that it took."""
    started = time.monotonic()
    with tempfile.TemporaryDirectory(prefix=f"extra-{extra}-") as folder:
        problem = check(extra, wheel, Path(folder))
    seconds = time.monotonic() - started
    print(f"{extra}: {'failed' if problem else 'works'} ({seconds:.0f} s)", flush=True)
    return extra, problem, seconds


def _make_environment(extra: str) -> dict[str, str]:
    """Return the variables of the commands: the checkout is on the path only for what the wheel does not contain."""
    variables = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    return {**variables, "PYTHONPATH": str(ROOT)} if extra in NEEDS_CHECKOUT else variables


def main(arguments: Sequence[str] | None = None) -> int:
    """Check the extras and print a table; return 1 if one of them failed."""
    parser = Parser(prog="python -m tools.check_extras", description=__doc__)
    parser.add_argument("extras", nargs="*", metavar="EXTRA", help="the extras to check (default: all except dev)")
    chosen: argparse.Namespace = parser.parse_args(arguments)
    extras = list_extras()
    if unknown := [name for name in chosen.extras if name not in extras]:
        parser.error(f"{unknown[0]!r}; allowed: {', '.join(extras)}")
    with tempfile.TemporaryDirectory(prefix="wheel-") as folder, ThreadPoolExecutor(AT_A_TIME) as pool:
        wheel = build_wheel(Path(folder))
        results = list(pool.map(check_and_time, chosen.extras or extras, itertools.repeat(wheel)))
    rows = [
        (extra, f"failed: {problem.partition(':')[0]}" if problem else "works", f"{seconds:.0f} s")
        for extra, problem, seconds in results
    ]
    print(f"\n{format_table(('extra', 'result', 'time'), rows)}")
    print("".join(f"\n{extra}, {problem}\n" for extra, problem, _ in results if problem), end="")
    return 1 if any(problem for _, problem, _ in results) else 0


if __name__ == "__main__":
    sys.exit(main())
