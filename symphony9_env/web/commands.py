"""The commands `symphony9 play` and `symphony9 watch`: their options, and how they start a server."""

from __future__ import annotations

import argparse
import contextlib
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from symphony9_env import agents
from symphony9_env.replay.commands import add_watch_options, export_page, read_chosen_replays
from symphony9_env.replay.html_export import make_page
from symphony9_env.web import DEFAULT_PORT, GAMES_FOLDER, LOOPBACK, MAX_CONNECTIONS, MAX_PER_ADDRESS, MAX_PLAYOUTS

if TYPE_CHECKING:
    from symphony9_env.web.table_store import TableStore
    from symphony9_env.web.tables import Permissions


def add_play(add: Callable[[str, str], argparse.ArgumentParser]) -> None:
    """Add the command `play`."""
    play = add("play", "play in the browser, against agents, saved policies and other people")
    play.add_argument("--games", default=GAMES_FOLDER, help=f"folder for the games (default: {GAMES_FOLDER})")
    play.add_argument("--seed", type=int, help="seed of the deals; drawn at random unless given here or on the page")
    play.add_argument(
        "--allow-external-agents",
        action=argparse.BooleanOptionalAction,
        help="whether to allow agents that run code from outside this package (module:attribute, stdio:, http); "
        "by default only if no other machine can reach the server",
    )
    play.add_argument(
        "--files",
        type=Path,
        action="append",
        default=[],
        metavar="FOLDER",
        help="also allow component files and saved policies from this folder; by default only from the current one",
    )
    play.add_argument(
        "--max-playouts",
        type=int,
        default=MAX_PLAYOUTS,
        help=f"most playouts of `search` and lines of `think` for each decision (default: {MAX_PLAYOUTS})",
    )
    _add_server_options(play)
    play.set_defaults(run=_play)


def add_watch(add: Callable[[str, str], argparse.ArgumentParser]) -> None:
    """Add the command `watch`."""
    watch = add_watch_options(add)
    _add_server_options(watch)
    watch.set_defaults(run=_watch)


def _add_server_options(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--host",
        default=LOOPBACK,
        help=f"address to listen on (default: {LOOPBACK}, only this machine; 0.0.0.0 for all addresses)",
    )
    command.add_argument(
        "--port", type=int, help=f"port to listen on (default: {DEFAULT_PORT}, or a free one if that is taken)"
    )
    command.add_argument(
        "--connections-per-address",
        type=int,
        default=MAX_PER_ADDRESS,
        metavar="N",
        help=f"most connections from one address, of {MAX_CONNECTIONS} in all (default: {MAX_PER_ADDRESS})",
    )
    command.add_argument("--no-browser", action="store_true", help="only print the link")


def _require_server_packages() -> None:
    try:
        import starlette  # noqa: F401
        import uvicorn  # noqa: F401
        import websockets  # noqa: F401
    except ImportError as error:
        raise ValueError(f"{error.name} is not installed; pip install 'symphony9-env[play]'") from None


def _play(chosen: argparse.Namespace) -> None:
    _require_server_packages()
    from symphony9_env.web.app import make_app
    from symphony9_env.web.server import format_address, is_loopback, listen, serve
    from symphony9_env.web.table_store import TableStore

    listener = listen(chosen.host, chosen.port)
    is_private = is_loopback(listener)
    try:
        store = TableStore(chosen.games, chosen.seed, _read_permissions(chosen, is_private))
    except ValueError:
        listener.close()
        raise
    link = f"{format_address(listener)}/#{store.host_token}"
    _print_store(store, link)
    _print_warning(is_private)
    print("Ctrl-C stops the server; the next start continues the same games with the same links.", flush=True)
    threading.Thread(target=_warm_up, daemon=True).start()
    serve(make_app(store), listener, None if chosen.no_browser else link, chosen.connections_per_address)


def _read_permissions(chosen: argparse.Namespace, is_private: bool) -> Permissions:
    from symphony9_env.web.tables import Permissions

    return Permissions(
        external_agents=is_private if chosen.allow_external_agents is None else chosen.allow_external_agents,
        max_playouts=chosen.max_playouts,
        folders=(Path.cwd(), *chosen.files),
    )


def _print_store(store: TableStore, link: str) -> None:
    for problem in store.damaged:
        print(f"symphony9: {store.folder / problem}", file=sys.stderr)
    num_running = sum(not table.is_over for table in store.tables.values())
    print(f"Set up games at {link}")
    print(f"Games are stored in {store.folder} ({num_running} of {len(store.tables)} not over)")


def _print_warning(is_private: bool) -> None:
    if not is_private:
        print("Other machines can reach this server: whoever has a link can use it; the traffic is not encrypted.")


def _warm_up() -> None:
    """Play a game and let every agent decide once, so that nobody waits for the compiler in the first game."""
    from symphony9_env import symphony9_v0
    from symphony9_env.web.tables import compile_rules

    compile_rules()

    env = symphony9_v0.raw_env()
    env.reset(seed=0)
    for name in agents.names():
        with contextlib.suppress(Exception):  # an agent that fails is reported when a game is set up with it
            agent = agents.make(name, seed=0)
            agent.choose(env)
            agent.close()


def _watch(chosen: argparse.Namespace) -> None:
    if chosen.export is not None:
        export_page(chosen)
        return
    _require_server_packages()
    from symphony9_env.web.app import make_watch_app
    from symphony9_env.web.server import format_address, is_loopback, listen, serve

    page = make_page(read_chosen_replays(chosen))
    listener = listen(chosen.host, chosen.port)
    _print_warning(is_loopback(listener))
    link = f"{format_address(listener)}/"
    print(f"Watch at {link}\nCtrl-C stops the server.", flush=True)
    serve(make_watch_app(page), listener, None if chosen.no_browser else link, chosen.connections_per_address)
