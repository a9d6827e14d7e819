"""Somebody's own agent: a Python function, a process that talks over its standard input and output, or a web address.

    mypackage.mymodule:function     called with a message, returns the action
    stdio:python my_agent.py        gets each message as a line of JSON, answers with a line
    http://localhost:8000/decide    gets each message by POST, answers in the body

A message is all that the seat may know (`message_for`); it is complete in itself, so an agent needs no memory. The
answer is an action's number or name: JSON (`{"action": 3}`, `3`, `"take mozart"`) or text with it in square brackets.
"""

from __future__ import annotations

import importlib
import json
import os
import queue
import re
import shlex
import shutil
import signal
import subprocess
import threading
import urllib.request
from collections.abc import Callable, Collection
from contextlib import suppress
from pathlib import Path
from typing import Any, Final, Protocol

from symphony9_env.action_parser import parse_action
from symphony9_env.actions import NAMES
from symphony9_env.envs.aec import RawEnv
from symphony9_env.views import describe, seat_view
from symphony9_env.views.moves import moves_seen
from symphony9_env.views.rules_summary import summarize_rules

PROTOCOL: Final = "symphony9-agent/1"
STDIO: Final = "stdio:"
WEB: Final = ("http://", "https://")
_FUNCTION: Final = re.compile(r"[A-Za-z_][\w.]*:[A-Za-z_]\w*")  # search:800 is none
END: Final = b""  # of a conversation
LONGEST_ANSWER: Final = 1 << 20  # bytes

Message = dict[str, Any]


class AgentFailed(Exception):  # noqa: N818
    """It gave no answer at all: it died, hung, or can't be reached."""


class ExternalAgent(Protocol):
    def ask(self, message: Message) -> str:
        """Its answer, in its own words; AgentFailed if there is none."""

    def start_anew(self) -> None:
        """After a failure: be ready for the next game."""

    def close(self) -> None:
        """Let go of everything."""


def is_external(name: str) -> bool:
    return name.startswith((STDIO, *WEB)) or _FUNCTION.fullmatch(name) is not None


def make_external(name: str, timeout: float, log: Path) -> ExternalAgent:
    """`log` takes what a process writes to its standard error."""
    if name.startswith(STDIO):
        return ProcessAgent(shlex.split(name.removeprefix(STDIO)), timeout, log)
    if name.startswith(WEB):
        return WebAgent(name, timeout)
    return FunctionAgent(name)


def message_for(env: RawEnv, task: str, game: int) -> Message:
    """What the seat to decide is told."""
    seat = env.deciding_seat
    view = seat_view(env.states, 0, seat, env.options.ledger)
    moves = moves_seen(env.states, 0, env.history, seat)
    return {
        "protocol": PROTOCOL,
        "task": task,
        "game": game,
        "seat": seat,
        "num_players": view.num_players,
        "decision": view.decision,
        "rules": summarize_rules(view.num_players, env.options.variant.discussion),
        "text": describe(view),
        "moves": [f"player_{who} {'closes a hand' if action is None else NAMES[action]}" for who, action in moves],
        "observation": env.observe(env.agent_selection)["observation"].tolist(),
        "legal": {str(action): NAMES[action] for action in view.legal},
    }


def read_answer(answer: str, legal: Collection[int]) -> int:
    """The action that an answer means; a ValueError if it means none."""
    try:
        said = json.loads(answer)
    except (ValueError, RecursionError):
        said = answer
    if isinstance(said, dict):
        said = said.get("action")
    if isinstance(said, int) and not isinstance(said, bool):
        said = str(said)
    return parse_action(said if isinstance(said, str) else answer, legal)


