"""Whether the rules are being compiled: a page that waits for an answer can then say so."""

from __future__ import annotations

from typing import Any, Final

from numba.core import event

from symphony9_env.compilation import COMPILED


class CompilationStatus(event.Listener):
    """Counts the functions of this package that are being compiled."""

    def __init__(self) -> None:
        self._num_running = 0

    @property
    def is_compiling(self) -> bool:
        """Whether a function is being compiled now."""
        return self._num_running > 0

    def on_start(self, compiling: Any) -> None:
        self._num_running += _is_own(compiling)

    def on_end(self, compiling: Any) -> None:
        self._num_running -= _is_own(compiling)


def _is_own(compiling: Any) -> bool:
    return str(compiling.data["dispatcher"].py_func.__module__).startswith("symphony9_env.")


compilation_status: Final = CompilationStatus()
if COMPILED:
    event.register("numba:compile", compilation_status)  # type: ignore[no-untyped-call]
