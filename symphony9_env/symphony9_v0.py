"""The PettingZoo environments, version 0: `env` and `raw_env` (AEC API) and `parallel_env` (parallel API).

`env` treats illegal moves as PettingZoo's stock wrappers do; `raw_env` raises a ValueError and changes nothing.
`help(symphony9_v0.env)` shows the options with their types and defaults.

>>> from symphony9_env import symphony9_v0
>>> env = symphony9_v0.env(num_players=3, reward="margin")
>>> env.reset(seed=7)
>>> env.agent_selection, env.decision
('player_2', 'take')
"""

from __future__ import annotations

from symphony9_env.envs.aec import RawEnv as raw_env
from symphony9_env.envs.checked import CheckedEnv as env
from symphony9_env.envs.parallel import ParallelEnv as parallel_env

__all__ = ["env", "parallel_env", "raw_env"]
