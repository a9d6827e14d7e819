"""The wheel and the source distribution: what they contain, and that the wheel works without the checkout."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tarfile
import venv
import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import pytest

import symphony9_env

ROOT: Final = Path(__file__).parents[1]
CONSTRAINTS: Final = ROOT / "constraints.txt"
PLAY_WITH_THE_SHIPPED_POLICY: Final = """
from symphony9_env import agents, symphony9_v0

env = symphony9_v0.raw_env(num_players=3)
env.reset(seed=1)
agent = agents.make("policy", seed=1)
while not all(env.terminations.values()):
    env.step(agent.choose(env))
print(env.record()["result"]["winners"])
"""


@dataclass(frozen=True)
class Installation:
    """A virtual environment with the wheel and its required dependencies, and a folder outside the checkout."""

    programs: Path
    folder: Path

    def run(self, program: str, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Run a program of the virtual environment in the folder, as a user without the checkout would."""
        env = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
        return subprocess.run(
            [str(self.programs / program), *arguments],
            cwd=self.folder,
            env=env | {"SYMPHONY9_CACHE_DIR": str(self.folder / "cache")},
            capture_output=True,
            text=True,
            check=False,
        )

    def output(self, program: str, *arguments: str) -> str:
        """Run a program that must succeed; return what it prints."""
        done = self.run(program, *arguments)
        assert done.returncode == 0, done.stderr
        return done.stdout


@pytest.fixture(scope="module")
def distributions(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the source distribution, and with the wheel that is built from it."""
    folder = tmp_path_factory.mktemp("dist")
    subprocess.run(
        [sys.executable, "-m", "build", "--outdir", str(folder)],
        cwd=ROOT,
        env=os.environ | {"PIP_CONSTRAINT": CONSTRAINTS.name},
        stdout=subprocess.DEVNULL,
        check=True,
    )
    return folder


@pytest.fixture(scope="module")
def wheel(distributions: Path) -> Path:
    return next(distributions.glob("*.whl"))


@pytest.fixture(scope="module")
def installation(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Installation:
    folder = tmp_path_factory.mktemp("installation")
    venv.create(folder / "venv")
    programs = folder / "venv" / ("Scripts" if os.name == "nt" else "bin")
    pip = [sys.executable, "-m", "pip", "--python", str(programs / "python"), "install", "--quiet"]
    subprocess.run([*pip, "--constraint", str(CONSTRAINTS), str(wheel)], check=True)
    return Installation(programs, folder)


def test_the_metadata_is_valid(distributions: Path) -> None:
    files = [str(path) for path in distributions.iterdir()]
    assert len(files) == 2
    subprocess.run([sys.executable, "-m", "twine", "check", "--strict", *files], check=True)


def test_there_is_one_version_number(wheel: Path) -> None:
    citation = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert re.findall(r"^version: (.*)$", citation, re.MULTILINE) == [symphony9_env.__version__]
    assert wheel.name == f"symphony9_env-{symphony9_env.__version__}-py3-none-any.whl"


def test_the_wheel_contains_the_package_with_its_data_and_nothing_else(wheel: Path) -> None:
    package = ROOT / "symphony9_env"
    files = {path for path in package.rglob("*") if path.is_file() and "__pycache__" not in path.parts}
    names = {name for name in zipfile.ZipFile(wheel).namelist() if ".dist-info/" not in name}
    assert names == {path.relative_to(ROOT).as_posix() for path in files}
    assert {".html", ".js", ".css", ".safetensors", ".toml", ".typed"} <= {Path(name).suffix for name in names}


def test_the_source_distribution_contains_what_the_checks_need(distributions: Path) -> None:
    with tarfile.open(next(distributions.glob("*.tar.gz"))) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    files = {path.relative_to(ROOT).as_posix() for path in (ROOT / "tests").rglob("*.*") if path.suffix != ".pyc"}
    assert files <= names
    assert {"Makefile", "constraints.txt", "pyproject.toml", "biome.json", "package-lock.json"} <= names
    folders = {name.partition("/")[0] for name in names if "/" in name}
    assert {"configs", "docs", "evaluation", "examples", "tools", "training"} <= folders


def test_the_installed_package_is_not_the_checkout(installation: Installation) -> None:
    program = "import symphony9_env; print(symphony9_env.__file__)"
    path = Path(installation.output("python", "-c", program).strip())
    assert path.is_relative_to(installation.folder)
    assert installation.output("symphony9", "--version") == f"symphony9-env {symphony9_env.__version__}\n"


def test_the_program_of_the_readme_runs(installation: Installation) -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    program = re.findall(r"```python\n(.*?)```", readme, re.DOTALL)[0]
    assert "final score" in installation.output("python", "-c", program)


def test_the_installed_command_records_and_replays_a_game(installation: Installation) -> None:
    installation.output("symphony9", "record", "--seed", "7", "--num-players", "4")
    assert "final score" in installation.output("symphony9", "replay", "game-4p-7.json")


def test_the_shipped_policy_plays(installation: Installation) -> None:
    assert "player_" in installation.output("python", "-c", PLAY_WITH_THE_SHIPPED_POLICY)


def test_a_missing_extra_is_named_in_one_line(installation: Installation) -> None:
    done = installation.run("symphony9", "tournament", "--agents", "random,greedy", "--games", "4", "--out", "games")
    assert done.returncode != 0
    assert 'pip install "symphony9-env[eval]"' in done.stderr
    assert done.stderr.count("\n") == 1
