"""A power cut for tests: what would be on disk if only what was synced had reached it.

The model is the worst that a file system may do: a file has the contents that it had when it was last synced (none if
it never was), and a folder has the names that it had when it was last synced.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest


class Disk:
    """Records what is synced below a folder, and can restore exactly that."""

    def __init__(self, root: Path) -> None:
        self.root = root.resolve()
        self.num_syncs = 0
        self._contents: dict[int, bytes] = {}  # by inode
        self._names: dict[Path, dict[str, int]] = {}  # by folder: the inode of each name
        for folder in [self.root, *(path for path in self.root.rglob("*") if path.is_dir())]:
            self._sync_folder(folder)
        for path in self.root.rglob("*"):
            if path.is_file():
                self._contents[path.stat().st_ino] = path.read_bytes()

    def sync(self, descriptor: int) -> None:
        """Record what `os.fsync` of a file or folder makes durable."""
        self.num_syncs += 1
        path = Path(os.readlink(f"/proc/self/fd/{descriptor}"))
        if stat.S_ISDIR(os.fstat(descriptor).st_mode):
            self._sync_folder(path)
        else:
            self._contents[os.fstat(descriptor).st_ino] = path.read_bytes()

    def _sync_folder(self, folder: Path) -> None:
        self._names[folder] = {path.name: path.stat().st_ino for path in folder.iterdir()}
        for path in folder.iterdir():
            if path.is_dir():
                self._names.setdefault(path, {})  # empty, unless it was synced itself

    def restore(self, target: Path) -> Path:
        """Write to a new folder what a power cut at this moment would leave, and return the folder."""
        self._restore(self.root, target)
        return target

    def _restore(self, folder: Path, target: Path) -> None:
        target.mkdir()
        folders = {path.stat().st_ino: path for path in self._names if path.exists()}
        for name, inode in self._names.get(folder, {}).items():
            if inode in folders:
                self._restore(folders[inode], target / name)
            else:
                (target / name).write_bytes(self._contents.get(inode, b""))


@contextmanager
def record_syncs(root: Path) -> Iterator[Disk]:
    """Record what this process syncs below a folder."""
    disk = Disk(root)
    sync = os.fsync

    def record(descriptor: int) -> None:
        sync(descriptor)
        disk.sync(descriptor)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "fsync", record)
        yield disk
