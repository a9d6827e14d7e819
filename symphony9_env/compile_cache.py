# kernel: compiled by Numba; a change here changes the key of the compile cache
"""The disk cache of compiled functions: one checked file for each function, signature and processor.

Numba's own cache trusts its files: an empty index stops every command, and a damaged object crashes the process. Here
a file starts with a hash of its contents. A file that can't be read or whose hash is wrong is deleted, one line names
the folder, and the function is compiled again. If the disk is full or the folder can't be written to, compiled code is
used without being cached.

The hash detects damage, not forgery: compiled code is code, so the folder must be writable by its owner only.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import pickle
import platform
import sys
import uuid
from pathlib import Path
from typing import Any, Final

import numba
from numba.core.caching import NullCache
from numba.core.compiler import CompileResult
from numba.core.serialize import dumps

_MAGIC: Final = b"symphony9 compiled code 1\n"
_HASH_SIZE: Final = hashlib.sha256().digest_size


class CheckedCache(NullCache):
    """The cache of one function, in the form that Numba's dispatchers use."""

    def __init__(self, function: Any, folder: Path) -> None:
        self._name = f"{function.__module__}.{function.__qualname__}"
        self._folder = folder

    @property
    def cache_path(self) -> str:
        """The folder of the cache."""
        return str(self._folder)

    def load_overload(self, signature: Any, target_context: Any) -> Any:
        """Return the compiled function for a signature, or None if it must be compiled."""
        target_context.refresh()  # Numba's own cache does this first, too
        path = self._path(signature, target_context.codegen())
        try:
            payload = _unpack(path.read_bytes())
            return CompileResult._rebuild(target_context, *payload)  # type: ignore[no-untyped-call]
        except (FileNotFoundError, NotADirectoryError):
            return None
        except Exception as error:  # whatever is wrong with the file, compiling again is right
            _notify(f"{path.name} in the compile cache {self._folder} is damaged and is compiled again", error)
            _delete(path)
            return None

    def save_overload(self, signature: Any, compiled: Any) -> None:
        """Write a compiled function to the cache; if that fails, say so and go on without."""
        if compiled.library.has_dynamic_globals:
            return  # the code contains addresses that are valid in this process only
        path = self._path(signature, compiled.codegen)
        temporary = path.with_name(f"{path.name}.{uuid.uuid4().hex[:8]}.tmp")
        try:
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            temporary.write_bytes(_pack(compiled._reduce()))
            os.replace(temporary, path)
        except OSError as error:
            _notify(f"compiled code is not cached: {self._folder} is not writable", error)
            _delete(temporary)

    def _path(self, signature: Any, codegen: Any) -> Path:
        """Return the file for a signature, named after everything that compiled code depends on besides the kernel."""
        key = (str(signature), codegen.magic_tuple(), numba.__version__, platform.python_version())
        return self._folder / f"{self._name}-{hashlib.sha256(repr(key).encode()).hexdigest()[:16]}.bin"


def _pack(payload: Any) -> bytes:
    body: bytes = dumps(payload)  # type: ignore[no-untyped-call]
    return _MAGIC + hashlib.sha256(body).digest() + body


def _unpack(data: bytes) -> Any:
    """Return what `_pack` was given; raise a ValueError if the data is damaged, before anything in it is used."""
    found, body = data[len(_MAGIC) : len(_MAGIC) + _HASH_SIZE], data[len(_MAGIC) + _HASH_SIZE :]
    if not data.startswith(_MAGIC) or found != hashlib.sha256(body).digest():
        raise ValueError("its hash is wrong")
    return pickle.loads(body)


_notices: Final[set[str]] = set()


def _notify(text: str, error: Exception) -> None:
    """Print a line about the cache, each only once in a process."""
    if text not in _notices:
        _notices.add(text)
        print(f"symphony9_env: {text} ({getattr(error, 'strerror', None) or error})", file=sys.stderr)


def _delete(path: Path) -> None:
    with contextlib.suppress(OSError):  # if it stays, it is checked again before its next use
        path.unlink(missing_ok=True)
