"""Asks a process for an action: a line of JSON to its standard input, a line of its standard output as the answer.

The process may stop reading or writing at any time, write without end, close its output, die, or leave its pipes to
programs that it started. Three threads write the messages, read the answers, and read standard error. They never wait
for the process without a limit, so that they end with the conversation. (Windows can't wait for a pipe with a limit:
there a thread ends when the last program that holds its pipe does.)
"""

from __future__ import annotations

import hashlib
import json
import os
import queue
import select
import shlex
import shutil
import signal
import subprocess
import sys
import threading
import time
import weakref
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import IO, Any, Final

from symphony9_env.agents.message import AgentMessage
from symphony9_env.agents.transports import MAX_ANSWER_BYTES, MAX_REASON_LENGTH, NoAnswer, NotStarted, shorten
from symphony9_env.files import open_to_append

MAX_LOG_BYTES: Final = 8 << 20  # what a process writes to its standard error beyond that is dropped
MAX_ERROR_LENGTH: Final = 1000  # characters of the reason why a function can't be used
MAX_UNREAD_ANSWERS: Final = 16  # a process that writes more lines than that has to wait
IMPORT_SECONDS: Final = 60.0  # how long the import of a function may take, if the time for an answer is shorter
END_SECONDS: Final = 1.0  # how long to wait for the end of a process, its output and its threads
_SLICE_SECONDS: Final = 0.1  # how often a waiting thread looks whether the conversation or the process has ended
_CHUNK_BYTES: Final = 1 << 16
_LOG_IS_FULL: Final = b"\n[This log has reached its limit; the rest is dropped.]\n"


class ProcessTransport:
    """Writes the message as a line of JSON to a process's standard input; the answer is a line of its output.

    Its standard error goes to the file `log`, or to this program's standard error.
    """

    def __init__(self, command: str | Sequence[str], timeout: float, log: Path | None = None) -> None:
        self._command = split_command(command) if isinstance(command, str) else list(command)
        self._timeout = timeout
        self._log = log
        self._environment: dict[str, str] | None = None  # None for this program's
        self._conversation: _Conversation | None = None

    def ask(self, message: AgentMessage) -> str:
        conversation = self._conversation or self._start()
        conversation.drop_answers()  # lines that nobody asked for
        conversation.messages.put(json.dumps(message).encode() + b"\n")
        return conversation.read_line(self._timeout)

    def _start(self) -> _Conversation:
        try:
            self._conversation = _Conversation(self._command, self._log, self._environment)
        except OSError as error:
            raise NotStarted(f"can't be started ({error})") from None
        # Ends the process when nobody uses this transport any more, or when the program ends.
        self._end = weakref.finalize(self, self._conversation.end)
        return self._conversation

    def fingerprint(self) -> str:
        return hash_named_files(self._command)

    def close(self) -> None:
        if self._conversation is not None:
            self._conversation = None
            self._end()


class FunctionProcess(ProcessTransport):
    """Asks a Python function in an interpreter of its own, in which `function_host.py` imports it by its name."""

    def __init__(self, name: str, timeout: float, log: Path | None = None) -> None:
        super().__init__([sys.executable, "-m", "symphony9_env.agents.function_host", name], timeout, log)
        self._environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}  # it finds the same modules
        self._description: dict[str, str] = {}

    def describe(self) -> dict[str, str]:
        """Return what the name stands for: its `kind`, "function" or "agent", and the function's `fingerprint`.

        Raise a ValueError if it stands for neither.
        """
        try:
            if self._conversation is None:
                self._start()
        except NoAnswer as error:
            raise ValueError(f"agent {self._command[-1]!r}: its process {error}") from None
        if "kind" not in self._description:
            self.close()
            reason = self._description.get("error", f"agent {self._command[-1]!r}: its process didn't start")
            raise ValueError("".join(char if char.isprintable() else " " for char in reason[:MAX_ERROR_LENGTH]))
        return self._description

    def ask(self, message: AgentMessage) -> str:
        reply = _read_object(super().ask(message))
        if "answer" not in reply:
            raise NoAnswer(shorten(reply.get("failure", "wrote something else than its answer")))
        return reply["answer"]

    def _start(self) -> _Conversation:
        conversation = super()._start()
        self._description = _read_object(conversation.read_line(max(self._timeout, IMPORT_SECONDS)))
        return conversation

    def fingerprint(self) -> str:
        return self.describe().get("fingerprint", "")


