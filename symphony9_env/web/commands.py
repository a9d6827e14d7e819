"""`symphony9 play` and `symphony9 watch`: their options, and what they do."""

from __future__ import annotations

import argparse
import sys
import threading
from collections.abc import Callable
from pathlib import Path

from symphony9_env import agents, files
from symphony9_env.replay.replay_data import DEFAULT_SEARCH, read_games
from symphony9_env.web import DEFAULT_PORT, GAMES_FOLDER, LOOPBACK


def add_play(add: Callable[[str, str], argparse.ArgumentParser]) -> None:
    play = add("play", "play in the browser, against agents, saved policies and other people")
    play.add_argument("--games", default=GAMES_FOLDER, help=f"folder to keep games in (default: {GAMES_FOLDER})")
    play.add_argument("--seed", type=int, help="of the deals; drawn by chance unless it is given here or on the page")
    _add_server(play)
    play.set_defaults(run=_play)


def _add_server(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--host", default=LOOPBACK, help=f"address to listen on (default: {LOOPBACK}, this machine alone; 0.0.0.0: all)"
    )
    command.add_argument(
        "--port", type=int, help=f"port to listen on (default: {DEFAULT_PORT}, or a free one if that is taken)"
    )
    command.add_argument("--no-browser", action="store_true", help="only print the link")


def add_watch(add: Callable[[str, str], argparse.ArgumentParser]) -> None:
    watch = add("watch", "watch recorded games in the browser")
    watch.add_argument("files", nargs="+", metavar="FILE", help="game records")
    watch.add_argument(
        "--policy", default=agents.SHIPPED, help="whose probabilities to show where no policy played; none: nobody's"
    )
    watch.add_argument(
        "--search",
        type=int,
        default=DEFAULT_SEARCH,
        help=f"playouts a decision of the search that comments; 0: none (default: {DEFAULT_SEARCH})",
    )
    watch.add_argument("--export", metavar="FILE", help="write one HTML file that needs no server, and stop")
    _add_server(watch)
    watch.set_defaults(run=_watch)


def _need_server() -> None:
    try:
        import starlette  # noqa: F401
        import uvicorn  # noqa: F401
        import websockets  # noqa: F401
    except ImportError as error:
        raise ValueError(f"{error.name} is not installed; pip install 'symphony9-env[play]'") from None


def _play(chosen: argparse.Namespace) -> None:
    _need_server()
    from symphony9_env.web.app import make_app
    from symphony9_env.web.serve import address_of, is_loopback, listen, serve
    from symphony9_env.web.table_store import Tables

    bound = listen(chosen.host, chosen.port)
    try:
        tables = Tables(chosen.games, chosen.seed)
    except ValueError:
        bound.close()
        raise
    link = f"{address_of(bound)}/#{tables.host_token}"
    for problem in tables.damaged:
        print(f"symphony9: {tables.folder / problem}", file=sys.stderr)
    running = sum(not table.is_over for table in tables.by_id.values())
    print(f"Set up games at  {link}\nGames are kept in {tables.folder} ({running} of {len(tables.by_id)} not over)")
    _warn(is_loopback(bound))
    print("Ctrl-C stops the server; the next start goes on with the same games and links.", flush=True)
    threading.Thread(target=_warm_up, daemon=True).start()
    serve(make_app(tables), bound, None if chosen.no_browser else link)


def _warn(is_private: bool) -> None:
    if not is_private:
        print("Listening to other machines: whoever has a link can use it; the traffic is not encrypted.")


def _warm_up() -> None:
    """Let every kind of agent decide once, so that nobody waits for a compiler in the first game."""
    from symphony9_env import symphony9_v0

    env = symphony9_v0.raw_env()
    env.reset(seed=0)
    for name in agents.names():
        agents.make(name, seed=0).choose(env)


def _watch(chosen: argparse.Namespace) -> None:
    from symphony9_env.replay.html_export import replay_page

    if chosen.export is None:
        _need_server()
    policy = None if chosen.policy == "none" else chosen.policy
    page = replay_page(read_games(chosen.files, policy, chosen.search))
    if chosen.export is not None:
        files.write_text(Path(chosen.export), page)
        print(f"{chosen.export}: games: {len(chosen.files)}, {len(page) / 1e6:.1f} MB")
        return
    from symphony9_env.web.app import make_watch_app
    from symphony9_env.web.serve import address_of, is_loopback, listen, serve

    bound = listen(chosen.host, chosen.port)
    _warn(is_loopback(bound))
    print(f"Watch at {address_of(bound)}/\nCtrl-C stops the server.", flush=True)
    serve(make_watch_app(page), bound, None if chosen.no_browser else f"{address_of(bound)}/")
