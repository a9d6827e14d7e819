"""Compiled and un-compiled code agree; the disk cache never goes stale and says when it is being filled."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import symphony9_env
from symphony9_env import agents
from symphony9_env.components import PLAYER_COUNTS
from symphony9_env.envs.aec import RawEnv
from symphony9_env.options import OptionValues
from symphony9_env.views import resample
from tests.properties.strategies import moves

PACKAGE = Path(symphony9_env.__file__).parent
ROOT = Path(__file__).parent.parent

GAMES: list[OptionValues] = [
    {"num_players": 2, "tracks": "random", "shaping": True},
    {"num_players": 2, "discussion": True, "ledger": True},
    {"num_players": 3, "scoring": "B", "reward": "margin"},
    {"num_players": 3, "tracks": "random", "discussion": True},
    {"num_players": 4, "shaping": True, "reward": "score", "ledger": True},
    {"num_players": 4, "tracks": "random", "discussion": True},
]


def digest_of_games() -> str:
    """Everything that whole games show: observations, masks, states, rewards, resampled states, results, agents."""
    digest = hashlib.sha256()
    for seed, options in enumerate(GAMES):
        env = RawEnv(**options)
        env.reset(seed=seed)
        for move in moves(env, np.random.default_rng(seed)):
            env.step(move)
            for agent in env.possible_agents:
                seen = env.observe(agent)
                digest.update(seen["observation"].tobytes() + seen["action_mask"].tobytes())
            digest.update(env.state().tobytes() + repr(sorted(env.rewards.items())).encode())
            digest.update(resample(env.states, 0, np.random.default_rng(seed)).tobytes())
        digest.update(repr((sorted(env.infos.items()), env.record())).encode())
    for num_players in PLAYER_COUNTS:  # an agent's choice depends on a hash of what it may know
        env = RawEnv(num_players=num_players)
        env.reset(seed=1)
        digest.update(
            repr([agents.make(name, seed=1).choose(env) for name in ("random", "planner", "think:2")]).encode()
        )
    return digest.hexdigest()


def run(code: str, folder: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", code],
        cwd=folder,
        env={**os.environ, "PYTHONWARNINGS": "error", **environment},
        capture_output=True,
        text=True,
        check=True,
    )


def test_compiled_and_uncompiled_runs_agree() -> None:
    code = "from tests.test_compilation import digest_of_games; print(digest_of_games())"
    plain = run(code, ROOT, NUMBA_DISABLE_JIT="1")
    assert plain.stdout.strip() == digest_of_games()
    assert plain.stderr == ""


def test_the_rules_tests_pass_uncompiled() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "tests/rules", "tests/test_records.py"],
        cwd=ROOT,
        env={**os.environ, "NUMBA_DISABLE_JIT": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-3000:]


PLAY = """
from symphony9_env import symphony9_v0, records
env = symphony9_v0.env(num_players=2, render_mode="ansi")
env.reset(seed=1)
env.reset()
for agent in env.agent_iter():
    seen, reward, terminated, truncated, info = env.last()
    env.step(None if terminated else env.action_space(agent).sample(seen["action_mask"]))
