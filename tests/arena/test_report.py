"""The report of a tournament."""

from __future__ import annotations

from html.parser import HTMLParser
from pathlib import Path

import pytest

from symphony9_env.agents import Card, save_policy
from symphony9_env.arena import tournament
from tests.agents.test_protocol import random_weights
from tests.arena.tournaments import play
from tests.web.browser import Screen, chromium


class Tags(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.links: list[str] = []
        self.tags: list[str] = []
        self.text = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.links += [value or "" for name, value in attrs if name in ("href", "src")]

    def handle_data(self, data: str) -> None:
        self.text += data


def test_long_names_do_not_cut_off_the_tables_of_the_report(tmp_path: Path) -> None:
    name = "a_policy_with_a_very_long_name_" * 4
    play(tmp_path / "t", "--agent", f"{name}=planner", "--games", "6")
    with chromium() as browser:
        page = Screen(browser, (tmp_path / "t" / "report.html").as_uri()).page
        boxes = "[...document.querySelectorAll('.scroll')]"
        sizes = page.evaluate(f"{boxes}.map(box => [box.scrollWidth, box.clientWidth])")
        assert len(sizes) == 2
        assert all(needed <= shown for needed, shown in sizes)


def test_the_report_opens_without_a_network(tmp_path: Path) -> None:
    play(tmp_path / "t")
    page = Tags()
    page.feed((tmp_path / "t" / "report.html").read_text())
    assert page.tags.count("figure") == 9
    assert page.tags.count("figcaption") == 9
    assert "script" not in page.tags
    for link in page.links:
        assert link.startswith("#") or (tmp_path / "t" / link).exists(), link
    for title in ("Ratings", "Head to head", "Seats", "Scoring tiles", "Concerts", "Bids", "Furniture", "Length"):
        assert title in page.text


def test_names_can_not_become_markup(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    card = Card(num_players=(2,), hidden=(4,))
    monkeypatch.chdir(tmp_path)
    name = "<b>&x.safetensors"
    save_policy(tmp_path / name, card, random_weights(card))
    tournament.main(["--agents", f"random,{name}", "--num-players", "2", "--games", "4", "--out", "t"])
    page = Tags()
    page.feed((tmp_path / "t" / "report.html").read_text())
    assert "b" not in page.tags
    assert name in page.text
