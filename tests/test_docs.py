"""The docs say what the code does: generated tables are current, code in them runs, links lead somewhere.

    python -m tests.test_docs     (or: make docs)

writes the generated tables anew.
"""

from __future__ import annotations

import contextlib
import doctest
import importlib
import io
import re
from pathlib import Path

import pytest

from symphony9_env import actions, records, symphony9_v0
from symphony9_env.agents.message import FORMAT as AGENT_PROTOCOL
from symphony9_env.arena.benchmark import GAMES, PROTOCOL, SEED, TASKS, TIMEOUT
from symphony9_env.options import make_options
from symphony9_env.rules.state import DECISIONS
from symphony9_env.views import FIELDS, LEDGER_FIELDS, STATE_FIELDS, STATE_SIZE, Field, observation_size

ROOT = Path(__file__).parent.parent
ENVIRONMENT = ROOT / "docs" / "environment.md"
TABLES = {
    "observation": FIELDS,
    "ledger": LEDGER_FIELDS,
    "hidden": STATE_FIELDS[len(FIELDS) + len(LEDGER_FIELDS) :],
}


def table_of(fields: tuple[Field, ...]) -> str:
    rows = ["| field | where | shape | range | meaning |", "|---|---|---|---|---|"]
    for field in fields:
        shape = " × ".join(str(size) for size in field.shape)
        where = str(field.start) if field.size == 1 else f"{field.start}–{field.stop - 1}"
        rows.append(f"| `{field.name}` | {where} | {shape} | {field.low:g} … {field.high:g} | {field.meaning} |")
    return "\n".join(rows)


def with_tables(text: str) -> str:
    for name, fields in TABLES.items():
        pattern = rf"(<!-- table: {name} -->\n).*?(<!-- end -->)"
        text, count = re.subn(pattern, rf"\g<1>{table_of(fields)}\n\g<2>", text, flags=re.S)
        assert count == 1
    return text


def test_the_observation_table_is_current() -> None:
    text = ENVIRONMENT.read_text()
    assert with_tables(text) == text


def test_the_spec_table_is_current() -> None:
    text = ENVIRONMENT.read_text()
    assert f"Box({observation_size()},) float32" in text
    assert f"{observation_size(ledger=True)} numbers with the ledger" in text
    assert f"Box({STATE_SIZE},) float32" in text
    assert f"`Discrete({actions.NUM_ACTIONS})`; `Discrete({actions.NUM_ACTIONS_DISCUSSION})`" in text
    assert f"{observation_size()} numbers in [named fields]" in (ROOT / "README.md").read_text()


def test_every_option_and_decision_is_documented_with_its_default() -> None:
    text = ENVIRONMENT.read_text()
    for name, default in make_options().as_keywords().items():
        row = next(line for line in text.splitlines() if line.startswith(f"| `{name}` "))
        shown = f'"{default}"' if isinstance(default, str) else str(default)
        assert f" {shown} |" in row.replace("`", "")
    for name in DECISIONS[:-1]:
        assert f"`{name}`" in text


def test_every_action_is_documented() -> None:
    text = ENVIRONMENT.read_text()
    for number, name in ((0, "take handel"), (6, "keep handel"), (12, "discard handel"), (18, "pass"), (22, "bid 0")):
        assert actions.NAMES[number] == name
        assert f"`{name}`" in text
    assert len(actions.NAMES) == 49


def test_every_task_of_the_benchmark_is_documented() -> None:
    text = (ROOT / "docs" / "benchmark.md").read_text()
    for name, task in TASKS.items():
        flags = f"{'shown' if task.ledger else 'no'} | {'yes' if task.variant.discussion else 'no'}"
        assert f"| `{name}` | {task.num_players} | {task.variant.tracks} | {task.variant.scoring} | {flags} |" in text
    for fact in (PROTOCOL, AGENT_PROTOCOL, f"{GAMES} games", str(SEED), f"{TIMEOUT:g} seconds"):
        assert fact in text


def test_every_ruling_is_told_and_tested() -> None:
    rules = (ROOT / "docs" / "rules.md").read_text()
    tests = "\n".join(path.read_text() for path in (ROOT / "tests" / "rules").glob("test_*.py"))
    for number in range(1, 17):
        assert f"**R{number}.**" in rules
        assert re.search(rf"def test_r{number}_", tests), f"R{number}"


def python_blocks(name: str) -> list[str]:
    return re.findall(r"```python\n(.*?)```", (ROOT / name).read_text(), flags=re.S)


def test_the_readme_s_game_runs() -> None:
    (block,) = python_blocks("README.md")
    shown = io.StringIO()
    with contextlib.redirect_stdout(shown):
        exec(block, {})
    assert "final score" in shown.getvalue()


def test_the_code_in_the_docs_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "my_boards.toml").write_text("[bach]\nA = [[1, 3, 1]]\n")
    env = symphony9_v0.raw_env()
    env.reset(seed=7)
    records.save(env.record(), "game-4p-7.json")
    names = {"symphony9_v0": symphony9_v0}
    capsys.readouterr()
    blocks = [
        block
        for name in ("docs/environment.md", "docs/rules.md", "docs/evaluation.md")
        for block in python_blocks(name)
    ]
    assert len(blocks) == 12
    for block in blocks:
        exec(block, names)
    assert "Your decision, take" in capsys.readouterr().out  # the text view


WITH_EXAMPLES = [path for path in sorted((ROOT / "symphony9_env").rglob("*.py")) if ">>> " in path.read_text()]


@pytest.mark.parametrize("path", WITH_EXAMPLES, ids=lambda path: path.stem)
def test_examples_in_docstrings_hold(path: Path) -> None:
    parts = path.relative_to(ROOT).with_suffix("").parts
    module = importlib.import_module(".".join(parts).removesuffix(".__init__"))
    assert doctest.testmod(module).failed == 0


@pytest.mark.parametrize("path", [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))], ids=lambda p: p.name)
def test_links_lead_somewhere(path: Path) -> None:
    for target in re.findall(r"\]\(([^)#]*)(?:#[^)]*)?\)", path.read_text()):
        if target and not target.startswith("http"):
            assert (path.parent / target).exists(), target


if __name__ == "__main__":
    ENVIRONMENT.write_text(with_tables(ENVIRONMENT.read_text()))
