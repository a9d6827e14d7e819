"""Atomic file writes: write a temporary file in the same directory, sync it, then rename it over the target."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any


def write(path: Path, fill: Callable[[Path], Any]) -> None:
    """Write a file atomically: `fill` writes a temporary file, which then replaces `path`.

    If the process is killed on the way, `path` is as it was before.
    """
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        fill(temporary)
        _sync(temporary)
        os.replace(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)


def _sync(path: Path) -> None:
    """Make sure that a file's contents are on disk before its name is: else a power cut could leave it empty."""
    with path.open("rb+") as file:  # Windows syncs only files that are open for writing
        os.fsync(file.fileno())


def write_text(path: Path, text: str) -> None:
    """Write a text file (UTF-8) atomically."""
    write(path, lambda temporary: temporary.write_text(text, encoding="utf-8"))


def make_folder(path: str | os.PathLike[str], option: str = "--out") -> Path:
    """Create a folder if need be and check that it can be written to; the error names the option it comes from."""
    folder = Path(path)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        write_text(folder / ".probe", "")
        (folder / ".probe").unlink()
    except OSError as error:
        raise ValueError(f"{option} {folder}: can't be written to ({error.strerror})") from None
    return folder
