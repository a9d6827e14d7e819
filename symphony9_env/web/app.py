"""The web application behind `symphony9 play`: pages, and an API with JSON messages (`messages.py`).

Every request needs a token. The host's token (printed when the server starts) is for setting up games; each person's
seat has a token of its own. Tokens travel in the `Authorization` header, or as the first message of a WebSocket. In
links they are the fragment after the #, which browsers do not send.

    POST /api/tables          host   set up a game
    POST /api/tables/0001/close  host   close a game: its links end, its record stays
    GET  /api/tables          host   all games, with the links of their seats
    GET  /api/agents          host   the agents and options to choose from
    GET  /api/status          any    whether the rules are being compiled
    GET  /api/seat            seat   the game as this seat sees it
    POST /api/seat/move       seat   {"turn": 12, "action": 3}
    POST /api/seat/name       seat   {"name": "Ann"}
    WS   /api/seat/events     seat   first message: the token; then the game as the seat sees it, after every change
"""

from __future__ import annotations

import asyncio
import contextlib
import hmac
import json
from collections import Counter
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any, Final

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route, WebSocketRoute
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from starlette.websockets import WebSocket, WebSocketDisconnect

from symphony9_env.render.theme import theme_css
from symphony9_env.replay.html_export import STATIC as SHARED
from symphony9_env.views.rules_summary import summarize_rules
from symphony9_env.web import STATIC
from symphony9_env.web.compilation_status import compilation_status
from symphony9_env.web.connections import STATE_KEY
from symphony9_env.web.messages import (
    ErrorMessage,
    SeatMessage,
    StatusMessage,
    TablesMessage,
    TableSummary,
    agents_message,
)
from symphony9_env.web.table_manager import TableManager
from symphony9_env.web.table_store import TableStore
from symphony9_env.web.tables import RequestError, Table

MAX_BODY: Final = 8 * 1024
MAX_SOCKET_MESSAGE: Final = 1024
MAX_SOCKETS: Final = 8  # for each seat
TOKEN_TIMEOUT: Final = 10  # seconds, for the first message of a WebSocket
MAX_ERROR: Final = 500  # bytes of an error message
MAX_CLOSE_REASON: Final = 123  # bytes of the reason for closing a WebSocket, as its standard says
_GAP: Final = " … "
_PART: Final = 64 * 1024  # bytes of a large page that are sent at a time
_MEDIA_TYPES: Final = {".css": "text/css", ".html": "text/html", ".js": "text/javascript"}

