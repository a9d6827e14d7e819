"""The server behind `symphony9 play`: pages, and a small API by JSON.

Nobody gets anything without a token. The host's (printed when the server starts) sets up games; each person's seat
has one of its own. They travel in the `Authorization` header, or as the first message of a WebSocket; in links they
stand behind the #, which browsers keep to themselves.

    POST /api/tables          host   set up a game
    GET  /api/tables          host   all games, with the links of their seats
    GET  /api/agents          host   who can be played against
    GET  /api/seat            seat   what this seat sees
    POST /api/seat/move       seat   {"turn": 12, "action": 3}
    POST /api/seat/name       seat   {"name": "Ann"}
    WS   /api/seat/events     seat   first message: the token; then what the seat sees, again after every change
"""

from __future__ import annotations

import asyncio
import contextlib
import hmac
import json
from pathlib import Path
from typing import Any, Final

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import FileResponse, HTMLResponse, JSONResponse, Response
from starlette.routing import Mount, Route, WebSocketRoute
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from starlette.websockets import WebSocket, WebSocketDisconnect

from symphony9_env import agents
from symphony9_env.options import SCORING, TRACKS
from symphony9_env.render.look import look_css
from symphony9_env.views.primer import primer
from symphony9_env.web.names import clean_name
from symphony9_env.web.tables import RequestError, Table, Tables

STATIC: Final = Path(__file__).parent / "static"
MAX_BODY: Final = 8 * 1024
MAX_SOCKET_MESSAGE: Final = 1024
# How long a move waits for the agents' answers before it is answered itself; later ones come by the WebSocket.
PATIENCE: Final = 0.5

