"""Clicks and keys count only for the question that they were meant for, although buttons change under the pointer."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta

import pytest
from playwright.sync_api import Browser, Locator, expect

from symphony9_env.web.app import make_app
from symphony9_env.web.table_store import TableStore
from symphony9_env.web.tables import Table
from tests.web.browser import MS_UNTIL_ACTIVE, Screen, advance, running

MS_BETWEEN_CLICKS = 180  # of a quick double click


@pytest.fixture
def table(store: TableStore) -> Table:
    """A game in which the first seat may buy a cube for $4; if it doesn't, it may next buy one for $8."""
    table = store.create({"seats": [{"name": "Ann"}, {"agent": "greedy"}], "seed": 3})
    advance(table, "buy_4")
    return table


@pytest.fixture
def screen(table: Table, store: TableStore, browser: Browser) -> Iterator[Screen]:
    """The page of the first seat, once its buttons react. Its clock stands still: the tests work on slow machines."""
    with running(make_app(store)) as address:
        screen = Screen(browser, f"{address}/play#{table.seats[0].token}")
        pass_button(screen).wait_for()
        screen.page.clock.pause_at(datetime.now() + timedelta(minutes=1))
        activate(screen)
        yield screen
        assert screen.errors == []
        screen.context.close()


def pass_button(screen: Screen) -> Locator:
    return screen.page.locator("#question button.pass")


def activate(screen: Screen) -> None:
    pass_button(screen).wait_for()
    screen.page.clock.run_for(MS_UNTIL_ACTIVE)
    expect(pass_button(screen)).to_be_enabled()


def center_of(button: Locator) -> tuple[float, float]:
    box = button.bounding_box()
    assert box is not None
    return box["x"] + box["width"] / 2, box["y"] + box["height"] / 2


def own_moves(table: Table) -> int:
    return sum(seat == 0 for seat, _ in table.env.history)


def wait_for_decision(screen: Screen, question: str) -> None:
    expect(screen.page.locator("#question h2")).to_contain_text(question)
    screen.page.wait_for_selector("body:not(.busy)")  # until the answer to the move has arrived


def test_two_quick_clicks_on_one_place_make_one_move(screen: Screen, table: Table) -> None:
    before = own_moves(table)
    x, y = center_of(pass_button(screen))
    screen.page.mouse.click(x, y)
    wait_for_decision(screen, "$8")
    screen.page.clock.run_for(MS_BETWEEN_CLICKS)
    is_on_choice = "([x, y]) => document.elementFromPoint(x, y).closest('.choice') !== null"
    assert screen.page.evaluate(is_on_choice, [x, y])  # so the second click could be a move
    screen.page.mouse.click(x, y)
    activate(screen)
    assert own_moves(table) == before + 1
    pass_button(screen).click()  # a click of its own
    wait_for_decision(screen, "contribution")
    assert own_moves(table) == before + 2


def test_new_buttons_are_shown_as_inactive_at_first(screen: Screen) -> None:
    pass_button(screen).click()
    wait_for_decision(screen, "$8")
    shown = "() => [...document.querySelectorAll('.choice')].map((one) => one.getAttribute('aria-disabled'))"
    assert set(screen.page.evaluate(shown)) == {"true"}
    assert float(pass_button(screen).evaluate("one => getComputedStyle(one).opacity")) < 0.7
    activate(screen)
    assert set(screen.page.evaluate(shown)) == {"false"}
    assert float(pass_button(screen).evaluate("one => getComputedStyle(one).opacity")) == 1


def test_a_press_on_an_old_button_released_on_a_new_one_does_not_count(
    screen: Screen, table: Table, store: TableStore, browser: Browser
) -> None:
    other = Screen(browser, screen.page.url)  # the same seat in another window
    expect(pass_button(other)).to_be_enabled()
    screen.page.mouse.move(*center_of(pass_button(screen)))
    screen.page.mouse.down()
    pass_button(other).click()
    wait_for_decision(screen, "$8")
    before = own_moves(table)
    activate(screen)
    screen.page.mouse.move(*center_of(pass_button(screen)))
    screen.page.mouse.up()
    pass_button(other).click()
    wait_for_decision(screen, "contribution")
    assert own_moves(table) == before + 1  # the move of the other window
    other.context.close()


def test_enter_pressed_twice_or_held_down_makes_one_move(screen: Screen, table: Table) -> None:
    before = own_moves(table)
    page = screen.page
    page.keyboard.press("p")
    page.keyboard.down("Enter")
    wait_for_decision(screen, "$8")
    page.keyboard.up("Enter")
    pass_button(screen).focus()
    page.keyboard.down("Enter")  # too early
    activate(screen)
    page.keyboard.down("Enter")  # without releasing the key: a repetition
    page.keyboard.up("Enter")
    assert own_moves(table) == before + 1
    page.keyboard.press("Enter")
    wait_for_decision(screen, "contribution")
    assert own_moves(table) == before + 2


def test_the_key_of_a_choice_and_enter_work_at_once(screen: Screen) -> None:
    page = screen.page
    pass_button(screen).click()
    wait_for_decision(screen, "$8")
    page.keyboard.press("p")
    assert pass_button(screen).get_attribute("aria-disabled") == "true"
    page.keyboard.press("Enter")
    wait_for_decision(screen, "contribution")
