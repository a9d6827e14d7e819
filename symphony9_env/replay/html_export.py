"""Replays as one HTML file that needs no server and no network."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Final

from symphony9_env.render.theme import theme_css
from symphony9_env.replay.replay_data import ReplayJson
from symphony9_env.replay.theme_json import theme_json

STATIC: Final = Path(__file__).parent / "static"
SCRIPTS: Final = ("common.js", "concert.js", "board.js", "score_sheet.js", "watch.js")


def make_page(replays: list[ReplayJson]) -> str:
    """Return the replay page with its styles, scripts and these replays in it."""
    page = _read("watch.html")
    for placeholder, content in {
        "/* STYLE */": theme_css() + _read("style.css"),
        "/* SCRIPT */": "".join(_read(name) for name in SCRIPTS),
        '"DATA"': _escape_json({"theme": theme_json(), "replays": [_compact(one) for one in replays]}),
    }.items():
        before, found, after = page.partition(placeholder)
        assert found, placeholder
        page = before + content + after
    return page


def _compact(replay: ReplayJson) -> dict[str, Any]:
    """Leave out of each frame what has not changed since the frame before, to halve the file; watch.js restores it."""
    first, *others = replay["frames"]
    frames: list[dict[str, Any]] = [{**first}]
    for before, frame in zip(replay["frames"], others, strict=False):
        was: dict[str, Any] = {**before["position"]}
        position = {name: value for name, value in frame["position"].items() if value != was[name]}
        own = [None if now == past else now for now, past in zip(frame["own"], before["own"], strict=True)]
        frames.append({**frame, "position": position, "own": own})
    return {**replay, "frames": frames}


def _read(name: str) -> str:
    return (STATIC / name).read_text(encoding="utf-8")


def _escape_json(data: object) -> str:
    """Return JSON that can stand inside a <script>: no text in it can end the element or begin a comment."""
    text = json.dumps(data, separators=(",", ":"), ensure_ascii=True)
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")
