"""The options of `symphony9 watch`, and its export to one HTML file, which needs no server."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path

from symphony9_env import agents, files
from symphony9_env.replay.commentators import DEFAULT_PLAYOUTS
from symphony9_env.replay.html_export import make_page
from symphony9_env.replay.replay_data import ReplayJson, read_replays


def add_watch_options(add: Callable[[str, str], argparse.ArgumentParser]) -> argparse.ArgumentParser:
    """Add the command `watch` with all its options but those of the server."""
    watch = add("watch", "watch recorded games in the browser")
    watch.add_argument("files", nargs="+", metavar="FILE", help="game records")
    watch.add_argument(
        "--policy",
        default=agents.SHIPPED,
        help=f"policy that comments on seats not played by a policy; none for no policy (default: {agents.SHIPPED})",
    )
    watch.add_argument(
        "--search",
        type=int,
        default=DEFAULT_PLAYOUTS,
        help=f"playouts for each decision of the search that comments; 0 for no search (default: {DEFAULT_PLAYOUTS})",
    )
    watch.add_argument("--export", metavar="FILE", help="write one HTML file that needs no server, and exit")
    return watch


def read_chosen_replays(chosen: argparse.Namespace) -> list[ReplayJson]:
    """Return the replays of the files and commentators chosen on the command line."""
    policy = None if chosen.policy == "none" else chosen.policy
    return read_replays(chosen.files, policy, chosen.search)


def export_page(chosen: argparse.Namespace) -> None:
    """Write the page to the file chosen on the command line. If a game is not over, only the owner can read it."""
    replays = read_chosen_replays(chosen)
    page = make_page(replays)
    is_private = any(replay["frames"][-1]["position"]["score_sheet"] is None for replay in replays)
    try:
        files.write_text(Path(chosen.export), page, is_private=is_private)
    except OSError as error:  # its own message would name a temporary file
        raise ValueError(f"--export {chosen.export}: can't be written: {error.strerror}") from error
    print(f"{chosen.export}: {len(chosen.files)} game{'s' * (len(chosen.files) != 1)}, {len(page) / 1e6:.1f} MB")
