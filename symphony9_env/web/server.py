"""Listen on an address, run an application there until Ctrl-C, and open its page in the browser."""

from __future__ import annotations

import contextlib
import errno
import ipaddress
import socket
import sys
import threading
import webbrowser
from typing import Final

import uvicorn
from starlette.types import ASGIApp

from symphony9_env.web import DEFAULT_PORT, LOOPBACK, MAX_CONNECTIONS, MAX_PER_ADDRESS
from symphony9_env.web.app import MAX_SOCKET_MESSAGE
from symphony9_env.web.connections import IDLE_TIMEOUT, Connections, make_protocols

BACKLOG: Final = 100  # connections that the event loop accepts at a time, before any of them can be closed again
NUM_OTHER_FILES: Final = 700  # open besides connections: games, agents, pages, and several times `BACKLOG`
_TEST_ADDRESS: Final = ("192.0.2.1", 9)  # reserved for documentation; nothing is sent there


def listen(host: str, port: int | None) -> socket.socket:
    """Return a listening socket. Without a port, use the default one, or any free one if that is taken."""
    try:
        return _bind(host, DEFAULT_PORT if port is None else port)
    except OSError as error:
        if port is None and error.errno == errno.EADDRINUSE:
            return _bind(host, 0)
        raise ValueError(f"--host {host} --port {port}: can't listen there ({error.strerror})") from None


def _bind(host: str, port: int) -> socket.socket:
    if not 0 <= port <= 65535:
        raise ValueError(f"--port {port}; allowed: 0 (any free one) to 65535")
    family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
    listener = socket.socket(family, kind, protocol)
    if sys.platform != "win32":  # on Windows the option would let two servers share a port
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind(address)
        listener.listen()  # connections made before the server is ready wait for it
    except OSError:
        listener.close()
        raise
    return listener


def format_address(listener: socket.socket) -> str:
    """Return the URL of a server.

    For one that listens on all addresses it is the address by which other machines reach this one.
    """
    host, port = listener.getsockname()[:2]
    if ipaddress.ip_address(host).is_unspecified:
        host = _find_own_address()
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def _find_own_address() -> str:
    """Return the address that this machine uses for others, or its loopback address if it has no other."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(_TEST_ADDRESS)
            return str(probe.getsockname()[0])
        except OSError:
            return LOOPBACK


def is_loopback(listener: socket.socket) -> bool:
    """Return whether only this machine can reach a server."""
    return ipaddress.ip_address(listener.getsockname()[0]).is_loopback


def serve(app: ASGIApp, listener: socket.socket, page: str | None, max_per_address: int = MAX_PER_ADDRESS) -> None:
    """Run an application until Ctrl-C; open `page` in the browser once it answers."""
    num_files = raise_file_limit(MAX_CONNECTIONS + NUM_OTHER_FILES)
    max_connections = min(MAX_CONNECTIONS, max(num_files - NUM_OTHER_FILES, num_files // 2))
    server = make_server(app, Connections(max_connections, max_per_address), page)
    with contextlib.suppress(KeyboardInterrupt):  # uvicorn raises it again after its shutdown
        server.run(sockets=[listener])


def raise_file_limit(wanted: int) -> int:
    """Let this process open more files, up to what the system allows; return how many it may open.

    A common default is 1,024. Windows has no such limit on connections.
    """
    try:
        import resource
    except ImportError:
        return wanted
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft == resource.RLIM_INFINITY or soft >= wanted:
        return wanted
    limit = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
    with contextlib.suppress(ValueError, OSError):  # a system may allow less than it says
        resource.setrlimit(resource.RLIMIT_NOFILE, (limit, hard))
    return resource.getrlimit(resource.RLIMIT_NOFILE)[0]


def make_server(app: ASGIApp, connections: Connections, page: str | None = None) -> Server:
    """Return a server for an application, with limits and deadlines for its connections."""
    config = uvicorn.Config(
        app,
        log_level="warning",
        access_log=False,
        backlog=BACKLOG,
        ws_max_size=MAX_SOCKET_MESSAGE,
        ws_per_message_deflate=False,  # compressing would take longer than all the rest
        timeout_keep_alive=int(IDLE_TIMEOUT),
        timeout_graceful_shutdown=2,
        **make_protocols(connections),
    )
    return Server(config, connections, page)


class Server(uvicorn.Server):
    """A server that closes overdue connections, and opens a page in the browser when it is ready."""

    def __init__(self, config: uvicorn.Config, connections: Connections, page: str | None) -> None:
        super().__init__(config)
        self._connections = connections
        self._page = page

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        if self._page is not None:  # in a thread: with some browsers the call returns only when they are closed
            threading.Thread(target=webbrowser.open, args=[self._page], daemon=True).start()

    async def on_tick(self, counter: int) -> bool:
        """Do what is to be done ten times a second."""
        if counter % 10 == 0:
            self._connections.close_overdue()
        return await super().on_tick(counter)
