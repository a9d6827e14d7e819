"""Web addresses that do not behave: whatever they send, a question ends at its deadline with one reason."""

from __future__ import annotations

import os
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

import pytest

from symphony9_env import symphony9_v0
from symphony9_env.agents.external import make_message
from symphony9_env.agents.http_transport import HttpTransport
from symphony9_env.agents.message import AgentMessage
from symphony9_env.agents.transports import MAX_ANSWER_BYTES, NoAnswer

TIMEOUT = 0.5
LATE = 10.0  # seconds; far above the deadline, far below what each of the servers below would take
OK = b"HTTP/1.1 200 OK\r\n"

Behaviour = Callable[[socket.socket], None]


def make_question() -> AgentMessage:
    env = symphony9_v0.raw_env(num_players=2)
    env.reset(seed=5)
    return make_message(env, 0)


@contextmanager
def serve(behave: Behaviour) -> Iterator[str]:
    """Serve one connection after the other with a function, and yield the address."""
    with socket.create_server(("127.0.0.1", 0)) as server:

        def accept() -> None:
            with suppress(OSError):
                while True:
                    connection, _ = server.accept()
                    with suppress(OSError), connection:
                        read_request(connection)
                        behave(connection)

        thread = threading.Thread(target=accept, daemon=True, name="test server")
        thread.start()
        yield f"http://127.0.0.1:{server.getsockname()[1]}/decide"
        server.shutdown(socket.SHUT_RDWR)
    thread.join(LATE)
    assert not thread.is_alive()


def read_request(connection: socket.socket) -> bytes:
    data = b""
    while b"\r\n\r\n" not in data:
        data += connection.recv(65536)
    head, _, body = data.partition(b"\r\n\r\n")
    length = next(
        int(line.split(b":")[1]) for line in head.split(b"\r\n") if line.lower().startswith(b"content-length")
    )
    while len(body) < length:
        body += connection.recv(65536)
    return body


def ask(address: str) -> str:
    return HttpTransport(address, TIMEOUT).ask(make_question())


def send(data: bytes) -> Behaviour:
    return lambda connection: connection.sendall(data)


def repeat(start: bytes, part: bytes, pause: float = 0.01) -> Behaviour:
    """Return a server that sends a part again and again until the other side has closed the connection."""

    def behave(connection: socket.socket) -> None:
        connection.sendall(start)
        while True:
            connection.sendall(part)
            time.sleep(pause)

    return behave


def wait_for_end(connection: socket.socket) -> None:
    connection.recv(1)


ENDLESS: dict[str, Behaviour] = {
    "silence": wait_for_end,
    "a body, byte by byte": repeat(OK + b"Content-Length: 100000\r\n\r\n", b"1"),
    "a body without an end": repeat(OK + b"\r\n", b" "),
    "a chunked body, byte by byte": repeat(OK + b"Transfer-Encoding: chunked\r\n\r\n", b"1\r\n \r\n"),
    "trailers without an end": repeat(OK + b"Transfer-Encoding: chunked\r\n\r\n0\r\n", b"a: b\r\n"),
    "a status line, byte by byte": repeat(b"HTTP/1.1 ", b"2"),
    "a header, byte by byte": repeat(OK + b"X: ", b"x"),
    "100 Continue without an end": repeat(b"", b"HTTP/1.1 100 Continue\r\n\r\n"),
    "an error, byte by byte": repeat(b"HTTP/1.1 500 Broken\r\n\r\n", b"x", 0.02),
}


@pytest.mark.parametrize("behaviour", ENDLESS.values(), ids=ENDLESS)
def test_a_question_ends_at_its_deadline(behaviour: Behaviour) -> None:
    with serve(behaviour) as address:
        begun = time.monotonic()
        with pytest.raises(NoAnswer, match=r"^gave no answer within 0\.5 seconds$"):
            ask(address)
        assert time.monotonic() - begun < LATE


