"""JSON Schemas (draft 2020-12) of the formats that this package reads and writes.

`python -m tools.schemas` generates the files from the types of the package.

>>> from symphony9_env import schemas
>>> schemas.names()[:2]
['symphony9-agent/1', 'symphony9-coalition/1']
>>> schemas.load("symphony9-record/1")["required"][:2]
['format', 'num_players']
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Final

FOLDER: Final = Path(__file__).parent
_SUFFIX: Final = ".schema.json"


def names() -> list[str]:
    """Return the names of all formats, such as `symphony9-record/1`.

    >>> "symphony9-view/1" in names()
    True
    """
    stems = (path.name.removesuffix(_SUFFIX) for path in FOLDER.glob(f"*{_SUFFIX}"))
    return sorted("/".join(stem.rsplit("-", 1)) for stem in stems)


def load(name: str) -> dict[str, Any]:
    """Return the JSON Schema of a format; raise a ValueError if there is none of this name.

    >>> load("symphony9-view/1")["title"]
    'symphony9-view/1'
    """
    if name not in names():
        raise ValueError(f"unknown format {name!r}; allowed: {', '.join(names())}")
    schema: dict[str, Any] = json.loads(path_of(name).read_text(encoding="utf-8"))
    return schema


def path_of(name: str) -> Path:
    """Return the file of a format's schema."""
    return FOLDER / f"{name.replace('/', '-')}{_SUFFIX}"


__all__ = ["load", "names"]
