"""What a person sees: evaluations in progress.csv, the learning curve, the bar."""

from __future__ import annotations

import csv
import io
from pathlib import Path
from typing import Any

import matplotlib as mpl
from matplotlib.figure import Figure

from symphony9_env import agents, files
from symphony9_env.agents import Card
from symphony9_env.agents.networks import Weights
from symphony9_env.agents.policy import PolicyAgent
from symphony9_env.arena.figures import PALETTE, STYLE, as_percent
from symphony9_env.arena.matches import against
from training.config import Settings

Row = dict[str, float]


def read_progress(path: Path, up_to: float) -> list[Row]:
    """The evaluations so far, up to the decision that training goes on from."""
    if not path.exists():
        return []
    rows = [
        {name: float(value) for name, value in row.items()} for row in csv.DictReader(io.StringIO(path.read_text()))
    ]
    return [row for row in rows if row["steps"] <= up_to]


def measured(settings: Settings, card: Card, weights: Weights) -> Row:
    """Matches against the fixed opponents on deals that are never trained on: win rates with their intervals."""
    chosen, variant = settings.evaluation, settings.game.options().variant
    learner = PolicyAgent("learner", card, weights, seed=1)
    row: Row = {}
    for name in chosen.opponents:
        wins = against(learner, agents.make(name, seed=2), variant, chosen.games, chosen.seed)
        row |= {name: wins.value, f"{name}_low": wins.low, f"{name}_high": wins.high}
    return row


def write_progress(path: Path, rows: list[Row]) -> None:
    out = io.StringIO()
    writer = csv.DictWriter(out, list(rows[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    files.write_text(path, out.getvalue())


def draw_curve(path: Path, rows: list[Row], par: float, title: str) -> None:
    """Win rates over the training, with their 95 % intervals."""
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(8, 4.2))
        axes = figure.subplots()
        steps = [row["steps"] / 1e6 for row in rows]
        names = [name for name in rows[0] if f"{name}_low" in rows[0]]
        for colour, name in zip(PALETTE, names, strict=False):
            axes.plot(steps, [row[name] for row in rows], color=colour, label=f"against {name}", marker=".")
            low, high = ([row[f"{name}_{end}"] for row in rows] for end in ("low", "high"))
            axes.fill_between(steps, low, high, color=colour, alpha=0.15, linewidth=0)
        axes.axhline(par, color="#333333", linestyle="--", linewidth=1, label="par")
        axes.set_ylim(0, 1.02)
        axes.yaxis.set_major_formatter(as_percent)
        axes.set_xlabel("decisions of the learner, in millions")
        axes.set_ylabel("games won")
        axes.set_title(title)
        axes.legend(loc="center right")
        files.write(path, lambda draft: figure.savefig(draft, format="png", dpi=130))


def told(row: dict[str, Any]) -> dict[str, str]:
    """For the bar: win rates in per cent."""
    return {name: f"{100 * value:.0f}%" for name, value in row.items() if f"{name}_low" in row}
