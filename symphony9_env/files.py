"""Atomic file writes (a temporary file in the same directory, renamed over the target), and locks on folders."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import IO, Any


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


def lock_folder(path: Path, what: str) -> IO[bytes]:
    """Lock a folder against other processes and return the open lock file; closing it releases the lock.

    The system also releases the lock when the process ends, however it ends. `what` names the kind of process in the
    ValueError that is raised if another one holds the lock.
    """
    lock = (path / ".lock").open("ab")
    try:
        _lock_file(lock)
    except OSError:
        lock.close()
        raise ValueError(f"{path}: another {what} is using this folder") from None
    return lock


if sys.platform == "win32":
    import msvcrt

    def _lock_file(file: IO[bytes]) -> None:
        file.seek(0)
        msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)

else:
    import fcntl

    def _lock_file(file: IO[bytes]) -> None:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
