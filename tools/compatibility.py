"""Check other libraries against the environments, and write the table of docs/integrations.md.

    make compatibility      (python -m tools.compatibility .venv .venv-integrations ...)
    make compatibility CLEANRL=FOLDER

Every check of compatibility_checks.py runs in a process of its own in the first of these virtual environments in which
its library is installed. Checks that run no example are also tests: tests/integrations/test_compatibility.py. A second
table says why environments are apart: the comments of constraints/NAME.txt. With a checkout of CleanRL, which can't be
installed, its `ppo.py` runs too, in the first environment that has tyro.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from tools.compatibility_checks import CLIENTS, Client
from tools.constraints import ROOT, read_pins

PAGE: Final = ROOT / "docs" / "integrations.md"
HEADER: Final = "| client | version | works | does not work, and why | environment |"
APART_HEADER: Final = "| environment | why it is apart | pins of its own |"
SECONDS: Final = 900  # for a check

# What is no package; docs/integrations.md says how it was tried.
CLEANRL_FILE: Final = Path("cleanrl") / "ppo.py"
CLEANRL_ARGUMENTS: Final = ("--env-id", "symphony9_env:Symphony9-v0", "--total-timesteps", "2048")
CLEANRL_ROW: Final = (
    "CleanRL",
    "e421c2e",
    "`ppo.py` unmodified; its PettingZoo script with another network",
    'files to copy; no masks: add `illegal="random"`, or games end at the first illegal action',
    "copied",
)


def find_environment(package: str, folders: Sequence[Path]) -> tuple[Path, str] | None:
    """Return the first environment in which a package is installed, and its version."""
    code = f"import importlib.metadata as m; print(m.version({package!r}))"
    for folder in folders:
        found = subprocess.run([folder / "bin" / "python", "-c", code], capture_output=True, text=True, check=False)
        if found.returncode == 0:
            return folder, found.stdout.strip()
    return None


def run(command: Sequence[str | Path], folder: Path) -> tuple[str, str]:
    """Run a command in a folder; return the last line of its output, and the error if it failed."""
    try:
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=SECONDS, check=False)
    except subprocess.TimeoutExpired:
        return "", f"no result after {SECONDS} s"
    lines = done.stdout.strip().splitlines()
    if done.returncode == 0 and lines:
        return lines[-1], ""
    return "", (done.stderr.strip().splitlines() or ["failed"])[-1].replace("|", "\\|")[:200]


def run_check(chosen: Client, folder: Path) -> tuple[str, str]:
    """Run a check in an environment; return what works, and the error if it failed."""
    line, error = run([folder / "bin" / "python", "-m", "tools.compatibility", "--run", chosen.name], ROOT)
    return "" if error else str(json.loads(line)), error


def make_cleanrl_row(checkout: Path | None, folders: Sequence[Path]) -> tuple[str, ...]:
    """Run CleanRL's `ppo.py` as it is in a checkout, and return its row; without a checkout, the row as it was."""
    found = find_environment("tyro", folders) if checkout else None
    if checkout is None or found is None:
        print(f"CleanRL: {'tyro is not installed' if checkout else 'no checkout'}, not run again", flush=True)
        return CLEANRL_ROW
    name, _, works, limits, kind = CLEANRL_ROW
    script = checkout.absolute() / CLEANRL_FILE
    log = ("git", "-C", str(checkout), "log", "-1", "--abbrev=7", "--format=%h", "--", str(CLEANRL_FILE))
    version, error = run(log, ROOT)
    with tempfile.TemporaryDirectory() as folder:  # it writes its logs there
        error = error or run([found[0] / "bin" / "python", script, *CLEANRL_ARGUMENTS], Path(folder))[1]
    print(f"CleanRL {version} ({found[0].name}): {error or 'works'}", flush=True)
    return (name, version, "", f"**failed**: {error}", kind) if error else (name, version, works, limits, kind)


def make_table(folders: Sequence[Path], names: Sequence[str], cleanrl: Path | None = None) -> str:
    """Run the checks and return the table."""
    from tools.docs_tables import format_rows

    rows: list[tuple[str, ...]] = []
    for chosen in CLIENTS:
        if names and chosen.name not in names:
            continue
        place = find_environment(chosen.package, folders)
        if place is None:
            print(f"{chosen.name}: not installed, skipped", flush=True)
            continue
        works, error = run_check(chosen, place[0])
        print(f"{chosen.name} {place[1]} ({place[0].name}): {error or 'works'}", flush=True)
        failed = f"**failed**: {error}" if error else chosen.limits
        rows.append((chosen.name, place[1], works, failed, f"`{place[0].name}`"))
    if not names:
        rows.append(make_cleanrl_row(cleanrl, folders))
    return format_rows(HEADER, rows)


def make_apart_table(folders: Sequence[Path]) -> str:
    """Return the table of environments that can't be joined: the comments and the pins of their constraints."""
    from tools.docs_tables import format_rows

    rows = []
    for folder in folders:
        path = ROOT / "constraints" / f"{folder.name.rpartition('-')[2]}.txt"
        if path.exists():
            lines = path.read_text(encoding="utf-8").splitlines()
            reason = " ".join(line.removeprefix("# ") for line in lines if line.startswith("#"))
            rows.append((f"`{folder.name}`", reason, ", ".join(read_pins(path).values())))
    return format_rows(APART_HEADER, rows)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command."""
    from symphony9_env.arguments import Parser

    parser = Parser(prog="python -m tools.compatibility", description=__doc__)
    parser.add_argument("environments", nargs="*", type=Path, help="folders of virtual environments")
    parser.add_argument("--only", default="", help="names of clients, separated by commas; prints the table only")
    parser.add_argument("--cleanrl", type=Path, metavar="FOLDER", help="a checkout of CleanRL, to run its ppo.py too")
    parser.add_argument("--run", help="run the check of one client in this process")
    chosen = parser.parse_args(arguments)
    if chosen.run:
        (check,) = [one.check for one in CLIENTS if one.name == chosen.run]
        print(json.dumps(check()))
        return
    folders = [folder.absolute() for folder in chosen.environments]
    table = make_table(folders, [name for name in chosen.only.split(",") if name], chosen.cleanrl)
    if chosen.only:
        print(table)
        return
    from tools.docs_tables import replace_table

    page = replace_table(PAGE.read_text(encoding="utf-8"), "compatibility", table)
    page = replace_table(page, "environments", make_apart_table(folders))
    PAGE.write_text(page, "utf-8", newline="\n")


if __name__ == "__main__":
    main(sys.argv[1:])
