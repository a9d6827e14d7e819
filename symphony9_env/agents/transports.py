"""Ways to ask code outside this package for an action: a Python function, a process, a web address.

A transport gives its agent a message and returns the answer as text. It starts nothing before the first question, and
after `close` the next question starts it again.
"""

from __future__ import annotations

import http.client
import json
import os
import queue
import shlex
import shutil
import signal
import subprocess
import sys
import threading
import time
import traceback
import urllib.error
import urllib.parse
import urllib.request
import weakref
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, Final, Protocol

from symphony9_env.agents.base import Agent, hash_source
from symphony9_env.agents.message import AgentMessage

MAX_ANSWER_BYTES: Final = 1 << 20
MAX_UNREAD_ANSWERS: Final = 16  # a process that writes more lines than that has to wait
MAX_ERROR_BYTES: Final = 200  # of the body of an error that a web address answers with
END_SECONDS: Final = 1.0  # how long to wait for the end of a process and its pipes
_END: Final = b""  # the end of a conversation with a process


class NoAnswer(Exception):  # noqa: N818
    """The agent gave no answer: it died, timed out, can't be reached, or raised an exception."""


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
            raise NoAnswer(f"raised {type(error).__name__}: {error}{_locate(error)}") from error
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


class HttpTransport:
    """Sends the message by POST to a web address; the answer is the body of the response."""

    def __init__(self, address: str, timeout: float) -> None:
        try:
            host = urllib.parse.urlsplit(address).hostname
        except ValueError:
            host = None
        if not host:
            raise ValueError(f"agent {address!r}: has no host; needed: an address such as http://localhost:8000/decide")
        self._address = address
        self._timeout = timeout

    def ask(self, message: AgentMessage) -> str:
        body, headers = json.dumps(message).encode(), {"Content-Type": "application/json"}
        request = urllib.request.Request(self._address, body, headers, method="POST")
        try:
            with urllib.request.urlopen(request, timeout=self._timeout) as response:
                return str(response.read(MAX_ANSWER_BYTES).decode(errors="replace"))
        except TimeoutError:
            raise NoAnswer(f"gave no answer within {self._timeout:g} seconds") from None
        except urllib.error.HTTPError as error:
            raise NoAnswer(f"answered with status {error.code}{_read_start(error)}") from None
        except (OSError, ValueError, http.client.HTTPException) as error:  # a URLError is an OSError
            raise NoAnswer(f"can't be reached ({error})") from None

    def fingerprint(self) -> str:
        return ""

    def close(self) -> None:
        """Do nothing: every question is a connection of its own."""


def _read_start(response: urllib.error.HTTPError) -> str:
    """Return the start of the body of a response on one line, after a colon; nothing if there is none."""
    body = b""
    with suppress(OSError, http.client.HTTPException), response:
        body = response.read(MAX_ERROR_BYTES)
    text = " ".join(body.decode(errors="replace").split())
    return f": {text}" if text else ""


class ProcessTransport:
    """Writes the message as a line of JSON to a process's standard input; the answer is a line of its output.

    Its standard error goes to the file `log`, or to this program's standard error.
    """

    def __init__(self, command: str, timeout: float, log: Path | None = None) -> None:
        self._command = split_command(command)
        self._timeout = timeout
        self._log = log
        self._conversation: _Conversation | None = None

    def ask(self, message: AgentMessage) -> str:
        conversation = self._conversation or self._start()
        conversation.drop_answers()  # lines that nobody asked for
        conversation.messages.put(json.dumps(message).encode() + b"\n")
        try:
            answer = conversation.answers.get(timeout=self._timeout)
        except queue.Empty:
            raise NoAnswer(f"gave no answer within {self._timeout:g} seconds") from None
        if answer == _END:
            raise NoAnswer(conversation.explain_end())
        return answer.decode(errors="replace")

    def _start(self) -> _Conversation:
        try:
            self._conversation = _Conversation(self._command, self._log)
        except OSError as error:
            raise NoAnswer(f"can't be started ({error})") from None
        # Ends the process when nobody uses this transport any more, or when the program ends.
        self._end = weakref.finalize(self, self._conversation.end)
        return self._conversation

    def fingerprint(self) -> str:
        return ""

    def close(self) -> None:
        if self._conversation is not None:
            self._conversation = None
            self._end()


