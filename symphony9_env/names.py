"""The agent names of seats.

>>> agent_name(2), seat_number("player_2")
('player_2', 2)
"""

from __future__ import annotations

from typing import Any, Final

BOT_NAME: Final = "bot"
_PREFIX: Final = "player_"


def agent_name(seat: Any) -> str:
    """Return the name of the agent on a seat; the number may be one of NumPy's, or a text."""
    return f"{_PREFIX}{seat}"


def seat_number(name: str) -> int:
    """Return the seat of an agent."""
    return int(name.removeprefix(_PREFIX))
