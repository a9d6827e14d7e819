"""Runs a page's server until Ctrl-C, and opens the page in the browser."""

from __future__ import annotations

import contextlib
import errno
import ipaddress
import socket
import threading
import webbrowser
from typing import Final

import uvicorn
from starlette.types import ASGIApp

from symphony9_env.web import DEFAULT_PORT, LOOPBACK
from symphony9_env.web.app import MAX_SOCKET_MESSAGE

MAX_CONNECTIONS: Final = 1000


def listen(host: str, port: int | None) -> socket.socket:
    """A socket to serve on; without a port the usual one, or any free one if that is taken."""
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
    bound = socket.socket(family, kind, protocol)
    bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        bound.bind(address)
        bound.listen()  # who comes before the server is ready waits for it
    except OSError:
        bound.close()
        raise
    return bound


def address_of(bound: socket.socket) -> str:
    """Where a browser finds it; on all addresses, the one by which other machines reach this one."""
    host, port = bound.getsockname()[:2]
    if ipaddress.ip_address(host).is_unspecified:
        host = _own_address()
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def _own_address() -> str:
    """By which this machine would talk to others (nothing is sent); its loopback address if it knows no others."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(("192.0.2.1", 9))
            return str(probe.getsockname()[0])
        except OSError:
            return LOOPBACK


def is_loopback(bound: socket.socket) -> bool:
    return ipaddress.ip_address(bound.getsockname()[0]).is_loopback


def serve(app: ASGIApp, bound: socket.socket, page: str | None) -> None:
    """Until Ctrl-C; `page` is opened in the browser once the server answers."""
    config = uvicorn.Config(
        app,
        log_level="warning",
        access_log=False,
        ws_max_size=MAX_SOCKET_MESSAGE,
        timeout_graceful_shutdown=2,
        limit_concurrency=MAX_CONNECTIONS,
    )
    server = _Server(config, page)
    with contextlib.suppress(KeyboardInterrupt):  # uvicorn raises it again once it has shut down
        server.run(sockets=[bound])


class _Server(uvicorn.Server):
    def __init__(self, config: uvicorn.Config, page: str | None) -> None:
        super().__init__(config)
        self._page = page

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        if self._page is not None:  # in a thread: some browsers keep the call until they are closed
            threading.Thread(target=webbrowser.open, args=[self._page], daemon=True).start()
