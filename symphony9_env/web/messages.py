"""The JSON messages of the web server: requests and answers, as types."""

from __future__ import annotations

from dataclasses import Field
from typing import Any, Final, Literal, NotRequired, TypedDict

from symphony9_env import agents
from symphony9_env.options import VARIANT_FIELDS
from symphony9_env.replay.replay_data import NameJson
from symphony9_env.replay.theme_json import ThemeJson
from symphony9_env.views.game_log import LogLine
from symphony9_env.views.seat_json import ViewJson

TABLE_FORMAT: Final = "symphony9-table/1"


class SeatRequest(TypedDict, total=False):
    """Who takes a seat: an agent as `agents.make` takes it, or a person if there is none."""

    name: str
    agent: str | None


class CreateTableRequest(TypedDict):
    """`POST /api/tables`: who sits where, the seed of the deal, and the options of the variant."""

    seats: list[SeatRequest]
    seed: NotRequired[int | None]
    options: NotRequired[dict[str, Any]]


class MoveRequest(TypedDict):
    """`POST /api/seat/move`: the turn that is answered and the number of an action."""

    turn: int
    action: int


class RenameRequest(TypedDict):
    """`POST /api/seat/name`: a new name for the person at this seat."""

    name: str


class OptionJson(TypedDict):
    """An option of the variant, for a form: its name, help, kind of input, allowed values and default."""

    name: str
    help: str
    kind: Literal["choice", "flag", "text"]
    choices: list[Any] | None
    default: Any


class AgentsMessage(TypedDict):
    """`GET /api/agents`: what the host can choose from."""

    agents: list[str]
    allows_external_agents: bool
    options: list[OptionJson]


class StatusMessage(TypedDict):
    """`GET /api/status`: why an answer may take long."""

    is_compiling: bool


class SeatSummary(TypedDict):
    """A seat as the host sees it; `link` is None for an agent."""

    name: str
    agent: str | None
    link: str | None


class TableSummary(TypedDict):
    """A game as the host sees it: how far it is, who plays, and the links to hand out."""

    id: str
    file: str
    round: int
    is_over: bool
    seats: list[SeatSummary]


class TablesMessage(TypedDict):
    """`GET /api/tables`: all games, the newest first."""

    tables: list[TableSummary]


class TableMessage(TypedDict):
    """A game as one seat sees it: the answer to its moves, and sent after every change."""

    format: str
    table: str
    turn: int  # the number of moves made so far
    problem: str | None  # to be shown to the people at the table
    players: list[NameJson]
    theme: ThemeJson
    view: ViewJson
    log: list[LogLine]


class SeatMessage(TableMessage):
    """`GET /api/seat`: the game as the seat sees it, and a summary of the rules."""

    rules: str


class ErrorMessage(TypedDict):
    """The answer to a request that was refused or failed."""

    error: str


def agents_message(allows_external_agents: bool) -> AgentsMessage:
    """Return the agents and options that the host can choose from."""
    return {
        "agents": agents.names(),
        "allows_external_agents": allows_external_agents,
        "options": [_option_json(option) for option in VARIANT_FIELDS],
    }


def _option_json(option: Field[Any]) -> OptionJson:
    choices = option.metadata["choices"]
    return {
        "name": option.name,
        "help": option.metadata["help"],
        "kind": "choice" if choices else "flag" if isinstance(option.default, bool) else "text",
        "choices": list(choices) if choices else None,
        "default": option.default,
    }
