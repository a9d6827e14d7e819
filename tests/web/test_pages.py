"""The pages in a real browser: clicks and keys, from the lobby to the score sheet, and replays."""

from __future__ import annotations

import re
import time
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Route, expect

from symphony9_env import records, symphony9_v0
from symphony9_env.agents import make
from symphony9_env.replay.html_export import make_page
from symphony9_env.replay.replay_data import read_replays
from symphony9_env.web.app import make_app, make_watch_app
from symphony9_env.web.table_store import TableStore
from tests.web.browser import Screen, play, running
from tests.web.report import report


def test_four_players_by_clicks_to_the_score_sheet(browser: Browser, store: TableStore) -> None:
    with running(make_app(store)) as address:
        screen = Screen(browser, f"{address}/#{store.host_token}")
        page = screen.page
        page.select_option("#seat-1", "planner")
        page.select_option("#seat-2", "greedy")
        page.fill("[aria-label='Name at seat 1']", "<i>Ann</i>")
        page.click("text=Set-up")
        page.fill("#seed", "7")
        page.click("text=Start the game")
        page.wait_for_url("**/play#*")
        clicks, waits = 0, []
        while not screen.is_over:
            page.wait_for_selector("#question.asked, .score-sheet")
            if screen.is_asked:
                begun = time.perf_counter()
                if clicks == 0:  # the track's own button does the same
                    page.click(".musician >> nth=2 >> button")
                    page.wait_for_selector("#log >> text=takes a Haydn cube")
                else:
                    play(screen, clicks)
                waits.append(time.perf_counter() - begun)
                clicks += 1
        expect(page.locator(".score-sheet h2")).to_contain_text("win")
        result = records.load(store.folder / "0001.json")["result"]
        totals = page.locator(".score-sheet .sum td").all_inner_texts()
        assert [float(text) for text in totals] == pytest.approx(result["scores"], abs=0.01)
        assert page.locator("text=<i>Ann</i>").count() > 0  # as text, not as markup
        assert page.locator("i").count() == 0
        assert screen.errors == []
    waits.sort()
    report(
        f"symphony9 play in Chromium, {clicks} clicks against planner, greedy and policy: the page has answered "
        f"after {1000 * waits[len(waits) // 2]:.0f} ms (median), {1000 * waits[-1]:.0f} ms (longest)"
    )


def test_two_players_in_two_browsers(browser: Browser, store: TableStore) -> None:
    with running(make_app(store)) as address:
        host = Screen(browser, f"{address}/#{store.host_token}")
        host.page.check("input[value='2']")
        host.page.select_option("#seat-1", "a person")
        host.page.fill("[aria-label='Name at seat 2']", "Bob")
        host.page.click("text=Start the game")
        links = host.page.locator("#list a")
        expect(links).to_have_count(2)
        urls = [address + str(link.get_attribute("href")) for link in links.all()]
        assert len(set(urls)) == 2
        screens = [Screen(browser, url) for url in urls]
        for screen in screens:
            screen.page.wait_for_selector(".tracks")
        count = 0
        while not all(screen.is_over for screen in screens):
            asked = [screen for screen in screens if screen.is_asked]
            assert len(asked) <= 1
            if not asked:
                time.sleep(0.02)
                continue
            play(asked[0], count)
            count += 1
        first, second = (screen.page.locator(".score-sheet table").inner_text() for screen in screens)
        assert first.replace(" (you)", "") == second.replace(" (you)", "")
        assert [screen.errors for screen in (host, *screens)] == [[], [], []]


