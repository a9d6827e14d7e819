"""Replays as one HTML file that needs nothing else: no server, no network."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Final

from symphony9_env.render.theme import theme_css
from symphony9_env.web.scene import Json

STATIC: Final = Path(__file__).parent / "static"


def replay_page(games: list[Json]) -> str:
    """The page, with its styles, scripts and these games in it."""
    page = _read("watch.html")
    for mark, content in {
        "/* STYLE */": theme_css() + _read("style.css"),
        "/* SCRIPT */": _read("table.js") + _read("watch.js"),
        '"GAMES"': _as_script(games),
    }.items():
        before, found, after = page.partition(mark)
        assert found, mark
        page = before + content + after
    return page


def _read(name: str) -> str:
    return (STATIC / name).read_text(encoding="utf-8")


def _as_script(data: object) -> str:
    """JSON that can stand inside a <script>: no text in it can end the element or begin a comment."""
    text = json.dumps(data, separators=(",", ":"), ensure_ascii=True)
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")
