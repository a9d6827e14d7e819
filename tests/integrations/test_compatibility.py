"""The checks of `make compatibility` that run no example, and its tables in docs/integrations.md.

Examples have tests of their own. A check is skipped where its library is not installed.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from importlib import metadata
from pathlib import Path

import gymnasium
import pytest

from tools import compatibility
from tools.compatibility import (
    APART_HEADER,
    CLEANRL_FILE,
    CLEANRL_ROW,
    HEADER,
    PAGE,
    make_apart_table,
    make_cleanrl_row,
)
from tools.compatibility_checks import CLIENTS, Client
from tools.constraints import ROOT, merge_pins

TEXT = PAGE.read_text(encoding="utf-8")
DIRECT = [one for one in CLIENTS if "run_example" not in one.check.__code__.co_names]


@pytest.mark.filterwarnings("ignore")  # of the libraries
@pytest.mark.parametrize("client", DIRECT, ids=lambda client: client.name)
def test_a_library_runs(client: Client) -> None:
    try:
        metadata.version(client.package)
    except metadata.PackageNotFoundError:
        pytest.skip(f"{client.package} is not installed")
    assert client.check()


def test_unknown_keywords_are_refused_in_the_words_that_torchrl_expects() -> None:
    """Its GymEnv always passes `frameskip`, and tries without it only after an error with these words."""
    with pytest.raises(TypeError, match="unexpected keyword argument 'frameskip'"):
        gymnasium.make("symphony9_env:Symphony9-v0", frameskip=1)


def commit_script(folder: Path, code: str) -> str:
    """Commit a `ppo.py` in a new checkout, and return the commit."""
    (folder / CLEANRL_FILE).parent.mkdir()
    (folder / CLEANRL_FILE).write_text(code)
    git = ("git", "-C", str(folder), "-c", "user.name=me", "-c", "user.email=me@example.com")
    for command in (("init", "--quiet"), ("add", "."), ("commit", "--quiet", "--message", "Add a script")):
        subprocess.run([*git, *command], check=True)
    return subprocess.check_output([*git, "rev-parse", "--short=7", "HEAD"], text=True).strip()


@pytest.mark.skipif(os.name == "nt", reason="the environments of make compatibility are not those of Windows")
@pytest.mark.parametrize("error", ["", "no masks"])
def test_the_script_of_cleanrl_runs_from_a_checkout(
    error: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(compatibility, "find_environment", lambda *_: (Path(sys.prefix), "1"))
    ends = f"sys.exit({error!r})" if error else "print(gymnasium.make(sys.argv[2]).spec)"
    commit = commit_script(tmp_path, f"import sys, gymnasium; assert sys.argv[1] == '--env-id'; {ends}")
    name, _, works, limits, kind = CLEANRL_ROW
    expected = ("", f"**failed**: {error}") if error else (works, limits)
    assert make_cleanrl_row(tmp_path, []) == (name, commit, *expected, kind)


def test_without_a_checkout_of_cleanrl_its_row_stays() -> None:
    assert make_cleanrl_row(None, []) == CLEANRL_ROW


# The tables.


def read_rows(header: str) -> list[list[str]]:
    """Return the cells of the table with a header."""
    table = TEXT.split(f"{header}\n")[1].split("\n<!-- end -->")[0]
    return [[cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]] for line in table.splitlines()[1:]]


def find_pin(package: str, environment: str) -> str:
    """Return the pinned version of a package in an environment, such as `.venv-agilerl`."""
    lines = merge_pins(environment.strip("`").removeprefix(".venv").lstrip("-")).splitlines()
    pins = {name.replace("_", "-"): version for name, _, version in (line.partition("==") for line in lines)}
    return pins[package.replace("_", "-")]


def test_the_compatibility_table_has_all_clients_and_what_is_known_not_to_work() -> None:
    expected = [(one.name, one.limits) for one in CLIENTS]
    assert [(row[0], row[3]) for row in read_rows(HEADER)] == [*expected, (CLEANRL_ROW[0], CLEANRL_ROW[3])]


def test_the_compatibility_table_has_the_pinned_versions() -> None:
    packages = {one.name: one.package for one in CLIENTS}
    for name, version, _, _, environment in read_rows(HEADER):
        if name in packages:
            assert version == find_pin(packages[name], environment), name


def test_the_table_of_environments_is_current() -> None:
    (environments,) = re.findall(r"^ENVIRONMENTS := (.*)$", (ROOT / "Makefile").read_text(encoding="utf-8"), flags=re.M)
    assert make_apart_table([ROOT / f".venv-{name}" for name in environments.split()]) in TEXT
    assert read_rows(APART_HEADER)


def test_versions_in_headings_are_the_pinned_ones() -> None:
    versions = {row[0].partition(" ")[0]: row[1] for row in read_rows(HEADER)}
    found = re.findall(r"^## .*?(\S+) (\d+\.\d+)\b", TEXT, flags=re.M)
    assert len(found) >= 12
    for name, version in found:
        assert versions[name].startswith(f"{version}."), name
