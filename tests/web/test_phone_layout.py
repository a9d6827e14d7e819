"""The pages on a phone: nothing is cut off, and nothing has to be scrolled sideways."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from symphony9_env.replay.html_export import make_page
from symphony9_env.replay.replay_data import read_replays
from symphony9_env.web.app import make_app
from symphony9_env.web.table_store import TableStore
from tests.web.browser import Screen, advance, play, running

WIDTHS = [347, 390, 768]
HEIGHT = 844
LONG_NAMES = ["Annabelle", "Bartholomew the Second of Kent", "W" * 30, "policy"]

FIND_CUT_OFF = """() => {
  const elements = [...document.querySelectorAll("body, body *:not(svg *, .visually-hidden, .visually-hidden *)")];
  const hasWidth = (one) => one.clientWidth > 0 && one.tagName !== "INPUT"; // long links scroll inside their inputs
  const isCutOff = (one) => hasWidth(one) && one.scrollWidth > one.clientWidth + 1;
  const isOutside = (one) => {
    const { left, right, width } = one.getBoundingClientRect();
    return width > 0 && (left < -1 || right > document.documentElement.clientWidth + 1);
  };
  const describe = (one) => `${one.tagName}.${one.className}: ${one.scrollWidth} > ${one.clientWidth}`;
  return elements.filter((one) => isCutOff(one) || isOutside(one)).map(describe);
}"""


def check_layout(screen: Screen, width: int) -> None:
    assert screen.page.evaluate(FIND_CUT_OFF) == []
    assert screen.page.evaluate("document.documentElement.scrollWidth") <= width
    assert screen.errors == []


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("num_players", [2, 3, 4])
def test_a_phone_shows_everything_after_a_concert_and_at_the_end(
    num_players: int, width: int, browser: Browser, store: TableStore
) -> None:
    seats = [{"name": LONG_NAMES[0]}, *({"name": name, "agent": "greedy"} for name in LONG_NAMES[1:num_players])]
    table = store.create({"seats": seats, "seed": 2})
    advance(table, "bid", round_number=4)
    with running(make_app(store)) as address:
        screen = Screen(browser, f"{address}/play#{table.seats[0].token}", width, HEIGHT)
        screen.page.wait_for_selector("#question.asked")
        check_layout(screen, width)
        play(screen, 0)
        screen.page.wait_for_selector(".recent-concert")
        screen.page.wait_for_selector("#question.asked")
        screen.page.locator("#question details").evaluate_all("all => all.forEach((one) => { one.open = true; })")
        check_layout(screen, width)
        for button in screen.page.locator("#question button:visible").all():
            box = button.bounding_box()
            assert box is not None
            assert box["height"] >= 24  # WCAG 2.2, target size
        advance(table, None)
        screen.page.reload()
        screen.page.wait_for_selector(".score-sheet")
        check_layout(screen, width)
        screen.context.close()


@pytest.mark.parametrize("width", WIDTHS)
def test_the_lobby_fits_a_phone(width: int, browser: Browser, store: TableStore) -> None:
    store.create({"seats": [{"name": name} for name in LONG_NAMES], "seed": 2})
    with running(make_app(store)) as address:
        screen = Screen(browser, f"{address}/#{store.host_token}", width, HEIGHT)
        screen.page.wait_for_selector("#list a")
        screen.page.click("text=Set-up")
        check_layout(screen, width)
        screen.context.close()


@pytest.mark.parametrize("width", WIDTHS)
def test_a_replay_fits_a_phone(width: int, browser: Browser, store: TableStore, tmp_path: Path) -> None:
    table = store.create({"seats": [{"name": name} for name in LONG_NAMES], "seed": 2})
    advance(table, "bid", round_number=2)
    store.save(table)
    page = tmp_path / "games.html"
    page.write_text(make_page(read_replays([store.folder / "0001.json"], "policy", 20)), encoding="utf-8")
    screen = Screen(browser, page.as_uri(), width, HEIGHT)
    check_layout(screen, width)
    screen.page.click("#concert")
    expect(screen.page.locator(".outcome")).to_contain_text("Last concert")
    check_layout(screen, width)
    screen.context.close()
