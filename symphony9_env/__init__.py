"""Symphony No. 9 as a reinforcement-learning environment for two to four players.

The public API is what this package exports:

    symphony9_v0         the PettingZoo environments: `env`, `raw_env` and `parallel_env`
    Symphony9VectorEnv   a Gymnasium vector environment: one learner against agents in many games
    TextEnv, TextGame    the game as text, for language models: one seat against agents, or all seats
    BatchedGames         many games in one call, for training and search
    Variant, EnvOptions  which game is played, and how it is presented to a learner
    actions              the action numbers and their names
    observation_fields   the names and positions of the observation's parts
    seat_view, SeatView  what one seat may know, as Python data
    describe             a seat's view as text
    render               a seat's view as an image: SVG, HTML, PNG or an array
    events               the effects of a move, with who may see them
    agents               scripted agents, search, saved policies and agents of your own
    records              save, load and replay games
    schemas              JSON Schemas of the formats that the package reads and writes

`gymnasium.make("symphony9_env:Symphony9-v0")` makes the environment for one learner. Everything else in the package is
internal and may change without notice, except what `docs/` names.

>>> from symphony9_env import agents, symphony9_v0
>>> env = symphony9_v0.env(num_players=4)
>>> env.reset(seed=7)
>>> planner = agents.make("planner", seed=1)
>>> for agent in env.agent_iter():
...     observation, reward, terminated, truncated, info = env.last()
...     env.step(None if terminated else planner.choose(env))
"""

__version__ = "0.1.0.dev0"  # first: modules that are imported below may read it

import contextlib

import gymnasium

from symphony9_env import actions, agents, events, records, render, schemas, symphony9_v0
from symphony9_env.batched import BatchedGames
from symphony9_env.engine import MAX_DECISIONS
from symphony9_env.envs.text import TextEnv, TextGame
from symphony9_env.envs.vector import Symphony9VectorEnv
from symphony9_env.options import EnvOptions, Variant
from symphony9_env.views import SeatView, describe, observation_fields, seat_view

__all__ = [
    "BatchedGames",
    "EnvOptions",
    "SeatView",
    "Symphony9VectorEnv",
    "TextEnv",
    "TextGame",
    "Variant",
    "__version__",
    "actions",
    "agents",
    "describe",
    "events",
    "observation_fields",
    "records",
    "render",
    "schemas",
    "seat_view",
    "symphony9_v0",
]

with contextlib.suppress(ImportError):  # PettingZoo has a registry from 1.27 on
    import pettingzoo.env_registry.registration as _registration

    if (_id := "symphony9/symphony9-v0") not in _registration.aec_registry:
        _registration.register("aec", _id, "symphony9_env.symphony9_v0:env")
        _registration.register("parallel", _id, "symphony9_env.symphony9_v0:parallel_env")
if "Symphony9-v0" not in gymnasium.registry:
    gymnasium.register(
        "Symphony9-v0",
        "symphony9_env.envs.single:SingleSeatEnv",
        vector_entry_point="symphony9_env.envs.vector:Symphony9VectorEnv",
        max_episode_steps=MAX_DECISIONS,  # no game is longer, so nothing is truncated; some wrappers need a limit
    )
