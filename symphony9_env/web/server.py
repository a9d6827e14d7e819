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

from symphony9_env.web import DEFAULT_PORT, LOOPBACK
from symphony9_env.web.app import MAX_SOCKET_MESSAGE

MAX_CONNECTIONS: Final = 1000
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


def serve(app: ASGIApp, listener: socket.socket, page: str | None) -> None:
    """Run an application until Ctrl-C; open `page` in the browser once it answers."""
    config = uvicorn.Config(
        app,
        log_level="warning",
        access_log=False,
        ws_max_size=MAX_SOCKET_MESSAGE,
        timeout_graceful_shutdown=2,
        limit_concurrency=MAX_CONNECTIONS,
    )
    server = _Server(config, page)
    with contextlib.suppress(KeyboardInterrupt):  # uvicorn raises it again after its shutdown
        server.run(sockets=[listener])


class _Server(uvicorn.Server):
    """A server that opens a page in the browser when it is ready."""

    def __init__(self, config: uvicorn.Config, page: str | None) -> None:
        super().__init__(config)
        self._page = page

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        if self._page is not None:  # in a thread: with some browsers the call returns only when they are closed
            threading.Thread(target=webbrowser.open, args=[self._page], daemon=True).start()
