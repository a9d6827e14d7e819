"""The report of a tournament."""

from __future__ import annotations

import json
import re
from html.parser import HTMLParser
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from symphony9_env.agents import Card, save_policy
from symphony9_env.arena import tournament
from symphony9_env.arena.comparison_figures import UNCLEAR_COLOUR, list_pairs
from symphony9_env.arena.comparison_sections import list_comparisons
from symphony9_env.arena.figures import rank_agents
from symphony9_env.arena.results import Results
from tests.agents.test_protocol import random_weights
from tests.arena.tournaments import play
from tests.web.browser import Screen, chromium

AHEAD = "What goes with ending ahead"


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
    assert page.tags.count("figure") == 13
    assert page.tags.count("figcaption") == 13
    assert "effective" in page.text
    assert "Sequential test" not in page.text  # there was none
    assert "lower variance" not in page.text
    assert "script" not in page.tags
    for link in page.links:
        assert link.startswith("#") or (tmp_path / "t" / link).exists(), link
    for title in ("Ratings", "Head to head", "Seats", "Scoring tiles", "Concerts", "Bids", "Furniture", "Length"):
        assert title in page.text
    for title in ("Ratings against the strongest mixture", "What decides games", "What goes with winning", AHEAD):
        assert title in page.text
    assert "Cycles" not in page.text  # of two agents


def test_the_report_of_three_agents_says_whether_there_is_a_cycle(tmp_path: Path) -> None:
    results = play(tmp_path / "t", "--agents", "random,greedy,investor", "--games", "24")
    page = Tags()
    page.feed((tmp_path / "t" / "report.html").read_text())
    assert page.tags.count("figure") == 14
    assert "Cycles" in page.text
    assert 0 < results["cyclic_strength"]["p_value"] <= 1
    assert sum(one["weight"] for one in results["nash"].values()) == pytest.approx(1)


def test_a_cycle_is_named_in_the_report(tmp_path: Path) -> None:
    """The results of a real tournament, with a cycle put in."""
    play(tmp_path / "t", "--agents", "random,greedy,investor", "--games", "12")
    results: Results = json.loads((tmp_path / "t" / "results.json").read_text())
    cycle = {"agents": ["greedy", "random", "investor"], "ahead": [0.75, 0.6, 0.5625]}
    results["cyclic_strength"] |= {"cycle": cycle, "p_value": 0.001}  # type: ignore[typeddict-item]
    caption = {title: text for title, _, text in list_comparisons(results)}["Cycles"]
    assert "more than luck explains" in caption
    assert "greedy ends ahead of random in 75.0 %, random ends ahead of investor in 60.0 %" in caption


def test_associations_are_shown_for_each_pair_and_what_luck_explains_is_grey(tmp_path: Path) -> None:
    play(tmp_path / "t", "--agents", "random,greedy,planner", "--games", "48")
    results: Results = json.loads((tmp_path / "t" / "results.json").read_text())
    figure, caption = {title: parts for title, *parts in list_comparisons(results)}[AHEAD]
    expected: list[tuple[bool, str]] = []
    for pair in results["deciding"]["pairs"]:
        for one in {**pair["points"], **pair["other"]}.values():
            if "more_is_ahead" in one:
                low, high = one["more_is_ahead_95"]
                expected.append((low <= 0.5 <= high, f"{100 * one['more_is_ahead']:.0f}"))
    numbers = re.findall(r'<text style="([^"]*)"[^>]*>(\d+)</text>', figure)
    assert sorted((UNCLEAR_COLOUR in style, number) for style, number in numbers) == sorted(expected)
    assert {is_grey for is_grey, _ in expected} == {True, False}
    assert "Of 3 pairs" not in caption


def test_the_report_says_which_pairs_are_drawn_if_there_are_too_many(tmp_path: Path) -> None:
    seven = ["random,greedy,investor,planner,eccentric", "--agent", "b=random", "--agent", "c=greedy"]
    results: Any = play(tmp_path / "t", "--agents", *seven, "--games", "42")
    captions = {title: text for title, _, text in list_comparisons(results)}
    for title in ("What decides games", AHEAD):
        assert "Of 21 pairs, the 6 next to each other in the ratings are drawn; results.json has" in captions[title]
    order = rank_agents(results)
    assert [pair[:2] for pair in list_pairs(results)] == list(pairwise(order))


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