_CONTENT_SECURITY_POLICY: Final = (
    "default-src 'none'; script-src {source}; style-src {source}; img-src 'self' data:; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
_HEADERS: Final = {
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cache-control": "no-store",
}


def make_app(store: TableStore) -> ASGIApp:
    """Return the application that serves the tables of a store."""
    manager = TableManager(store)

    @contextlib.asynccontextmanager
    async def lifespan(app: Starlette) -> Any:
        for table in store.tables.values():  # games that were stopped when an agent was to decide
            manager.start_agent_moves(table)
        yield
        await manager.close()

    app = Starlette(
        routes=[
            Route("/", _serve_file(STATIC / "lobby.html")),
            Route("/play", _serve_file(STATIC / "play.html")),
            *_serve_folder("/static", STATIC),
            *_serve_folder("/shared", SHARED),
            Route("/theme.css", _get_theme),
            Route("/api/agents", _get_agents),
            Route("/api/status", _get_status),
            Route("/api/tables", _list_tables, methods=["GET"]),
            Route("/api/tables", _create_table, methods=["POST"]),
            Route("/api/tables/{table}/close", _close_table, methods=["POST"]),
            Route("/api/seat", _get_seat),
            Route("/api/seat/move", _move, methods=["POST"]),
            Route("/api/seat/name", _rename, methods=["POST"]),
            WebSocketRoute("/api/seat/events", _send_changes),
        ],
        exception_handlers={RequestError: _refuse, HTTPException: _refuse, Exception: _fail},
        lifespan=lifespan,
        max_body_size=MAX_BODY,
    )
    app.state.manager = manager
    return SecurityHeaders(app)


def make_watch_app(page: str) -> ASGIApp:
    """Return an application that serves one self-contained page. It has megabytes, so slow readers get it in parts."""
    content = page.encode()

    async def split() -> AsyncIterator[bytes]:
        for start in range(0, len(content), _PART):
            yield content[start : start + _PART]

    async def watch(request: Request) -> Response:
        return StreamingResponse(split(), headers={"content-length": str(len(content))}, media_type="text/html")

    return SecurityHeaders(Starlette(routes=[Route("/", watch)]), inline=True)


class SecurityHeaders:
    """Middleware that adds headers to every answer: pages may load nothing from elsewhere and run only own scripts."""

    def __init__(self, app: ASGIApp, inline: bool = False) -> None:
        """`inline` is for a page that contains its scripts and styles."""
        self.app = app
        policy = _CONTENT_SECURITY_POLICY.format(source="'unsafe-inline'" if inline else "'self'")
        headers = {"content-security-policy": policy, **_HEADERS}
        self._headers = [(name.encode(), value.encode()) for name, value in headers.items()]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = [*message.get("headers", []), *self._headers]
            await send(message)

        await self.app(scope, receive, send_with_headers if scope["type"] == "http" else send)


# Pages and errors.


def _serve_file(path: Path) -> Any:
    """Serve a file from memory: visitors who read slowly must not hold open files."""
    content = path.read_bytes()

    async def serve(request: Request) -> Response:
        return Response(content, media_type=_MEDIA_TYPES[path.suffix])

    return serve


def _serve_folder(url: str, folder: Path) -> list[Route]:
    return [Route(f"{url}/{path.name}", _serve_file(path)) for path in folder.iterdir() if path.suffix in _MEDIA_TYPES]


async def _get_theme(request: Request) -> Response:
    return Response(theme_css(), media_type="text/css")


async def _refuse(request: Request, error: Any) -> Response:
    if isinstance(error, HTTPException):
        return _make_error(error.detail, error.status_code, error.headers)
    return _make_error(str(error), error.status)


async def _fail(request: Request, error: Exception) -> Response:
    return _make_error(f"the server could not do that: {type(error).__name__}", 500)


def shorten(text: str, max_bytes: int = MAX_ERROR) -> str:
    """Return a text with its middle left out if it is long: errors quote what was sent."""
    content = text.encode()
    if len(content) <= max_bytes:
        return text
    kept = (max_bytes - len(_GAP.encode())) // 2
    return content[:kept].decode(errors="ignore") + _GAP + content[-kept:].decode(errors="ignore")


def _make_error(text: str, status: int, headers: Any = None) -> Response:
    """Return an error as JSON; characters that can't be encoded, such as half a surrogate pair, become ?."""
    message: ErrorMessage = {"error": shorten(text.encode("utf-8", "replace").decode())}
    return JSONResponse(message, status, headers)


# Reading requests.


def _get_manager(request: Request | WebSocket) -> TableManager:
    manager: TableManager = request.app.state.manager
    return manager


def _read_token(request: Request) -> str:
    kind, _, token = request.headers.get("authorization", "").partition(" ")
    if kind.lower() != "bearer" or not token:
        raise RequestError(401, "there is no token: open the complete link that you were given")
    return token


def _require_host(request: Request) -> TableStore:
    store = _get_manager(request).store
    if not hmac.compare_digest(_read_token(request).encode(), store.host_token.encode()):
        raise RequestError(403, "this is not the host's link; it was printed when the server started")
    _trust(request)
    return store


def _trust(request: Request | WebSocket) -> None:
    """Note that a connection has shown a valid token, so that it is not closed in favour of others."""
    if (connection := request.scope.get("state", {}).get(STATE_KEY)) is not None:
        connection.has_token = True
        if isinstance(request, WebSocket):
            connection.serve(None)


async def _read_body(request: Request) -> dict[str, Any]:
    try:
        body = json.loads(await request.body())
    except (ValueError, RecursionError):
        body = None
    if not isinstance(body, dict):
        raise RequestError(400, "the body is not a JSON object")
    return body


# Requests of the host.


def _summarize(store: TableStore, table: Table) -> TableSummary:
    return {
        "id": table.id,
        "file": str(store.folder / f"{table.id}.json"),
        "round": int(table.env.states["round_index"][0]) + 1,
        "is_over": table.is_over,
        "seats": [
            {"name": seat.name, "agent": seat.agent, "link": f"/play#{seat.token}" if seat.token else None}
            for seat in table.seats
        ],
    }


async def _get_agents(request: Request) -> Response:
    return JSONResponse(agents_message(_require_host(request).permissions.external_agents))


async def _list_tables(request: Request) -> Response:
    return JSONResponse(_list(_require_host(request)))


def _list(store: TableStore) -> TablesMessage:
    return {"tables": [_summarize(store, table) for table in reversed(store.tables.values())]}


async def _create_table(request: Request) -> Response:
    store = _require_host(request)
    manager = _get_manager(request)
    table = await manager.create_table(await _read_body(request))
    await manager.wait_for_agent_moves(table)
    await manager.wait_until_written(table)
    return JSONResponse(_summarize(store, table), 201)


async def _close_table(request: Request) -> Response:
    store = _require_host(request)
    await _get_manager(request).close_table(request.path_params["table"])
    return JSONResponse(_list(store))


# Requests of the host or of a seat.


async def _get_status(request: Request) -> Response:
    try:
        _require_host(request)
    except RequestError:
        _find_seat(request)
    message: StatusMessage = {"is_compiling": compilation_status.is_compiling}
    return JSONResponse(message)


# Requests of a seat.


def _find_seat(request: Request) -> tuple[TableManager, Table, int]:
    """Return the table and the seat whose token a request has."""
    manager = _get_manager(request)
    table, seat = manager.store.find_seat(_read_token(request))
    _trust(request)
    return manager, table, seat


async def _get_seat(request: Request) -> Response:
    manager, table, seat = _find_seat(request)
    await manager.wait_for_agent_moves(table)
    await manager.wait_until_written(table)
    rules = summarize_rules(len(table.seats), table.env.options.variant.discussion)
    message: SeatMessage = {**table.message(seat), "rules": rules}
    return JSONResponse(message)


async def _move(request: Request) -> Response:
    manager, table, seat = _find_seat(request)
    body = await _read_body(request)
    manager.play_for_person(table, seat, body.get("action"), body.get("turn"))
    await manager.wait_for_agent_moves(table)
    await manager.wait_until_written(table)
    return _make_answer(table, seat)


async def _rename(request: Request) -> Response:
    manager, table, seat = _find_seat(request)
    await manager.rename(table, seat, (await _read_body(request)).get("name"))
    await manager.wait_until_written(table)
    return _make_answer(table, seat)


def _make_answer(table: Table, seat: int) -> Response:
    return Response(table.encode_message(seat), media_type="application/json")


async def _send_changes(socket: WebSocket) -> None:
    await socket.accept()
    try:
        token = await asyncio.wait_for(socket.receive_text(), TOKEN_TIMEOUT)
        await _serve_socket(socket, _get_manager(socket), token)
    except RequestError as error:
        await socket.close(4000 + error.status, shorten(str(error), MAX_CLOSE_REASON))
    except TimeoutError:
        await socket.close(4401, "no token was sent")
    except KeyError:  # Starlette's answer to bytes where text is expected
        await socket.close(4400, "messages must be text; the first is a token")
    except WebSocketDisconnect:
        pass


async def _serve_socket(socket: WebSocket, manager: TableManager, token: str) -> None:
    """Send the game after every change until the page closes the socket."""
    table, seat = manager.store.find_seat(token)
    if manager.open_sockets[token] >= MAX_SOCKETS:
        raise RequestError(429, f"this seat is open in {MAX_SOCKETS} windows already")
    _trust(socket)
    manager.open_sockets[token] += 1
    sender = asyncio.create_task(_send_messages(socket, manager, table, seat))
    try:
        while True:  # nothing more is expected; this raises WebSocketDisconnect at the end
            await socket.receive_text()
    finally:
        sender.cancel()
        manager.open_sockets -= Counter([token])  # leaves out what is 0


async def _send_messages(socket: WebSocket, manager: TableManager, table: Table, seat: int) -> None:
    while manager.store.tables.get(table.id) is table:
        change = manager.next_change(table)  # obtained before sending, so that no change in the meantime is missed
        if manager.is_written(table):  # otherwise the change follows when it is
            await socket.send_text(table.encode_message(seat))
        await change.wait()
    await socket.close(4410, "the host has closed this game")
