"""What a tournament and an evaluation have in their folders: settings that may not change, and a file of the games."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Final

from symphony9_env.files import read_bytes, write_text
from symphony9_env.suggestions import show

MAX_SETTINGS_BYTES: Final = 1 << 20
MAX_GAMES_BYTES: Final = 1 << 30  # about two million games


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
        raise folder_error(file.parent, f"{file.name} can't be read ({error})") from None
    if not isinstance(stored, dict):
        raise folder_error(file.parent, f"{file.name} does not hold the settings of a {what}")
    return stored


def read_games(file: Path) -> str:
    """Return the text of a file of games, empty if there is none; raise a ValueError if it can't be read."""
    try:
        return read_bytes(file, MAX_GAMES_BYTES).decode("utf-8")
    except FileNotFoundError:
        return ""
    except (OSError, ValueError) as error:
        raise folder_error(file.parent, f"{file.name} can't be read ({error})") from None


def folder_error(folder: Path, reason: str) -> ValueError:
    """Return the error for a folder that can't be used."""
    return ValueError(f"--out {folder}: {reason}; choose another folder")