_POLICY: Final = (
    "default-src 'none'; script-src {own}; style-src {own}; img-src 'self' data:; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
_HEADERS: Final = {
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cache-control": "no-store",
}


class Hall:
    """The tables, the agents' turns at them, and the pages that wait for news."""

    def __init__(self, tables: Tables) -> None:
        self.tables = tables
        self._changed: dict[str, asyncio.Event] = {}
        self._agents_at_work: dict[str, asyncio.Task[None]] = {}

    def announce(self, table: Table) -> None:
        """Wake everybody who waits for this table."""
        self._changed.pop(table.id, asyncio.Event()).set()

    def keep(self, table: Table) -> None:
        try:
            self.tables.save(table)
        except (ValueError, OSError) as error:
            raise RequestError(507, f"the move is made, but the game could not be saved: {error}") from None

    async def news(self, table: Table) -> None:
        """Until something has changed."""
        await self._changed.setdefault(table.id, asyncio.Event()).wait()

    async def let_agents_play(self, table: Table) -> None:
        """Start the agents if it is their turn, and wait for them a little."""
        if table.agent_to_move is None:
            return
        task = self._agents_at_work.get(table.id)
        if task is None or task.done():
            task = self._agents_at_work[table.id] = asyncio.create_task(self._agents_play(table))
        await asyncio.wait([task], timeout=PATIENCE)

    async def _agents_play(self, table: Table) -> None:
        """Agents think in threads, which only read; every move is made here, so nobody sees half of one."""
        while (agent := table.agent_to_move) is not None:
            table.play(await run_in_threadpool(agent.choose, table.env))
            self.announce(table)
        self.tables.save(table)

    async def close(self) -> None:
        for task in self._agents_at_work.values():
            task.cancel()
        await asyncio.gather(*self._agents_at_work.values(), return_exceptions=True)


def make_app(tables: Tables) -> Starlette:
    hall = Hall(tables)

    @contextlib.asynccontextmanager
    async def lifespan(app: Starlette) -> Any:
        for table in tables.by_id.values():  # games that were stopped in an agent's turn
            await hall.let_agents_play(table)
        yield
        await hall.close()

    app = Starlette(
        routes=[
            Route("/", _page("lobby.html")),
            Route("/play", _page("play.html")),
            Route("/look.css", _look_css),
            Route("/api/agents", _agents),
            Route("/api/tables", _list_tables, methods=["GET"]),
            Route("/api/tables", _create_table, methods=["POST"]),
            Route("/api/seat", _look),
            Route("/api/seat/move", _move, methods=["POST"]),
            Route("/api/seat/name", _rename, methods=["POST"]),
            WebSocketRoute("/api/seat/events", _events),
            Mount("/static", StaticFiles(directory=STATIC)),
        ],
        middleware=[Middleware(SafeHeaders)],
        exception_handlers={RequestError: _refuse, HTTPException: _refuse},
        lifespan=lifespan,
        max_body_size=MAX_BODY,
    )
    app.state.hall = hall
    return app


def make_watch_app(page: str) -> Starlette:
    """One page that has everything in it."""

    async def watch(request: Request) -> Response:
        return HTMLResponse(page)

    return Starlette(routes=[Route("/", watch)], middleware=[Middleware(SafeHeaders, inline=True)])


class SafeHeaders:
    """Every answer says what a page of ours may load: nothing from elsewhere, no script but its own."""

    def __init__(self, app: ASGIApp, inline: bool = False) -> None:
        """`inline`: for a page that has its own scripts and styles in it."""
        self.app = app
        own = "'unsafe-inline'" if inline else "'self'"
        policy = {"content-security-policy": _POLICY.format(own=own)}
        self._headers = [(name.encode(), value.encode()) for name, value in {**policy, **_HEADERS}.items()]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = [*message.get("headers", []), *self._headers]
            await send(message)

        await self.app(scope, receive, with_headers if scope["type"] == "http" else send)


def _page(name: str) -> Any:
    async def page(request: Request) -> Response:
        return FileResponse(STATIC / name)

    return page


async def _look_css(request: Request) -> Response:
    return Response(look_css(), media_type="text/css")


async def _refuse(request: Request, error: Any) -> Response:
    if isinstance(error, HTTPException):
        return JSONResponse({"error": error.detail}, error.status_code, error.headers)
    return JSONResponse({"error": str(error)}, error.status)


def _hall(request: Request | WebSocket) -> Hall:
    hall: Hall = request.app.state.hall
    return hall


def _token(request: Request) -> str:
    kind, _, token = request.headers.get("authorization", "").partition(" ")
    if kind.lower() != "bearer" or not token:
        raise RequestError(401, "no token: open the whole link that you were given")
    return token


def _need_host(request: Request) -> Tables:
    tables = _hall(request).tables
    if not hmac.compare_digest(_token(request).encode(), tables.host_token.encode()):
        raise RequestError(403, "this is not the host's link; it was printed when the server started")
    return tables


async def _body(request: Request) -> dict[str, Any]:
    try:
        body = json.loads(await request.body())
    except (ValueError, RecursionError):
        body = None
    if not isinstance(body, dict):
        raise RequestError(400, "the body is no JSON object")
    return body


def _summary(table: Table) -> dict[str, Any]:
    """What the host is told of a game: no more than how far it is, who sits there, and the links to hand out."""
    return {
        "id": table.id,
        "round": int(table.env.game["round_index"][0]) + 1,
        "over": table.is_over,
        "seats": [
            {"name": seat.name, "agent": seat.agent, "link": f"/play#{seat.token}" if seat.token else None}
            for seat in table.seats
        ],
    }


async def _agents(request: Request) -> Response:
    _need_host(request)
    return JSONResponse({"agents": agents.names(), "tracks": TRACKS, "scoring": SCORING})


async def _list_tables(request: Request) -> Response:
    tables = _need_host(request)
    return JSONResponse({"tables": [_summary(table) for table in reversed(tables.by_id.values())]})


async def _create_table(request: Request) -> Response:
    tables = _need_host(request)
    table = tables.create(await _body(request))
    await _hall(request).let_agents_play(table)
    return JSONResponse(_summary(table), 201)


async def _look(request: Request) -> Response:
    hall = _hall(request)
    table, seat = hall.tables.seat_of(_token(request))
    await hall.let_agents_play(table)
    about = primer(len(table.seats), table.env.options.discussion)
    return JSONResponse({**table.message(seat), "primer": about})


async def _move(request: Request) -> Response:
    hall = _hall(request)
    table, seat = hall.tables.seat_of(_token(request))
    body = await _body(request)
    table.play_for(seat, body.get("action"), body.get("turn"))
    hall.announce(table)
    hall.keep(table)
    await hall.let_agents_play(table)
    return JSONResponse(table.message(seat))


async def _rename(request: Request) -> Response:
    hall = _hall(request)
    table, seat = hall.tables.seat_of(_token(request))
    name = (await _body(request)).get("name")
    if not isinstance(name, str):
        raise RequestError(400, f"name={name!r}; needed: a text")
    table.seats[seat].name = clean_name(name, table.seats[seat].name)
    hall.announce(table)
    hall.keep(table)
    return JSONResponse(table.message(seat))


async def _events(socket: WebSocket) -> None:
    hall = _hall(socket)
    await socket.accept()
    try:
        table, seat = hall.tables.seat_of(await asyncio.wait_for(socket.receive_text(), 10))
        sender = asyncio.create_task(_send_news(socket, hall, table, seat))
        try:
            while True:  # nothing more is expected; this ends when the page is closed
                await socket.receive_text()
        finally:
            sender.cancel()
    except RequestError as error:
        await socket.close(4403, str(error))
    except TimeoutError:
        await socket.close(4401, "no token")
    except KeyError:  # bytes where a text was expected
        await socket.close(4400, "needed: a token, as text")
    except WebSocketDisconnect:
        pass


async def _send_news(socket: WebSocket, hall: Hall, table: Table, seat: int) -> None:
    while True:
        news = asyncio.create_task(hall.news(table))
        await asyncio.sleep(0)  # it waits from now on: what changes while we send is not missed
        await socket.send_json(table.message(seat))
        await news
