"""The folder of a run of games: settings that may not change, and a file of the games so far, in their order.

The settings may change as long as there is no game. A run that was stopped continues from these two files. Games are
appended and are on disk before they are counted; a game that is incomplete because the process was killed is removed
when the folder is opened. The folder is locked while it is open.
"""

from __future__ import annotations

import json
import os
from abc import ABC, abstractmethod
from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar, Final, Generic, TypeVar

from symphony9_env.files import append_text, lock_folder, make_folder, read_bytes, write_text
from symphony9_env.suggestions import show

MAX_SETTINGS_BYTES: Final = 1 << 20
MAX_GAMES_BYTES: Final = 1 << 30  # about two million games

Item = TypeVar("Item")


class RunFolder(ABC, Generic[Item]):
    """The folder of one run, opened or created; a ValueError says why it can't be used.

    `items` are the lines of the file of games, one or several for each game.
    """

    user: ClassVar[str]  # what uses the folder, such as "tournament"
    what: ClassVar[str]  # what the folder holds
    settings_name: ClassVar[str]
    games_name: ClassVar[str]
    header: ClassVar[str] = ""  # the first line of the file of games

    def __init__(self, path: str | os.PathLike[str], settings: dict[str, Any]) -> None:
        self.path = make_folder(path)
        self.settings = settings
        self.games = self.path / self.games_name
        self._lock = lock_folder(self.path, self.user)
        try:
            self.items = self._open()
        except ValueError:
            self.close()
            raise

    def close(self) -> None:
        """Unlock the folder."""
        self._lock.close()

    def _open(self) -> list[Item]:
        """Return the games so far, after a check of the settings; remove an incomplete one from the file."""
        text = read_games(self.games)
        has_games = not self.header.startswith(text)
        file = self.path / self.settings_name
        check_settings(file, self.settings, self.games, has_games=has_games, what=self.what)
        complete = text[: text.rfind("\n") + 1]
        items, is_whole = self._parse(complete)
        if text != complete or not is_whole:
            write_text(self.games, self.header + self._format(items))
        return items

    @abstractmethod
    def _parse(self, text: str) -> tuple[list[Item], bool]:
        """Return the lines of all complete games, and whether that is all that the file should contain."""

    @abstractmethod
    def _format(self, items: Sequence[Item]) -> str:
        """Return lines of the file of games."""

    def add(self, items: Sequence[Item]) -> None:
        """Append games; they are on disk when this returns."""
        append_text(self.games, self._format(items))
        self.items += items


def check_settings(file: Path, settings: dict[str, Any], games: Path, *, has_games: bool, what: str) -> None:
    """Write the settings to a folder without games; otherwise raise a ValueError if those stored there differ.

    `games` is the file of the games beside the settings, and `what` is the kind of folder, such as "tournament".
    """
    if not has_games:
        write_text(file, json.dumps(settings, indent=2) + "\n")
        return
    if not file.exists():
        raise folder_error(file.parent, f"has a {games.name} but no {file.name}")
    stored = read_settings(file, what)
    for name, value in settings.items():
        if stored.get(name) != value:
            raise folder_error(
                file.parent, f"holds another {what} ({name} {show(stored.get(name))}, not {show(value)})"
            )


def read_settings(file: Path, what: str) -> dict[str, Any]:
    """Return the settings or results in a file; raise a ValueError if it can't be read."""
    try:
        stored = json.loads(read_bytes(file, MAX_SETTINGS_BYTES))
    except (OSError, ValueError, RecursionError) as error:
        raise ValueError(f"{file} can't be read ({_reason(error)})") from None
    if not isinstance(stored, dict):
        raise ValueError(f"{file} does not hold the settings of a {what}")
    return stored


def read_games(file: Path, max_bytes: int = MAX_GAMES_BYTES) -> str:
    """Return the text of a file of games, empty if there is none; raise a ValueError if it can't be read."""
    try:
        return read_bytes(file, max_bytes).decode("utf-8")
    except FileNotFoundError:
        return ""
    except (OSError, ValueError) as error:
        raise ValueError(f"{file} can't be read ({_reason(error)})") from None


def _reason(error: Exception) -> str:
    """Return why a file can't be read, without the path that an OSError repeats."""
    return str(getattr(error, "strerror", None) or error)


def folder_error(folder: Path, reason: str) -> ValueError:
    """Return the error for a folder that can't be used."""
    return ValueError(f"--out {folder}: {reason}; choose another folder")
