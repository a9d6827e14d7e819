"""The screenshots in docs/playing.md: a game against the shipped policy in Chromium, and its replay.

    python -m tools.page_figures     (or: make figures)

writes them to docs/figures.
"""

from __future__ import annotations

import io
import tempfile
from pathlib import Path

from PIL import Image
from playwright.sync_api import Browser

from symphony9_env import agents
from symphony9_env.replay.html_export import replay_page
from symphony9_env.replay.replay_data import DEFAULT_SEARCH, read_games
from symphony9_env.web.app import make_app
from symphony9_env.web.table_store import Tables
from symphony9_env.web.tables import Table
from tests.web.browser import Screen, chromium, running

FIGURES = Path(__file__).parent.parent.parent / "docs" / "figures"


def play_until(table: Table, stop_round: int, stop: str) -> None:
    """Everybody plays as the shipped policy would, until Ann is asked this."""
    agent = agents.make("policy", seed=3)
    while not table.is_over:
        game = table.env.infos[table.env.agent_selection]["decision"], int(table.env.states["round_index"][0]) + 1
        if game == (stop, stop_round) and table.env.deciding_seat == 0:
            return
        table.play(agent.choose(table.env))


def show(browser: Browser, url: str, name: str, width: int, height: int, go: str = "") -> None:
    screen = Screen(browser, url, width, height)
    screen.page.wait_for_selector(".tracks, #seats li")
    if go:
        screen.page.select_option("#seat", go)
    screen.page.wait_for_timeout(1500)  # bars have come to rest
    shot = Image.open(io.BytesIO(screen.page.screenshot()))
    shot.quantize(240).save(FIGURES / name, optimize=True)  # a third of the size, and it looks the same
    screen.context.close()


def main() -> None:
    with tempfile.TemporaryDirectory() as folder, chromium() as browser:
        tables = Tables(folder)
        seats = [{"name": "Ann"}, {"agent": "policy"}, {"agent": "search"}, {"agent": "planner"}]
        table = tables.create({"seats": seats, "seed": 33})
        play_until(table, 3, "bid")
        with running(make_app(tables)) as address:
            link = f"{address}/play#{table.seats[0].token}"
            show(browser, f"{address}/#{tables.host_token}", "lobby.png", 1100, 640)
            show(browser, link, "play.png", 1280, 1080)
            show(browser, link, "play_phone.png", 390, 844)
            play_until(table, 0, "")
            show(browser, link, "play_end.png", 1280, 760)
        tables.save(table)
        page = Path(folder) / "watch.html"
        page.write_text(
            replay_page(read_games([Path(folder) / "0001.json"], "policy", DEFAULT_SEARCH)), encoding="utf-8"
        )
        show(browser, f"{page.as_uri()}#0,62", "watch.png", 1280, 1000)


if __name__ == "__main__":
    main()
