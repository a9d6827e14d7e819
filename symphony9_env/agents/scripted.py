"""The scripted agents: `random`, `greedy`, `investor`, `planner`."""

from __future__ import annotations

import numpy as np

from symphony9_env.agents.base import Agent, Positions, Rows
from symphony9_env.agents.strategies import STRATEGIES, scripted_rows
from symphony9_env.rules.state import new_states


class ScriptedAgent(Agent):
    """Plays one of the compiled strategies."""

    def __init__(self, name: str, seed: int) -> None:
        self.name = name
        self.seed = seed
        self.strategy = STRATEGIES.index(name)
        self._scratch = new_states(1)

    def decide(self, positions: Positions, rows: Rows) -> Rows:
        actions = np.empty(len(rows), np.int64)
        scripted_rows(self.strategy, positions.states, rows, np.uint64(self.seed), self._scratch, actions)
        return actions
