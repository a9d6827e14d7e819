"""Connections: deadlines for requests, limits, and room for players next to connections that send nothing."""

from __future__ import annotations

import contextlib
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest

from symphony9_env.web import connections as module
from symphony9_env.web.app import MAX_SOCKETS, make_app, make_watch_app
from symphony9_env.web.connections import Connection, Connections, _group_address
from symphony9_env.web.server import raise_file_limit
from symphony9_env.web.table_store import TableStore
from tests.web.api import bearer
from tests.web.browser import running

HEAD = b"GET /api/seat HTTP/1.1\r\nhost: x\r\n"
UPGRADE = (
    b"GET /api/seat/events HTTP/1.1\r\nhost: x\r\nconnection: upgrade\r\nupgrade: websocket\r\n"
    b"sec-websocket-version: 13\r\nsec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"
)


FEW_FILES = """
import resource, sys
from symphony9_env.cli import main
resource.setrlimit(resource.RLIMIT_NOFILE, (1000, 1000))
main(["play", "--no-browser", "--port", "0", "--connections-per-address", "2000", "--games", sys.argv[1]])
"""


@contextlib.contextmanager
def run_real_server(folder: Path, **limits: int) -> Iterator[tuple[str, TableStore]]:
    """Run a server with a real port while the block lasts."""
    store = TableStore(folder)
    with running(make_app(store), connections=Connections(**limits)) as address:
        yield address, store


@contextlib.contextmanager
def open_connections(address: str, number: int) -> Iterator[list[socket.socket]]:
    """Open connections that send nothing, and close them at the end."""
    port = int(address.rpartition(":")[2])
    with contextlib.ExitStack() as stack:
        yield [stack.enter_context(socket.create_connection(("127.0.0.1", port), 20)) for _ in range(number)]


def wait_until(is_true: Callable[[], bool]) -> None:
    """Wait until something has happened in a server."""
    deadline = time.monotonic() + 20
    while not is_true():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def wait_until_empty(connections: Connections) -> None:
    """Wait until a server has forgotten all its connections."""
    wait_until(lambda: len(connections) == 0)


def list_open(connections: Connections) -> list[Connection]:
    """Return the connections to a server from this machine."""
    return list(connections._open.get("127.0.0.1", ()))


def is_closed(connection: socket.socket) -> bool:
    """Wait until the other side closes a connection, at most until its timeout."""
    try:
        while connection.recv(4096):
            pass
    except TimeoutError:
        return False
    except ConnectionError:
        pass
    return True


@pytest.mark.parametrize("sent", [b"", HEAD, UPGRADE])
def test_idle_connections_without_a_token_keep_nobody_from_playing(sent: bytes, tmp_path: Path) -> None:
    with run_real_server(tmp_path, max_connections=100, max_per_address=60) as (address, store):
        token = str(store.create({"seats": [{}, {"agent": "planner"}]}).seats[0].token)
        with open_connections(address, 300) as idle, httpx2.Client(base_url=address, timeout=60) as player:
            for connection in idle:
                with contextlib.suppress(ConnectionError):
                    connection.sendall(sent)
            for _ in range(3):
                assert player.get("/api/seat", headers=bearer(token)).status_code == 200


def test_the_connection_that_waited_longest_makes_room_and_players_come_last(tmp_path: Path) -> None:
    with run_real_server(tmp_path, max_per_address=3) as (address, store):
        token = str(store.create({"seats": [{}, {}]}).seats[0].token)
        with httpx2.Client(base_url=address, timeout=60) as player, open_connections(address, 2) as (first, second):
            assert player.get("/api/seat", headers=bearer(token)).status_code == 200  # on the third connection
            with open_connections(address, 1):
                assert is_closed(first)
                with open_connections(address, 1):
                    assert is_closed(second)
                    assert player.get("/api/seat", headers=bearer(token)).status_code == 200