def split_command(command: str) -> list[str] | str:
    """Return a command as `subprocess.Popen` takes it; raise a ValueError if there is no such program.

    Windows programs split their command lines themselves, and `shlex` would damage quoted paths there.
    """
    is_windows = sys.platform == "win32"
    try:
        words = shlex.split(command, posix=not is_windows)
    except ValueError as error:
        raise ValueError(f"agent 'stdio:{command}': {error}") from None
    if not words:
        raise ValueError(f"agent 'stdio:{command}': no command; needed: one such as stdio:python my_agent.py")
    program = words[0].strip('"') if is_windows else words[0]
    if shutil.which(program) is None:
        raise ValueError(f"agent 'stdio:{command}': no such program as {program}")
    return command if is_windows else words


class _Conversation:
    """A running process with a thread that writes to it and one that reads from it.

    Threads are needed because the process may stop reading or writing at any time.
    """

    def __init__(self, command: list[str] | str, log: Path | None) -> None:
        self.process = _start_process(command, log)
        self.messages: queue.Queue[bytes] = queue.Queue()
        self.answers: queue.Queue[bytes] = queue.Queue(MAX_UNREAD_ANSWERS)
        self._threads = [threading.Thread(target=part, daemon=True) for part in (self._write, self._read)]
        for thread in self._threads:
            thread.start()

    def _write(self) -> None:
        assert self.process.stdin is not None
        with suppress(OSError), self.process.stdin as pipe:
            while (message := self.messages.get()) != _END:
                pipe.write(message)
                pipe.flush()

    def _read(self) -> None:
        assert self.process.stdout is not None
        with self.process.stdout as pipe:
            while line := pipe.readline(MAX_ANSWER_BYTES):
                self.answers.put(line)
        self.answers.put(_END)

    def drop_answers(self) -> None:
        """Drop the answers that were not read yet."""
        for _ in range(self.answers.qsize()):
            if (answer := self.answers.get()) == _END:
                self.answers.put(answer)
                return

    def explain_end(self) -> str:
        """Return why there are no more answers."""
        try:
            return f"died (exit status {self.process.wait(END_SECONDS)})"
        except subprocess.TimeoutExpired:
            return "closed its standard output"

    def end(self) -> None:
        """Kill the process and wait until it and both threads have ended.

        A program that the process started in a group of its own may hold the pipes open for longer. The threads are
        then left to end with it or with this program.
        """
        _kill(self.process)
        self.process.wait()
        self.messages.put(_END)
        deadline = time.monotonic() + END_SECONDS
        while any(thread.is_alive() for thread in self._threads) and time.monotonic() < deadline:
            with suppress(queue.Empty):
                self.answers.get(timeout=0.05)


def _start_process(command: list[str] | str, log: Path | None) -> subprocess.Popen[bytes]:
    """Start a process in a group of its own: Ctrl-C reaches only this program, which then ends the process."""
    group: dict[str, Any] = {}
    if sys.platform == "win32":
        group["creationflags"] = subprocess.CREATE_NEW_PROCESS_GROUP
    else:
        group["start_new_session"] = True
    pipe = subprocess.PIPE
    if log is None:
        return subprocess.Popen(command, stdin=pipe, stdout=pipe, **group)
    with log.open("ab") as file:
        return subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=file, **group)


def _kill(process: subprocess.Popen[bytes]) -> None:
    if sys.platform == "win32":
        process.kill()
    else:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)  # its children end with it
