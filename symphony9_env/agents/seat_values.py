# kernel: compiled by Numba; a change here changes the key of the compile cache
# mypy: disable-error-code="no-any-return"
"""The value of positions for every seat, by a compiled network."""

from __future__ import annotations

from typing import Any

from symphony9_env.agents.inference import compute_value, observe_game
from symphony9_env.compilation import entry


@entry
def value_seats(network: Any, workspace: Any, states: Any, values: Any) -> None:
    """Write the expected return of each seat of each game to `values` (games, seats), as the seat observes the game."""
    for row in range(len(states)):
        game = states[row]
        for seat in range(game.num_players):
            observe_game(network, workspace, game, seat)
            values[row, seat] = compute_value(network, workspace)
