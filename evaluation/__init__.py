"""Command-line programs that run from a checkout; they need the extra [eval]."""

from __future__ import annotations

import sys

from symphony9_env.arguments import GATE_FAILED, WRONG_USE, import_command, run


def _check_extra() -> None:
    import_command("symphony9_env.arena.tournament", "eval")


# `python -m evaluation.NAME` imports this package first; "-m" then stands where the name of the program will be.
if sys.argv[:1] == ["-m"]:
    error_status = GATE_FAILED if "evaluation.gate" in sys.orig_argv else WRONG_USE
    if status := run("evaluation", _check_extra, error_status):
        sys.exit(status)
