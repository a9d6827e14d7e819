"""Durable files: atomic writes, appended lines, locks on folders, and reading with limits.

A write goes to a temporary file in the same folder, which is synced and then renamed over the target; the folder is
synced after that. When a function of this module returns, what it wrote survives a power cut. If it fails or the
process is killed on the way, the target is as it was before.
"""

from __future__ import annotations

import errno
import os
import re
import secrets
import stat
import sys
from collections.abc import Callable
from contextlib import suppress
from io import FileIO
from pathlib import Path
from typing import IO, Any, Final

_TEMPORARY: Final = re.compile(r"\..+\.[0-9a-f]{8}\.tmp")


def write(path: Path, fill: Callable[[Path], Any], previous: Path | None = None) -> None:
    """Write a file atomically and durably: `fill` writes a temporary file, which then replaces `path`.

    If `previous` is given, what was in `path` is kept there. A kill may then leave only `previous`.
    """
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(4)}.tmp")
    try:
        fill(temporary)
        with temporary.open("rb+") as file:  # Windows syncs only files that are open for writing
            os.fsync(file.fileno())
        if previous is not None and path.exists():
            os.replace(path, previous)
        os.replace(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)
    sync_folder(path.parent)


def write_text(path: Path, text: str, *, is_private: bool = False) -> None:
    """Write a text file (UTF-8) atomically and durably; a private one can be read by its owner only."""

    def fill(temporary: Path) -> None:
        temporary.touch(mode=0o600 if is_private else 0o666)
        temporary.write_text(text, encoding="utf-8", newline="\n")

    write(path, fill)


def append_text(path: Path, text: str) -> None:
    """Append text (UTF-8) to a file durably; if that fails, leave the file as it was."""
    is_new = not path.exists()
    with open_to_append(path) as file:
        size = os.fstat(file.fileno()).st_size
        try:
            rest = memoryview(text.encode())
            while rest:
                rest = rest[file.write(rest) :]
            os.fsync(file.fileno())
        except OSError:
            with suppress(OSError):
                file.truncate(size)
            raise
    if is_new:
        sync_folder(path.parent)


def open_to_append(path: Path) -> FileIO:
    """Open a file for appending; raise an OSError if it is a link, a pipe or a device.

    A folder from somebody else may contain them: a link would lead elsewhere, and opening a pipe might block.
    """
    special = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
    file = FileIO(path, "ab", opener=lambda name, flags: os.open(name, flags | special, 0o666))
    if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
        file.close()
        raise OSError(errno.EINVAL, "Not a regular file", os.fspath(path))
    return file


def sync_folder(folder: Path) -> None:
    """Make sure that the names of the files in a folder are on disk. Windows can't, and needn't, do this."""
    if sys.platform != "win32":
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def read_bytes(path: str | os.PathLike[str], max_bytes: int) -> bytes:
    """Return the contents of a file; raise a ValueError if it is not a regular file or has more than `max_bytes`."""
    with open_regular(path, max_bytes) as file:
        return file.read(os.fstat(file.fileno()).st_size)


def open_regular(path: str | os.PathLike[str], max_bytes: int) -> IO[bytes]:
    """Open a file for reading; raise a ValueError if it is not a regular file or has more than `max_bytes`.

    A pipe or a device is refused at once: reading it might block or never end.
    """
    flags = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
    file = open(path, "rb", opener=lambda name, _: os.open(name, flags))  # noqa: SIM115
    try:
        status = os.fstat(file.fileno())
        if not stat.S_ISREG(status.st_mode):
            raise ValueError(f"{os.fspath(path)}: not a regular file")
        if status.st_size > max_bytes:
            raise ValueError(f"{os.fspath(path)}: has {status.st_size:,} bytes; at most {max_bytes:,} are read")
    except ValueError:
        file.close()
        raise
    return file


def make_folder(path: str | os.PathLike[str], option: str = "--out") -> Path:
    """Create a folder if need be and check that it can be written to; the error names the option it comes from."""
    folder = Path(path)
    try:
        created = [one for one in (folder, *folder.parents) if not one.exists()]
        folder.mkdir(parents=True, exist_ok=True)
        for one in created:
            sync_folder(one.parent)
        probe = folder / f".probe.{secrets.token_hex(4)}.tmp"
        probe.touch()
        probe.unlink()
    except OSError as error:
        raise ValueError(f"{option} {folder}: can't be written to ({error.strerror})") from None
    return folder


def lock_folder(folder: Path, what: str) -> FileIO:
    """Lock a folder against other processes and return the open lock file; closing it releases the lock.

    The system also releases the lock when the process ends, however it ends. `what` names the kind of process in the
    ValueError that is raised if another one holds the lock. Temporary files of processes that were killed are removed.
    """
    for path in folder.iterdir():
        if path.is_symlink() and path.is_dir():
            raise ValueError(f"{path}: is a link; what is written to this folder must stay in it")
    lock = open_to_append(folder / ".lock")
    try:
        _lock_file(lock)
    except OSError:
        lock.close()
        raise ValueError(f"{folder}: another {what} is using this folder") from None
    remove_temporary_files(folder)
    return lock


def remove_temporary_files(folder: Path) -> None:
    """Remove the temporary files of processes that were killed; none may be writing to the folder."""
    for path in folder.iterdir():
        if _TEMPORARY.fullmatch(path.name):
            path.unlink(missing_ok=True)


if sys.platform == "win32":
    import msvcrt

    def _lock_file(file: FileIO) -> None:
        file.seek(0)
        msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)

else:
    import fcntl

    def _lock_file(file: FileIO) -> None:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