MALFORMED = {
    "no status line": (b"hello\r\n\r\n", r"gave no valid HTTP response \(BadStatusLine: hello\)"),
    "nothing at all": (b"", r"gave no valid HTTP response \(RemoteDisconnected"),
    "no number as status": (b"HTTP/1.1 abc OK\r\n\r\n", "gave no valid HTTP response"),
    "a status line of 100 kB": (b"HTTP/1.1 200 " + b"x" * 100_000 + b"\r\n\r\n", r"\(LineTooLong"),
    "a header of 100 kB": (OK + b"X: " + b"x" * 100_000 + b"\r\n\r\n", r"\(LineTooLong"),
    "200 headers": (OK + b"X: x\r\n" * 200 + b"\r\n", r"\(HTTPException: got more than 100 headers\)"),
    "a body that is cut short": (OK + b"Content-Length: 10\r\n\r\n[1", r"\(IncompleteRead"),
    "no body": (OK + b"Content-Length: 10\r\n\r\n", r"\(IncompleteRead"),
    "a chunk that is cut short": (OK + b"Transfer-Encoding: chunked\r\n\r\nff\r\n[1]", r"\(IncompleteRead"),
    "chunks without a length": (OK + b"Transfer-Encoding: chunked\r\n\r\nzz\r\n", "gave no valid HTTP response"),
    "a body that is too long": (
        OK + b"\r\n" + b"1" * (MAX_ANSWER_BYTES + 1),
        "answered with more than 1,048,576 bytes",
    ),
    "a redirect": (
        b"HTTP/1.1 307 Moved\r\nLocation: http://127.0.0.1:9/\r\nContent-Length: 0\r\n\r\n",
        "answered with status 307, a redirect; redirects are not followed",
    ),
    "an error with control characters": (
        b"HTTP/1.1 500 Broken\r\n\r\n\x1b[31mout\nof order" + b"!" * 1000,
        r"answered with status 500: \[31mout of order!+…$",
    ),
}


@pytest.mark.parametrize(("data", "reason"), MALFORMED.values(), ids=MALFORMED)
def test_a_malformed_response_is_no_answer(data: bytes, reason: str) -> None:
    with serve(send(data)) as address, pytest.raises(NoAnswer, match=reason) as raised:
        ask(address)
    assert len(str(raised.value)) < 300


@pytest.mark.parametrize("status", [b"200 OK", b"201 Created"])
def test_a_response_in_chunks_is_put_together(status: bytes) -> None:
    data = b"HTTP/1.1 " + status + b"\r\nTransfer-Encoding: chunked\r\n\r\n1\r\n[\r\n2\r\n3]\r\n0\r\n\r\n"
    with serve(send(b"HTTP/1.1 100 Continue\r\n\r\n" + data)) as address:
        assert ask(address) == "[3]"


@pytest.mark.parametrize("status", [b"200 OK", b"500 Broken"])
def test_a_chunk_of_a_negative_size_is_not_read_to_its_end(status: bytes) -> None:
    """Python's own client would fill the memory with it until the deadline."""
    num_sent = 0

    def flood(connection: socket.socket) -> None:
        nonlocal num_sent
        connection.sendall(b"HTTP/1.1 " + status + b"\r\nTransfer-Encoding: chunked\r\n\r\n-1\r\n")
        while num_sent < 64 * MAX_ANSWER_BYTES:
            num_sent += connection.send(bytes(65536))

    with serve(flood) as address, pytest.raises(NoAnswer, match=r"1,048,576 bytes|status 500"):
        HttpTransport(address, LATE).ask(make_question())
    assert num_sent < 64 * MAX_ANSWER_BYTES


def test_a_connection_that_never_becomes_encrypted_ends_at_its_deadline() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server, pytest.raises(NoAnswer, match="gave no answer within"):
        ask(f"https://127.0.0.1:{server.getsockname()[1]}/")


def count_descriptors() -> int:
    return len(os.listdir("/proc/self/fd"))


@pytest.mark.skipif(not os.path.isdir("/proc/self/fd"), reason="descriptors are counted in /proc")
def test_no_thread_and_no_socket_is_left() -> None:
    with serve(ENDLESS["100 Continue without an end"]) as address:
        before = count_descriptors()
        for _ in range(3):
            with pytest.raises(NoAnswer):
                ask(address)
        assert not [thread for thread in threading.enumerate() if thread.name == "agent request"]
        assert count_descriptors() <= before + 1  # the server may still hold its end of the last one
