"""The box, and an owner's own component file: what it changes and what is refused."""

from __future__ import annotations

import os
import re
import sys
import tracemalloc
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from symphony9_env.components import (
    BUDGET_TOKENS,
    FURNITURE_POINTS,
    FURNITURE_VALUES,
    MUSICIANS,
    PLAYER_COUNT_RULES,
    SCORING_METHODS,
    SCORING_TILES,
)
from symphony9_env.components.tracks import MAX_FILE_BYTES, default_components, load_components
from symphony9_env.envs.aec import RawEnv
from tests.scenarios import finish


def test_the_box_holds_what_the_rulebook_lists() -> None:
    assert len(MUSICIANS) == 6
    assert sorted(BUDGET_TOKENS) == [-2, -2, 0, 0, 2, 2, 2, 2]
    assert dict(zip(FURNITURE_VALUES, FURNITURE_POINTS, strict=True)) == {4: 2, 6: 3, 8: 4}
    assert tuple(f"{number}{side}" for number in range(1, 7) for side in "AB") == SCORING_TILES
    assert len(SCORING_METHODS) == 10  # 1A is 1B, 6A is 6B
    assert [rules.has_bot for rules in PLAYER_COUNT_RULES.values()] == [True, False, False]


def test_the_shipped_tracks_hold_17_cubes_with_four_players_and_15_with_fewer() -> None:
    components = default_components()
    for board in MUSICIANS:
        for side in "AB":
            totals = {n: sum(cubes for _, cubes in components.track(board, side, n)) for n in (2, 3, 4)}
            assert totals == {2: 15, 3: 15, 4: 17}


@pytest.fixture
def write(tmp_path: Path) -> Any:
    def write(text: str) -> Path:
        path = tmp_path / "own.toml"
        path.write_text(text)
        return path

    return write


def test_an_owner_s_file_changes_what_it_names_and_leaves_the_rest(write: Any) -> None:
    path = write("[bach]\nA = [[7, 0, 0], [9, 2, 1]]\n[bot]\ntiles = [[0, 0, 0], [3, 2, 1], [9, 9, 9]]\n")
    own, shipped = load_components(path), default_components()
    assert own.track("bach", "A", 4) == [(7, 0), (9, 3)]
    assert own.track("bach", "A", 2) == [(7, 0), (9, 2)]
    assert own.track("bach", "B", 4) == shipped.track("bach", "B", 4)
    assert own.boards["handel"] == shipped.boards["handel"]
    assert own.bot_tiles == ((0, 0, 0), (3, 2, 1), (9, 9, 9))


def test_a_game_is_dealt_from_an_owner_s_file_and_its_record_replays_without_it(write: Any) -> None:
    path = write("[bach]\nA = [[7, 1, 0]]\n[bot]\ntiles = [[7, 7, 7], [7, 7, 7], [7, 7, 7]]\n")
    env = RawEnv(num_players=2, components=path)
    env.reset(seed=0)
    dealt = env.record()["setup"]
    assert dealt["tracks"]["bach"] == [[7, 1]]
    assert dealt["bot_tiles"] == [[7, 7, 7]] * 6
    finish(env, np.random.default_rng(0))
    plain = RawEnv(num_players=2)
    plain.reset(options={"setup": dealt})
    assert plain.record()["setup"] == dealt


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[bach]\nA = [[1, 2", r"not valid TOML: .*line 2"),
        ("[bach]\nA = [[1, 2, 3]]\nA = [[4, 5, 6]]\n", r"not valid TOML: .*line 3"),
        ("[salieri]\nA = [[1, 2, 3]]", r"table \[salieri\]: unknown table; allowed: handel, bach"),
        ("bach = 3", r"table \[bach\]: must be a table with sides A and B"),
        ("[bach]\nC = [[1, 2, 3]]", r"table \[bach\]: unknown side 'C'"),
        ("[bach]\nA = 3", r"table \[bach\], side A: must be a list of spaces"),
        ("[bach]\nA = []", r"side A .*: 0 spaces; a track has 1 to 8"),
        (f"[bach]\nB = {[[1, 1, 0]] * 9}", r"side B .*: 9 spaces"),
        ("[bach]\nA = [[1, 1, 0], [1, 2]]", r"side A, space 1: \[1, 2\]; a space is three whole numbers"),
        ("[bach]\nA = [[1, 1, 0, 0]]", r"side A, space 0: .*; a space is three whole numbers"),
        ("[bach]\nA = [[1, 1.0, 0]]", r"side A, space 0: .*three whole numbers"),
        ("[bach]\nA = [[true, 1, 0]]", r"side A, space 0: .*three whole numbers"),
        ("[bach]\nA = [['1', 1, 0]]", r"side A, space 0: .*three whole numbers"),
        ("[bach]\nA = [[1, 5, 0], [10, 1, 0]]", r"side A .*, space 1: reputation 10; allowed: 0 to 9"),
        ("[bach]\nA = [[-1, 1, 0]]", r"side A .*, space 0: reputation -1"),
        ("[bach]\nA = [[1, -1, 3]]", r"side A, space 0: .*cubes can't be negative"),
        ("[bach]\nA = [[1, 3, -1]]", r"side A, space 0: .*cubes can't be negative"),
        ("[bach]\nA = [[1, 0, 5]]", r"side A \(2 or 3 players\): 0 cubes in all; a track holds 1 to 19"),
        ("[bach]\nA = [[1, 10, 5], [1, 5, 0]]", r"side A \(4 players\): 20 cubes in all"),
        ("bot = 3", r"table \[bot\]: must hold just `tiles"),
        ("[bot]\ntile = []", r"table \[bot\]: must hold just `tiles"),
        ("[bot]\ntiles = [[0, 2, 4]]", r"table \[bot\]: tiles must be a list of 3 tiles"),
        ("[bot]\ntiles = [[0, 2, 4], [1, 3, 5], [2, 4]]", r"table \[bot\], tile 2: \[2, 4\]; a tile is three whole"),
        ("[bot]\ntiles = [[0, 2, 4], [1, -3, 5], [2, 4, 6]]", r"table \[bot\], tile 1: .*; amounts are 0 to 99"),
        ("[bot]\ntiles = [[0, 2, 4], [1, 3, 500], [2, 4, 6]]", r"table \[bot\], tile 1: .*; amounts are 0 to 99"),
    ],
)  # fmt: skip
def test_a_bad_file_is_refused_with_the_place_and_the_reason(write: Any, text: str, message: str) -> None:
    path = write(text)
    with pytest.raises(ValueError, match=message):
        RawEnv(components=path)


