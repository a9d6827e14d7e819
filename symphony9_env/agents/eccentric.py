# kernel: compiled by Numba; a change here changes the key of the compile cache
# mypy: disable-error-code="no-any-return"
"""`eccentric`: the planner with preferences of its own in every game, as an opponent that can't be learned by heart.

It weighs each musician's cubes, and money, by random factors, which depend on the deal and on its seat.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from symphony9_env.agents.choices import choose_move
from symphony9_env.agents.planner import estimate_composition_values, weigh_cubes
from symphony9_env.compilation import rule
from symphony9_env.rules.chance import draw_below, mix
from symphony9_env.rules.state import BUY_8, MAX_STARTING_CUBES, NUM_BOARDS, NUM_MUSICIANS, Game

LARGEST_FACTOR: Final = 3.0  # factors are between this and its reciprocal
_FINE: Final = 1 << 16


@rule
def eccentric_move(game: Game) -> int:
    """Return the action of the eccentric strategy."""
    composition_values, cube_values = np.zeros((NUM_BOARDS, NUM_MUSICIANS)), np.zeros(NUM_MUSICIANS)
    if game.phase <= BUY_8:
        estimate_composition_values(game, composition_values)
    stream = _deal_stream(game)
    coin_value = weigh_cubes(game, composition_values, cube_values) * _draw_factor(stream, NUM_MUSICIANS)
    for musician in range(game.num_musicians):
        cube_values[musician] *= _draw_factor(stream, musician)
    return choose_move(game, cube_values, coin_value)


@rule
def _deal_stream(game: Game) -> Any:
    """Return a random stream of the deciding seat, from the open part of the deal: the same in the whole game."""
    stream = mix(np.uint64(game.player))
    for musician in range(NUM_MUSICIANS):
        stream = mix(stream ^ np.uint64(int(game.scoring_tile[musician]) + 1))
    for board in range(NUM_BOARDS):
        for number in range(MAX_STARTING_CUBES):
            stream = mix(stream ^ np.uint64(int(game.dealt_cubes[board, number]) + 1))
    return stream


@rule
def _draw_factor(stream: Any, number: int) -> float:
    """Return a factor whose logarithm is uniformly distributed."""
    return LARGEST_FACTOR ** (2.0 * draw_below(stream, number, _FINE) / _FINE - 1.0)
