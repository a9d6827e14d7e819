"""Targets: names of agents, and what agents outside this package answer. No fuzzed text is run or connected to."""

from __future__ import annotations

import json
import os
import socket
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr, suppress
from pathlib import Path
from random import Random
from typing import Any, Final
from unittest.mock import patch

from fuzz.mutations import mutate_bytes, mutate_json, mutate_text
from fuzz.target import Harness, Target, must_work
from symphony9_env import agents
from symphony9_env.agents import registry
from symphony9_env.agents.external import ExternalAgent, make_message, read_answer
from symphony9_env.arguments import split_names
from symphony9_env.envs.aec import RawEnv

ANSWER_SECONDS: Final = 2.0
# Sends the bytes that a file contains for each line that it reads, or, at the end of the file, ends.
_PROCESS: Final = """
import sys
path = sys.argv[1]
for line in sys.stdin.buffer:
    with open(path, "rb") as file:
        sys.stdout.buffer.write(file.read())
    sys.stdout.buffer.flush()
"""


@contextmanager
def sandbox() -> Iterator[None]:
    """Refuse agents that are imported, started or connected to: fuzzed names must not run anything.

    Also save time: sync no files, and print no progress.
    """

    def refuse(text: str, *arguments: Any, **keywords: Any) -> Any:
        raise ValueError(f"agent {text[:100]!r}: not made here")

    with (
        patch.object(registry, "_make_external", refuse),
        patch.object(os, "fsync", lambda file: None),
        open(os.devnull, "w") as nowhere,
        redirect_stderr(nowhere),
    ):
        yield


def _make_env() -> RawEnv:
    env = RawEnv(num_players=2, discussion=True)
    env.reset(seed=1)
    return env


@contextmanager
def _open_names(folder: Path) -> Iterator[Harness]:
    env = _make_env()
    names = ("random", "mine=planner", "search:20@greedy", "search", "policy", '"mine=search:5",greedy')

    def read(data: bytes) -> None:
        for name in split_names(data.decode("utf-8", "replace")):
            made = agents.make(name, seed=1)
            playouts = getattr(made, "playouts", 0)
            with must_work(), made:
                made.check_players(2)
                made.fingerprint(2)
                if playouts <= 100:
                    env.reset(seed=1)
                    env.step(made.choose(env))

    with sandbox():
        yield Harness([name.encode() for name in names], mutate_text, read)


@contextmanager
def _open_answers(folder: Path) -> Iterator[Harness]:
    env = _make_env()
    legal = [int(action) for action in make_message(env, 0)["legal"]]
    answers = ("0", '{"action": 1}', '"take handel"', "I need him. [take Handel: who joins?]", "I will take Bach")

    def read(data: bytes) -> None:
        action = read_answer(data.decode("utf-8", "replace"), legal)
        with must_work():
            assert action in legal

    def mutate(data: bytes, rng: Random) -> bytes:
        return rng.choice((mutate_json, mutate_text))(data, rng)

    yield Harness([answer.encode() for answer in (*answers, f"[{legal[0]}]")], mutate, read)


def _ask(agent: agents.Agent, env: RawEnv) -> None:
    """Ask an agent for a move, and play it."""
    env.reset(seed=1)
    action = agent.choose(env)
    with must_work():
        env.step(action)


@contextmanager
def _open_process(folder: Path) -> Iterator[Harness]:
    script, content = folder / "agent.py", folder / "answer"
    script.write_text(_PROCESS)
    env = _make_env()
    name = f"stdio:{sys.executable} {script} {content}"

    def read(data: bytes) -> None:
        content.write_bytes(data)
        with agents.make(name, seed=1, timeout=ANSWER_SECONDS, log=folder / "agent.log") as agent:
            _ask(agent, env)

    def mutate(data: bytes, rng: Random) -> bytes:
        changed = rng.choice((mutate_json, mutate_bytes))(data, rng)
        return changed if rng.random() < 0.1 else changed + b"\n"  # without the end of a line, the deadline passes

    yield Harness([b"0\n", b'{"action": 0}\n', b"[take handel]\nx\n"], mutate, read)


class _Server:
    """Serves one connection after the other on the loopback interface with the bytes that it was given."""

    def __init__(self) -> None:
        self.answer = b""
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.address = f"http://127.0.0.1:{self._listener.getsockname()[1]}/decide"
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()

    def _serve(self) -> None:
        with suppress(OSError):
            while True:
                connection, _ = self._listener.accept()
                with suppress(OSError), connection:
                    connection.settimeout(ANSWER_SECONDS)
                    connection.recv(65536)
                    connection.sendall(self.answer)
                    connection.shutdown(socket.SHUT_WR)
                    while connection.recv(65536):  # what is unread would reset the connection
                        pass

    def close(self) -> None:
        """Stop serving."""
        with suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self._thread.join(10)


_RESPONSES: Final = (
    b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 13\r\n\r\n" + b'{"action": 0}',
    b"HTTP/1.0 200 OK\r\n\r\ntake handel",
    b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\n0\r\n0\r\n\r\n",
    b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\n0",
)


@contextmanager
def _open_http(folder: Path) -> Iterator[Harness]:
    env = _make_env()
    server = _Server()
    agent = agents.make(server.address, seed=1, timeout=ANSWER_SECONDS)
    assert isinstance(agent, ExternalAgent)

    def read(data: bytes) -> None:
        server.answer = data
        _ask(agent, env)

    def mutate(data: bytes, rng: Random) -> bytes:
        head, gap, body = data.partition(b"\r\n\r\n")
        match rng.randrange(4):
            case 0:
                return mutate_bytes(data, rng)
            case 1:
                return head + gap + mutate_json(body, rng)
            case 2:
                return rng.choice(_RESPONSES)[: rng.randrange(60)] + data
        return mutate_text(head, rng) + gap + body

    try:
        yield Harness(list(_RESPONSES), mutate, read)
    finally:
        agent.close()
        server.close()


@contextmanager
def _open_message(folder: Path) -> Iterator[Harness]:
    """Whatever a function returns: an action is played or the agent fails, and nothing else happens."""
    env = _make_env()

    def read(data: bytes) -> None:
        try:
            answer = json.loads(data)
        except (ValueError, RecursionError):
            answer = data
        _ask(agents.make(lambda message: answer, seed=1), env)

    yield Harness([b"0", b'"take handel"', b'{"action": "0"}'], mutate_json, read)


TARGETS: Final = (
    Target("agent-names", _open_names),
    Target("agent-answers", _open_answers),
    Target("function-answers", _open_message),
    Target("process-output", _open_process),
    Target("http-responses", _open_http),
)