def _read_object(line: str) -> dict[str, str]:
    """Return a JSON object of texts; an empty one if the line is none."""
    with suppress(ValueError, RecursionError):
        found = json.loads(line)
        if isinstance(found, dict):
            return {name: str(value) for name, value in found.items()}
    return {}


def split_command(command: str) -> list[str] | str:
    """Return a command as `subprocess.Popen` takes it; raise a ValueError if there is no such program.

    Windows programs split their command lines themselves, and `shlex` would damage quoted paths there.
    """
    try:
        words = _split_words(command)
    except ValueError as error:
        raise ValueError(f"agent 'stdio:{command}': {error}") from None
    if not words:
        raise ValueError(f"agent 'stdio:{command}': no command; needed: one such as stdio:python my_agent.py")
    if shutil.which(words[0]) is None:
        raise ValueError(f"agent 'stdio:{command}': no such program as {words[0]}")
    return command if sys.platform == "win32" else words


def _split_words(command: str) -> list[str]:
    if sys.platform == "win32":
        return [word.strip('"') for word in shlex.split(command, posix=False)]
    return shlex.split(command)


def hash_named_files(command: str | list[str]) -> str:
    """Return a short hash of the contents of all files that a command names, also as in --weights=FILE.

    Return an empty string if it names none.
    """
    words = _split_words(command) if isinstance(command, str) else command
    files = [path for word in words for path in (word, word.partition("=")[2]) if path and os.path.isfile(path)]
    digest = hashlib.sha256()
    for path in files:
        with open(path, "rb") as file:
            digest.update(hashlib.file_digest(file, "sha256").digest())
    return digest.hexdigest()[:16] if files else ""


class _Conversation:
    """A running process and the threads that talk to it."""

    def __init__(self, command: list[str] | str, log: Path | None, environment: dict[str, str] | None) -> None:
        self.process = _start_process(command, environment, has_log=log is not None)
        self.messages: queue.Queue[bytes | None] = queue.Queue()
        self._answers: queue.Queue[bytes | None] = queue.Queue(MAX_UNREAD_ANSWERS)
        self._log = log
        self._errors = b""  # the last that it wrote to its standard error
        self._is_too_long = False
        self._over_at: float | None = None  # when the threads must end
        parts = (self._write, self._read, *([self._copy_errors] if log else []))
        self._threads = [threading.Thread(target=part, daemon=True, name="agent process") for part in parts]
        for thread in self._threads:
            thread.start()

    def _write(self) -> None:
        assert self.process.stdin is not None
        with suppress(OSError), self.process.stdin as pipe:
            while (message := self.messages.get()) is not None:
                rest = memoryview(message)
                while rest and self._over_at is None:
                    if _wait_for(pipe, is_read=False):
                        rest = rest[os.write(pipe.fileno(), rest[:_PIPE_BYTES]) :]

    def _read(self) -> None:
        line = b""
        for chunk in self._read_chunks(self.process.stdout):
            *lines, line = (line + chunk).split(b"\n")
            for complete in lines:
                self._add_answer(complete)
            if len(line) > MAX_ANSWER_BYTES:
                self._is_too_long = True
                line = b""
                break
        if line:
            self._add_answer(line)
        self._add_answer(None)

    def _copy_errors(self) -> None:
        """Copy standard error to the log as far as there is room; read on after that, or the process would wait."""
        for chunk in self._read_chunks(self.process.stderr):
            self._errors = (self._errors + chunk)[-4 * MAX_REASON_LENGTH :]
            with suppress(OSError):  # its folder may be missing, or the disk full
                self._append_to_log(chunk)

    def _append_to_log(self, chunk: bytes) -> None:
        assert self._log is not None
        with open_to_append(self._log) as file:
            room = MAX_LOG_BYTES - file.tell()
            if room > 0:
                file.write(chunk[:room] + (_LOG_IS_FULL if len(chunk) >= room else b""))

    def _read_chunks(self, pipe: IO[bytes] | None) -> Iterator[bytes]:
        """Yield what comes from a pipe until its end; when the conversation is over, what is there already."""
        assert pipe is not None
        with pipe:
            while self._over_at is None or time.monotonic() < self._over_at:
                if _wait_for(pipe, is_read=True):
                    chunk = os.read(pipe.fileno(), _CHUNK_BYTES)
                    if not chunk:
                        return
                    yield chunk
                elif self._over_at is not None:
                    return

    def _add_answer(self, answer: bytes | None) -> None:
        while self._over_at is None:
            with suppress(queue.Full):
                self._answers.put(answer, timeout=_SLICE_SECONDS)
                return

    def drop_answers(self) -> None:
        """Drop the answers that were not read yet."""
        for _ in range(self._answers.qsize()):
            if (answer := self._answers.get()) is None:
                self._answers.put(answer)
                return

    def read_line(self, timeout: float) -> str:
        """Return the next line; raise `NoAnswer` if there is none in time, or none can follow."""
        deadline = time.monotonic() + timeout
        while (left := deadline - time.monotonic()) > 0:
            has_ended = self.process.poll() is not None  # what it wrote before that is still read
            try:
                answer = self._answers.get(timeout=min(left, END_SECONDS if has_ended else _SLICE_SECONDS))
            except queue.Empty:
                if not has_ended:
                    continue
                answer = None  # another program holds its output open
            if answer is None:
                raise NoAnswer(self._explain_end())
            return answer.decode(errors="replace")
        raise NoAnswer(f"gave no answer within {timeout:g} seconds")

    def _explain_end(self) -> str:
        """Return why there are no more answers."""
        if self._is_too_long:
            return f"wrote more than {MAX_ANSWER_BYTES:,} bytes without the end of a line"
        try:
            status = self.process.wait(END_SECONDS)
        except subprocess.TimeoutExpired:
            return "closed its standard output"
        self._threads[-1].join(END_SECONDS)  # the one that reads standard error, if there is a log
        last_line = shorten(self._errors.decode(errors="replace").rstrip().rpartition("\n")[2])
        return f"died (exit status {status}){f': {last_line}' if last_line else ''}"

    def end(self) -> None:
        """Kill the process and end the threads."""
        _kill(self.process)
        with suppress(subprocess.TimeoutExpired):
            self.process.wait(END_SECONDS)
        self._over_at = time.monotonic() + END_SECONDS
        self.messages.put(None)
        for thread in self._threads:
            thread.join(max(0.0, self._over_at + END_SECONDS - time.monotonic()))


