"""The message that an agent of your own receives, `symphony9-agent/1`: all that its seat may know."""

from __future__ import annotations

from typing import Annotated, Final, NotRequired, TypedDict

from symphony9_env.components import PLAYER_COUNTS
from symphony9_env.events import EventJson
from symphony9_env.rules.state import DECISIONS
from symphony9_env.views.seat_json import ViewJson

FORMAT: Final = "symphony9-agent/1"


class AgentMessage(TypedDict):
    """A question to an agent. It is complete in itself, so an agent needs no memory."""

    format: str
    seat: int
    num_players: Annotated[int, PLAYER_COUNTS]
    decision: Annotated[str, DECISIONS]
    rules: str  # the rules in brief
    text: str  # what has happened since the seat's last decision, and the view, in words
    view: ViewJson
    events: list[EventJson]  # of the whole game so far, as this seat may see them
    observation: list[float]
    legal: dict[str, str]  # the legal actions: their names by number
    error: NotRequired[str]  # why the last answer was refused, when the question is asked again
