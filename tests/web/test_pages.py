"""The pages in a real browser: a person's clicks and keys, from the lobby to the score sheet."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from symphony9_env import records, symphony9_v0
from symphony9_env.agents import make
from symphony9_env.replay.html_export import replay_page
from symphony9_env.replay.replay_data import read_games
from symphony9_env.web.app import make_app, make_watch_app
from symphony9_env.web.table_store import Tables
from tests.web.browser import Screen, chromium, running
from tests.web.report import report


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as one:
        yield one


@pytest.fixture
def tables(tmp_path: Path) -> Tables:
    return Tables(tmp_path / "games")


def play(screen: Screen, number: int) -> None:
    """Click on one of the choices: a bid of $4 if there is one, else any, by number."""
    choices = screen.choices()
    wanted = [one for one in choices if one["action"] == 26] or choices
    before = screen.num_lines()
    screen.page.click(f"#question [data-action='{wanted[number * 7 % len(wanted)]['action']}']")
    screen.page.wait_for_function("before => document.querySelectorAll('#log li').length > before", arg=before)


def test_four_players_by_clicks_to_the_score_sheet(browser: Browser, tables: Tables) -> None:
    with running(make_app(tables)) as address:
        screen = Screen(browser, f"{address}/#{tables.host_token}")
        page = screen.page
        page.select_option("#seat-1", "planner")
        page.select_option("#seat-2", "greedy")
        page.fill("[aria-label='Name at seat 1']", "<i>Ann</i>")
        page.click("text=Set-up")
        page.fill("#seed", "7")
        page.click("text=Deal the game")
        page.wait_for_url("**/play#*")
        clicks, waits = 0, []
        while not screen.is_over:
            page.wait_for_selector("#question.asked, .sheet")
            if screen.is_asked:
                begun = time.perf_counter()
                if clicks == 0:  # the track's own button does the same
                    page.click(".musician >> nth=2 >> button")
                    page.wait_for_selector("#log >> text=takes a Haydn cube")
                else:
                    play(screen, clicks)
                waits.append(time.perf_counter() - begun)
                clicks += 1
        expect(page.locator(".sheet h2")).to_contain_text("win")
        result = records.load(tables.folder / "0001.json")["result"]
        totals = page.locator(".sheet .sum td").all_inner_texts()
        assert [float(text) for text in totals] == pytest.approx(result["scores"], abs=0.01)
        assert page.locator("text=<i>Ann</i>").count() > 0  # as text, not as markup
        assert page.locator("i").count() == 0
        assert screen.complaints == []
    waits.sort()
    report(
        f"symphony9 play in Chromium, {clicks} clicks against planner, greedy and policy: the page has answered "
        f"after {1000 * waits[len(waits) // 2]:.0f} ms (median), {1000 * waits[-1]:.0f} ms (longest)"
    )


def test_two_players_in_two_browsers(browser: Browser, tables: Tables) -> None:
    with running(make_app(tables)) as address:
        host = Screen(browser, f"{address}/#{tables.host_token}")
        host.page.check("input[value='2']")
        host.page.select_option("#seat-1", "a person")
        host.page.fill("[aria-label='Name at seat 2']", "Bob")
        host.page.click("text=Deal the game")
        links = host.page.locator("#list a")
        expect(links).to_have_count(2)
        urls = [address + str(link.get_attribute("href")) for link in links.all()]
        assert len(set(urls)) == 2
        screens = [Screen(browser, url) for url in urls]
        for screen in screens:
            screen.page.wait_for_selector(".tracks")
        number = 0
        while not all(screen.is_over for screen in screens):
            asked = [screen for screen in screens if screen.is_asked]
            assert len(asked) <= 1
            if not asked:
                time.sleep(0.02)
                continue
            play(asked[0], number)
            number += 1
        first, second = (screen.page.locator(".sheet table").inner_text() for screen in screens)
        assert first.replace(" (you)", "") == second.replace(" (you)", "")
        assert [screen.complaints for screen in (host, *screens)] == [[], [], []]


def test_reloading_and_a_restarted_server_lose_nothing(browser: Browser, tables: Tables) -> None:
    with running(make_app(tables)) as address:
        table = tables.create({"seats": [{"name": "Ann"}, {"agent": "planner"}, {"agent": "random"}], "seed": 3})
        port = int(address.rpartition(":")[2])
        screen = Screen(browser, f"{address}/play#{table.seats[0].token}")
        screen.page.wait_for_selector("#question.asked")
        for number in range(5):
            play(screen, number)
            screen.page.wait_for_selector("#question.asked")
        log = screen.page.locator("#log").inner_text()
        screen.page.reload()
        screen.page.wait_for_selector("#question.asked")
        assert screen.page.locator("#log").inner_text() == log
    screen.page.wait_for_selector("text=Connection lost")
    tables.close()
    with running(make_app(Tables(tables.folder)), port):
        expect(screen.page.locator("#connection")).to_have_text("")
        assert screen.page.locator("#log").inner_text() == log
        play(screen, 5)
    assert all("WebSocket" in complaint or "ERR_CONNECTION" in complaint for complaint in screen.complaints)


def test_a_concert_is_shown_being_resolved(browser: Browser, tables: Tables) -> None:
    """What everybody gave moves in, and stays in the question until the next own move, though the agents play on."""
    with running(make_app(tables)) as address:
        table = tables.create({"seats": [{"name": "Ann"}, {"agent": "planner"}, {"agent": "greedy"}], "seed": 3})
        screen = Screen(browser, f"{address}/play#{table.seats[0].token}")
        page = screen.page
        page.wait_for_selector("#question.asked")
        while not page.locator("#question button.bid").count():
            play(screen, 0)
            page.wait_for_selector("#question.asked")
        page.click("#question button.bid >> nth=3")
        page.wait_for_selector(".gauge.new .given")
        page.wait_for_timeout(300)
        assert page.locator(".gauge.new .given").count() > 0
        page.wait_for_selector("#question.asked")
        expect(page.locator(".resolved")).to_contain_text("Ann gave $3")
        expect(page.locator(".resolved")).to_contain_text("Total")
        expect(page.locator("#said")).to_contain_text("Ann gave $3")
        assert screen.complaints == []


def test_another_link_in_the_same_tab_is_another_seat(browser: Browser, tables: Tables) -> None:
    with running(make_app(tables)) as address:
        table = tables.create({"seats": [{"name": "Ann"}, {"name": "Bob"}], "seed": 3})
        screen = Screen(browser, f"{address}/play#{table.seats[0].token}")
        expect(screen.page.locator("#where")).to_contain_text("Ann")
        screen.page.goto(f"{address}/play#{table.seats[1].token}")
        expect(screen.page.locator("#where")).to_contain_text("Bob")


def test_the_keyboard_is_enough(browser: Browser, tables: Tables) -> None:
    with running(make_app(tables)) as address:
        table = tables.create({"seats": [{"name": "Ann"}, {"agent": "planner"}], "seed": 4})
        screen = Screen(browser, f"{address}/play#{table.seats[0].token}")
        page = screen.page
        page.wait_for_selector("#question.asked")
        page.keyboard.press("2")
        expect(page.locator("#question [aria-label^='Take a Bach cube']")).to_be_focused()
        page.keyboard.press("Enter")
        page.wait_for_selector("#log >> text=takes a Bach cube")
        page.wait_for_selector("#question.asked")
        while not page.locator("#question button.bid").count():
            before = screen.num_lines()
            page.keyboard.press("p" if page.locator("#question button.pass").count() else "1")
            page.keyboard.press("Enter")
            page.wait_for_function("before => document.querySelectorAll('#log li').length > before", arg=before)
            page.wait_for_selector("#question.asked")
        page.keyboard.press("3")
        page.keyboard.press("Enter")
        page.wait_for_selector("#log >> text=gave $3")
        assert screen.complaints == []


def test_a_screen_reader_finds_names_and_hears_news(browser: Browser, tables: Tables) -> None:
    with running(make_app(tables)) as address:
        table = tables.create({"seats": [{"name": "Ann"}, {"agent": "planner"}], "seed": 4})
        screen = Screen(browser, f"{address}/play#{table.seats[0].token}")
        page = screen.page
        page.wait_for_selector("#question.asked")
        for button in page.locator("button").all():
            assert button.get_attribute("aria-label") or button.inner_text().strip() or not button.is_visible()
        for image in page.locator("svg:not([aria-hidden])").all():
            assert image.get_attribute("aria-label")
        regions = page.locator("section[aria-label]").all()
        assert {region.get_attribute("aria-label") for region in regions} >= {"Your decision", "Career tracks", "Log"}
        expect(page.locator("#said")).to_contain_text("Your decision: take a cube")
        play(screen, 0)
        expect(page.locator("#said")).to_contain_text("Ann takes a")
        assert page.locator("h1").count() == 1


@pytest.mark.parametrize("width", [360, 390, 768])
def test_a_phone_shows_all_without_scrolling_sideways(width: int, browser: Browser, tables: Tables) -> None:
    with running(make_app(tables)) as address:
        table = tables.create({"seats": [{"name": "A" * 30}, *[{"agent": "policy"}] * 3], "seed": 2})
        screens = [
            Screen(browser, f"{address}/play#{table.seats[0].token}", width, 800),
            Screen(browser, f"{address}/#{tables.host_token}", width, 800),
        ]
        screens[0].page.wait_for_selector("#question.asked")
        screens[1].page.wait_for_selector("#seats li")
        while "gave" not in screens[0].page.locator("#log").inner_text():
            screens[0].page.wait_for_selector("#question.asked")
            play(screens[0], 0)
        for screen in screens:
            assert screen.page.evaluate("document.documentElement.scrollWidth") <= width
            assert screen.complaints == []
        for button in screens[0].page.locator("#question button:visible").all():
            box = button.bounding_box()
            assert box is not None
            assert box["height"] >= 24  # WCAG 2.2, target size
            assert 0 <= box["x"] <= width - box["width"]


def test_wrong_links_get_a_clear_word(browser: Browser, tables: Tables) -> None:
    with running(make_app(tables)) as address:
        for path, said in [
            ("/play#wrong", "this link is not known here"),
            ("/play", "needs the whole link"),
            ("/#wrong", "not the host's link"),
            ("/", "needs the host's link"),
        ]:
            screen = Screen(browser, address + path)
            expect(screen.page.locator("#problem")).to_contain_text(said)
            screen.context.close()


def recorded(folder: Path, num_players: int, seed: int) -> Path:
    env = symphony9_v0.raw_env(num_players=num_players)
    env.reset(seed=seed)
    agent = make("policy", seed=1)
    while not all(env.terminations.values()):
        env.step(agent.choose(env))
    path = folder / f"game-{num_players}.json"
    names = ["policy", "</script><b>Bob</b>", "policy", "Ann"][:num_players]
    records.save({**env.record(), "players": [{"name": name, "agent": None} for name in names]}, path)
    return path


def test_a_replay_by_buttons_keys_and_slider(browser: Browser, tmp_path: Path) -> None:
    paths = [recorded(tmp_path, 2, 1), recorded(tmp_path, 4, 2)]
    page_text = replay_page(read_games(paths, "policy", 20))
    with running(make_watch_app(page_text)) as address:
        screen = Screen(browser, address)
        page, where = screen.page, screen.page.locator("#where")
        page.select_option("#game", "1")
        last = len(records.load(paths[1])["actions"])
        expect(where).to_have_text(f"Move 0 of {last} · round 1 of 6")
        page.click("#next")
        page.keyboard.press("ArrowRight")
        expect(where).to_contain_text("Move 2 of")
        page.click("#concert")
        expect(page.locator(".outcome")).to_contain_text("Last concert")
        page.click("#last")
        expect(page.locator(".sheet")).to_be_visible()
        page.click("#first")
        page.select_option("#speed", "20")
        page.click("#play")
        page.wait_for_function("() => document.getElementById('time').value >= 8")
        page.click("#play")
        expect(page.locator("#play")).to_have_text("Play")
        page.locator("#time").fill("30")
        expect(where).to_contain_text("Move 30 of")
        expect(page.locator("#comment .odds li").first).to_contain_text("%")
        assert page.locator(".boards .status").filter(has_text=re.compile(r"\$\d+, furniture")).count() == 4
        page.select_option("#seat", "3")
        assert page.locator(".boards .status").filter(has_text=re.compile(r"\$\d+, furniture")).count() == 0
        assert page.locator("b", has_text="</script>").count() > 0  # the name, as text
        frames = read_games([paths[1]], None, 0)[0]["frames"]
        for number in (30, 31, 32, 33):  # only this seat's own thoughts
            page.locator("#time").fill(str(number))
            own = frames[number]["scene"]["to_decide"] == 3
            assert (page.locator("#comment .odds li").count() > 0) == own
        page.locator("#time").fill("30")
        page.reload()
        expect(where).to_contain_text("Move 30 of")
        assert screen.complaints == []


def test_an_exported_replay_needs_no_server_and_fits_a_phone(browser: Browser, tmp_path: Path) -> None:
    path = tmp_path / "games.html"
    path.write_text(replay_page(read_games([recorded(tmp_path, 3, 5)], "policy", 0)), encoding="utf-8")
    screen = Screen(browser, path.as_uri(), 390, 844)
    asked: list[str] = []
    screen.page.on("request", lambda request: asked.append(request.url))
    screen.page.reload()
    screen.page.click("#last")
    expect(screen.page.locator(".sheet")).to_be_visible()
    assert [url for url in asked if not url.startswith(("file:", "data:"))] == []
    assert screen.page.evaluate("document.documentElement.scrollWidth") <= 390
    assert screen.complaints == []
