"""File systems in files: mounted through a loop device, copied while in use as after a power cut. Linux, as root."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


def make_image(image: Path, size: str) -> None:
    """Create a file with an empty ext4 file system of a size such as "64M"."""
    for command in (("truncate", "-s", size, image), ("mkfs.ext4", "-q", "-F", image)):
        if _call(*command) != 0:
            raise ValueError(f"{image}: {command[0]} failed")


@contextmanager
def mount(image: Path, folder: Path) -> Iterator[Path]:
    """Mount an image on a folder."""
    folder.mkdir(exist_ok=True)
    if _call("mount", "-o", "loop", image, folder) != 0:
        raise ValueError(f"{image}: can't be mounted; are you root?")
    try:
        yield folder
    finally:
        while _call("umount", folder) != 0:
            time.sleep(0.1)


def copy_image(image: Path, target: Path) -> None:
    """Copy a mounted image: what has reached the disk, and nothing that is only in memory.

    Stop the writing program meanwhile. The copy is made again if the kernel wrote to the image during it.
    """
    while True:
        before = image.stat().st_mtime_ns
        if _call("cp", "--sparse=always", image, target) != 0:
            raise ValueError(f"{image}: can't be copied to {target}")
        if image.stat().st_mtime_ns == before:
            return


def repair(image: Path) -> bool:
    """Replay the journal of a file system, as at a start after a power cut; return whether the rest is intact."""
    return _call("e2fsck", "-fp", image) <= 1  # 1: the journal was replayed


def _call(*command: object) -> int:
    """Run a command quietly and return its exit status."""
    return subprocess.run([str(part) for part in command], capture_output=True, check=False).returncode
