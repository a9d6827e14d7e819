# kernel: compiled by Numba; a change here changes the key of the compile cache
# mypy: disable-error-code="no-any-return"
"""The scripted strategies, called through one compiled entry point."""

from __future__ import annotations

from typing import Any, Final

from symphony9_env.agents.eccentric import eccentric_move
from symphony9_env.agents.greedy import greedy_move
from symphony9_env.agents.investor import investor_move
from symphony9_env.agents.planner import planner_move
from symphony9_env.compilation import entry, rule
from symphony9_env.rules.chance import draw_member, mix
from symphony9_env.rules.game import legal_set
from symphony9_env.rules.state import NONE, Game
from symphony9_env.views.visible import hide_unknown, public_digest

STRATEGIES: Final = ("random", "greedy", "investor", "planner", "eccentric")
RANDOM, GREEDY, INVESTOR, PLANNER, ECCENTRIC = range(len(STRATEGIES))

# How simulated rivals are known to play. Other numbers are those of STRATEGIES.
UNKNOWN: Final = -1
POLICY: Final = -2  # as a saved policy
ASKED: Final = -3  # as an agent that Python asks


@rule
def scripted_move(strategy: int, game: Game, stream: Any) -> int:
    """Return a strategy's action for the deciding seat, in a state without the information hidden from that seat.

    The random strategy plays a uniformly random legal action. Return NONE if there is no strategy with this number.
    """
    if strategy == RANDOM:
        return draw_member(stream, 0, legal_set(game))
    if strategy == GREEDY:
        return greedy_move(game)
    if strategy == INVESTOR:
        return investor_move(game)
    if strategy == PLANNER:
        return planner_move(game)
    if strategy == ECCENTRIC:
        return eccentric_move(game)
    return NONE


@entry
def scripted_rows(strategy: int, states: Any, rows: Any, seed: Any, scratch: Any, actions: Any) -> None:
    """Write an action for each of these rows to `actions`.

    A strategy gets (and may change) a copy of the state from which hidden information is removed.
    """
    for index in range(len(rows)):
        scratch[0] = states[rows[index]]
        game = scratch[0]
        hide_unknown(game, int(game.player))
        actions[index] = scripted_move(strategy, game, mix(seed ^ public_digest(game)))