@pytest.mark.parametrize(
    "parts",
    [
        [],
        [HEAD, b"x: y\r\n", b"x: y\r\n", b"x: y\r\n"],
        [b"POST /api/seat/move HTTP/1.1\r\nhost: x\r\ncontent-length: 1000\r\n\r\n", b"{", b" ", b" "],
        [b"GET /theme.css HTTP/1.1\r\nhost: x\r\n\r\n", HEAD, b"x: y\r\n"],  # a second request that does not end
    ],
    ids=["nothing", "headers", "body", "second request"],
)
def test_a_request_that_does_not_arrive_in_time_is_closed(
    parts: list[bytes], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "REQUEST_TIMEOUT", 0.5)
    with run_real_server(tmp_path) as (address, _), open_connections(address, 1) as (connection,):
        with contextlib.suppress(ConnectionError):
            for part in parts:
                connection.sendall(part)
                time.sleep(0.2)  # a byte now and then must not extend the deadline
        assert is_closed(connection)


def test_a_peer_that_does_not_read_is_cut_off(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "ANSWER_TIMEOUT", 0.5)
    monkeypatch.setattr(module, "CLOSING_TIMEOUT", 0.5)
    connections = Connections()
    app = make_app(TableStore(tmp_path))
    with running(app, connections=connections) as address, open_connections(address, 1) as (connection,):
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1024)
        connection.setblocking(False)
        with contextlib.suppress(BlockingIOError, ConnectionError):
            for _ in range(2000):
                connection.sendall(b"GET /shared/board.js HTTP/1.1\r\nhost: x\r\n\r\n")
        wait_until_empty(connections)