def test_reloading_and_a_restarted_server_lose_nothing(browser: Browser, store: TableStore) -> None:
    with running(make_app(store)) as address:
        table = store.create({"seats": [{"name": "Ann"}, {"agent": "planner"}, {"agent": "random"}], "seed": 3})
        port = int(address.rpartition(":")[2])
        screen = Screen(browser, f"{address}/play#{table.seats[0].token}")
        screen.page.wait_for_selector("#question.asked")
        for count in range(5):
            play(screen, count)
            screen.page.wait_for_selector("#question.asked")
        log = screen.page.locator("#log").inner_text()
        screen.page.reload()
        screen.page.wait_for_selector("#question.asked")
        assert screen.page.locator("#log").inner_text() == log
    screen.page.wait_for_selector("text=Connection lost")
    store.close()
    with running(make_app(TableStore(store.folder)), port):
        expect(screen.page.locator("#connection")).to_have_text("")
        assert screen.page.locator("#log").inner_text() == log
        play(screen, 5)
    assert all("WebSocket" in error or "ERR_CONNECTION" in error for error in screen.errors)


def test_a_concert_is_animated_and_repeated_in_the_question(browser: Browser, store: TableStore) -> None:
    """The contributions move in, and stay in the question until the seat's next move, while the agents play on."""
    with running(make_app(store)) as address:
        table = store.create({"seats": [{"name": "Ann"}, {"agent": "planner"}, {"agent": "greedy"}], "seed": 3})
        screen = Screen(browser, f"{address}/play#{table.seats[0].token}")
        page = screen.page
        page.wait_for_selector("#question.asked")
        while not page.locator("#question button.bid").count():
            play(screen, 0)
            page.wait_for_selector("#question.asked")
        page.click("#question button.bid >> nth=3")
        page.wait_for_selector(".scale.new .contribution")
        page.wait_for_timeout(300)
        assert page.locator(".scale.new .contribution").count() > 0
        page.wait_for_selector("#question.asked")
        expect(page.locator(".recent-concert")).to_contain_text("Ann gave $3")
        expect(page.locator(".recent-concert")).to_contain_text("Total")
        expect(page.locator("#announcements")).to_contain_text("Ann gave $3")
        assert screen.errors == []


def test_another_link_in_the_same_tab_opens_another_seat(browser: Browser, store: TableStore) -> None:
    with running(make_app(store)) as address:
        table = store.create({"seats": [{"name": "Ann"}, {"name": "Bob"}], "seed": 3})
        screen = Screen(browser, f"{address}/play#{table.seats[0].token}")
        expect(screen.page.locator("#progress")).to_contain_text("Ann")
        screen.page.goto(f"{address}/play#{table.seats[1].token}")
        expect(screen.page.locator("#progress")).to_contain_text("Bob")


def test_a_game_can_be_played_with_the_keyboard_alone(browser: Browser, store: TableStore) -> None:
    with running(make_app(store)) as address:
        table = store.create({"seats": [{"name": "Ann"}, {"agent": "planner"}], "seed": 4})
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
        assert screen.errors == []


def test_a_screen_reader_finds_names_and_announcements(browser: Browser, store: TableStore) -> None:
    with running(make_app(store)) as address:
        table = store.create({"seats": [{"name": "Ann"}, {"agent": "planner"}], "seed": 4})
        screen = Screen(browser, f"{address}/play#{table.seats[0].token}")
        page = screen.page
        page.wait_for_selector("#question.asked")
        for button in page.locator("button").all():
            assert button.get_attribute("aria-label") or button.inner_text().strip() or not button.is_visible()
        for image in page.locator("svg:not([aria-hidden])").all():
            assert image.get_attribute("aria-label")
        regions = page.locator("section[aria-label]").all()
        assert {region.get_attribute("aria-label") for region in regions} >= {"Your decision", "Career tracks", "Log"}
        expect(page.locator("#announcements")).to_contain_text("Your decision: take a cube")
        play(screen, 0)
        expect(page.locator("#announcements")).to_contain_text("Ann takes a")
        assert page.locator("h1").count() == 1