class FunctionAgent:
    """A function that takes a message and returns the action, as a number or in words."""

    def __init__(self, name: str) -> None:
        module, _, attribute = name.partition(":")
        try:
            self._function: Callable[[Message], Any] = getattr(importlib.import_module(module), attribute)
        except (ImportError, AttributeError) as error:
            raise ValueError(f"--agent {name}: {error}") from None
        if not callable(self._function):
            raise ValueError(f"--agent {name}: is no function")

    def ask(self, message: Message) -> str:
        try:
            return str(self._function(message))
        except Exception as error:
            raise AgentFailed(f"raised {type(error).__name__}: {error}") from error

    def start_anew(self) -> None:
        """Nothing to start."""

    def close(self) -> None:
        """Nothing to close."""


class ProcessAgent:
    """A process that reads a message a line and writes an answer a line. Threads talk to it: it may stop listening."""

    def __init__(self, command: list[str], timeout: float, log: Path) -> None:
        if not command:
            raise ValueError(f"--agent {STDIO}: no command; such as {STDIO}python my_agent.py")
        if shutil.which(command[0]) is None:
            raise ValueError(f"--agent {STDIO}{shlex.join(command)}: no such program as {command[0]}")
        self._command = command
        self._timeout = timeout
        self._log = log
        self._talk: _Talk | None = None

    def ask(self, message: Message) -> str:
        if self._talk is None:
            self._talk = _Talk(self._command, self._log)
        self._talk.forget_answers()  # lines that nobody asked for
        self._talk.messages.put(json.dumps(message).encode() + b"\n")
        try:
            answer = self._talk.answers.get(timeout=self._timeout)
        except queue.Empty:
            raise AgentFailed(f"gave no answer within {self._timeout:g} seconds") from None
        if answer == END:
            raise AgentFailed(f"died (exit status {self._talk.process.wait()})")
        return answer.decode(errors="replace")

    def start_anew(self) -> None:
        self.close()  # the next question starts it

    def close(self) -> None:
        if self._talk is not None:
            self._talk.end()
            self._talk = None


class _Talk:
    """A running process, a thread that writes to it and one that reads from it."""

    def __init__(self, command: list[str], log: Path) -> None:
        with log.open("ab") as file:
            self.process = subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=file,
                start_new_session=True,  # so that its children end with it
            )
        self.messages: queue.Queue[bytes] = queue.Queue()
        self.answers: queue.Queue[bytes] = queue.Queue(maxsize=16)  # who says more than that must wait
        self._threads = [threading.Thread(target=part, daemon=True) for part in (self._write, self._read)]
        for thread in self._threads:
            thread.start()

    def _write(self) -> None:
        assert self.process.stdin is not None
        with suppress(OSError), self.process.stdin as pipe:
            while (message := self.messages.get()) != END:
                pipe.write(message)
                pipe.flush()

    def _read(self) -> None:
        assert self.process.stdout is not None
        with self.process.stdout as pipe:
            while line := pipe.readline(LONGEST_ANSWER):
                self.answers.put(line)
        self.answers.put(END)

    def forget_answers(self) -> None:
        for _ in range(self.answers.qsize()):
            if (answer := self.answers.get()) == END:
                self.answers.put(answer)
                return

    def end(self) -> None:
        with suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
        self.messages.put(END)
        while any(thread.is_alive() for thread in self._threads):
            with suppress(queue.Empty):
                self.answers.get(timeout=0.05)


class WebAgent:
    """A web address that answers a POST."""

    def __init__(self, address: str, timeout: float) -> None:
        self._address = address
        self._timeout = timeout

    def ask(self, message: Message) -> str:
        request = urllib.request.Request(
            self._address, json.dumps(message).encode(), {"Content-Type": "application/json"}, method="POST"
        )
        try:
            with urllib.request.urlopen(request, timeout=self._timeout) as response:
                return str(response.read(LONGEST_ANSWER).decode(errors="replace"))
        except TimeoutError:
            raise AgentFailed(f"gave no answer within {self._timeout:g} seconds") from None
        except (OSError, ValueError) as error:  # URLError and HTTPError are OSErrors
            raise AgentFailed(f"can't be reached ({error})") from None

    def start_anew(self) -> None:
        """Nothing to start."""

    def close(self) -> None:
        """Nothing to close."""
