"""The scripted players: `random`, `greedy`, `investor`, `planner`."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from symphony9_env.agents.base import Agent, Rows
from symphony9_env.agents.greedy import greedy_move
from symphony9_env.agents.investor import investor_move
from symphony9_env.agents.planner import planner_move
from symphony9_env.agents.random_moves import random_move
from symphony9_env.compilation import entry, rule
from symphony9_env.rules.chance import mix
from symphony9_env.rules.state import Game, Games, new_games
from symphony9_env.views.knowledge import hide_secrets, open_digest

STRATEGIES: Final = ("random", "greedy", "investor", "planner")
RANDOM, GREEDY, INVESTOR, PLANNER = range(len(STRATEGIES))


@rule
def scripted_move(strategy: int, game: Game, stream: Any) -> int:
    """What a strategy does for the seat to decide, in a record without that seat's unknowns."""
    if strategy == RANDOM:
        return random_move(game, stream)
    if strategy == GREEDY:
        return greedy_move(game)
    if strategy == INVESTOR:
        return investor_move(game)
    return planner_move(game)


@entry
def scripted_rows(strategy: int, games: Any, rows: Any, seed: Any, scratch: Any, actions: Any) -> None:
    """An action for each of these rows; strategies see (and scribble on) a copy without secrets."""
    for place in range(len(rows)):
        scratch[0] = games[rows[place]]
        game = scratch[0]
        hide_secrets(game, int(game.player))
        actions[place] = scripted_move(strategy, game, mix(seed ^ open_digest(game)))


class ScriptedAgent(Agent):
    def __init__(self, name: str, seed: int) -> None:
        self.name = name
        self.seed = seed
        self._strategy = STRATEGIES.index(name)
        self._scratch = new_games(1)

    def decide(self, games: Games, rows: Rows) -> Rows:
        actions = np.empty(len(rows), np.int64)
        scripted_rows(self._strategy, games, rows, np.uint64(self.seed), self._scratch, actions)
        return actions
