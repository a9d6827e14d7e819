"""Test whether one agent is better than another; the same as `symphony9 gate`."""

from __future__ import annotations

import sys

from symphony9_env.arena.gate import main
from symphony9_env.arguments import GATE_FAILED, run

if __name__ == "__main__":
    sys.exit(run("gate", main, GATE_FAILED))
