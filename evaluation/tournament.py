"""Play agents against each other on duplicate deals; the same as `symphony9 tournament`."""

from __future__ import annotations

import sys

from symphony9_env.arena.tournament import main
from symphony9_env.arguments import run

if __name__ == "__main__":
    sys.exit(run("tournament", main))
