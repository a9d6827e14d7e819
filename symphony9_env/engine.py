"""The rules and the views in one call, for the faces."""

from __future__ import annotations

from typing import Any, Final

from symphony9_env.compilation import entry
from symphony9_env.rules.game import apply, mark_legal
from symphony9_env.rules.state import NONE, NUM_BOARDS
from symphony9_env.views.vector import encode

SEATS: Final = NUM_BOARDS


@entry
def advance(games: Any, index: int, action: int, observation: Any, mask: Any) -> int:
    """Play a legal action in game `index` (NONE: just look), then write what the deciding seat sees and may do.

    Returns step * SEATS + the seat to decide.
    """
    game = games[index]
    if action != NONE:
        apply(game, action)
    encode(game, int(game.player), observation)
    mark_legal(game, mask)
    return int(game.step) * SEATS + int(game.player)
