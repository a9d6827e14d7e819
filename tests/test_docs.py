"""The docs are current and readable: generated tables, code that runs, links, line lengths, vocabulary."""

from __future__ import annotations

import ast
import contextlib
import doctest
import importlib
import io
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from symphony9_env import actions, records, symphony9_v0
from symphony9_env.agents.external import TIMEOUT
from symphony9_env.arena.benchmark import GAMES, PROTOCOL, TASKS
from symphony9_env.rules.events import KINDS
from symphony9_env.rules.state import DECISIONS
from symphony9_env.views import STATE_SIZE, observation_size
from tools.benchmark_rows import SALT
from tools.docs_tables import ENVIRONMENT, regenerate

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"
PAGES = [*(ROOT / f"{name}.md" for name in ("README", "CONTRIBUTING", "SECURITY")), *sorted(DOCS.glob("*.md"))]
PAGES_WITH_CODE = ("README.md", "docs/agents.md", "docs/environment.md", "docs/evaluation.md", "docs/formats.md")
TOP_LEVEL = ("symphony9_env", "evaluation", "training", "speed", "tools", "fuzz", "examples", "tests")
MAX_PROSE_WIDTH = 120

# Words that once stood for standard terms here; docs/glossary.md has the terms.
BANNED = re.compile(
    r"\b(rooms|faces|thin face|head start|told apart|the house|whole or not at all|staying undecided|warm start"
    r"|somebody's own|what there is is|written anew|drawn anew|dealt anew)\b",
    re.I,
)


def python_blocks(page: str) -> list[str]:
    return re.findall(r"```python\n(.*?)```", (ROOT / page).read_text(encoding="utf-8"), flags=re.S)


def without_code(text: str) -> str:
    """Return a page with its code blocks emptied; lines keep their numbers."""
    return re.sub(r"^ *```.*?^ *```", lambda block: "\n" * block[0].count("\n"), text, flags=re.S | re.M)


def page_name(path: Path) -> str:
    return path.name


# What the docs say about the code.


def test_the_generated_tables_are_current() -> None:
    text = ENVIRONMENT.read_text(encoding="utf-8")
    assert regenerate(text) == text, "run `make docs`"


def test_the_sizes_of_the_spaces_are_current() -> None:
    text = ENVIRONMENT.read_text(encoding="utf-8")
    assert f"Box({observation_size()},) float32" in text
    assert f"{observation_size(ledger=True)} numbers with the ledger" in text
    assert f"Box({STATE_SIZE},) float32" in text
    assert f"`Discrete({actions.NUM_ACTIONS})`; `Discrete({actions.NUM_ACTIONS_DISCUSSION})`" in text
    assert f"{observation_size()} numbers in [named fields]" in (ROOT / "README.md").read_text(encoding="utf-8")


def test_every_decision_action_and_event_is_documented() -> None:
    text = ENVIRONMENT.read_text(encoding="utf-8")
    for name in (*DECISIONS, *KINDS):
        assert f"`{name}`" in text
    for number, name in ((0, "take handel"), (6, "keep handel"), (12, "discard handel"), (18, "pass"), (22, "bid 0")):
        assert actions.NAMES[number] == name
        assert f"`{name}`" in text
    assert len(actions.NAMES) == 49


def test_every_task_of_the_benchmark_is_documented() -> None:
    text = (DOCS / "benchmark.md").read_text(encoding="utf-8")
    for name, task in TASKS.items():
        flags = f"{'shown' if task.ledger else 'no'} | {'yes' if task.variant.discussion else 'no'}"
        assert f"| `{name}` | {task.num_players} | {task.variant.tracks} | {task.variant.scoring} | {flags} |" in text
    for fact in (PROTOCOL, f"{GAMES} games", SALT, f"{TIMEOUT:g} seconds"):
        assert fact in text


def test_every_format_is_documented() -> None:
    sources = "\n".join(path.read_text(encoding="utf-8") for path in (ROOT / "symphony9_env").rglob("*.py"))
    text = (DOCS / "formats.md").read_text(encoding="utf-8")
    for name in set(re.findall(r"symphony9-[a-z]+/\d", sources)):
        assert f"`{name}`" in text


def test_files_that_the_developer_guide_names_exist() -> None:
    paths = [f"/{path.relative_to(ROOT).as_posix()}" for top in TOP_LEVEL for path in (ROOT / top).rglob("*.py")]
    for name in re.findall(r"`([\w/]+\.py)`", (DOCS / "developer_guide.md").read_text(encoding="utf-8")):
        assert any(path.endswith(f"/{name}") for path in paths), name