env.render(), env.state()
list(records.replay(env.record()))
print(sum(player["breakdown"]["furniture"] for player in [info]))
"""

# What four players' furniture is worth: one entry compiled, as little as there can be.
POINTS = """
import numpy as np
from symphony9_env.rules.scoring import FURNITURE, score
from symphony9_env.rules.state import SIXTHS, game_at, new_states
states = new_states(1)
game = game_at(states)
game.num_players, game.furniture[:] = 4, 1
sheet, points, ranks = np.zeros((4, 9), np.int64), np.zeros(4, np.int64), np.zeros(4, np.int64)
score(states, 0, sheet, points, ranks, np.zeros(4))
print(sheet[0, FURNITURE] / SIXTHS)
"""


@pytest.fixture
def copied_package(tmp_path: Path) -> Path:
    shutil.copytree(PACKAGE, tmp_path / "symphony9_env", ignore=shutil.ignore_patterns("__pycache__"))
    return tmp_path


def test_a_change_in_another_file_is_never_answered_from_a_stale_cache(copied_package: Path, tmp_path: Path) -> None:
    """The entry is in scoring.py; a data file and a constant in another source file are changed."""
    cache = str(tmp_path / "cache")
    before = run(POINTS, copied_package, SYMPHONY9_CACHE_DIR=cache)
    assert before.stdout.strip() == "9.0"
    assert "compiling the rules" in before.stderr
    warm = run(POINTS, copied_package, SYMPHONY9_CACHE_DIR=cache)
    assert (warm.stdout.strip(), warm.stderr) == ("9.0", "")

    box = copied_package / "symphony9_env" / "components" / "box.toml"
    box.write_text(box.read_text().replace("points = [2, 3, 4]", "points = [2, 3, 5]"))
    assert run(POINTS, copied_package, SYMPHONY9_CACHE_DIR=cache).stdout.strip() == "10.0"

    helper = copied_package / "symphony9_env" / "rules" / "state.py"
    helper.write_text(helper.read_text().replace("SIXTHS: Final = 6", "SIXTHS: Final = 12"))
    assert run(POINTS, copied_package, SYMPHONY9_CACHE_DIR=cache).stdout.strip() == "10.0"


def test_with_a_warm_cache_nothing_is_compiled_and_nothing_said(tmp_path: Path) -> None:
    first = run(PLAY, tmp_path)  # fills whatever this test run has not compiled yet
    second = run(PLAY, tmp_path)
    assert "Error" not in first.stderr
    assert second.stderr == ""


def test_a_cache_folder_that_is_not_writable_costs_time_but_works(tmp_path: Path) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("not a folder")
    done = run(POINTS, tmp_path, SYMPHONY9_CACHE_DIR=str(blocked))
    assert done.stdout.strip() == "9.0"
    assert "not writable" in done.stderr


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no limit on the size of files")
def test_a_full_disk_costs_time_but_works_and_leaves_nothing_behind(tmp_path: Path) -> None:
    limited = "import resource\nresource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))\n" + POINTS
    cache = tmp_path / "cache"
    for _ in range(2):
        done = run(limited, tmp_path, SYMPHONY9_CACHE_DIR=str(cache))
        assert done.stdout.strip() == "9.0"
        assert len([line for line in done.stderr.splitlines() if "is not writable" in line]) == 1
    assert [path for path in cache.rglob("*") if path.is_file()] == []


def _empty(data: bytes) -> bytes:
    return b""


def _truncate(data: bytes) -> bytes:
    return data[: len(data) // 2]


def _flip(data: bytes) -> bytes:
    middle = len(data) // 2
    return data[:middle] + bytes([data[middle] ^ 0x10]) + data[middle + 1 :]


@pytest.mark.parametrize("damage", [_empty, _truncate, _flip])
def test_a_damaged_cache_is_compiled_again_with_one_line(damage: Callable[[bytes], bytes], tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    run(POINTS, tmp_path, SYMPHONY9_CACHE_DIR=str(cache))
    entries = [path for path in cache.rglob("*") if path.is_file()]
    assert len(entries) == 1
    entries[0].write_bytes(damage(entries[0].read_bytes()))
    healed = run(POINTS, tmp_path, SYMPHONY9_CACHE_DIR=str(cache))
    assert healed.stdout.strip() == "9.0"
    named = [line for line in healed.stderr.splitlines() if "is damaged" in line]
    assert len(named) == 1
    assert str(cache) in named[0]
    again = run(POINTS, tmp_path, SYMPHONY9_CACHE_DIR=str(cache))
    assert (again.stdout.strip(), again.stderr) == ("9.0", "")


def test_only_a_change_of_a_kernel_file_or_of_the_data_changes_the_cache_s_key(copied_package: Path) -> None:
    code = "from symphony9_env.compilation import kernel_hash; print(kernel_hash())"
    package = copied_package / "symphony9_env"

    def hash_after_appending(text: str, *path: str) -> str:
        source = package.joinpath(*path)
        source.write_text(source.read_text(encoding="utf-8") + text, encoding="utf-8")
        return run(code, copied_package, NUMBA_DISABLE_JIT="1").stdout

    before = hash_after_appending("", "views", "text.py")
    for path in (("views", "text.py"), ("__init__.py",), ("envs", "aec.py"), ("agents", "base.py")):
        assert hash_after_appending("\n# Another comment.\n", *path) == before
    seen = {before}
    for path in (("rules", "game.py"), ("views", "visible.py"), ("compilation.py",), ("components", "box.toml")):
        seen.add(hash_after_appending("\n# Another comment.\n", *path))
    assert len(seen) == 5


def test_kernel_code_outside_the_hashed_sources_is_refused(copied_package: Path) -> None:
    adapter = copied_package / "symphony9_env" / "envs" / "aec.py"
    adapter.write_text(
        adapter.read_text()
        + "\nfrom symphony9_env.compilation import entry\n@entry\ndef f(x: int) -> int:\n    return x\n"
    )
    with pytest.raises(subprocess.CalledProcessError) as failed:
        run("import symphony9_env.symphony9_v0", copied_package)
    assert "is not a kernel file" in failed.value.stderr


def test_every_compiled_function_has_one_signature() -> None:
    """A second signature would double the time to compile.

    Search has one without a policy of the rivals and one with it, which is compiled only for those who need it.
    """
    digest_of_games()
    allowed = {"search_rows": 2, "compare_actions": 2}
    entries = [
        value
        for name, module in sorted(sys.modules.items())
        if name.startswith("symphony9_env.")
        for value in vars(module).values()
        if hasattr(value, "py_func") and getattr(value, "_cache", None).__class__.__name__ == "CheckedCache"
    ]
    assert len(entries) > 5
    assert {
        entry.__name__: entry.signatures for entry in entries if len(entry.signatures) > allowed.get(entry.__name__, 1)
    } == {}


def test_several_processes_may_fill_the_cache_at_once(tmp_path: Path) -> None:
    environment = {**os.environ, "SYMPHONY9_CACHE_DIR": str(tmp_path / "cache")}
    running = [
        subprocess.Popen(
            [sys.executable, "-c", POINTS], cwd=tmp_path, env=environment, stdout=subprocess.PIPE, text=True
        )
        for _ in range(3)
    ]
    assert [process.communicate()[0].strip() for process in running] == ["9.0"] * 3
    again = run(POINTS, tmp_path, SYMPHONY9_CACHE_DIR=str(tmp_path / "cache"))
    assert (again.stdout.strip(), again.stderr) == ("9.0", "")
