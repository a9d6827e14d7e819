"""Ways to ask code outside this package for an action; here a Python function, called in this process.

A transport gives its agent a message and returns the answer as text. It starts nothing before the first question, and
after `close` the next question starts it again. `process_transport.py` asks a process, `http_transport.py` a web
address. Each of their answers has one deadline by the clock, whatever the other side does.
"""

from __future__ import annotations

import json
import os
import traceback
from collections.abc import Callable
from typing import Any, Final, Protocol

from symphony9_env.agents.base import Agent, hash_source
from symphony9_env.agents.message import AgentMessage

MAX_ANSWER_BYTES: Final = 1 << 20
MAX_REASON_LENGTH: Final = 200  # characters of foreign text in the reason of a failure


class NoAnswer(Exception):  # noqa: N818
    """The agent gave no answer: it died, timed out, can't be reached, or raised an exception."""


class NotStarted(NoAnswer):
    """The agent's program can't be started, so it will never answer."""


class Transport(Protocol):
    """A connection to an agent outside this package."""

    def ask(self, message: AgentMessage) -> str:
        """Return the agent's answer; raise `NoAnswer` if there is none."""

    def fingerprint(self) -> str:
        """Return what identifies the code behind the connection, as far as it can be read; else an empty string."""

    def close(self) -> None:
        """Release all resources; the next question starts the agent again."""


class FunctionTransport:
    """Calls a Python function with the message; it returns an action's number or name."""

    def __init__(self, function: Callable[[AgentMessage], Any]) -> None:
        self._function = function

    def ask(self, message: AgentMessage) -> str:
        try:
            answer = self._function(message)
        except Exception as error:
            raise NoAnswer(f"raised {type(error).__name__}: {shorten(str(error))}{_locate(error)}") from error
        if isinstance(answer, Agent):
            raise NoAnswer("returned an Agent; a function that makes agents needs a parameter named seed")
        return answer if isinstance(answer, str) else json.dumps(answer, default=str)

    def fingerprint(self) -> str:
        return hash_source(self._function)

    def close(self) -> None:
        """Do nothing: a function holds no resources."""


def _locate(error: Exception) -> str:
    """Return where in its own folder a function that was called failed, such as " (at agent.py:3)".

    Return an empty string if the call itself failed: then no line of the function was run.
    """
    frames = traceback.extract_tb(error.__traceback__)[1:]  # without the call in this file
    if not frames:
        return ""
    folder = os.path.dirname(frames[0].filename)
    last = [frame for frame in frames if os.path.dirname(frame.filename) == folder][-1]
    return f" (at {os.path.basename(last.filename)}:{last.lineno})"


def shorten(text: str) -> str:
    """Return foreign text on one line without characters that can't be printed, cut off where it gets too long."""
    line = " ".join("".join(char if char.isprintable() else " " for char in text[: 4 * MAX_REASON_LENGTH]).split())
    return line if len(line) <= MAX_REASON_LENGTH else f"{line[: MAX_REASON_LENGTH - 1]}…"
