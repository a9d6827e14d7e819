"""Fixtures for the tests of the pages."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser

from symphony9_env.web.table_store import TableStore
from tests.web.browser import chromium


@pytest.fixture(scope="module")  # Playwright occupies the event loop of the thread as long as it runs
def browser() -> Iterator[Browser]:
    with chromium() as started:
        yield started


@pytest.fixture
def store(tmp_path: Path) -> Iterator[TableStore]:
    opened = TableStore(tmp_path / "games")
    yield opened
    opened.close()
