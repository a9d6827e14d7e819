"""Symphony No. 9 as PettingZoo environments, version 0: `env()`, `raw_env()`, `parallel_env()`."""

from __future__ import annotations

from symphony9_env.envs.aec import RawEnv as raw_env
from symphony9_env.envs.checked import CheckedEnv as env
from symphony9_env.envs.parallel import ParallelEnv as parallel_env

__all__ = ["env", "parallel_env", "raw_env"]
