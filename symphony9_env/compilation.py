"""How the kernel is compiled, and where the compiled code is kept.

`@rule` marks a function of the kernel, `@entry` one that Python calls (only those need a place on disk).
With `NUMBA_DISABLE_JIT=1` both leave the function as it is: plain Python, for the debugger and for coverage.

Numba's own disk cache looks at one source file only: a helper changed in another file would leave a stale
caller behind. So the cache folder here is named after a hash of every source and data file that the kernel
is made of: any change starts a new, empty folder. Numba writes each file under a temporary name and renames
it, so that several processes may share a folder.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final, TypeVar

import numba
import numpy as np
from numba.core import event
from numba.misc.appdirs import AppDirs

F = TypeVar("F", bound=Callable[..., Any])

_njit: Final[Any] = numba.njit  # its type hints leave out the options used here
_config: Final[Any] = numba.config
COMPILED: Final[bool] = not _config.DISABLE_JIT
_PACKAGE: Final = Path(__file__).parent
_OPTIONS: Final[dict[str, Any]] = {"error_model": "numpy", "nogil": True}


# A kernel file starts with this line. Compiled code may depend on kernel files and data files only
# (tests/test_imports.py), so a change in any other file does not trigger recompilation.
KERNEL_MARKER: Final = "# kernel: compiled by Numba; a change here changes the key of the compile cache"


def is_kernel(path: Path) -> bool:
    """Return whether a source file is part of the kernel."""
    with path.open(encoding="utf-8") as file:
        return file.readline().rstrip() == KERNEL_MARKER


def kernel_sources() -> list[Path]:
    """Return every file that compiled code may depend on: the kernel files and the components' data files."""
    return sorted(
        path for path in _PACKAGE.rglob("*") if path.suffix == ".toml" or (path.suffix == ".py" and is_kernel(path))
    )


def kernel_hash() -> str:
    digest = hashlib.sha256()
    for path in kernel_sources():
        digest.update(str(path.relative_to(_PACKAGE)).encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()[:16]


def cache_folder() -> Path:
    """`SYMPHONY9_CACHE_DIR`, or the user's cache folder; in it one folder for each version of the kernel."""
    chosen = os.environ.get("SYMPHONY9_CACHE_DIR")
    folder = chosen or AppDirs("symphony9_env", appauthor=False).user_cache_dir  # type: ignore[no-untyped-call]
    return Path(folder) / f"kernel-{kernel_hash()}"


@contextlib.contextmanager
def _caching_in(folder: Path) -> Iterator[None]:
    """Numba reads its cache folder when a function is decorated; leave the user's own setting alone."""
    before = _config.CACHE_DIR
    _config.CACHE_DIR = str(folder)
    try:
        yield
    finally:
        _config.CACHE_DIR = before


def _writable(folder: Path) -> bool:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        probe = folder / f".probe-{os.getpid()}"
        probe.touch()
        probe.unlink()
    except OSError:
        return False
    return True


_SOURCES: Final = frozenset(kernel_sources())
_FOLDER: Final = cache_folder() if COMPILED else _PACKAGE
_CACHED: Final = COMPILED and _writable(_FOLDER)


def rule(function: F) -> F:
    """A function of the kernel, called from other kernel functions only: it gets no Python wrapper."""
    return _njit(no_cpython_wrapper=True, no_cfunc_wrapper=True, **_OPTIONS)(function)  # type: ignore[no-any-return]


def entry(function: F) -> F:
    """A function of the kernel that Python calls: its compiled form is kept on disk.

    It takes plain structured arrays: passing a recarray to compiled code costs ten times the call.
    """
    if not COMPILED:
        return _reading_fields_by_name(function)
    if Path(function.__code__.co_filename) not in _SOURCES:
        raise RuntimeError(f"{function.__module__} is no kernel source: its cache could go stale")
    with _caching_in(_FOLDER):
        return _njit(cache=_CACHED, **_OPTIONS)(function)  # type: ignore[no-any-return]


def _reading_fields_by_name(function: F) -> F:
    """Un-compiled, `game.money` works on records of a recarray only."""

    @functools.wraps(function)
    def call(*args: Any) -> Any:
        return function(*(as_recarray(arg) if _is_structured(arg) else arg for arg in args))

    return call  # type: ignore[return-value]


def _is_structured(value: Any) -> bool:
    return isinstance(value, np.ndarray) and value.dtype.names is not None


def as_recarray(records: Any) -> Any:
    """The same records, with fields that Python can read as attributes."""
    return records.view(np.recarray)


def as_python(function: F) -> F:
    """The Python source of a rule that calls no other rule: to ask it about one game without compiling it."""
    return getattr(function, "py_func", function)


def wrapping(function: F) -> F:
    """A rule whose unsigned arithmetic wraps on purpose; un-compiled, NumPy must not warn of it."""
    return rule(function) if COMPILED else np.errstate(over="ignore")(function)


class _Notice(event.Listener):
    """Says, once a process, that compiling takes a while (only when something was not in the cache)."""

    def __init__(self) -> None:
        self.said = False

    def on_start(self, compiling: Any) -> None:
        function = compiling.data["dispatcher"].py_func
        if self.said or not str(function.__module__).startswith("symphony9_env."):
            return
        self.said = True
        where = f"kept in {_FOLDER}" if _CACHED else "the cache folder is not writable: not kept"
        print(f"symphony9_env: compiling the rules for their first use: some seconds ({where})", file=sys.stderr)

    def on_end(self, compiling: Any) -> None:
        pass


if COMPILED:
    event.register("numba:compile", _Notice())  # type: ignore[no-untyped-call]
