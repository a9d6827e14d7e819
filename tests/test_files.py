"""What was written survives kills, power cuts and full disks; what can't be read safely is refused."""

from __future__ import annotations

import errno
import os
import sys
from pathlib import Path
from typing import Any

import pytest

from symphony9_env import files
from tests.power_cut import record_syncs

linux_only = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="uses /proc")
posix_only = pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such files")


@linux_only
def test_what_was_written_survives_a_power_cut(tmp_path: Path) -> None:
    root = tmp_path / "disk"
    root.mkdir()
    with record_syncs(root) as disk:
        folder = files.make_folder(root / "runs" / "one")
        files.write_text(folder / "new.json", "first")
        files.append_text(folder / "games.csv", "a\n")
        after_first = disk.restore(tmp_path / "after first") / "runs" / "one"
        files.write_text(folder / "new.json", "second")
        files.append_text(folder / "games.csv", "b\n")
        after_second = disk.restore(tmp_path / "after second") / "runs" / "one"
        (folder / "unsynced.txt").write_text("lost")
        after_third = disk.restore(tmp_path / "after third") / "runs" / "one"
    assert (after_first / "new.json").read_text() == "first"
    assert (after_first / "games.csv").read_text() == "a\n"
    assert (after_second / "new.json").read_text() == "second"
    assert (after_second / "games.csv").read_text() == "a\nb\n"
    assert sorted(path.name for path in after_third.iterdir()) == ["games.csv", "new.json"]


class DiskFullError(OSError):
    """The error of a full disk."""

    def __init__(self) -> None:
        super().__init__(errno.ENOSPC, os.strerror(errno.ENOSPC))


@pytest.mark.parametrize("call", ["fsync", "replace"])
def test_a_write_that_fails_leaves_the_file_as_it_was(
    call: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    target = tmp_path / "file.txt"
    files.write_text(target, "before")

    def fail(*_: Any) -> None:
        raise DiskFullError

    monkeypatch.setattr(os, call, fail)
    with pytest.raises(OSError, match="No space left"):
        files.write_text(target, "after")
    with pytest.raises(OSError, match="No space left"):
        files.write_text(tmp_path / "new.txt", "after")
    assert [path.name for path in tmp_path.iterdir()] == ["file.txt"]
    assert target.read_text() == "before"


def test_an_append_that_fails_leaves_the_file_as_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    target = tmp_path / "file.txt"
    files.append_text(target, "before\n")

    def fail(_: int) -> None:
        raise DiskFullError

    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(OSError, match="No space left"):
        files.append_text(target, "after\n")
    assert target.read_text() == "before\n"


def test_locking_a_folder_removes_the_temporary_files_of_killed_processes_only(tmp_path: Path) -> None:
    stale = [".results.json.0123abcd.tmp", ".probe.ffffffff.tmp"]
    kept = ["results.json", ".hidden", "mine.tmp", ".mine.tmp", ".lock"]
    for name in (*stale, *kept):
        (tmp_path / name).touch()
    with files.lock_folder(tmp_path, "program"):
        assert sorted(path.name for path in tmp_path.iterdir()) == sorted(kept)
        with pytest.raises(ValueError, match="another program is using this folder"):
            files.lock_folder(tmp_path, "program")
    files.lock_folder(tmp_path, "program").close()


@posix_only
def test_a_private_file_can_be_read_by_its_owner_only(tmp_path: Path) -> None:
    files.write_text(tmp_path / "public", "")
    files.write_text(tmp_path / "private", "", is_private=True)
    assert (tmp_path / "private").stat().st_mode & 0o777 == 0o600
    assert (tmp_path / "public").stat().st_mode & 0o444 != 0


@posix_only
@pytest.mark.parametrize("device", ["/dev/zero", "/dev/null"])
def test_devices_are_not_read(device: str) -> None:
    with pytest.raises(ValueError, match=f"{device}: not a regular file"):
        files.read_bytes(device, 100)


@posix_only
def test_a_pipe_that_nobody_writes_to_is_refused_at_once(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(ValueError, match="not a regular file"):
        files.read_bytes(tmp_path / "pipe", 100)


def test_files_over_the_limit_are_refused_unread(tmp_path: Path) -> None:
    huge = tmp_path / "huge"
    with huge.open("wb") as file:
        file.truncate(1 << 40)
    with pytest.raises(ValueError, match="at most 100 are read"):
        files.read_bytes(huge, 100)
    (tmp_path / "small").write_bytes(b"x" * 100)
    assert files.read_bytes(tmp_path / "small", 100) == b"x" * 100


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such links and pipes")
@pytest.mark.parametrize("kind", ["link", "dangling link", "pipe"])
def test_nothing_is_appended_through_a_link_or_to_a_pipe(tmp_path: Path, kind: str) -> None:
    """A folder from somebody else may contain them."""
    other, folder = tmp_path / "other", tmp_path / "folder"
    folder.mkdir()
    for name in ("games.csv", ".lock"):
        if kind == "pipe":
            os.mkfifo(folder / name)
        else:
            (folder / name).symlink_to(other)
    if kind == "link":
        other.write_text("mine")
    with pytest.raises(OSError, match=r"games\.csv"):
        files.append_text(folder / "games.csv", "text")
    with pytest.raises(OSError, match=r"\.lock"):
        files.lock_folder(folder, "test")
    assert (other.read_text() if other.exists() else "") == ("mine" if kind == "link" else "")


@pytest.mark.skipif(sys.platform == "win32", reason="links need rights there")
def test_a_folder_with_a_link_to_another_folder_is_not_locked(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "records").symlink_to(tmp_path)
    with pytest.raises(ValueError, match="records: is a link"):
        files.lock_folder(tmp_path / "folder", "test")
