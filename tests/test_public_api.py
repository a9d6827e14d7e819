"""The public API: what is exported, documented and shown, and that packages keep to each other's public names."""

from __future__ import annotations

import ast
import doctest
import inspect
import pydoc
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import gymnasium
import numpy as np
import pytest

import symphony9_env
from symphony9_env import BatchedGames, Symphony9VectorEnv, records, symphony9_v0
from symphony9_env.options import OPTION_FIELDS

ROOT = Path(__file__).parent.parent
PACKAGES = ("symphony9_env", "training", "evaluation", "speed", "tools", "examples")
NAMES = [name for name in symphony9_env.__all__ if name != "__version__"]
MODULES = [name for name in NAMES if isinstance(getattr(symphony9_env, name), ModuleType)]
OPTIONAL = ("torch", "matplotlib", "PIL", "pygame", "starlette", "uvicorn", "pydantic", "jsonschema", "tqdm", "jinja2")

# Private names of other libraries that have no public counterpart.
ALLOWED = {
    "_asdict": "collections.namedtuple: a public method in spite of its name",
    "_repr_html_": "IPython: the method that notebooks call",
    "_exit": "os: ends the process at once",
    "_n_updates": "Stable-Baselines3: saved and restored",
    "_set_pg_timeout": "PyTorch: the only way to change the time limit of workers after they have met",
    "_cumulative_rewards": "PettingZoo: what its tutorial on Stable-Baselines3 reads",
    "_cache": "Numba: a dispatcher's cache, replaced by one that checks what it loads",
    "_reduce": "Numba: a compiled function as data, as its own cache stores it",
    "_rebuild": "Numba: a compiled function from that data",
    "_build_env": "kaggle-environments: the environment of an OpenSpiel game, as it makes those that it registers",
}


def find_examples(name: str) -> list[doctest.DocTest]:
    """Return the doctests in the docstring of an exported name."""
    found = getattr(symphony9_env, name)
    module = found if isinstance(found, ModuleType) else inspect.getmodule(found)
    assert module is not None
    finder = doctest.DocTestFinder(recurse=False)
    return [test for test in finder.find(found, name, module=module) if test.examples]


@pytest.mark.parametrize("name", NAMES)
def test_every_exported_name_has_a_docstring_with_an_example(name: str) -> None:
    assert inspect.getdoc(getattr(symphony9_env, name))
    examples = find_examples(name)
    assert examples
    for example in examples:
        assert doctest.DocTestRunner().run(example).failed == 0


@pytest.mark.parametrize("name", NAMES)
def test_the_docstring_of_the_package_lists_every_exported_name(name: str) -> None:
    assert symphony9_env.__doc__ is not None
    assert name in symphony9_env.__doc__.partition(">>>")[0]


@pytest.mark.parametrize("module", MODULES)
def test_what_a_public_module_exports_has_a_docstring(module: str) -> None:
    for name in getattr(getattr(symphony9_env, module), "__all__", ()):
        assert inspect.getdoc(getattr(getattr(symphony9_env, module), name)), f"{module}.{name}"


def test_importing_the_package_imports_no_optional_library() -> None:
    code = f"import sys, symphony9_env; print([name for name in {OPTIONAL} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_the_environments_are_registered() -> None:
    from pettingzoo.env_registry.registration import aec_registry

    assert "symphony9/symphony9-v0" in aec_registry
    assert "Symphony9-v0" in gymnasium.registry


@pytest.mark.parametrize(
    "made",
    [symphony9_v0.env, symphony9_v0.raw_env, symphony9_v0.parallel_env, BatchedGames, Symphony9VectorEnv],
    ids=lambda made: made.__name__,
)
def test_help_shows_every_option_with_its_type_and_default(made: Any) -> None:
    parameters = inspect.signature(made).parameters
    text = pydoc.plain(pydoc.render_doc(made))
    for option in OPTION_FIELDS:
        assert parameters[option.name].default == option.default
        assert f"{option.name}: {option.type!r} = {option.default!r}" in text


def reprs() -> Iterator[tuple[str, str]]:
    env = symphony9_v0.raw_env(num_players=3)
    yield repr(env), "<RawEnv: 3 players, not reset>"
    env.reset(seed=7)
    yield repr(env), "<RawEnv: 3 players, seed 7, round 1, player_2 to decide (take)>"
    yield repr(env.record()), "<game record: 3 players, seed 7, 0 moves, not over>"
    parallel = symphony9_v0.parallel_env(num_players=2)
    parallel.reset(seed=7)
    yield repr(parallel), "<ParallelEnv: 2 players, seed 7, round 1, player_1 to decide (take)>"
    single = gymnasium.make("Symphony9-v0", num_players=2, seat=0).unwrapped
    single.reset(seed=7)
    yield repr(single), "<SingleSeatEnv, learner player_0: 2 players, seed 7, round 1, player_0 to decide (take)>"
    yield repr(Symphony9VectorEnv(8, num_players=2)), "<Symphony9VectorEnv: 8 games of 2 players>"
    games = BatchedGames(5, num_players=4, seed=1)
    expected = "<BatchedGames: 5 games of 4 players, seed 1, games in rounds 1 to 6: [5, 0, 0, 0, 0, 0]>"
    yield repr(games), expected
    saved = records.load(ROOT / "tests" / "records" / "2p-0.json")
    moves, winners = len(saved["actions"]), " and ".join(saved["result"]["winners"])
    yield repr(saved), f"<game record: 2 players, seed {saved['seed']}, {moves} moves, won by {winners}>"


def test_reprs_are_one_useful_line() -> None:
    for shown, expected in reprs():
        assert shown == expected


def find_private_names(tree: ast.AST) -> Iterator[str]:
    """Yield the uses of names with one leading underscore that belong to another module or object."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom):
            yield from (f"from {node.module} import {alias.name}" for alias in node.names if is_private(alias.name))
        elif isinstance(node, ast.Attribute) and is_private(node.attr) and not is_own(node.value):
            yield ast.unparse(node)


def is_private(name: str) -> bool:
    return name.startswith("_") and not name.startswith("__") and name not in ALLOWED


def is_own(owner: ast.expr) -> bool:
    """Return whether an expression is the object whose method this is, or a copy that its own class makes."""
    if isinstance(owner, ast.Call):
        return isinstance(owner.func, ast.Name) and owner.func.id == "super"
    return isinstance(owner, ast.Name) and owner.id in ("self", "cls", "twin")


@pytest.mark.parametrize("package", PACKAGES)
def test_no_module_uses_private_names_of_another(package: str) -> None:
    found = {
        str(path.relative_to(ROOT)): names
        for path in sorted((ROOT / package).rglob("*.py"))
        if (names := list(find_private_names(ast.parse(path.read_text(encoding="utf-8")))))
    }
    assert found == {}


def test_cumulative_rewards_are_what_last_reports() -> None:
    env = symphony9_v0.raw_env(num_players=3, shaping=True)
    env.reset(seed=7)
    rng = np.random.default_rng(7)
    for _ in range(60):
        assert env.cumulative_rewards[env.agent_selection] == env.last()[1]
        env.step(int(rng.choice(np.flatnonzero(env.observe(env.agent_selection)["action_mask"]))))
