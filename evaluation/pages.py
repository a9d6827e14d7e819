"""`report.html` of the commands of this package: sections, each with a figure, how to read it, and a table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup
from matplotlib.figure import Figure

from symphony9_env.arena import report
from symphony9_env.arena.figures import PALETTE, TEXT_COLOUR, as_percent, render_svg, shorten

_TEMPLATES: Final = Environment(
    loader=FileSystemLoader([Path(__file__).parent, Path(report.__file__).parent]),
    autoescape=True,
    undefined=StrictUndefined,
    trim_blocks=True,
)


@dataclass(frozen=True)
class Bar:
    """A bar of a figure: parts that are stacked, and the interval of their sum."""

    label: str
    parts: tuple[float, ...]
    interval: Sequence[float]


@dataclass(frozen=True)
class Bars:
    """A figure of win rates: bars from top to bottom, their par, and the labels of their parts if they have several."""

    bars: Sequence[Bar]
    par: float
    axis: str
    parts: tuple[str, ...] = ()


@dataclass(frozen=True)
class Section:
    """A section of a page."""

    title: str
    bars: Bars
    caption: str  # one sentence on how to read the figure
    head: Sequence[str]
    rows: Sequence[Sequence[Any]]


def make_page(title: str, facts: str, command: str, summary: str, sections: Sequence[Section]) -> str:
    """Return a page without external resources."""
    shown = [{**vars(section), "figure": Markup(render_svg(draw_bars, section.bars))} for section in sections]
    return _TEMPLATES.get_template("page.html.jinja").render(
        title=title, facts=facts, command=command, summary=summary, sections=shown
    )


def draw_bars(figure: Figure, axes: Any, data: Bars) -> None:
    """Draw horizontal bars of win rates with their intervals, and a dashed line at par."""
    figure.set_size_inches(7, 1.3 + 0.5 * len(data.bars))
    for line, bar in enumerate(reversed(data.bars)):
        left = 0.0
        for number, share in enumerate(bar.parts):
            label = data.parts[number] if line == 0 and data.parts else None
            axes.barh(line, share, left=left, height=0.6, color=PALETTE[5 - number], label=label)
            left += share
        spread = np.abs(np.array(bar.interval)[:, None] - left)
        axes.errorbar(left, line, xerr=spread, fmt="none", ecolor=TEXT_COLOUR, capsize=4)
        axes.annotate(f"{100 * left:.0f} %", (bar.interval[1], line), (6, 0), textcoords="offset points", va="center")
    axes.axvline(data.par, color=TEXT_COLOUR, linestyle="--", linewidth=1)
    axes.annotate("par", (data.par, len(data.bars) - 0.35), (4, 0), textcoords="offset points", va="center")
    axes.set_yticks(range(len(data.bars)), [shorten(bar.label) for bar in reversed(data.bars)])
    axes.set_ylim(-0.6, len(data.bars) - 0.1)
    axes.set_xlim(0, 1.12)
    axes.set_xticks(np.linspace(0, 1, 6))
    axes.xaxis.set_major_formatter(as_percent)
    axes.set_xlabel(data.axis)
    if data.parts:
        figure.legend(loc="outside lower center", ncols=len(data.parts))