def test_every_ruling_is_documented_and_tested() -> None:
    rules = (DOCS / "rules.md").read_text(encoding="utf-8")
    tests = "\n".join(path.read_text(encoding="utf-8") for path in (ROOT / "tests" / "rules").glob("test_*.py"))
    for number in range(1, 17):
        assert f"**R{number}.**" in rules
        assert f"| R{number} |" in rules
        assert re.search(rf"def test_r{number}_", tests), f"R{number}"


# Code in the docs.


@pytest.mark.parametrize("page", PAGES_WITH_CODE)
def test_code_in_the_docs_runs(page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    blocks = python_blocks(page)
    (tmp_path / "my_agent.py").write_text(python_blocks("docs/agents.md")[0], encoding="utf-8")
    env = symphony9_v0.raw_env()
    env.reset(seed=7)
    records.save(env.record(), "game-4p-7.json")
    output = io.StringIO()
    with contextlib.redirect_stdout(output):
        names: dict[str, object] = {}
        for block in blocks:
            exec(block, names)
    if page == "README.md":
        assert "final score" in output.getvalue()
        (sample,) = re.findall(r"```text\n(.*?)```", (ROOT / page).read_text(encoding="utf-8"), flags=re.S)
        assert set(sample.splitlines()) <= set(output.getvalue().splitlines())
    if page == "docs/environment.md":
        assert "Your decision, take" in output.getvalue()
        assert "cube_taken 2 handel" in output.getvalue()


def test_the_component_file_in_the_docs_is_accepted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (toml,) = re.findall(r"```toml\n(.*?)```", (DOCS / "rules.md").read_text(encoding="utf-8"), flags=re.S)
    (tmp_path / "my_boards.toml").write_text(toml, encoding="utf-8")
    (block,) = python_blocks("docs/rules.md")
    exec(block, {"symphony9_v0": symphony9_v0})


WITH_EXAMPLES = [
    path for path in sorted((ROOT / "symphony9_env").rglob("*.py")) if ">>> " in path.read_text(encoding="utf-8")
]


@pytest.mark.parametrize("path", WITH_EXAMPLES, ids=lambda path: path.stem)
def test_examples_in_docstrings_hold(path: Path) -> None:
    parts = path.relative_to(ROOT).with_suffix("").parts
    module = importlib.import_module(".".join(parts).removesuffix(".__init__"))
    assert doctest.testmod(module).failed == 0


@pytest.mark.parametrize("tool", ["benchmark_rows", "docs_tables", "golden", "leaderboard", "schemas"])
def test_help_of_a_generator_writes_nothing(tool: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        importlib.import_module(f"tools.{tool}").main(["--help"])
    assert f"python -m tools.{tool}" in capsys.readouterr().out


# Links.


def anchors(path: Path) -> set[str]:
    """Return the anchors that GitHub gives the headings of a page."""
    headings = re.findall(r"^#+ (.*)$", without_code(path.read_text(encoding="utf-8")), flags=re.M)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("path", PAGES, ids=page_name)
def test_links_lead_somewhere(path: Path) -> None:
    for target, anchor in re.findall(r"\]\(([^)#]*)(?:#([^)]*))?\)", path.read_text(encoding="utf-8")):
        if target.startswith("http"):
            continue
        page = (path.parent / target) if target else path
        assert page.exists(), target
        if anchor:
            assert anchor in anchors(page), f"{target}#{anchor}"


# Form and vocabulary.


@pytest.mark.parametrize("path", PAGES, ids=page_name)
def test_prose_lines_are_short(path: Path) -> None:
    for number, line in enumerate(without_code(path.read_text(encoding="utf-8")).splitlines(), 1):
        if not line.lstrip().startswith(("|", "<", "![")):
            assert len(line) <= MAX_PROSE_WIDTH, f"{path.name}, line {number}"


def test_the_glossary_is_in_alphabetical_order() -> None:
    text = (DOCS / "glossary.md").read_text(encoding="utf-8")
    for section in text.split("\n## ")[1:]:
        terms = [term.lower() for term in re.findall(r"^\| ([^|]+) \|", section, flags=re.M)[1:]]
        assert terms
        assert terms == sorted(set(terms))


def docstrings() -> Iterator[tuple[str, str]]:
    """Yield every docstring of the repository, with its place."""
    for top in TOP_LEVEL:
        for path in sorted((ROOT / top).rglob("*.py")):
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
                    place = f"{path.relative_to(ROOT)}, {getattr(node, 'name', 'module')}"
                    yield place, ast.get_docstring(node) or ""


def test_private_vocabulary_does_not_return() -> None:
    pages = [(path.name, path.read_text(encoding="utf-8")) for path in PAGES]
    found = [f"{place}: {match[0]}" for place, text in (*pages, *docstrings()) for match in BANNED.finditer(text)]
    assert not found