@pytest.mark.parametrize("components", ["missing.toml", ".", 3, b"x\0"], ids=repr)
def test_a_file_that_can_not_be_read_is_refused(components: Any) -> None:
    with pytest.raises(ValueError, match="components="):
        RawEnv(components=components)


HOSTILE = {
    "a key with thousands of dots": "a" + ".a" * 16_000 + " = 1",
    "dots on every line": "[b" + ".a" * 16 + "]\n" + "\n".join(f"k{line}" + ".a" * 16 + "=1" for line in range(780)),
    "tables with dots": "\n".join(f"[k{line}" + ".a" * 16 + "]" for line in range(800)),
    "a dotted key behind the end of a text": "[bach]\nA = ['''\n# ''', {a" + ".a" * 16_000 + " = 1}]",
    "deep arrays": "[bach]\nA = " + "[" * 32_000,
    "deep inline tables": "[bach]\nA = " + "{a=" * 10_000,
    "many tables": "\n".join(f"[k{line}]" for line in range(4000)),
    "a table declared twice": ("[" + "x" * 16_000 + "]\n") * 2,
    "a long table name": "[" + "x" * 32_000 + "]",
    "a long side": "[bach]\n" + "x" * 32_000 + " = 1",
    "a long text": "[bach]\nA = ['" + "x" * 32_000 + "']",
    "many spaces": "[bach]\nA = [" + "[1, 1, 1]," * 3000 + "]",
    "digits": "[bach]\nA = [[" + "9" * 32_000 + ", 1, 0]]",
    "hexadecimal digits": "[bach]\nA = [[0x" + "f" * 32_000 + ", 1, 0]]",
    "hexadecimal digits of a tile": "[bot]\ntiles = [[0, 0, 0], [0, 0, 0], [0, 0, 0x" + "f" * 32_000 + "]]",
}


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE)
def test_a_hostile_file_is_refused_in_one_short_line_and_with_little_memory(write: Any, text: str) -> None:
    path = write(text)
    assert path.stat().st_size <= MAX_FILE_BYTES
    default_components()
    tracemalloc.start()
    try:
        with pytest.raises(ValueError, match=r"own\.toml") as error:
            load_components(path)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 2**25
    assert len(str(error.value)) < 500
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("# " + "." * 100 + "\n[bach]\nA = [[1, 2, 3]] # ...\n", None),
        ("\n[bach]\n" + "a." * 17 + "a = 1", "line 3 has 17 dots; allowed: up to 16"),
        ("[bach]\n\nA = [[" + "9" * 5000 + ", 1, 0]]", r"a number with too many digits \(at line 3\)"),
        ("[bach]\nA = " + "[" * 10_000, "nested too deep"),
    ],
)
def test_limits_name_the_line_and_leave_ordinary_files_alone(write: Any, text: str, message: str | None) -> None:
    path = write(text)
    with pytest.raises(ValueError, match=message) if message else nullcontext():
        load_components(path)


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such files")
@pytest.mark.parametrize("kind", ["pipe", "device", "folder", "sparse file"])
def test_what_is_no_small_regular_file_is_refused_at_once(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "own.toml"
    if kind == "pipe":
        os.mkfifo(path)
    elif kind == "device":
        path.symlink_to("/dev/zero")
    elif kind == "folder":
        path.mkdir()
    else:
        with path.open("wb") as file:
            file.truncate(2**40)
    reasons = {"folder": "Is a directory", "sparse file": "has 1,099,511,627,776 bytes; at most 32,768 are read"}
    expected = f"components={str(path)!r} can't be read: {reasons.get(kind, 'not a regular file')}"
    with pytest.raises(ValueError, match=re.escape(expected) + "$"):
        RawEnv(components=path)


def test_a_file_that_is_no_text_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "own.toml"
    path.write_bytes(b"\xff\xfe[bach]")
    with pytest.raises(ValueError, match="can't be read"):
        RawEnv(components=path)
