"""Changes of valid data that keep most of its structure: of bytes, text, JSON, folders of files, and named arrays."""

from __future__ import annotations

import json
import math
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

Mutate = Callable[[bytes, Random], bytes]
Arrays = dict[str, NDArray[Any]]

# JSON values that readers tend to overlook. Those in RAW become text that `json.dumps` would not write.
RAW: Final = {
    "@deep list": "[" * 100_000 + "]" * 100_000,
    "@deep object": '{"a":' * 2_000 + "1" + "}" * 2_000,
    "@many digits": "9" * 5_000,
    "@too large": "1e999",
    "@half a pair": '"\\ud800"',
}
_RAW_TEXT: Final = re.compile("|".join(f'"{re.escape(name)}"' for name in RAW))
NUMBERS: Final = (0, 1, -1, 2, 7, 255, 256, 65536, 2**31, 2**53, 2**63 - 1, 2**63, -(2**63) - 1, 2**64, 10**400)
FLOATS: Final = (0.5, -0.0, 1e-320, 3.4e38, 1e300, math.inf, -math.inf, math.nan)
TEXTS: Final = (
    *("", " ", "0", "-1", "null", "player_0", "take handel", "handel", "4A", "random", "search:10", "é" * 300, "𝒜"),
    *("\x00", "\u202e", "\n", "a" * 70_000, "../..", "/dev/zero", ".", "=", "a=b", ":", "@", "%s", "{}", "<b>", "1e5"),
)
VALUES: Final[tuple[Any, ...]] = (None, True, False, *NUMBERS, *FLOATS, *TEXTS, *RAW, [], {}, [[]], [None], {"": None})
# Words of TOML, YAML and CSV that change the meaning of what follows.
_WORDS: Final = (
    *("[", "]", "{", "}", "[[", "]]", "=", ":", ",", "\n", '"', "'", '"""', "#", "-", "|", ">", "&a", "*a", "<<", "!!"),
    *(
        "!!python/object:os.system",
        "!!binary",
        "~",
        "...",
        "---",
        "? ",
        "\t",
        "\r",
        "\x00",
        "\ufeff",
        "1979-05-27",
        "0x",
    ),
    *("a.b.c", "&a [*a, *a]", "[" * 3_000, "a." * 500 + "a = 1", "nan", "inf", "1e999", "9" * 5_000, "true", "null"),
)
_TOKENS: Final = re.compile(r"\w+|\s+|.", re.S)


def mutate_bytes(data: bytes, rng: Random) -> bytes:
    """Flip, insert, remove, repeat or overwrite some bytes."""
    changed = bytearray(data)
    for _ in range(rng.choice((1, 1, 2, 8))):
        at, length = rng.randrange(len(changed) + 1), rng.choice((1, 1, 4, 8, 64))
        match rng.randrange(6):
            case 0 if at < len(changed):
                changed[at] ^= 1 << rng.randrange(8)
            case 1:
                changed[at:at] = rng.randbytes(length)
            case 2:
                del changed[at : at + length]
            case 3:
                changed[at:at] = changed[at : at + length] * rng.choice((1, 2, 50))
            case 4:
                changed[at : at + length] = rng.choice((b"\x00", b"\xff", b"\x80")) * length
            case _:
                del changed[at:]
    return bytes(changed)


def mutate_text(data: bytes, rng: Random) -> bytes:
    """Replace, remove, repeat or exchange words and lines of a text."""
    text = data.decode("utf-8", "surrogateescape")
    for _ in range(rng.choice((1, 1, 2, 4))):
        parts = text.splitlines(keepends=True) if rng.random() < 0.3 else _TOKENS.findall(text)
        if not parts:
            return rng.choice(_WORDS).encode()
        one, other = rng.randrange(len(parts)), rng.randrange(len(parts))
        match rng.randrange(6):
            case 0:
                parts[one] = rng.choice(_WORDS)
            case 1:
                parts[one] = str(rng.choice((*NUMBERS, *FLOATS, *TEXTS)))
            case 2:
                del parts[one]
            case 3:
                parts[one] *= rng.choice((2, 3, 1000 if len(parts[one]) < 1000 else 4))
            case 4:
                parts[one], parts[other] = parts[other], parts[one]
            case _:
                parts.insert(one, rng.choice(_WORDS))
        text = "".join(parts)[:1_000_000]
    return text.encode("utf-8", "surrogateescape")


def mutate_value(value: Any, rng: Random) -> Any:
    """Return a JSON value in which one to four parts are changed."""
    for _ in range(rng.choice((1, 1, 1, 2, 4))):
        value = _change_part(value, rng, value)
    return value


def _change_part(value: Any, rng: Random, whole: Any) -> Any:
    """Return a value with one part replaced, removed, repeated, renamed or nested; go down into it at random."""
    if isinstance(value, dict | list) and value and rng.random() < 0.85:
        copied: Any = dict(value) if isinstance(value, dict) else list(value)
        key = rng.choice(list(copied)) if isinstance(copied, dict) else rng.randrange(len(copied))
        match rng.randrange(10):
            case 0:
                del copied[key]
            case 1 if isinstance(copied, list):
                copied.insert(rng.randrange(len(copied) + 1), copied[key])
            case 1:
                copied[rng.choice(("", "extra", "a" * 5_000, "\ud800", f"{key}"))] = copied.pop(key)
            case 2 if isinstance(copied, list):
                copied *= rng.choice((2, 300))
            case 2 | 3:
                other = rng.choice(list(copied)) if isinstance(copied, dict) else rng.randrange(len(copied))
                copied[key], copied[other] = copied[other], copied[key]
            case 4 if isinstance(copied, list):
                del copied[key:]
            case _:
                copied[key] = _change_part(copied[key], rng, whole)
        return copied
    return _change_leaf(value, rng, whole)


