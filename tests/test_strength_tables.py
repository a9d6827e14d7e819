"""The tables of the agents' strength, with short matches."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from evaluation.exploit import Exploit
from symphony9_env import agents
from symphony9_env.agents.registry import BUILT_IN
from tools import strength_tables
from tools.docs_tables import replace_table


@pytest.mark.parametrize("name", strength_tables.TABLES)
def test_every_table_has_its_place_in_the_docs(name: str) -> None:
    page, _ = strength_tables.TABLES[name]
    text = (strength_tables.DOCS / page).read_text(encoding="utf-8")
    assert "| replaced |" in replace_table(text, f"strength {name}", "| replaced |")


def test_a_table_has_a_line_for_each_match_and_a_column_for_each_number_of_players(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(strength_tables, "GAMES", {"scripted": 12, "search": 4, "think": 4})
    table = strength_tables.format_matches((("planner", "random"), ("search:2", "greedy")), (2, 3), tmp_path)
    head, _, first, second = table.splitlines()
    assert head == "| | 2 players (par 50) | 3 players (par 33.3) |"
    assert first.startswith("| `planner` against `random` | ")
    assert first.count("12 games") == 2
    assert second.count("4 games") == 1
    assert second.count("6 games") == 1  # whole rotations of three seats


def test_the_table_of_exploitability_names_the_best_response_to_each_agent(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(strength_tables, "EXPLOITED", ("random", "think:1"))
    monkeypatch.setattr(strength_tables, "EXPLOIT_GAMES", {"trial-games": 2, "games": 4})
    monkeypatch.setattr(strength_tables, "FEWER_EXPLOIT_GAMES", {"trial-games": 2, "games": 2})
    monkeypatch.setattr(Exploit, "default_responses", lambda *_: ["greedy", "planner"])
    table = strength_tables.format_exploitability((2,), tmp_path)
    head, _, scripted, slow = table.splitlines()
    assert head == "| agent | 2 players (par 50) |"
    assert re.fullmatch(r"\| `random` \| `(greedy|planner)`: .*\), 4 games \|", scripted)
    assert re.fullmatch(r"\| `think:1` \| `(greedy|planner)`: .*\), 2 games \|", slow)
    assert strength_tables.format_exploitability((2,), tmp_path) == table


def test_every_agent_of_the_package_is_in_the_table_of_exploitability() -> None:
    """`search` and `think` stand there with their default numbers, and `level:10` is `policy`."""
    defaults = {agents.make(name, seed=0).name for name in BUILT_IN}
    assert {*strength_tables.EXPLOITED, "level:10"} == defaults


def test_an_unknown_table_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="--tables ratings; allowed: policy, lines, think, exploit"):
        strength_tables.main(["--out", str(tmp_path), "--tables", "ratings"])
