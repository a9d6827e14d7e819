"""The progress of a run: lines, and the learning curve."""

from __future__ import annotations

from pathlib import Path

import matplotlib as mpl
import pytest

from symphony9_env.arena.figures import STYLE
from tests.training.runs import SHORT, settings
from training import train
from training.progress import plot_win_rates
from training.run import RunFolder


def test_progress_is_shown_as_lines_if_there_is_no_terminal(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    chosen = settings(**SHORT, behaviour_cloning={"agent": "greedy", "games": 256})
    train.train(chosen, RunFolder(tmp_path / "run"))
    lines = capsys.readouterr().err.splitlines()
    assert lines[0].startswith("cloning greedy: 0 of 256 games after 0 s")
    assert lines[1].startswith("cloning greedy: 256 of 256 games after ")
    assert ", agreement " in lines[1]
    assert lines[2].startswith("0 of 512 steps after 0 s")
    assert lines[-1].startswith("512 of 512 steps after ")
    assert lines[-1].endswith(", saved 512")


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
