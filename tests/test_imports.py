"""Which module may import which: the layers of the packages, read off the sources."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from symphony9_env.compilation import is_kernel

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "symphony9_env"
TOP_LEVEL = ("symphony9_env", "evaluation", "training", "speed", "tools", "fuzz", "examples", "tests")

# The packages of symphony9_env from the bottom up. A package may import those of the layers below its own; packages
# of one layer don't import each other.
LAYERS = (
    {"files", "suggestions"},
    {"compile_cache"},
    {"compilation", "components", "names", "processes", "saved_arrays", "schemas", "threads"},
    {"actions"},
    {"rules", "action_parser"},
    {"rewards"},
    {"options"},
    {"arguments", "setup_format", "scores", "events"},
    {"views", "game_replay"},
    {"engine", "render"},
    {"agents", "records"},
    {"batched"},
    {"envs"},
    {"symphony9_v0"},
    {"__init__"},  # the public names
    {"replay"},
    {"arena"},
    {"integrations", "web"},
    {"cli"},
)
LEVEL = {package: level for level, packages in enumerate(LAYERS) for package in packages}

# An environment writes records, and `records.replay` plays in an environment: the one circle, imported late.
LATE_IMPORTS = {("records", "envs")}

# What the programs outside symphony9_env may import of ours. Only tests import tests, but for tools, which use the
# browser of the web tests.
PROGRAMS = {
    "symphony9_env": set[str](),
    "evaluation": {"symphony9_env"},
    "training": {"symphony9_env", "evaluation"},
    "speed": {"symphony9_env", "evaluation", "training"},
    "examples": {"symphony9_env", "training"},
    "tools": {"symphony9_env", "training", "evaluation", "tests"},
    "fuzz": {"symphony9_env", "training"},
    "tests": set(TOP_LEVEL),
}


def sources(top_level: str) -> list[Path]:
    return sorted((ROOT / top_level).rglob("*.py"))


def module_name(path: Path) -> str:
    """Return a source's dotted name, such as `symphony9_env.rules.state`; a package's is that of its folder."""
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def source_of(module: str) -> Path | None:
    """Return the source of one of our modules, if there is such a module."""
    path = ROOT.joinpath(*module.split("."))
    candidates = (path.with_suffix(".py"), path / "__init__.py")
    return next((candidate for candidate in candidates if candidate.is_file()), None)


def imported_by(statement: ast.AST, path: Path) -> list[str]:
    """Return the full names of the modules that a statement imports, ours and others'.

    `from package import name` is an import of `package.name` if that is a module, else of `package`.
    """
    if isinstance(statement, ast.Import):
        return [alias.name for alias in statement.names]
    if not isinstance(statement, ast.ImportFrom):
        return []
    base = statement.module or ""
    if statement.level:
        package = path.relative_to(ROOT).parts[: -statement.level]
        base = ".".join((*package, base) if base else package)
    full_names = (f"{base}.{alias.name}" for alias in statement.names)
    return [name if source_of(name) else base for name in full_names]


def imports(path: Path) -> Iterator[str]:
    """Yield the modules that a source imports, at its beginning or late."""
    for statement in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        yield from imported_by(statement, path)


def our_imports(path: Path) -> set[str]:
    return {module for module in imports(path) if module.partition(".")[0] in TOP_LEVEL}


def imports_only_version(path: Path) -> bool:
    """Return whether all that a source takes from `symphony9_env` itself is the version, which is set first there."""
    return all(
        alias.name == "__version__" or source_of(f"symphony9_env.{alias.name}")
        for statement in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(statement, ast.ImportFrom) and statement.module == "symphony9_env"
        for alias in statement.names
    )


def package_of(module: str) -> str:
    """Return the package of one of symphony9_env's modules: the second part of its name."""
    return [*module.split("."), "__init__"][1]


# The test's own reading of imports.


@pytest.mark.parametrize(
    ("statement", "modules"),
    [
        ("import numpy", ["numpy"]),
        ("import numpy, symphony9_env.engine", ["numpy", "symphony9_env.engine"]),
        ("import symphony9_env.rules.state as state", ["symphony9_env.rules.state"]),
        ("from symphony9_env.rules.state import Game, NONE", ["symphony9_env.rules.state"] * 2),
        ("from symphony9_env.rules import state", ["symphony9_env.rules.state"]),
        ("from symphony9_env import agents, BatchedGames", ["symphony9_env.agents", "symphony9_env"]),
        ("from . import state", ["symphony9_env.rules.state"]),
        ("from .state import Game", ["symphony9_env.rules.state"]),
        ("from .. import engine, rules", ["symphony9_env.engine", "symphony9_env.rules"]),
        ("from ..views import visible", ["symphony9_env.views.visible"]),
        ("game = 3", []),
    ],
)
def test_every_form_of_import_is_understood(statement: str, modules: list[str]) -> None:
    assert imported_by(ast.parse(statement).body[0], PACKAGE / "rules" / "game.py") == modules


# Layers.


def test_every_source_belongs_to_a_layer() -> None:
    packages = {path.relative_to(PACKAGE).parts[0].removesuffix(".py") for path in sources("symphony9_env")}
    assert packages <= set(LEVEL)


@pytest.mark.parametrize("path", sources("symphony9_env"), ids=module_name)
def test_a_package_imports_only_from_the_layers_below(path: Path) -> None:
    package = package_of(module_name(path))
    for module in our_imports(path):
        assert module.partition(".")[0] == "symphony9_env", f"{path}: {module}"
        other = package_of(module)
        if (
            other == package
            or (package, other) in LATE_IMPORTS
            or (module == "symphony9_env" and imports_only_version(path))
        ):
            continue
        assert LEVEL[other] < LEVEL[package], f"{package} may not import {module}"


def test_what_would_be_a_circle_is_imported_late() -> None:
    for package, other in LATE_IMPORTS:
        path = source_of(f"symphony9_env.{package}")
        assert path is not None
        first = [module for statement in ast.parse(path.read_text()).body for module in imported_by(statement, path)]
        assert not any(module.startswith(f"symphony9_env.{other}") for module in first)


@pytest.mark.parametrize("program", PROGRAMS)
def test_programs_import_only_what_they_may(program: str) -> None:
    for path in sources(program):
        others = {module.partition(".")[0] for module in our_imports(path)} - {program}
        assert others <= PROGRAMS[program], path


# The kernel.


def has_compiled_functions(path: Path) -> bool:
    return any(
        ast.unparse(decorator).rpartition(".")[2] in ("rule", "inlined_rule", "wrapping_rule", "entry")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.FunctionDef)
        for decorator in node.decorator_list
    )


@pytest.mark.parametrize("path", sources("symphony9_env"), ids=module_name)
def test_compiled_functions_and_what_they_depend_on_are_in_kernel_files(path: Path) -> None:
    """The key of the compile cache covers kernel files only: a kernel file that read a constant elsewhere could leave
    stale code in the cache."""
    if has_compiled_functions(path):
        assert is_kernel(path), f"{path} has compiled functions: its first line must be the kernel marker"
    if is_kernel(path):
        for module in our_imports(path):
            source = source_of(module)
            assert source is not None
            assert is_kernel(source), f"{module_name(path)} is a kernel file; {module} is not"


# Size.


@pytest.mark.parametrize(
    "path",
    [path for program in ("symphony9_env", "training", "evaluation", "speed", "tools") for path in sources(program)],
    ids=module_name,
)
def test_files_stay_short(path: Path) -> None:
    assert len(path.read_text(encoding="utf-8").splitlines()) <= 400
