"""Who plays: scripted players, search, saved policies; one protocol for all.

>>> from symphony9_env import agents, symphony9_v0
>>> env = symphony9_v0.env(num_players=4)
>>> env.reset(seed=7)
>>> agents.make("planner", seed=1).choose(env)
5
"""

from __future__ import annotations

import difflib
import os
import re
from typing import Final

from symphony9_env.agents.base import Agent
from symphony9_env.agents.policy import SUFFIX, Card, PolicyAgent, ShippedPolicy, load_policy, save_policy
from symphony9_env.agents.scripted import ScriptedAgent
from symphony9_env.agents.search import DEFAULT_PLAYOUTS, SearchAgent
from symphony9_env.agents.strategies import STRATEGIES
from symphony9_env.options import check_seed, draw_seed

SEARCH: Final = "search"
SHIPPED: Final = "policy"
MAX_PLAYOUTS: Final = 1_000_000


def names() -> list[str]:
    """The names that `make` knows; `search` also takes a number of playouts, as in `search:100`."""
    return [*STRATEGIES, SEARCH, SHIPPED]


def make(name: str | os.PathLike[str] | Agent, seed: int | None = None, *, num_threads: int = 1) -> Agent:
    """A player by name ("planner", "search:800"; "policy" is the one shipped for the number of players) or by the path
    of a saved policy; an agent is returned as it is.

    The same seed plays the same; without one it is drawn. `num_threads` is for search in many games at once.
    """
    if isinstance(name, Agent):
        return name
    if not isinstance(name, str | os.PathLike):
        raise ValueError(f"agent {name!r}; allowed: {_allowed()}")
    chosen = draw_seed() if seed is None else check_seed(seed)
    text = os.fspath(name)
    if text in STRATEGIES:
        return ScriptedAgent(text, chosen)
    if re.match(rf"{SEARCH}(?![^:@])", text):
        return _make_search(text, chosen, num_threads)
    if text == SHIPPED:
        return ShippedPolicy(chosen)
    if isinstance(name, os.PathLike) or text.endswith(SUFFIX) or os.path.exists(text) or os.sep in text:
        return PolicyAgent.load(text, chosen)
    near = difflib.get_close_matches(text, names(), 1)
    hint = f"did you mean {near[0]!r}? " if near else ""
    raise ValueError(f"unknown agent {text!r}; {hint}allowed: {_allowed()}")


def _make_search(text: str, seed: int, num_threads: int) -> SearchAgent:
    found = re.fullmatch(rf"{SEARCH}(?::(\d+))?(?:@(\w+))?", text)
    playouts = int(found[1] or DEFAULT_PLAYOUTS) if found else 0
    rivals = found[2] if found else None
    if not 1 <= playouts <= MAX_PLAYOUTS or rivals not in (None, *STRATEGIES):
        wanted = (
            f"search:N with 1 to {MAX_PLAYOUTS} playouts a decision, or search:N@ and one of {', '.join(STRATEGIES)}"
        )
        raise ValueError(f"agent {text!r}; allowed: {wanted}")
    return SearchAgent(playouts, seed, rivals=rivals, num_threads=num_threads)


def _allowed() -> str:
    return f"{', '.join(names())}, search:N, or the path of a saved policy"


__all__ = ["Agent", "Card", "load_policy", "make", "names", "save_policy"]
