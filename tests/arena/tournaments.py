"""Small tournaments, for their tests."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from symphony9_env.arena import tournament

SMALL = ["--agents", "random,greedy", "--num-players", "2", "--games", "12", "--workers", "1"]


def play(out: Path, *more: str) -> dict[str, Any]:
    tournament.main([*SMALL, "--out", str(out), *more])
    return dict(json.loads((out / "results.json").read_text()))
