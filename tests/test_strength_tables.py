"""The tables of the agents' strength, with short matches."""

from __future__ import annotations

from pathlib import Path

import pytest

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


def test_an_unknown_table_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="--tables ratings; allowed: policy, think, exploit"):
        strength_tables.main(["--out", str(tmp_path), "--tables", "ratings"])
