"""The learning curve."""

from __future__ import annotations

import matplotlib as mpl
import pytest

from symphony9_env.arena.figures import STYLE
from training.progress import plot_win_rates


@pytest.mark.parametrize("names", [["random"], ["random", "greedy", "planner", "runs/" + "x" * 200 + ".safetensors"]])
def test_the_legend_covers_no_line(names: list[str]) -> None:
    rows = [{"steps": 1e6 * step, "seconds": 1.0} for step in range(3)]
    for row in rows:
        for name in names:
            row |= {name: 0.5, f"{name}_low": 0.4, f"{name}_high": 0.6}
    with mpl.rc_context(STYLE):
        figure = plot_win_rates(rows, 4, "run: 4 players")
        figure.draw_without_rendering()
    (axes,), (legend,) = figure.axes, figure.legends
    assert axes.get_legend() is None
    assert legend.get_window_extent().x0 >= axes.get_window_extent().x1
    assert legend.get_window_extent().x1 <= figure.bbox.x1
    assert axes.get_window_extent().width > figure.bbox.width / 2
