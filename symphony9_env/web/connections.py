"""Connections to the server: how many there may be, and how long each may take over a request.

uvicorn has no deadline for the headers or the body of a request, and closes no connection to make room for another.
Whoever opens connections and sends nothing could therefore keep everybody else out. Here, every connection has a
deadline until its request has arrived, may send only so many bytes, because parsing them keeps everybody waiting, and
one too many takes the place of the one that has been idle for longest. Connections that have shown a valid token come
last in that, and those of them that are being served are never closed.
"""

from __future__ import annotations

import asyncio
import ipaddress
import time
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, Final

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol
from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol

from symphony9_env.web import MAX_CONNECTIONS, MAX_PER_ADDRESS

REQUEST_TIMEOUT: Final = 10.0  # seconds from the connection, or the first byte, to the end of a request
IDLE_TIMEOUT: Final = 30.0  # seconds that a connection stays open after an answer
ANSWER_TIMEOUT: Final = 120.0  # seconds to work out an answer and send it; a first game may have to be compiled
CLOSING_TIMEOUT: Final = 10.0  # seconds for the rest of what is sent on a connection that is being closed
MAX_RECEIVED: Final = 32 * 1024  # bytes of a request with its headers, and of a WebSocket when it is new
SOCKET_RATE: Final = 10  # bytes that a WebSocket may send in a second besides; an answer to a ping has 10 every 20 s
STATE_KEY: Final = "connection"  # under which applications find their connection in the state of a request


@dataclass(eq=False)
class Connection:
    """One connection: how long it may stay open, and whether it may be closed in favour of another."""

    transport: asyncio.Transport
    address: str
    deadline: float | None  # None: as long as it answers pings
    is_waiting: bool = True  # for a request, or for the token of a WebSocket
    has_token: bool = False  # whether it has shown a valid one
    since: float = field(default_factory=time.monotonic)  # of its last request
    num_received: int = 0  # bytes since then

    def wait(self, seconds: float) -> None:
        """Begin to wait for a request."""
        self.is_waiting = True
        self.since = time.monotonic()
        self.num_received = 0
        self.deadline = self.since + seconds

    def serve(self, seconds: float | None) -> None:
        """Begin to answer a request, or to serve a WebSocket; None for as long as it is open."""
        self.is_waiting = False
        self.deadline = None if seconds is None else time.monotonic() + seconds

    def accepts(self, data: bytes, rate: float = 0) -> bool:
        """Count bytes that have arrived; close the connection and return False if it has sent too many.

        `rate` is how many more it may send in each second since it began to wait.
        """
        self.num_received += len(data)
        if self.num_received <= MAX_RECEIVED + rate * (time.monotonic() - self.since):
            return True
        self.transport.abort()
        return False


class Connections:
    """All connections of a server, with the limits in all and for each address."""

    def __init__(self, max_connections: int = MAX_CONNECTIONS, max_per_address: int = MAX_PER_ADDRESS) -> None:
        self.max_connections = max_connections
        self.max_per_address = max_per_address
        self._open: dict[str, set[Connection]] = {}  # by address

    def __len__(self) -> int:
        return sum(map(len, self._open.values()))

    def add(self, transport: asyncio.Transport) -> Connection:
        """Add a connection. If there are too many, close the one that has waited longest, or else this one."""
        peer = transport.get_extra_info("peername")
        connection = Connection(transport, _group_address(peer[0] if peer else ""), None)
        connection.wait(REQUEST_TIMEOUT)
        own = self._open.setdefault(connection.address, set())
        if len(own) >= self.max_per_address:
            self._make_room(connection, own)
        elif len(self) >= self.max_connections:
            self._make_room(connection, (one for group in self._open.values() for one in group))
        own.add(connection)
        return connection

    def _make_room(self, newcomer: Connection, others: Iterable[Connection]) -> None:
        """Close the least important connection. What needs no token is answered at once, unless it is not read."""
        can_go = [one for one in others if one.is_waiting or not one.has_token]
        can_go = [one for one in can_go if not one.transport.is_closing()]
        loser = min(can_go, key=lambda one: (one.has_token, not one.is_waiting, one.since), default=newcomer)
        loser.transport.abort()

    def remove(self, connection: Connection) -> None:
        """Forget a connection that was lost."""
        own = self._open.get(connection.address, set())
        own.discard(connection)
        if not own:
            self._open.pop(connection.address, None)

    def close_overdue(self) -> None:
        """Close the connections whose deadline has passed; to be called about once a second."""
        now = time.monotonic()
        for connection in [one for group in self._open.values() for one in group]:
            if connection.transport.is_closing():  # it stays until the other side has read everything
                connection.deadline = min(connection.deadline or now + CLOSING_TIMEOUT, now + CLOSING_TIMEOUT)
            if connection.deadline is not None and connection.deadline <= now:
                connection.transport.abort()


def _group_address(host: str) -> str:
    """Return the address that limits apply to: an IPv4 address, or the /64 network of an IPv6 address."""
    try:
        address = ipaddress.ip_address(host.partition("%")[0])
    except ValueError:
        return host
    if isinstance(address, ipaddress.IPv4Address):
        return str(address)
    if address.ipv4_mapped is not None:
        return str(address.ipv4_mapped)
    return str(ipaddress.ip_network((address, 64), strict=False))


class HttpProtocol(H11Protocol):
    """uvicorn's HTTP protocol, with deadlines and limits."""

    connections_open: Connections  # set in a subclass for each server
    connection: Connection

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        self.connection = self.connections_open.add(transport)
        self.app_state = {**self.app_state, STATE_KEY: self.connection}
        super().connection_made(transport)

    def data_received(self, data: bytes) -> None:
        if self.connection.is_waiting and self.connection.deadline is not None:
            limit = time.monotonic() + REQUEST_TIMEOUT
            self.connection.deadline = min(self.connection.deadline, limit)
        if self.connection.accepts(data):
            super().data_received(data)

    def handle_events(self) -> None:
        super().handle_events()
        if self.connection.is_waiting and self.conn.their_state not in (h11.IDLE, h11.SEND_BODY):
            self.connection.serve(ANSWER_TIMEOUT)

    def on_response_complete(self) -> None:
        self.connection.wait(IDLE_TIMEOUT + CLOSING_TIMEOUT)  # uvicorn closes it after `IDLE_TIMEOUT`
        super().on_response_complete()

    def connection_lost(self, exc: Exception | None) -> None:
        self.connections_open.remove(self.connection)
        super().connection_lost(exc)


class SocketProtocol(WebSocketsSansIOProtocol):
    """uvicorn's WebSocket protocol, which takes over a connection of `HttpProtocol`."""

    connections_open: Connections

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.app_state[STATE_KEY].wait(2 * REQUEST_TIMEOUT)  # the application closes it before that, with a reason
        super().connection_made(transport)

    def data_received(self, data: bytes) -> None:
        if self.app_state[STATE_KEY].accepts(data, SOCKET_RATE):
            super().data_received(data)

    def connection_lost(self, exc: Exception | None) -> None:
        self.connections_open.remove(self.app_state[STATE_KEY])
        super().connection_lost(exc)


def make_protocols(connections: Connections) -> dict[str, Any]:
    """Return the protocol classes of a server, as keywords of `uvicorn.Config`."""
    attributes = {"connections_open": connections}
    return {
        "http": type("LimitedHttpProtocol", (HttpProtocol,), attributes),
        "ws": type("LimitedSocketProtocol", (SocketProtocol,), attributes),
    }
