# kernel: compiled by Numba; a change here changes the key of the compile cache
# mypy: disable-error-code="no-any-return"
"""`random`: plays a uniformly random legal action."""

from __future__ import annotations

from typing import Any

from symphony9_env.compilation import rule
from symphony9_env.rules.chance import draw_member
from symphony9_env.rules.game import legal_set
from symphony9_env.rules.state import Game


@rule
def random_move(game: Game, stream: Any) -> int:
    """Return a legal action drawn uniformly from a stream of random numbers."""
    return draw_member(stream, 0, legal_set(game))
