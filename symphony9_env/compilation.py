# kernel: compiled by Numba; a change here changes the key of the compile cache
# mypy: disable-error-code="no-any-return"
"""Compile the kernel with Numba, and cache the compiled code on disk.

`@rule` marks a function of the kernel, `@entry` one that Python calls; only entries need a disk cache. With
`NUMBA_DISABLE_JIT=1` both leave the function as it is: plain Python, for the debugger and for coverage.

Numba's own disk cache looks at one source file only, so a helper changed in another file would leave a stale caller
behind. The cache folder used here is therefore named after a hash of every source and data file that the kernel is
made of: any change starts a new, empty folder. Several processes may share a folder (`compile_cache.py`).
"""

from __future__ import annotations

import functools
import hashlib
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final, TypeVar

import numba
import numpy as np
from numba.core import event
from numba.misc.appdirs import AppDirs

from symphony9_env.compile_cache import CheckedCache

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
    """Return a hash of the kernel's sources: the key of the compile cache."""
    digest = hashlib.sha256()
    for path in kernel_sources():
        digest.update(str(path.relative_to(_PACKAGE)).encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()[:16]


def cache_folder() -> Path:
    """Return the folder for this version of the kernel, in `SYMPHONY9_CACHE_DIR` or in the user's cache folder."""
    chosen = os.environ.get("SYMPHONY9_CACHE_DIR")
    folder = chosen or AppDirs("symphony9_env", appauthor=False).user_cache_dir  # type: ignore[no-untyped-call]
    return Path(folder) / f"kernel-{kernel_hash()}"


_SOURCES: Final = frozenset(kernel_sources())
_FOLDER: Final = cache_folder()


def rule(function: F) -> F:
    """Compile a function that only kernel functions call: it gets no Python wrapper."""
    return _njit(no_cpython_wrapper=True, no_cfunc_wrapper=True, **_OPTIONS)(function)


def inlined_rule(function: F) -> F:
    """Compile a rule as part of its callers.

    References to arrays are counted at each call that passes or unpacks a tuple of them, unless Numba inlines the call
    itself: that saves 5 % of a short search.
    """
    return _njit(inline="always", no_cpython_wrapper=True, no_cfunc_wrapper=True, **_OPTIONS)(function)


def wrapping_rule(function: F) -> F:
    """Compile a rule whose unsigned arithmetic wraps on purpose; un-compiled, keep NumPy from warning of it."""
    return rule(function) if COMPILED else np.errstate(over="ignore")(function)


def entry(function: F) -> F:
    """Compile a kernel function that Python calls, and cache it on disk.

    It takes plain structured arrays: passing a recarray to compiled code costs ten times the call.
    """
    if not COMPILED:
        return _pass_recarrays(function)
    if Path(function.__code__.co_filename) not in _SOURCES:
        raise RuntimeError(f"{function.__module__} is not a kernel file: its first line must be {KERNEL_MARKER!r}")
    compiled: Any = _njit(**_OPTIONS)(function)
    compiled._cache = CheckedCache(function, _FOLDER)
    return compiled


def _pass_recarrays(function: F) -> F:
    """Pass structured arrays as recarrays: un-compiled, `game.money` works on their elements only."""

    @functools.wraps(function)
    def call(*args: Any) -> Any:
        return function(*(as_recarray(arg) if _is_structured(arg) else arg for arg in args))

    return call  # type: ignore[return-value]


def _is_structured(value: Any) -> bool:
    return isinstance(value, np.ndarray) and value.dtype.names is not None


def as_recarray(array: Any) -> Any:
    """Return the same structured array with fields that Python can read as attributes."""
    return array.view(np.recarray)


def as_python(function: F) -> F:
    """Return the Python source of a rule that calls no other rule, to ask it about one game without compiling it."""
    return getattr(function, "py_func", function)


class _CompilationNotice(event.Listener):
    """Print once in a process that the rules are being compiled; nothing if all comes from the cache."""

    def __init__(self) -> None:
        self._is_printed = False

    def on_start(self, compiling: Any) -> None:
        function = compiling.data["dispatcher"].py_func
        if self._is_printed or not str(function.__module__).startswith("symphony9_env."):
            return
        self._is_printed = True
        print(
            f"symphony9_env: compiling the rules that are used for the first time takes 10 to 60 s "
            f"(cached in {_FOLDER})",
            file=sys.stderr,
        )

    def on_end(self, compiling: Any) -> None:
        pass


if COMPILED:
    event.register("numba:compile", _CompilationNotice())  # type: ignore[no-untyped-call]