def _start_process(
    command: list[str] | str, environment: dict[str, str] | None, *, has_log: bool
) -> subprocess.Popen[bytes]:
    """Start a process in a group of its own: Ctrl-C reaches only this program, which then ends the process."""
    group: dict[str, Any] = {}
    if sys.platform == "win32":
        group["creationflags"] = subprocess.CREATE_NEW_PROCESS_GROUP
    else:
        group["start_new_session"] = True
    pipe = subprocess.PIPE
    errors = pipe if has_log else None
    return subprocess.Popen(command, bufsize=0, stdin=pipe, stdout=pipe, stderr=errors, env=environment, **group)


if sys.platform == "win32":
    _PIPE_BYTES: Final = _CHUNK_BYTES

    def _wait_for(pipe: IO[bytes], *, is_read: bool) -> bool:
        return True

    def _kill(process: subprocess.Popen[bytes]) -> None:
        process.kill()

else:
    _PIPE_BYTES: Final = select.PIPE_BUF  # so many can be written without waiting when a pipe is ready

    def _wait_for(pipe: IO[bytes], *, is_read: bool) -> bool:
        """Wait for a moment until a pipe can be read from or written to; return whether it can."""
        poll = select.poll()
        poll.register(pipe, select.POLLIN if is_read else select.POLLOUT)
        return bool(poll.poll(1000 * _SLICE_SECONDS))

    def _kill(process: subprocess.Popen[bytes]) -> None:
        """Kill a process with its group and, on Linux, with its descendants that left the group.

        A program whose parents have ended can't be found that way. It survives, and nobody waits for it.
        """
        descendants = _list_descendants(process.pid)
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
        for pid in descendants:
            with suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL)

    def _list_descendants(pid: int) -> list[int]:
        """Return the processes that a process started, and those that they started; only Linux lists them."""
        found = [pid]
        for parent in found:  # grows in the loop; there may be more generations than Python allows calls
            with suppress(OSError):
                for thread in Path(f"/proc/{parent}/task").iterdir():
                    found += [int(child) for child in (thread / "children").read_text().split()]
        return found[1:]