def _change_leaf(value: Any, rng: Random, whole: Any) -> Any:
    match rng.randrange(8):
        case 0:
            return rng.choice(_list_parts(whole))
        case 1:
            return [value] if rng.random() < 0.5 else {"action": value}
        case 2 | 3 | 4 if isinstance(value, int | float) and abs(value) < 2**60:
            return value + rng.choice((-1, 1, -1, 1, 0.5, 1e-9))
        case 2 | 3 if isinstance(value, str):
            return mutate_text(value.encode("utf-8", "replace"), rng).decode("utf-8", "replace")
    return rng.choice(VALUES)


def _list_parts(value: Any) -> list[Any]:
    """Return a JSON value and everything in it, for exchanging parts."""
    if isinstance(value, dict | list):
        inner = value.values() if isinstance(value, dict) else value
        return [value, *(part for one in inner for part in _list_parts(one))]
    return [value]


def format_json(value: Any, rng: Random) -> bytes:
    """Return a JSON value as text, with what `json.dumps` does not write: deep nesting, repeated keys, bad Unicode."""
    text = _RAW_TEXT.sub(lambda found: RAW[found[0].strip('"')], json.dumps(value, ensure_ascii=rng.random() < 0.7))
    if rng.random() < 0.05 and (names := re.findall(r'"\w+":', text)):
        text = text.replace("{", "{" + f"{rng.choice(names)} 0, ", 1)
    return text.encode("utf-8", "surrogatepass")


def mutate_json(data: bytes, rng: Random) -> bytes:
    """Change a JSON value; some of the time only its bytes."""
    try:
        value = json.loads(data)
    except (ValueError, RecursionError):
        return mutate_bytes(data, rng)
    if rng.random() < 0.1:
        return mutate_bytes(data, rng)
    return format_json(mutate_value(value, rng), rng)


# Folders: a JSON object with the contents of each file as text.


def pack_files(contents: dict[str, bytes]) -> bytes:
    """Return the contents of files by name as bytes."""
    return json.dumps({name: content.decode("latin-1") for name, content in contents.items()}).encode()


def unpack_files(data: bytes) -> dict[str, bytes]:
    """Return what `pack_files` was given."""
    return {name: text.encode("latin-1") for name, text in json.loads(data).items()}


def fill_folder(folder: Path, data: bytes) -> None:
    """Replace the contents of a folder with the files that `pack_files` has packed."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    for name, content in unpack_files(data).items():
        (folder / name).write_bytes(content)


def mutate_files(data: bytes, rng: Random) -> bytes:
    """Change, empty, remove or exchange files, each by its kind."""
    contents = unpack_files(data)
    if not contents:
        return data
    name = rng.choice(sorted(contents))
    match rng.randrange(20):
        case 0:
            del contents[name]
        case 1:
            contents[name] = contents[rng.choice(sorted(contents))]
        case 2:
            contents[name] = b""
        case _:
            contents[name] = _mutate_file(name, contents[name], rng)
    return pack_files(contents)


def _mutate_file(name: str, content: bytes, rng: Random) -> bytes:
    if rng.random() < 0.1:
        return mutate_bytes(content, rng)
    if name.endswith(".jsonl") and content.strip():
        lines = content.split(b"\n")
        at = rng.randrange(len(lines))
        lines[at] = mutate_json(lines[at], rng)
        return b"\n".join(lines)
    return mutate_json(content, rng) if name.endswith(".json") else mutate_text(content, rng)


# Named arrays, as in saved policies and batches.

_DTYPES: Final = (np.float16, np.float32, np.float64, np.int8, np.uint8, np.int32, np.int64, np.uint64, np.bool_)
_ELEMENTS: Final = (0, 1, -1, 48, 255, 1e30, 3e38, 1e-40, 2**31, 2**53, 2**62, math.nan, math.inf)


def mutate_arrays(arrays: Arrays, rng: Random) -> Arrays:
    """Change values, types, shapes or names of some arrays."""
    changed = {name: array.copy() for name, array in arrays.items()}
    for _ in range(rng.choice((1, 1, 2, 3))):
        name = rng.choice(sorted(changed) or ["none"])
        array = changed.get(name, np.zeros(3, np.float32))
        match rng.randrange(12):
            case 0:
                with np.errstate(all="ignore"):
                    changed[name] = array.astype(rng.choice(_DTYPES))
            case 1:
                changed[name] = array.reshape(-1)
            case 2:
                changed[name] = np.zeros(rng.choice(((), (0,), (3, 0, 2), (1, 1, 1), (100_000,))), array.dtype)
            case 3:
                changed.pop(name, None)
            case 4:
                changed[rng.choice(("", "extra", "value.extra", name + "x"))] = array
            case 5:
                other = rng.choice(sorted(changed) or ["none"])
                changed[name], changed[other] = changed.get(other, array), array
            case _:
                changed[name] = _change_elements(array, rng)
    return changed


def _change_elements(array: NDArray[Any], rng: Random) -> NDArray[Any]:
    flat = array.reshape(-1).copy()
    if not flat.size:
        return array
    start, length = rng.randrange(flat.size), rng.choice((1, 1, 5, flat.size))
    with np.errstate(all="ignore"):
        new = flat[start : start + length] + np.array(1) if rng.random() < 0.4 else np.array(rng.choice(_ELEMENTS))
        flat[start : start + length] = new.astype(array.dtype)
    return flat.reshape(array.shape)
