"""Evaluate an agent on a benchmark task; the same as `symphony9 benchmark`."""

from __future__ import annotations

import sys

from symphony9_env.arena.benchmark import main
from symphony9_env.arguments import run

if __name__ == "__main__":
    sys.exit(run("benchmark", main))
