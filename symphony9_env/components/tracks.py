"""Career tracks and bot tiles: those of the shipped file, or of a component file of your own, checked on loading."""

from __future__ import annotations

import os
import re
import tomllib
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any, Final

import numpy as np

from symphony9_env.components.box import (
    MAX_BOT_AMOUNT,
    MAX_REPUTATION,
    MAX_SPACES,
    MAX_TRACK_CUBES,
    MUSICIANS,
    NUM_BOT_TILES,
    SIDES,
)
from symphony9_env.files import read_bytes
from symphony9_env.suggestions import shorten, show

MAX_FILE_BYTES: Final = 32_768  # the shipped file has 1,776
# The parser stores every beginning of a dotted key, so a key of thousands of parts would take gigabytes.
MAX_DOTS: Final = 16  # on a line that is no comment

Space = tuple[int, int, int]  # reputation, cubes in every game, further cubes with 4 players


@dataclass(frozen=True)
class Components:
    """What a component file may change: the two sides of every career track board, and the bot's tiles."""

    boards: dict[str, dict[str, tuple[Space, ...]]]
    bot_tiles: tuple[tuple[int, int, int], ...]

    def track(self, board: str, side: str, num_players: int) -> list[tuple[int, int]]:
        """Return the spaces of a board's side as (reputation, cubes), for a game of this many players."""
        return [
            (reputation, cubes + (further if num_players == 4 else 0))
            for reputation, cubes, further in self.boards[board][side]
        ]


@cache
def default_components() -> Components:
    """Return the components of the shipped file."""
    text = files(__package__).joinpath("career_tracks.toml").read_text(encoding="utf-8")
    return _parse(text, "career_tracks.toml", default=None)


def load_components(path: str | os.PathLike[str] | None) -> Components:
    """Return the shipped components, or those of a component file; what the file leaves out keeps its default."""
    if path is None:
        return default_components()
    try:
        text = read_bytes(path, MAX_FILE_BYTES).decode("utf-8-sig")
    except (OSError, ValueError) as error:
        reason = str(getattr(error, "strerror", None) or error).removeprefix(f"{os.fspath(path)}: ")
        raise ValueError(f"components={os.fspath(path)!r} can't be read: {reason}") from error
    return _parse(text, os.fspath(path), default=default_components())


def check_track(spaces: list[tuple[int, int]], where: str) -> None:
    """Raise a ValueError if these spaces, as (reputation, cubes), are not a possible track."""
    if not 1 <= len(spaces) <= MAX_SPACES:
        raise ValueError(f"{where}: {len(spaces)} spaces; a track has 1 to {MAX_SPACES}")
    for index, (reputation, cubes) in enumerate(spaces):
        if not 0 <= reputation <= MAX_REPUTATION:
            raise ValueError(f"{where}, space {index}: reputation {show(reputation)}; allowed: 0 to {MAX_REPUTATION}")
        if cubes < 0:
            raise ValueError(f"{where}, space {index}: {show(cubes)} cubes; a space can't hold fewer than 0")
    total = sum(cubes for _, cubes in spaces)
    if not 1 <= total <= MAX_TRACK_CUBES:
        raise ValueError(f"{where}: {show(total)} cubes in all; a track holds 1 to {MAX_TRACK_CUBES}")


def check_bot_tile(tile: Any, where: str) -> tuple[int, int, int]:
    """Return a bot tile as a tuple, or raise a ValueError."""
    if not is_int_list(tile, 3):
        raise ValueError(f"{where}: {show(tile)}; a tile is three whole numbers, for low, medium and high fame")
    if not all(0 <= amount <= MAX_BOT_AMOUNT for amount in tile):
        raise ValueError(f"{where}: {show(tile)}; amounts are 0 to {MAX_BOT_AMOUNT}")
    return tile[0], tile[1], tile[2]


def _parse(text: str, source: str, default: Components | None) -> Components:
    data = _parse_toml(text, source)
    boards = dict(default.boards) if default else {}
    bot_tiles = default.bot_tiles if default else ()
    for table, content in data.items():
        where = f"{source}, table [{show(table)[1:-1]}]"
        if table == "bot":
            bot_tiles = _bot_tiles(content, where)
        elif table in MUSICIANS:
            boards[table] = {**boards.get(table, {}), **_board(content, where)}
        else:
            allowed = ", ".join((*MUSICIANS, "bot"))
            raise ValueError(f"{where}: unknown table; allowed: {allowed}")
    return Components(boards, bot_tiles)


def _parse_toml(text: str, source: str) -> dict[str, Any]:
    for number, line in enumerate(text.split("\n"), 1):
        if line.count(".") > MAX_DOTS and not line.lstrip().startswith("#"):
            raise ValueError(f"{source}: line {number} has {line.count('.')} dots; allowed: up to {MAX_DOTS}")
    try:
        return tomllib.loads(text)
    except RecursionError as error:
        raise ValueError(f"{source}: not valid TOML: nested too deep") from error
    except tomllib.TOMLDecodeError as error:  # its message names the line, except for the last one
        reason = str(error).replace("at end of document", f"at line {len(text.splitlines())}, the end of the file")
        raise ValueError(f"{source}: not valid TOML: {shorten(reason)}") from error
    except ValueError as error:  # a number with thousands of digits
        longest = max(re.finditer(r"[\d_]+", text), key=lambda found: len(found[0]))
        number = text.count("\n", 0, longest.start()) + 1
        raise ValueError(f"{source}: not valid TOML: a number with too many digits (at line {number})") from error


def _board(content: Any, where: str) -> dict[str, tuple[Space, ...]]:
    if not isinstance(content, dict):
        raise ValueError(f"{where}: must be a table with sides A and B")
    if unknown := [side for side in content if side not in SIDES]:
        raise ValueError(f"{where}: unknown side {show(unknown[0])}; allowed: A, B")
    return {side: _side(spaces, f"{where}, side {side}") for side, spaces in content.items()}


def _side(spaces: Any, where: str) -> tuple[Space, ...]:
    if not isinstance(spaces, list):
        raise ValueError(f"{where}: must be a list of spaces")
    for index, space in enumerate(spaces):
        if not is_int_list(space, 3):
            raise ValueError(
                f"{where}, space {index}: {show(space)}; a space is three whole numbers, "
                "[reputation, cubes, further cubes with 4 players]"
            )
        if min(space[1:]) < 0:
            raise ValueError(f"{where}, space {index}: {show(space)}; cubes can't be negative")
    check_track([(r, c) for r, c, _ in spaces], f"{where} (2 or 3 players)")
    check_track([(r, c + further) for r, c, further in spaces], f"{where} (4 players)")
    return tuple((r, c, further) for r, c, further in spaces)


def _bot_tiles(content: Any, where: str) -> tuple[tuple[int, int, int], ...]:
    if not isinstance(content, dict) or set(content) != {"tiles"}:
        raise ValueError(f"{where}: must hold just `tiles = [[0, 2, 4], ...]`")
    tiles = content["tiles"]
    if not isinstance(tiles, list) or len(tiles) != NUM_BOT_TILES:
        raise ValueError(f"{where}: tiles must be a list of {NUM_BOT_TILES} tiles")
    return tuple(check_bot_tile(tile, f"{where}, tile {index}") for index, tile in enumerate(tiles))


def is_int_list(value: Any, length: int) -> bool:
    """Return whether a value is a list or tuple of this many whole numbers, which may be NumPy's."""
    return (
        isinstance(value, list | tuple)
        and len(value) == length
        and all(isinstance(item, int | np.integer) and not isinstance(item, bool) for item in value)
    )
