"""Measure how long the import and the first game take: after a fresh install, which compiles the rules, and later.

python -m speed.start
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile

from symphony9_env.arguments import Parser

GAME = """
import time
start = time.perf_counter()
from symphony9_env import symphony9_v0
imported = time.perf_counter()
env = symphony9_v0.env(num_players=4)
env.reset(seed=7)
for agent in env.agent_iter():
    observation, reward, terminated, truncated, info = env.last()
    env.step(None if terminated else env.action_space(agent).sample(observation["action_mask"]))
print(f"import {imported - start:5.2f} s, first game {time.perf_counter() - imported:5.2f} s")
"""


def main() -> None:
    """Run the command."""
    Parser("python -m speed.start", __doc__).parse_args()
    with tempfile.TemporaryDirectory() as cache:
        for name in ("fresh install", "later start"):
            done = subprocess.run(
                [sys.executable, "-c", GAME],
                env={**os.environ, "SYMPHONY9_CACHE_DIR": cache},
                capture_output=True,
                text=True,
                check=True,
            )
            print(f"{name:14} {done.stdout.strip()}")


if __name__ == "__main__":
    main()
