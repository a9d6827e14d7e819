"""Make the screenshots in docs/playing.md: a game against the shipped policy in Chromium, and its replay.

    python -m tools.page_figures [FOLDER]     (or: make figures)

writes them to FOLDER, by default docs/figures.
"""

from __future__ import annotations

import io
import tempfile
from collections.abc import Sequence
from pathlib import Path

from PIL import Image
from playwright.sync_api import Browser

from symphony9_env import agents
from symphony9_env.arguments import Parser
from symphony9_env.replay.commentators import DEFAULT_PLAYOUTS
from symphony9_env.replay.html_export import make_page
from symphony9_env.replay.replay_data import read_replays
from symphony9_env.web.app import make_app
from symphony9_env.web.table_store import TableStore
from symphony9_env.web.tables import Table
from tests.web.browser import Screen, chromium, running

FIGURES = Path(__file__).parents[1] / "docs" / "figures"


def play_until(table: Table, round_number: int, decision: str) -> None:
    """Let the shipped policy play all seats until seat 0 has this decision to make in this round."""
    agent = agents.make("policy", seed=3)
    while not table.is_over:
        position = table.env.decision, int(table.env.states["round_index"][0]) + 1, table.env.deciding_seat
        if position == (decision, round_number, 0):
            return
        table.play(agent.choose(table.env))


def save_screenshot(browser: Browser, url: str, path: Path, width: int, height: int) -> None:
    """Open a page and save what it looks like."""
    screen = Screen(browser, url, width, height)
    screen.page.wait_for_selector(".tracks, #seats li")
    screen.page.wait_for_timeout(1500)  # until the animation has ended
    shot = Image.open(io.BytesIO(screen.page.screenshot()))
    shot.quantize(240).save(path, optimize=True)  # a third of the size, with no visible difference
    screen.context.close()


def save_all(figures: Path) -> None:
    """Make all screenshots."""
    with tempfile.TemporaryDirectory() as folder, chromium() as browser:
        store = TableStore(folder)
        seats = [{"name": "Ann"}, {"agent": "policy"}, {"agent": "search"}, {"agent": "planner"}]
        table = store.create({"seats": seats, "seed": 33})
        play_until(table, 3, "bid")
        with running(make_app(store)) as address:
            link = f"{address}/play#{table.seats[0].token}"
            save_screenshot(browser, f"{address}/#{store.host_token}", figures / "lobby.png", 1100, 640)
            save_screenshot(browser, link, figures / "play.png", 1280, 1080)
            save_screenshot(browser, link, figures / "play_phone.png", 390, 844)
            play_until(table, 0, "")
            save_screenshot(browser, link, figures / "play_end.png", 1280, 760)
        store.save(table)
        page = Path(folder) / "watch.html"
        replays = read_replays([Path(folder) / "0001.json"], "policy", DEFAULT_PLAYOUTS)
        page.write_text(make_page(replays), encoding="utf-8")
        save_screenshot(browser, f"{page.as_uri()}#0,62", figures / "watch.png", 1280, 1000)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command."""
    parser = Parser(prog="python -m tools.page_figures", description=__doc__)
    parser.add_argument("folder", nargs="?", type=Path, default=FIGURES, help="where to write the screenshots")
    save_all(parser.parse_args(arguments).folder)


if __name__ == "__main__":
    main()
