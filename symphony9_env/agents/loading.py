"""Import agents that somebody else wrote, from modules and files."""

from __future__ import annotations

import hashlib
import importlib
import importlib.util
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any


def load_safely(name: str, load: Callable[[], Any]) -> Any:
    """Run code that somebody else wrote; raise a ValueError that names the agent if it fails."""
    try:
        return load()
    except (ImportError, AttributeError) as error:
        raise ValueError(f"agent {name!r}: {error}") from error
    except Exception as error:
        raise ValueError(f"agent {name!r}: {type(error).__name__}: {error}") from error


def load_module(name: str) -> ModuleType:
    """Import a module, also one in the current folder."""
    _add_to_path(Path.cwd())  # the `symphony9` command does not have it, `python -m` does
    return importlib.import_module(name)


def load_file(path: str) -> ModuleType:
    """Import a file, once for each version of its contents."""
    file = Path(path).resolve()
    content = file.read_bytes()
    name = f"symphony9_agent_{hashlib.sha256(bytes(file) + content).hexdigest()[:16]}"
    if name not in sys.modules:
        _add_to_path(file.parent)  # for modules beside it
        spec = importlib.util.spec_from_file_location(name, file)
        assert spec is not None
        assert spec.loader is not None
        sys.modules[name] = module = importlib.util.module_from_spec(spec)
        try:
            spec.loader.exec_module(module)
        except BaseException:
            del sys.modules[name]
            raise
    return sys.modules[name]


def _add_to_path(folder: Path) -> None:
    """Let modules be imported from a folder; at the end of the path, so that it hides none."""
    if str(folder) not in sys.path and not (folder == Path.cwd() and "" in sys.path):
        sys.path.append(str(folder))
