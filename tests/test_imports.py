"""Who may import whom: the rooms of docs/developer_guide.md, read off the sources."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import symphony9_env

PACKAGE = Path(symphony9_env.__file__).parent

ROOMS = {  # room: what it may import of ours, itself apart
    "compilation": set(),
    "components": set(),
    "files": set(),
    "actions": {"components"},
    "options": {"components"},
    "rules": {"compilation", "components", "actions", "options"},
    "views": {"compilation", "components", "actions", "rules"},
    "rewards": {"compilation", "options", "rules"},
    "batched": {"actions", "options", "rules", "views", "engine", "records"},
    "engine": {"compilation", "actions", "options", "rules", "views", "rewards"},
    "agents": {"compilation", "files", "components", "actions", "options", "rules", "views", "engine"},
    "records": {"actions", "files", "options", "rules", "views", "envs"},
    "render": {"components", "actions", "rules", "views"},
    "envs": {
        "components",
        "actions",
        "options",
        "rules",
        "views",
        "rewards",
        "engine",
        "batched",
        "records",
        "agents",
        "render",
    },
    "web": {
        "compilation",
        "components",
        "files",
        "actions",
        "options",
        "rules",
        "views",
        "agents",
        "engine",
        "records",
        "render",
        "envs",
        "symphony9_v0",
    },
    "replies": {"actions"},
    "integrations": {
        "compilation",
        "components",
        "actions",
        "options",
        "rules",
        "views",
        "rewards",
        "engine",
        "records",
        "replies",
        "envs",
        "symphony9_v0",
    },
    "symphony9_v0": {"envs"},
    "cli": {"batched", "options", "views", "records", "envs", "web", "symphony9_v0"},
}


def room_of(module: str) -> str:
    return module.split(".")[1]


def imported(path: Path) -> set[str]:
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("symphony9_env"):
            if node.module == "symphony9_env":
                found |= {f"symphony9_env.{alias.name}" for alias in node.names if alias.name in ROOMS}
            else:
                found.add(node.module)
    return found


@pytest.mark.parametrize("room", ROOMS)
def test_a_room_imports_only_what_it_may(room: str) -> None:
    folder = PACKAGE / room
    files = sorted(folder.rglob("*.py")) if folder.is_dir() else [PACKAGE / f"{room}.py"]
    assert files
    for path in files:
        for module in imported(path):
            name = module.removeprefix("symphony9_env.")
            allowed = ROOMS[room] | {room}
            assert room_of(module) in allowed or any(name.startswith(part) for part in allowed), f"{path}: {module}"


def test_every_source_belongs_to_a_room() -> None:
    rooms = {path.relative_to(PACKAGE).parts[0].removesuffix(".py") for path in PACKAGE.rglob("*.py")}
    assert rooms - {"__init__"} == set(ROOMS)


def test_nothing_but_the_late_import_of_replay_goes_back_to_the_faces() -> None:
    """records.py replays with the environment, which writes records: the one circle, and it is imported late."""
    tree = ast.parse((PACKAGE / "records.py").read_text())
    at_start = [node for node in tree.body if isinstance(node, ast.ImportFrom)]
    assert not any((node.module or "").startswith("symphony9_env.envs") for node in at_start)


@pytest.mark.parametrize("path", sorted(PACKAGE.rglob("*.py")), ids=lambda path: path.name)
def test_files_stay_short(path: Path) -> None:
    assert len(path.read_text().splitlines()) <= 400