@pytest.mark.parametrize(
    ("is_compiling", "text"), [(True, "The rules are being compiled"), (False, "Waiting for the server")]
)
def test_a_page_says_why_it_waits(is_compiling: bool, text: str, browser: Browser, store: TableStore) -> None:
    """The answer to the request for a game is held back until the page has said so."""
    held: list[Route] = []
    with running(make_app(store)) as address:
        screen = Screen(browser, f"{address}/#{store.host_token}")
        page, notice = screen.page, screen.page.locator("#notice")
        page.wait_for_selector("#seats li")
        page.route("**/api/status", lambda route: route.fulfill(json={"is_compiling": is_compiling}))
        page.route(
            "**/api/tables", lambda route: (held.append if route.request.method == "POST" else Route.continue_)(route)
        )
        with page.expect_request("**/api/tables"):
            page.click("text=Start the game")
        assert not notice.is_visible()
        expect(page.locator("text=Start the game")).to_be_disabled()  # a second click sets up no second game
        page.clock.fast_forward(1000)
        expect(notice).to_contain_text(text)
        held[0].continue_()
        page.wait_for_url("**/play#*")
        page.wait_for_selector(".tracks")
        assert not notice.is_visible()
        assert len(store.tables) == 1
        assert screen.errors == []


def test_wrong_links_get_a_clear_message(browser: Browser, store: TableStore) -> None:
    with running(make_app(store)) as address:
        for path, message in [
            ("/play#wrong", "this link is not known here"),
            ("/play", "needs the complete link"),
            ("/#wrong", "not the host's link"),
            ("/", "needs the host's link"),
        ]:
            screen = Screen(browser, address + path)
            expect(screen.page.locator("#problem")).to_contain_text(message)
            screen.context.close()


def record_game(folder: Path, num_players: int, seed: int) -> Path:
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
    paths = [record_game(tmp_path, 2, 1), record_game(tmp_path, 4, 2)]
    page_text = make_page(read_replays(paths, "policy", 20))
    with running(make_watch_app(page_text)) as address:
        screen = Screen(browser, address)
        page, progress = screen.page, screen.page.locator("#progress")
        page.select_option("#game", "1")
        last = len(records.load(paths[1])["actions"])
        expect(progress).to_have_text(f"Move 0 of {last} · round 1 of 6")
        page.click("#next")
        page.keyboard.press("ArrowRight")
        expect(progress).to_contain_text("Move 2 of")
        page.click("#concert")
        expect(page.locator(".outcome")).to_contain_text("Last concert")
        page.click("#last")
        expect(page.locator(".score-sheet")).to_be_visible()
        page.click("#first")
        page.select_option("#speed", "20")
        page.click("#play")
        page.wait_for_function("() => document.getElementById('time').value >= 8")
        page.click("#play")
        expect(page.locator("#play")).to_have_text("Play")
        page.locator("#time").fill("30")
        expect(progress).to_contain_text("Move 30 of")
        expect(page.locator("#comment .probabilities li").first).to_contain_text("%")
        assert page.locator(".boards .status").filter(has_text=re.compile(r"\$\d+, furniture")).count() == 4
        page.select_option("#seat", "3")
        assert page.locator(".boards .status").filter(has_text=re.compile(r"\$\d+, furniture")).count() == 0
        assert page.locator("b", has_text="</script>").count() > 0  # the name, as text
        frames = read_replays([paths[1]], None, 0)[0]["frames"]
        for index in (30, 31, 32, 33):  # comments on this seat's own decisions only
            page.locator("#time").fill(str(index))
            own = frames[index]["position"]["to_decide"] == 3
            assert (page.locator("#comment .probabilities li").count() > 0) == own
        page.locator("#time").fill("30")
        page.reload()
        expect(progress).to_contain_text("Move 30 of")
        assert screen.errors == []


def test_an_exported_replay_needs_no_server_and_fits_a_phone(browser: Browser, tmp_path: Path) -> None:
    path = tmp_path / "games.html"
    path.write_text(make_page(read_replays([record_game(tmp_path, 3, 5)], "policy", 0)), encoding="utf-8")
    screen = Screen(browser, path.as_uri(), 390, 844)
    requested: list[str] = []
    screen.page.on("request", lambda request: requested.append(request.url))
    screen.page.reload()
    screen.page.click("#last")
    expect(screen.page.locator(".score-sheet")).to_be_visible()
    assert [url for url in requested if not url.startswith(("file:", "data:"))] == []
    assert screen.page.evaluate("document.documentElement.scrollWidth") <= 390
    assert screen.errors == []