def test_visitors_who_do_not_read_their_answers_make_room(tmp_path: Path) -> None:
    store, connections = TableStore(tmp_path), Connections(max_connections=3)
    token = str(store.create({"seats": [{}, {"agent": "planner"}]}).seats[0].token)
    request = b"GET /shared/board.js HTTP/1.1\r\nhost: x\r\n\r\n"
    with running(make_app(store), connections=connections) as address, open_connections(address, 3) as unread:
        for connection in unread:
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1024)
            connection.sendall(request * (module.MAX_RECEIVED // len(request)))
        wait_until(lambda: [one.transport.get_write_buffer_size() > 0 for one in list_open(connections)] == [True] * 3)
        with httpx2.Client(base_url=address, timeout=60) as player:
            assert player.get("/api/seat", headers=bearer(token)).status_code == 200


def test_a_large_page_that_is_not_read_takes_little_memory() -> None:
    connections, page = Connections(), "x" * 20_000_000
    with running(make_watch_app(page), connections=connections) as address:
        with open_connections(address, 1) as (connection,):
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1024)
            connection.sendall(b"GET / HTTP/1.1\r\nhost: x\r\n\r\n")
            wait_until(lambda: any(one.transport.get_write_buffer_size() > 0 for one in list_open(connections)))
            assert list_open(connections)[0].transport.get_write_buffer_size() < 1_000_000
        answer = httpx2.get(address, timeout=60)
        assert (answer.text == page, answer.headers["content-length"]) == (True, str(len(page)))


def make_frame(opcode: int, data: bytes = b"", is_last: bool = True) -> bytes:
    """Return a short frame of a WebSocket as clients send it."""
    return bytes([is_last << 7 | opcode, 128 | len(data), 0, 0, 0, 0]) + data


def open_socket(connection: socket.socket, token: str | None = None) -> None:
    """Turn a connection into a WebSocket; with a token, wait for the answer to it."""
    connection.sendall(UPGRADE)
    assert b"101 Switching Protocols" in connection.recv(4096)
    if token is not None:
        connection.sendall(make_frame(1, token.encode()))
        assert connection.recv(4096)


FLOODS = {
    "pings": (b"", make_frame(9, bytes(125))),
    "fragments": (make_frame(1, is_last=False), make_frame(0, is_last=False)),
    "messages": (b"", make_frame(1)),
}


@pytest.mark.parametrize("has_token", [False, True])
@pytest.mark.parametrize("name", FLOODS)
def test_a_websocket_that_sends_more_than_a_page_does_is_closed(name: str, has_token: bool, tmp_path: Path) -> None:
    """Parsing it would keep everybody waiting; answers to pings that are not read and fragments would fill memory."""
    first, repeated = FLOODS[name]
    with run_real_server(tmp_path) as (address, store), open_connections(address, 1) as (connection,):
        open_socket(connection, store.create({"seats": [{}, {}]}).seats[0].token if has_token else None)
        assert is_cut_off(connection, first, repeated)


def test_a_websocket_that_answers_pings_stays_open(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(module, "MAX_RECEIVED", 300)
    monkeypatch.setattr(module, "SOCKET_RATE", 1000)
    with run_real_server(tmp_path) as (address, store), open_connections(address, 1) as (connection,):
        open_socket(connection, store.create({"seats": [{}, {}]}).seats[0].token)
        for _ in range(20):
            time.sleep(0.05)
            connection.sendall(make_frame(10, bytes(20)))
        connection.settimeout(0.5)
        assert not is_closed(connection)


def test_a_request_of_many_small_parts_is_closed(tmp_path: Path) -> None:
    with run_real_server(tmp_path) as (address, _), open_connections(address, 1) as (connection,):
        assert is_cut_off(connection, HEAD + b"transfer-encoding: chunked\r\n\r\n", b"1\r\nx\r\n")


def is_cut_off(connection: socket.socket, first: bytes, repeated: bytes) -> bool:
    """Send 2 MB; return whether the connection ended before all of it was read."""
    try:
        connection.sendall(first + repeated * (2**21 // len(repeated)))
        connection.settimeout(1)
        while connection.recv(4096):
            pass
    except TimeoutError:
        return False
    except ConnectionError:
        return True
    return False


def test_a_window_too_many_is_not_served(tmp_path: Path) -> None:
    store, connections = TableStore(tmp_path), Connections()
    app: Any = make_app(store)
    token = str(store.create({"seats": [{}, {}]}).seats[0].token)
    with running(app, connections=connections) as address:
        with open_connections(address, MAX_SOCKETS + 1) as windows:
            for window in windows:
                open_socket(window, token)
            assert sum(not one.is_waiting for one in list_open(connections)) == MAX_SOCKETS
        wait_until_empty(connections)
    assert app.app.state.manager.open_sockets == {}


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such limit")
def test_connections_that_come_all_at_once_do_not_use_up_the_files(tmp_path: Path) -> None:
    raise_file_limit(2000)
    errors = tmp_path / "errors"
    with contextlib.ExitStack() as stack:
        command = [sys.executable, "-c", FEW_FILES, str(tmp_path / "games")]
        output = stack.enter_context(errors.open("w"))
        process = stack.enter_context(subprocess.Popen(command, stdout=subprocess.PIPE, stderr=output, text=True))
        stack.callback(process.kill)
        assert process.stdout is not None
        address, _, host = process.stdout.readline().split()[-1].partition("/#")
        client = stack.enter_context(httpx2.Client(base_url=address, timeout=20))
        assert client.get("/api/tables", headers=bearer(host)).status_code == 200
        process.send_signal(signal.SIGSTOP)
        for _ in range(1100):
            idle = stack.enter_context(socket.socket())
            idle.setblocking(False)
            idle.connect_ex(("127.0.0.1", int(address.rpartition(":")[2])))
        process.send_signal(signal.SIGCONT)
        assert client.get("/api/tables", headers=bearer(host)).status_code == 200
        assert errors.read_text() == ""


def test_a_websocket_without_a_token_is_closed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("symphony9_env.web.app.TOKEN_TIMEOUT", 0.2)
    with run_real_server(tmp_path) as (address, _), open_connections(address, 1) as (connection,):
        connection.sendall(UPGRADE)
        assert b"no token was sent" in connection.recv(4096) + connection.recv(4096)


def test_connections_are_forgotten_when_they_end(tmp_path: Path) -> None:
    connections = Connections()
    with running(make_app(TableStore(tmp_path)), connections=connections) as address:
        with open_connections(address, 5) as idle:
            idle[0].sendall(UPGRADE)
            idle[0].recv(4096)
            wait_until(lambda: len(connections) == 5)
        wait_until_empty(connections)


@pytest.mark.parametrize(
    ("host", "group"),
    [
        ("192.0.2.7", "192.0.2.7"),
        ("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"),
        ("fe80::1%eth0", "fe80::/64"),
        ("::ffff:192.0.2.7", "192.0.2.7"),
        ("", ""),
    ],
)
def test_an_ipv6_network_counts_as_one_address(host: str, group: str) -> None:
    assert _group_address(host) == group


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such limit")
def test_the_limit_on_open_files_is_raised() -> None:
    import resource

    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (256, hard))
        assert raise_file_limit(300) == 300
        assert resource.getrlimit(resource.RLIMIT_NOFILE)[0] == 300
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
