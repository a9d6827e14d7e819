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
import threading
from collections import Counter
from collections.abc import Callable
from typing import Any, Final

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import FileResponse, HTMLResponse, JSONResponse, Response
from starlette.routing import Mount, Route, WebSocketRoute
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from starlette.websockets import WebSocket, WebSocketDisconnect

from symphony9_env import agents
from symphony9_env.agents import Agent
from symphony9_env.envs.aec import RawEnv
from symphony9_env.options import SCORING, TRACKS
from symphony9_env.render.theme import theme_css
from symphony9_env.replay.html_export import STATIC
from symphony9_env.views.rules_summary import summarize_rules
from symphony9_env.web.table_store import Tables
from symphony9_env.web.tables import RequestError, Table, make_table

MAX_BODY: Final = 8 * 1024
MAX_SOCKET_MESSAGE: Final = 1024
MAX_SOCKETS: Final = 8  # for each seat
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
        self.sockets: Counter[str] = Counter()  # open ones, by token
        self._changed: dict[str, asyncio.Event] = {}
        self._agents_at_work: dict[str, asyncio.Task[None]] = {}

    def announce(self, table: Table) -> None:
        """Wake everybody who waits for this table."""
        self._changed.pop(table.id, asyncio.Event()).set()

    def next_change(self, table: Table) -> asyncio.Event:
        """Set when something changes from now on."""
        return self._changed.setdefault(table.id, asyncio.Event())

    def keep(self, table: Table) -> None:
        """Save it; what is in the way is told to the people at the table, and the game goes on."""
        try:
            self.tables.save(table)
            table.problem = None
        except (ValueError, OSError) as error:
            table.problem = f"the game goes on, but it could not be saved: {error}"

    def start_agents(self, table: Table) -> asyncio.Task[None] | None:
        """If it is their turn."""
        task = self._agents_at_work.get(table.id)
        if table.agent_to_move is not None and (task is None or task.done()):
            task = self._agents_at_work[table.id] = asyncio.create_task(self._agents_play(table))
        return task

    async def let_agents_play(self, table: Table) -> None:
        """Start the agents if it is their turn, and wait for them a little."""
        if (task := self.start_agents(table)) is not None:
            await asyncio.wait([task], timeout=PATIENCE)

    async def _agents_play(self, table: Table) -> None:
        """Agents think in threads, which only read; every move is made here, so nobody sees half of one."""
        while (agent := table.agent_to_move) is not None:
            try:
                table.play(await _thought(agent, table.env))
            except Exception as error:
                table.problem = f"{agent.name} can't go on: {error}"
                self.announce(table)
                raise
            self.announce(table)
        self.keep(table)

    async def close(self) -> None:
        """What agents have played is saved; what they were thinking about, they will think about again."""
        for number, task in self._agents_at_work.items():
            if not task.done():
                task.cancel()
                self.keep(self.tables.by_id[number])
        self.tables.close()


async def _thought(agent: Agent, env: RawEnv) -> int:
    """An agent's choice, thought of in a thread that nobody waits for when the server stops."""
    loop = asyncio.get_running_loop()
    choice: asyncio.Future[int] = loop.create_future()

    def tell(compute_rewards: Callable[[Any], None], outcome: Any) -> None:
        if not choice.done():  # else the server has stopped
            compute_rewards(outcome)

    def think() -> None:
        answer: tuple[Callable[[Any], None], Any]
        try:
            answer = choice.set_result, agent.choose(env)
        except Exception as error:
            answer = choice.set_exception, error
        with contextlib.suppress(RuntimeError):  # the loop is closed
            loop.call_soon_threadsafe(tell, *answer)

    threading.Thread(target=think, daemon=True).start()
    return await choice


