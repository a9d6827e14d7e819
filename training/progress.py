"""Evaluations of the learner: progress.csv, the learning curve, and their text on the terminal."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from typing import Final

import matplotlib as mpl
import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray

from symphony9_env import agents
from symphony9_env.agents import Card
from symphony9_env.agents.networks import Weights
from symphony9_env.agents.policy import PolicyAgent
from symphony9_env.arena.console import format_interval, format_percent, format_table
from symphony9_env.arena.figures import PALETTE, STYLE, as_percent, shorten
from symphony9_env.arena.matches import play_against
from symphony9_env.arena.ratings import win_rate
from training.config import Settings
from training.group import Group

Row = dict[str, float]  # a line of progress.csv: steps, seconds, and for each opponent NAME, NAME_low, NAME_high
Parts = dict[str, tuple[NDArray[np.float64], NDArray[np.int64]]]  # by opponent: shares of wins, and deals
ENDS: Final = ("", "_low", "_high")


def evaluate(settings: Settings, card: Card, weights: Weights, group: Group) -> Parts:
    """Return this worker's share of the learner's games against each evaluation opponent.

    The deals are not used for training. A coalition plays in all seats but one, and a share is the mean of its seats'.
    """
    evaluation, variant = settings.evaluation, settings.game.options().variant
    learner = PolicyAgent("learner", card, weights, seed=1)
    parts: Parts = {}
    for name in evaluation.opponents:
        with agents.make(name, seed=2) as opponent:
            is_coalition = settings.opponents.coalition
            alone, others = (opponent, learner) if is_coalition else (learner, opponent)
            given = variant, evaluation.games, evaluation.seed, group.rank, group.size
            shares, deals = play_against(alone, others, *given)
            parts[name] = (1 - shares) / (variant.num_players - 1) if is_coalition else shares, deals
    return parts


def join_parts(parts: Sequence[Parts], steps: int, seconds: float) -> Row:
    """Return the win rates of all workers' games, with 95 % intervals.

    The policy was trained for so many steps and seconds.
    """
    row: Row = {"steps": float(steps), "seconds": round(seconds, 1)}
    for name in parts[0]:
        shares, deals = (np.concatenate(arrays) for arrays in zip(*(part[name] for part in parts), strict=True))
        wins = win_rate(shares, deals)
        row |= {name: wins.value, f"{name}_low": wins.low, f"{name}_high": wins.high}
    return row


def check_rows(rows: Sequence[Row], settings: Settings) -> None:
    """Raise a ValueError unless each row has the columns of an evaluation, and each evaluation comes after the last."""
    columns = {"steps", "seconds", *(f"{name}{end}" for name in settings.evaluation.opponents for end in ENDS)}
    for row in rows:
        if set(row) != columns:
            raise ValueError(f"an evaluation has {', '.join(row)}; needed: {', '.join(sorted(columns))}")
    steps = [row["steps"] for row in rows]
    if steps != sorted(set(steps)):
        raise ValueError("the evaluations are not in order")


def format_progress(rows: Sequence[Row]) -> str:
    """Return all evaluations as the contents of progress.csv."""
    out = io.StringIO()
    writer = csv.DictWriter(out, list(rows[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return out.getvalue()


def draw_curve(rows: list[Row], num_players: int, title: str) -> bytes:
    """Return a plot (PNG) of the win rates over the run, with their 95 % intervals."""
    contents = io.BytesIO()
    with mpl.rc_context(STYLE):
        plot_win_rates(rows, num_players, title).savefig(contents, format="png", dpi=130)
    return contents.getvalue()


def plot_win_rates(rows: list[Row], num_players: int, title: str) -> Figure:
    """Return the plot of these evaluations; its legend is beside the lines."""
    figure = Figure(figsize=(9, 4.2))
    axes = figure.subplots()
    steps = [row["steps"] / 1e6 for row in rows]
    names = [name for name in rows[0] if f"{name}_low" in rows[0]]
    for colour, name in zip(PALETTE, names, strict=False):
        axes.plot(steps, [row[name] for row in rows], color=colour, label=f"against {shorten(name)}", marker=".")
        low, high = ([row[f"{name}_{end}"] for row in rows] for end in ("low", "high"))
        axes.fill_between(steps, low, high, color=colour, alpha=0.15, linewidth=0)
    axes.axhline(1 / num_players, color="#333333", linestyle="--", linewidth=1, label="par")
    axes.set_ylim(0, 1.02)
    axes.yaxis.set_major_formatter(as_percent)
    axes.set_xlabel("steps of the learner, in millions")
    axes.set_ylabel("win rate")
    axes.set_title(title)
    figure.legend(loc="outside right center")
    return figure


def format_win_rates(row: Row) -> dict[str, str]:
    """Return the win rates in per cent, for the progress bar."""
    return {name: f"{100 * value:.0f}%" for name, value in row.items() if f"{name}_low" in row}


def format_line(row: Row) -> str:
    """Return an evaluation in one line."""
    rates = ", ".join(f"{name} {rate}" for name, rate in format_win_rates(row).items())
    return f"{row['steps']:,.0f} steps in {row['seconds'] / 60:.1f} minutes: wins against {rates}"


def format_results(row: Row, opponents: Sequence[str]) -> str:
    """Return an evaluation as text."""
    cells = [
        [name, format_percent(row[name]), format_interval([row[f"{name}_low"], row[f"{name}_high"]], format_percent)]
        for name in opponents
    ]
    title = f"after {row['steps']:,.0f} steps in {row['seconds'] / 60:.1f} minutes\n"
    return title + format_table(["learner alone against", "wins", "95 %"], cells)
