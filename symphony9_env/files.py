"""Files that are there whole or not at all, and folders that can be written to."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any


def write(path: Path, fill: Callable[[Path], Any]) -> None:
    """`fill` writes under another name beside it, which then becomes `path`: a kill leaves what was there before."""
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        fill(draft)
        os.replace(draft, path)
    finally:
        draft.unlink(missing_ok=True)


def write_text(path: Path, text: str) -> None:
    write(path, lambda draft: draft.write_text(text, encoding="utf-8"))


def make_folder(path: str | os.PathLike[str], option: str = "--out") -> Path:
    """A folder that can be written to; a ValueError says why it can't, and which option named it."""
    folder = Path(path)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        write_text(folder / ".probe", "")
        (folder / ".probe").unlink()
    except OSError as error:
        raise ValueError(f"{option} {folder}: can't be written to ({error.strerror})") from None
    return folder
