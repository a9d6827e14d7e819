"""Symphony No. 9 as a reinforcement-learning environment.

>>> from symphony9_env import symphony9_v0
>>> env = symphony9_v0.env(num_players=4)
"""

import gymnasium
from pettingzoo import register
from pettingzoo.env_registry.registration import aec_registry

from symphony9_env.batched import BatchedGames

__version__ = "0.1.0.dev0"
__all__ = ["BatchedGames"]

_ID = "symphony9/symphony9-v0"
if _ID not in aec_registry:
    register("aec", _ID, "symphony9_env.symphony9_v0:env")
    register("parallel", _ID, "symphony9_env.symphony9_v0:parallel_env")
if "Symphony9-v0" not in gymnasium.registry:
    gymnasium.register("Symphony9-v0", "symphony9_env.envs.single:SingleSeatEnv")
