"""Check that every extra works when it is installed alone.

    python -m tools.check_extras                (or: make test-extras)
    python -m tools.check_extras minari render

For each extra of pyproject.toml except `dev`, this creates a virtual environment, installs the package with that extra
and the pinned versions into it, and runs a short command of what the extra is for. The environments are deleted.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
import tomllib
import venv
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from symphony9_env.arena.console import format_table
from symphony9_env.arguments import Parser

ROOT: Final = Path(__file__).parent.parent
NOT_CHECKED: Final = ("dev",)  # `make check` runs its tools
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

Command = tuple[str, ...]  # arguments of Python; {root} is the folder of the checkout
SMOKE_CHECKS: Final[dict[str, Command]] = {
    "bench": ("-c", BENCH),
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
# kaggle-environments pins old versions; verifiers needs a newer Pillow than the one that is pinned for moviepy.
INSTALLED_ALONE: Final = {"kaggle": "kaggle-environments"}
UNPINNED: Final = {"verifiers": "pillow"}
NEEDS_CHECKOUT: Final = ("bench", "train")  # they run packages that the wheel does not contain


def list_extras() -> list[str]:
    """Return the extras of pyproject.toml that are checked."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    return sorted(name for name in project["optional-dependencies"] if name not in NOT_CHECKED)


def check(extra: str, folder: Path) -> str:
    """Install an extra alone and run its command; return what failed with the end of its output, or nothing."""
    venv.create(folder / "venv", with_pip=True)
    python = folder / "venv" / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    work = folder / "work"
    work.mkdir()
    pins = (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
    unpinned = UNPINNED.get(extra)
    constraints = folder / "constraints.txt"
    constraints.write_text("\n".join(pin for pin in pins if pin.partition("==")[0] != unpinned), encoding="utf-8")
    pip = ("-m", "pip", "install", "--quiet", "--constraint", str(constraints))
    steps: list[tuple[str, Command]] = [("installation", (*pip, f"{ROOT}[{extra}]"))]
    if extra in INSTALLED_ALONE:
        steps.append(("installation", (*pip, "--no-deps", INSTALLED_ALONE[extra])))
    for name, command in (*steps, ("command", SMOKE_CHECKS[extra])):
        arguments = [argument.replace("{root}", str(ROOT)) for argument in command]
        done = subprocess.run(
            [python, *arguments],
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
    rows, failures = [], []
    for extra in chosen.extras or extras:
        started = time.monotonic()
        with tempfile.TemporaryDirectory(prefix=f"extra-{extra}-") as folder:
            problem = check(extra, Path(folder))
        result = f"failed: {problem.partition(':')[0]}" if problem else "works"
        rows.append((extra, result, f"{time.monotonic() - started:.0f} s"))
        print(f"{extra}: {result}", flush=True)
        if problem:
            failures.append(f"{extra}, {problem}")
    print(f"\n{format_table(('extra', 'result', 'time'), rows)}")
    print("".join(f"\n{failure}\n" for failure in failures), end="")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
