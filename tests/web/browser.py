"""A real server and a real Chromium for the tests of pages."""

from __future__ import annotations

import os
import shutil
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import uvicorn
from playwright.sync_api import Browser, Page, expect, sync_playwright
from starlette.types import ASGIApp

from symphony9_env.web.serve import address_of, listen

PATIENCE = 60_000  # milliseconds: agents may have to be compiled, on a machine that is busy
expect.set_options(timeout=PATIENCE)

CHROMIUM = ("chromium", "chromium-browser", "google-chrome", "chrome")


@contextmanager
def running(app: ASGIApp, port: int = 0) -> Iterator[str]:
    """The address of a server, which ends with the block."""
    bound: socket.socket = listen("127.0.0.1", port)
    server = uvicorn.Server(uvicorn.Config(app, log_level="warning", timeout_graceful_shutdown=1))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [bound]}, daemon=True)
    thread.start()
    while not server.started:
        time.sleep(0.01)
    try:
        yield address_of(bound)
    finally:
        server.should_exit = True
        thread.join()
        bound.close()


@contextmanager
def chromium() -> Iterator[Browser]:
    """Debian's Chromium or another that is installed, else Playwright's own. Without any the tests are left out,
    unless SYMPHONY9_NEED_BROWSER says that there must be one."""
    path = next((found for name in CHROMIUM if (found := shutil.which(name))), None)
    with sync_playwright() as playwright:
        try:
            browser = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])
        except Exception as error:
            if os.environ.get("SYMPHONY9_NEED_BROWSER"):
                raise
            pytest.skip(f"no Chromium here: {error}")
        yield browser
        browser.close()


class Screen:
    """A page in a window of its own, with everything that it complains of."""

    def __init__(self, browser: Browser, url: str, width: int = 1280, height: int = 860) -> None:
        self.context = browser.new_context(viewport={"width": width, "height": height}, has_touch=width < 800)
        self.complaints: list[str] = []
        self.page: Page = self.context.new_page()
        self.page.set_default_timeout(PATIENCE)
        self.page.on(
            "console",
            lambda message: self.complaints.append(message.text) if message.type in ("error", "warning") else None,
        )
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.goto(url)

    def choices(self) -> list[dict[str, Any]]:
        """The buttons of the question, by what they do."""
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
        return self.page.query_selector(".sheet") is not None

    @property
    def is_asked(self) -> bool:
        return self.page.query_selector("#question.asked") is not None

    def num_lines(self) -> int:
        return len(self.page.query_selector_all("#log li"))

    def shot(self, path: Path | None, **more: Any) -> None:
        if path is not None:
            self.page.screenshot(path=path, **more)
