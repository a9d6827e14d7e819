"""Named arrays and a header as bytes, in the safetensors format, which contains no code."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError
from safetensors.numpy import load, save

from symphony9_env.suggestions import shorten

Arrays = dict[str, NDArray[Any]]

_HEADER: Final = "header"
_HASH: Final = "hash"


def pack_arrays(header: Mapping[str, Any], arrays: Arrays) -> bytes:
    """Return a header of JSON values and named arrays as bytes, with a hash of all of them."""
    named = {_HEADER: np.frombuffer(json.dumps(header).encode(), np.uint8), **arrays}
    return save({**named, _HASH: _hash(named)})


def unpack_arrays(data: bytes, header: Mapping[str, Any], like: Arrays) -> tuple[dict[str, Any], Arrays]:
    """Return the header and the arrays that `pack_arrays` packed.

    Raise a ValueError if the data is damaged, if its header differs from `header` (it may have more entries), or if its
    arrays differ from those of `like` in their names, types or shapes.
    """
    try:
        arrays: Arrays = load(data)
        found = json.loads(arrays[_HEADER].tobytes())
        is_whole = np.array_equal(arrays.pop(_HASH), _hash(arrays))
        del arrays[_HEADER]
    except (SafetensorError, ValueError, KeyError, TypeError, RecursionError) as error:
        raise ValueError(f"not a save, or damaged: {shorten(str(error))}") from None
    if not isinstance(found, dict):
        raise ValueError("not a save, or damaged: its header is not a JSON object")
    for name, value in header.items():
        if found.get(name) != value:
            raise ValueError(f"saved with {name}={str(found.get(name))[:100]!r}; needed: {str(value)!r}")
    if not is_whole:
        raise ValueError("not a save, or damaged: its hash is wrong")
    if {name: _form(array) for name, array in arrays.items()} != {name: _form(array) for name, array in like.items()}:
        raise ValueError("not a save, or damaged: its arrays do not fit")
    return found, arrays


def _form(array: NDArray[Any]) -> tuple[str, tuple[int, ...]]:
    return array.dtype.str, array.shape


def _hash(arrays: Arrays) -> NDArray[np.uint8]:
    """Return a hash of named arrays, their types and shapes."""
    digest = hashlib.sha256()
    for name in sorted(arrays):
        array = np.ascontiguousarray(arrays[name])
        digest.update(repr((name, _form(array))).encode() + array.tobytes())
    return np.frombuffer(digest.digest(), np.uint8)
