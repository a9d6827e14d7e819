"""Variants of thinking are compared on the same deals."""

from __future__ import annotations

import pytest

from evaluation import think_variants
from symphony9_env.arguments import run


def test_each_variant_gets_a_row(capsys: pytest.CaptureFixture[str]) -> None:
    given = ["--num-players", "2", "--lines", "6", "--opponent", "random", "--games", "4"]
    think_variants.main([*given, "--variants", "default; num_rounds=2,lines=4"])
    rows = capsys.readouterr().out.splitlines()
    assert [row[:20].strip() for row in rows] == ["", "default", "num_rounds=2,lines=4"]
    assert all(row.split()[-1].replace(".", "").isdigit() for row in rows[1:])


def test_a_variant_changes_the_settings_it_names() -> None:
    agent = think_variants.make_variant("prior_weight=0.5, lines=7", 9, seed=1)
    assert (agent.num_lines, agent.settings.prior_weight) == (7, 0.5)
    assert think_variants.make_variant("default", 9, seed=1).num_lines == 9


@pytest.mark.parametrize("text", ["prior", "prior_weight=", "prior_weight=x", "rounds=2", "lines=1.5"])
def test_a_wrong_variant_is_refused_in_one_line(text: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("x", lambda: think_variants.main(["--variants", text])) == 2
    assert f"variant {text!r}; allowed: default, or NAME=NUMBER" in capsys.readouterr().err
