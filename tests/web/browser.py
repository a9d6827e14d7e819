"""A real server and a real Chromium, for tests of the pages and for their screenshots."""

from __future__ import annotations

import os
import shutil
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect, sync_playwright
from starlette.types import ASGIApp

from symphony9_env.actions import number
from symphony9_env.views.seat import legal_numbers
from symphony9_env.web.connections import Connections
from symphony9_env.web.server import format_address, listen, make_server
from symphony9_env.web.tables import Table

TIMEOUT = 60_000  # milliseconds: agents may have to be compiled, on a busy machine
expect.set_options(timeout=TIMEOUT)

MS_UNTIL_ACTIVE = 400  # milliseconds from a new question until its buttons react
BID_4 = number("bid 4")
CHROMIUM = ("chromium", "chromium-browser", "google-chrome", "chrome")


@contextmanager
def running(app: ASGIApp, port: int = 0, connections: Connections | None = None) -> Iterator[str]:
    """Run a server while the block lasts; yield its address."""
    listener: socket.socket = listen("127.0.0.1", port)
    server = make_server(app, Connections() if connections is None else connections)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]}, daemon=True)
    thread.start()
    while not server.started:
        time.sleep(0.01)
    try:
        yield format_address(listener)
    finally:
        server.should_exit = True
        thread.join()
        listener.close()


@contextmanager
def chromium() -> Iterator[Browser]:
    """Start an installed Chromium, or Playwright's own. Without either, skip the test, unless the environment variable
    SYMPHONY9_NEED_BROWSER is set."""
    path = next((found for name in CHROMIUM if (found := shutil.which(name))), None)
    with sync_playwright() as playwright:
        try:
            browser = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])
        except Exception as error:
            if os.environ.get("SYMPHONY9_NEED_BROWSER"):
                raise
            pytest.skip(f"Chromium could not be started: {error}")
        yield browser
        browser.close()


class Screen:
    """A page in its own window, with the errors and warnings of its console."""

    def __init__(self, browser: Browser, url: str, width: int = 1280, height: int = 860) -> None:
        self.context = browser.new_context(viewport={"width": width, "height": height}, has_touch=width < 800)
        self.errors: list[str] = []
        self.page: Page = self.context.new_page()
        self.page.set_default_timeout(TIMEOUT)
        self.page.on(
            "console",
            lambda message: self.errors.append(message.text) if message.type in ("error", "warning") else None,
        )
        self.page.on("pageerror", lambda error: self.errors.append(str(error)))
        self.page.clock.install()  # tests may move or stop the page's clock
        self.page.goto(url)

    def choices(self) -> list[dict[str, Any]]:
        """Return the buttons of the question: action and kind."""
        found = self.page.query_selector_all("#question [data-action]:visible")
        return [
            {
                "action": int(one.get_attribute("data-action") or -1),
                "kind": (one.get_attribute("class") or "").split()[-1],
            }
            for one in found
        ]

    @property
    def is_over(self) -> bool:
        """Whether the page shows the score sheet."""
        return self.page.query_selector(".score-sheet") is not None

    @property
    def is_asked(self) -> bool:
        """Whether the page asks its player for a decision."""
        return self.page.query_selector("#question.asked") is not None

    def num_lines(self) -> int:
        """Return the number of lines in the log."""
        return len(self.page.query_selector_all("#log li"))


def play(screen: Screen, count: int) -> None:
    """Click on one of the choices: a bid of $4 if there is one, otherwise one that depends on the count."""
    choices = screen.choices()
    wanted = [one for one in choices if one["action"] == BID_4] or choices
    before = screen.num_lines()
    screen.page.clock.fast_forward(MS_UNTIL_ACTIVE)
    screen.page.click(f"#question [data-action='{wanted[count * 7 % len(wanted)]['action']}']")
    screen.page.wait_for_function("before => document.querySelectorAll('#log li').length > before", arg=before)


def advance(table: Table, decision: str | None, round_number: int = 1) -> None:
    """Play the first legal move for whoever decides, until the first seat has this decision to make in this round.

    Without a decision, play to the end.
    """
    while not table.is_over:
        is_in_round = table.env.states["round_index"][0] + 1 >= round_number
        if is_in_round and (table.env.decision, table.env.deciding_seat) == (decision, 0):
            return
        table.play(legal_numbers(table.env.states, 0)[0])
