"""Regenerate the tables in docs/environment.md from the code they describe.

    python -m tools.docs_tables     (or: make docs)

A generated table stands between `<!-- table: NAME -->` and `<!-- end -->`. `tests/test_docs.py` checks that the tables
are current.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final

import symphony9_env
from symphony9_env.arguments import Parser
from symphony9_env.options import OPTION_FIELDS, VARIANT_NAMES
from symphony9_env.render.render_modes import RENDER_MODES
from symphony9_env.views import FIELDS, LEDGER_FIELDS, STATE_FIELDS, Field

ENVIRONMENT: Final = Path(__file__).parent.parent / "docs" / "environment.md"
HIDDEN_FIELDS: Final = STATE_FIELDS[len(FIELDS) + len(LEDGER_FIELDS) :]


def format_rows(header: str, rows: Sequence[tuple[str, ...]]) -> str:
    """Return a Markdown table; `header` is its first line."""
    ruler = "|" + "---|" * (header.count("|") - 1)
    return "\n".join([header, ruler, *(f"| {' | '.join(row)} |" for row in rows)])


def format_fields(fields: tuple[Field, ...]) -> str:
    """Return the table of observation fields."""
    rows = []
    for field in fields:
        shape = " × ".join(str(size) for size in field.shape)
        where = str(field.start) if field.size == 1 else f"{field.start}–{field.stop - 1}"
        rows.append((f"`{field.name}`", where, shape, f"{field.low:g} … {field.high:g}", field.meaning))
    return format_rows("| field | where | shape | range | meaning |", rows)


def format_options() -> str:
    """Return the table of an environment's options."""
    rows = [
        (
            f"`{option.name}`",
            _format_allowed(option),
            _code(option.default),
            "`Variant`" if option.name in VARIANT_NAMES else "`EnvOptions`",
            option.metadata["help"],
        )
        for option in OPTION_FIELDS
    ]
    modes = ", ".join(map(_code, (None, *RENDER_MODES)))
    rows.append(("`render_mode`", modes, _code(None), "the environment", "what `render()` returns or shows"))
    return format_rows("| option | allowed | default | belongs to | meaning |", rows)


def _format_allowed(option: Any) -> str:
    if isinstance(option.default, bool):
        return "`True`, `False`"
    if option.metadata["choices"]:
        return ", ".join(map(_code, option.metadata["choices"])) + (", a mapping" if "Mapping" in option.type else "")
    return ", ".join(f"`{kind}`" for kind in option.type.split(" | "))


def _code(value: Any) -> str:
    return f'`"{value}"`' if isinstance(value, str) else f"`{value}`"


def format_public_names() -> str:
    """Return the table of the names that `symphony9_env` exports."""
    names = [name for name in symphony9_env.__all__ if not name.startswith("_")]
    rows = [(f"`{name}`", _first_line(getattr(symphony9_env, name))) for name in names]
    return format_rows("| name | |", rows)


def _first_line(value: Any) -> str:
    return (inspect.getdoc(value) or "").partition("\n")[0].replace("|", "\\|")


TABLES: Final[dict[str, Callable[[], str]]] = {
    "options": format_options,
    "observation": lambda: format_fields(FIELDS),
    "ledger": lambda: format_fields(LEDGER_FIELDS),
    "hidden": lambda: format_fields(HIDDEN_FIELDS),
    "api": format_public_names,
}


def regenerate(text: str) -> str:
    """Return the page with all its tables generated again."""
    for name, make in TABLES.items():
        pattern = re.compile(rf"(<!-- table: {name} -->\n).*?(<!-- end -->)", re.S)
        if len(pattern.findall(text)) != 1:
            raise ValueError(f"{ENVIRONMENT.name}: needs exactly one <!-- table: {name} --> … <!-- end -->")
        table = make().replace("\\", r"\\")
        text = pattern.sub(rf"\g<1>{table}\n\g<2>", text)
    return text


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command."""
    Parser(prog="python -m tools.docs_tables", description=__doc__).parse_args(arguments)
    ENVIRONMENT.write_text(regenerate(ENVIRONMENT.read_text(encoding="utf-8")), encoding="utf-8", newline="\n")


if __name__ == "__main__":
    main()
