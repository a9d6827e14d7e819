"""Agents outside this package: a Python function, a process or a web address as an `Agent`.

Whenever its seat is to decide, the agent receives a message (`message.py`) with all that this seat may know. The
message is complete in itself, so an agent needs no memory. The answer is an action's number or name: JSON
(`{"action": 3}`, `3`, `"take mozart"`) or text with the action in square brackets (`I need him. [take mozart]`).

>>> from symphony9_env import symphony9_v0
>>> from symphony9_env.agents.transports import FunctionTransport
>>> env = symphony9_v0.env(num_players=4)
>>> env.reset(seed=7)
>>> make_message(env, 0)["legal"]["3"]
'take mozart'
>>> ExternalAgent(FunctionTransport(lambda message: "take mozart"), "mozart fan").choose(env)
3
"""

from __future__ import annotations

import json
from collections.abc import Collection
from typing import Final

import numpy as np

from symphony9_env.action_parser import parse_action
from symphony9_env.actions import NAMES
from symphony9_env.agents.base import Agent, Positions, Rows, has_ledger
from symphony9_env.agents.message import FORMAT, AgentMessage
from symphony9_env.agents.transports import NoAnswer, NotStarted, Transport
from symphony9_env.events import SeenEvent, opening_events, see
from symphony9_env.game_replay import deal_again, replay_moves
from symphony9_env.views import observation_size, seat_view
from symphony9_env.views.questions import describe_question, format_news
from symphony9_env.views.rules_summary import summarize_rules
from symphony9_env.views.seat_json import seat_json
from symphony9_env.views.vector import observe

MAX_ANSWERS: Final = 3  # answers that an agent may give to one question until one is legal
TIMEOUT: Final = 60.0
TIMEOUT_HELP: Final = f"seconds that a process or a web address has for one answer (default: {TIMEOUT:g})"
MAX_TIMEOUT: Final = 86_400.0


class AgentFailed(ValueError):  # noqa: N818
    """An agent gave no legal action. The error names the agent and the reason.

    It is a ValueError, as an illegal action is, so that every command reports it in one line.
    """

    def __init__(self, agent: str, reason: str, row: int, *, is_unanswered: bool = False) -> None:
        super().__init__(f"agent {agent!r} {reason}")
        self.agent = agent
        self.reason = reason
        self.row = row  # of the game in which it failed
        self.is_unanswered = is_unanswered  # it gave no answer: it died, timed out, can't be reached, or raised


class AgentNotStarted(AgentFailed):
    """The program of an agent can't be started. That says nothing about how it plays."""


class ExternalAgent(Agent):
    """Asks a function, process or web address for each decision; raises `AgentFailed` if it gets no legal action."""

    def __init__(self, transport: Transport, name: str, seed: int = 0) -> None:
        self.name = name
        self.seed = seed
        self.transport = transport

    def decide(self, positions: Positions, rows: Rows) -> Rows:
        return np.array([self._decide_row(positions, row) for row in rows.tolist()], np.int64)

    def _decide_row(self, positions: Positions, row: int) -> int:
        message = make_message(positions, row)
        try:
            action = self._ask(message)
        except NoAnswer as error:
            kind = AgentNotStarted if isinstance(error, NotStarted) else AgentFailed
            failure = kind(self.name, str(error), row, is_unanswered=True)
        else:
            if action is not None:
                return action
            reason = f"gave no legal action in {MAX_ANSWERS} answers; the last: {message['error']}"
            failure = AgentFailed(self.name, reason, row)
        self.close()  # a process is started again for the next game
        raise failure

    def _ask(self, message: AgentMessage) -> int | None:
        """Return the first legal action among the answers; None, with the last `error` in the message, if none is."""
        legal = [int(action) for action in message["legal"]]
        for _ in range(MAX_ANSWERS):
            answer = self.transport.ask(message)
            try:
                return read_answer(answer, legal)
            except ValueError as error:
                message["error"] = str(error)
        return None

    def fingerprint(self, num_players: int) -> str:
        return " ".join(filter(None, (super().fingerprint(num_players), self.transport.fingerprint())))

    def close(self) -> None:
        self.transport.close()


def make_message(positions: Positions, row: int) -> AgentMessage:
    """Return the message for the seat to decide in the game on a row."""
    states = positions.states
    seat = int(states["player"][row])
    ledger = has_ledger(positions)
    view = seat_view(states, row, seat, ledger)
    observation = np.zeros(observation_size(ledger), np.float32)
    observe(states, row, seat, observation)
    events, news = _replay_events(positions, row, seat)
    return {
        "format": FORMAT,
        "seat": seat,
        "num_players": view.num_players,
        "decision": view.decision,
        "rules": summarize_rules(view.num_players, bool(states["discussion"][row])),
        "text": describe_question(view, news),
        "view": seat_json(view),
        "events": [event.as_json() for event in events],
        "observation": observation.tolist(),
        "legal": {str(action): NAMES[action] for action in view.legal},
    }


def _replay_events(positions: Positions, row: int, seat: int) -> tuple[list[SeenEvent], list[str]]:
    """Return the events of a game that a seat may see, and those since its last decision as lines of text."""
    game = deal_again(positions.states, row)
    events = see(opening_events(game), seat)
    num_players = int(positions.states["num_players"][row])
    news = format_news(events, num_players)
    for player, _, more in replay_moves(game, positions.moves(row)):
        seen = see(more, seat)
        events += seen
        news = format_news(seen, num_players) if player == seat else [*news, *format_news(seen, num_players)]
    return events, news


def read_answer(answer: str, legal: Collection[int]) -> int:
    """Return the legal action that an answer means; raise a ValueError if it means none."""
    try:
        parsed = json.loads(answer)
    except (ValueError, RecursionError):
        parsed = answer
    if isinstance(parsed, dict):
        parsed = parsed.get("action")
    return parse_action(str(parsed) if type(parsed) in (int, str) else answer, legal)
