"""Agents: scripted strategies, search, policies, thinking policies, and your own. All have one interface, `Agent`.

>>> from symphony9_env import agents, symphony9_v0
>>> env = symphony9_v0.env(num_players=4)
>>> env.reset(seed=7)
>>> agents.make("planner", seed=1).choose(env)
5

An agent of your own is a function of a message, and plays wherever an agent is named:

>>> agents.register("first", lambda message: min(message["legal"], key=int))
>>> agents.make("first").choose(env)
0
"""

from __future__ import annotations

from symphony9_env.agents.base import Agent
from symphony9_env.agents.external import AgentFailed, ExternalAgent
from symphony9_env.agents.message import AgentMessage
from symphony9_env.agents.policy import Card, load_policy, save_policy
from symphony9_env.agents.registry import SHIPPED, find_policy_files, is_external, list_allowed, make, names, register

__all__ = [
    "SHIPPED",
    "Agent",
    "AgentFailed",
    "AgentMessage",
    "Card",
    "ExternalAgent",
    "find_policy_files",
    "is_external",
    "list_allowed",
    "load_policy",
    "make",
    "names",
    "register",
    "save_policy",
]