def make_app(tables: Tables) -> ASGIApp:
    hall = Hall(tables)

    @contextlib.asynccontextmanager
    async def lifespan(app: Starlette) -> Any:
        for table in tables.by_id.values():  # games that were stopped in an agent's turn
            hall.start_agents(table)
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
        exception_handlers={RequestError: _refuse, HTTPException: _refuse, Exception: _fail},
        lifespan=lifespan,
        max_body_size=MAX_BODY,
    )
    app.state.hall = hall
    return SafeHeaders(app)


def make_watch_app(page: str) -> ASGIApp:
    """One page that has everything in it."""

    async def watch(request: Request) -> Response:
        return HTMLResponse(page)

    return SafeHeaders(Starlette(routes=[Route("/", watch)]), inline=True)


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
    return Response(theme_css(), media_type="text/css")


async def _refuse(request: Request, error: Any) -> Response:
    if isinstance(error, HTTPException):
        return JSONResponse({"error": error.detail}, error.status_code, error.headers)
    return _error(str(error), error.status)


async def _fail(request: Request, error: Exception) -> Response:
    return _error(f"the server could not do that: {type(error).__name__}", 500)


def _error(text: str, status: int) -> Response:
    """What can't be written (half of a letter, from a request) is left out."""
    return JSONResponse({"error": text.encode("utf-8", "replace").decode()}, status)


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


def _summary(tables: Tables, table: Table) -> dict[str, Any]:
    """What the host is told of a game: no more than how far it is, who sits there, and the links to hand out."""
    return {
        "id": table.id,
        "file": str(tables.folder / f"{table.id}.json"),
        "round": int(table.env.states["round_index"][0]) + 1,
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
    return JSONResponse({"tables": [_summary(tables, table) for table in reversed(tables.by_id.values())]})


async def _create_table(request: Request) -> Response:
    tables = _need_host(request)
    wish = await _body(request)
    number, seed = tables.reserve()
    table = tables.open(await run_in_threadpool(make_table, number, seed, wish))
    await _hall(request).let_agents_play(table)
    return JSONResponse(_summary(tables, table), 201)


async def _look(request: Request) -> Response:
    hall = _hall(request)
    table, seat = hall.tables.seat_of(_token(request))
    await hall.let_agents_play(table)
    about = summarize_rules(len(table.seats), table.env.options.variant.discussion)
    return JSONResponse({**table.message(seat), "primer": about})


async def _move(request: Request) -> Response:
    hall = _hall(request)
    table, seat = hall.tables.seat_of(_token(request))
    body = await _body(request)
    table.play_for(seat, body.get("action"), body.get("turn"))
    hall.keep(table)
    hall.announce(table)
    await hall.let_agents_play(table)
    return JSONResponse(table.message(seat))


async def _rename(request: Request) -> Response:
    hall = _hall(request)
    table, seat = hall.tables.seat_of(_token(request))
    table.rename(seat, (await _body(request)).get("name"))
    hall.keep(table)
    hall.announce(table)
    return JSONResponse(table.message(seat))


async def _events(socket: WebSocket) -> None:
    hall = _hall(socket)
    await socket.accept()
    try:
        token = await asyncio.wait_for(socket.receive_text(), 10)
        table, seat = hall.tables.seat_of(token)
        if hall.sockets[token] >= MAX_SOCKETS:
            raise RequestError(429, f"this seat is open in {MAX_SOCKETS} places already")
        hall.sockets[token] += 1
        sender = asyncio.create_task(_send_news(socket, hall, table, seat))
        try:
            while True:  # nothing more is expected; this ends when the page is closed
                await socket.receive_text()
        finally:
            sender.cancel()
            hall.sockets[token] -= 1
    except RequestError as error:
        await socket.close(4000 + error.status, str(error))
    except TimeoutError:
        await socket.close(4401, "no token")
    except KeyError:  # bytes where a text was expected
        await socket.close(4400, "needed: a token, as text")
    except WebSocketDisconnect:
        pass


async def _send_news(socket: WebSocket, hall: Hall, table: Table, seat: int) -> None:
    while True:
        change = hall.next_change(table)  # what changes while we send is not missed
        await socket.send_json(table.message(seat))
        await change.wait()
