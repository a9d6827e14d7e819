"""The plots of the report: each `draw_` function draws one of them, and `render_svg` makes it an SVG element."""

from __future__ import annotations

import io
import re
from collections.abc import Callable
from typing import Any, Final, TypeVar

import matplotlib as mpl
import numpy as np
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure

from symphony9_env.arena.results import GameData, Results
from symphony9_env.components import CLASSES
from symphony9_env.components.box import scoring_method
from symphony9_env.rules.state import OUTCOMES

Data = TypeVar("Data")

# Okabe and Ito's palette, which people with colour blindness can distinguish too.
PALETTE: Final = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#F0E442")
OUTCOME_COLOURS: Final = ("#9ecae1", "#4292c6", "#08519c", "#fdd0a2", "#e6550d")  # in the order of OUTCOMES
TILE_COLOURS: Final = ("#08306b", "#2171b5", "#6baed6", "#00441b", "#238b45", "#a1d99b")  # scoring tiles 1 to 6
OTHER_SOURCE_COLOURS: Final = {"money": "#E69F00", "furniture": "#D55E00", "last_works": "#999999"}
SOLD_COLOURS: Final = ("#f0f0f0", "#c6dbef", "#6baed6", "#08519c")  # 0, 1, 2, 3 tokens sold
TEXT_COLOUR: Final = "#333333"
MAX_NAME_LENGTH: Final = 28
ABOVE: Final[dict[str, Any]] = {"textcoords": "offset points", "ha": "center"}
STYLE: Final[Any] = {
    "svg.fonttype": "none",
    "svg.hashsalt": "symphony9",
    "font.family": "sans-serif",
    "font.size": 10,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.edgecolor": "#888888",
    "axes.labelcolor": TEXT_COLOUR,
    "axes.titlesize": 11,
    "xtick.color": TEXT_COLOUR,
    "ytick.color": TEXT_COLOUR,
    "legend.frameon": False,
    "figure.constrained_layout.use": True,
}


def as_percent(value: float, _: Any) -> str:
    """Format a tick of an axis of shares as a percentage."""
    return f"{100 * value:.0f} %"


def colour(results: Results, name: str) -> str:
    """Return the colour of an agent, by its index in the results."""
    return PALETTE[list(results["agents"]).index(name) % len(PALETTE)]


def shorten(name: str) -> str:
    """Return an agent's name cut to the width of a label; the end of a long path is kept."""
    return name if len(name) <= MAX_NAME_LENGTH else "…" + name[1 - MAX_NAME_LENGTH :]


def rank_agents(results: Results) -> list[str]:
    """Return the agents' names from the highest rating to the lowest."""
    return sorted(results["agents"], key=lambda name: -float(results["agents"][name]["rating"]))


def render_svg(draw: Callable[[Figure, Any, Data], None], data: Data) -> str:
    """Let one of the functions below draw its data, and return the plot as an SVG element that scales with the page."""
    with mpl.rc_context(STYLE):
        figure = Figure()
        draw(figure, figure.subplots(), data)
        out = io.StringIO()
        figure.savefig(out, format="svg", metadata={"Date": None, "Creator": None}, transparent=True)
    text = out.getvalue()
    svg = text[text.index("<svg") :]
    return re.sub(r'<svg ([^>]*?)width="[^"]*" height="[^"]*"|<svg ', r'<svg \1role="img" ', svg, count=1)


def draw_ratings(figure: Figure, axes: Any, results: Results) -> None:
    """Draw the ratings with their 95 % intervals, the strongest agent on top."""
    order = rank_agents(results)[::-1]
    figure.set_size_inches(7, 0.9 + 0.5 * len(order))
    for line, name in enumerate(order):
        one = results["agents"][name]
        axes.plot(one["rating_95"], [line, line], color=colour(results, name), linewidth=3, solid_capstyle="round")
        axes.plot(one["rating"], line, "o", color=colour(results, name), markersize=8)
        axes.annotate(f"{one['rating']:.0f}", (one["rating"], line), (0, 8), **ABOVE)
    axes.set_yticks(range(len(order)), [shorten(name) for name in order])
    axes.set_ylim(-0.6, len(order) - 0.3)
    axes.set_xlabel("rating (a difference of 400 points: odds of 10 to 1)")
    axes.grid(axis="x", color="#dddddd", linewidth=0.7)


def draw_head_to_head(figure: Figure, axes: Any, results: Results) -> None:
    """Draw a heat map of how often the agent of a row ends ahead of the agent of a column."""
    order = rank_agents(results)
    pairs = results["head_to_head"]
    cells = np.array(
        [[pairs[name][rival]["ahead"] if rival in pairs[name] else np.nan for rival in order] for name in order]
    )
    figure.set_size_inches(7, 1.2 + 0.6 * len(order))
    axes.imshow(cells, cmap="RdBu", vmin=0, vmax=1)
    for (row, column), ahead in np.ndenumerate(cells):
        if not np.isnan(ahead):
            shade = "white" if abs(ahead - 0.5) > 0.3 else TEXT_COLOUR
            axes.text(column, row, f"{100 * ahead:.0f} %", ha="center", va="center", color=shade)
    axes.set_xticks(range(len(order)), [shorten(name) for name in order], rotation=30, ha="right")
    axes.set_yticks(range(len(order)), [shorten(name) for name in order])
    axes.set_xlabel("this agent ends behind")
    axes.set_ylabel("this agent ends ahead")
    axes.spines[:].set_visible(False)


def draw_seats(figure: Figure, axes: Any, results: Results) -> None:
    """Draw the win rate of each position in the first round's turn order."""
    rows = results["win_rate_by_seat"]
    figure.set_size_inches(6, 3.2)
    rates = np.array([row["win_rate"] for row in rows])
    spans = np.array([row["win_rate_95"] for row in rows]).T
    axes.bar(range(len(rows)), rates, color="#56B4E9", width=0.6)
    axes.errorbar(range(len(rows)), rates, np.abs(spans - rates), fmt="none", ecolor=TEXT_COLOUR, capsize=4)
    axes.axhline(results["par"], color=TEXT_COLOUR, linestyle="--", linewidth=1)
    axes.annotate("par", (len(rows) - 0.55, results["par"]), (0, 3), textcoords="offset points", ha="right")
    axes.set_xticks(range(len(rows)), ["start player", *(f"{offset} to the left" for offset in range(1, len(rows)))])
    axes.yaxis.set_major_formatter(as_percent)
    axes.set_ylabel("win rate")


def draw_sources(figure: Figure, axes: Any, results: Results) -> None:
    """Draw stacked bars of each agent's points by source, the two sides of a scoring tile together."""
    order = rank_agents(results)[::-1]
    kinds = list(next(iter(results["score_by_source"].values())))
    groups = [
        (f"tile {number}", [kind for kind in kinds if kind[0] == str(number)], shade)
        for number, shade in enumerate(TILE_COLOURS, 1)
    ]
    groups += [(kind.replace("_", " "), [kind], shade) for kind, shade in OTHER_SOURCE_COLOURS.items()]
    figure.set_size_inches(8, 1.9 + 0.5 * len(order))
    left = np.zeros(len(order))
    for label, members, shade in groups:
        points = np.array([sum(results["score_by_source"][name][kind] for kind in members) for name in order])
        if points.any():
            bars = axes.barh(range(len(order)), points, left=left, color=shade, label=label, edgecolor="white")
            write_in_bars(axes, bars, points, least=4)
        left += points
    axes.set_yticks(range(len(order)), [shorten(name) for name in order])
    axes.set_xlabel("mean points per game")
    figure.legend(loc="outside lower center", ncols=5)


def write_in_bars(axes: Any, bars: Any, numbers: Any, least: float) -> None:
    """Write the numbers from `least` up in the middle of their bars, white on a dark shade."""
    for bar, number in zip(bars, numbers, strict=True):
        if number >= least:
            light = np.dot(to_rgb(bar.get_facecolor()), (0.3, 0.59, 0.11))
            shade = TEXT_COLOUR if light > 0.55 else "white"
            axes.text(*bar.get_center(), f"{number:.0f}", ha="center", va="center", color=shade)


def draw_scoring_tiles(figure: Figure, axes: Any, results: Results) -> None:
    """Draw the mean points of each side of a scoring tile: of all players, and of the winners."""
    tiles = results["scoring_tiles"]
    order = sorted(tiles, key=lambda tile: tiles[tile]["winners_mean"])
    figure.set_size_inches(8.5, 1.2 + 0.3 * len(order))
    for line, tile in enumerate(order):
        one = tiles[tile]
        axes.plot([one["mean"], one["winners_mean"]], [line, line], color="#bbbbbb", linewidth=2)
        axes.plot(one["mean"], line, "o", color="#56B4E9", label="all players" if line == 0 else None)
        axes.plot(one["winners_mean"], line, "D", color="#D55E00", label="winners" if line == 0 else None)
    axes.set_yticks(range(len(order)), [f"{scoring_method(tile)}  {tile}" for tile in order])
    axes.set_xlabel("mean points per player, in games with this tile")
    axes.grid(axis="x", color="#dddddd", linewidth=0.7)
    axes.legend(loc="lower right")


def draw_concerts(figure: Figure, axes: Any, results: Results) -> None:
    """Draw the shares of the outcomes of the concerts, round by round."""
    rounds = results["concerts"]
    figure.set_size_inches(7, 3.4)
    numbers = range(1, len(rounds) + 1)
    bottom = np.zeros(len(rounds))
    for outcome, shade in zip(OUTCOMES, OUTCOME_COLOURS, strict=True):
        shares = np.array([row[outcome] for row in rounds])
        label = f"{outcome} class" if outcome in CLASSES else outcome
        bars = axes.bar(numbers, shares, bottom=bottom, color=shade, label=label, edgecolor="white")
        write_in_bars(axes, bars, 100 * shares, least=7)
        bottom += shares
    axes.set_xlabel("round")
    axes.yaxis.set_major_formatter(as_percent)
    axes.set_ylabel("share of concerts")
    figure.legend(loc="outside right center", reverse=True)


def draw_bids(figure: Figure, axes: Any, results: Results) -> None:
    """Draw each agent's mean contribution by round, with the middle half of the contributions shaded."""
    figure.set_size_inches(7, 3.2)
    for name, rounds in results["bids_by_round"].items():
        numbers = np.arange(1, len(rounds) + 1)
        axes.plot(numbers, [row["mean"] for row in rounds], "o-", color=colour(results, name), label=shorten(name))
        low, high = [row["low_quartile"] for row in rounds], [row["high_quartile"] for row in rounds]
        axes.fill_between(numbers, low, high, color=colour(results, name), alpha=0.1, linewidth=0)
    axes.set_xlabel("round")
    axes.set_ylabel("mean contribution ($)")
    axes.set_ylim(0)
    figure.legend(loc="outside right center")


def draw_furniture(figure: Figure, axes: Any, results: Results) -> None:
    """Draw how many furniture tokens each agent sold."""
    order = rank_agents(results)[::-1]
    figure.set_size_inches(7, 1.5 + 0.4 * len(order))
    left = np.zeros(len(order))
    for sold, shade in enumerate(SOLD_COLOURS):
        shares = np.array([results["furniture_sold"][name][sold] for name in order])
        bars = axes.barh(range(len(order)), shares, left=left, color=shade, edgecolor="white", label=f"{sold} sold")
        write_in_bars(axes, bars, 100 * shares, least=7)
        left += shares
    axes.set_yticks(range(len(order)), [shorten(name) for name in order])
    axes.xaxis.set_major_formatter(as_percent)
    axes.set_xlabel("share of games")
    figure.legend(loc="outside lower center", ncols=4)


def draw_length(figure: Figure, axes: Any, games: GameData) -> None:
    """Draw a histogram of the number of decisions in a game."""
    moves = games.column("moves")[:, 0]
    figure.set_size_inches(7, 2.6)
    low, high = int(moves.min()), int(moves.max())
    width = max(1, (high - low) // 40)
    edges = [edge - 0.5 for edge in range(low, high + width + 1, width)]
    axes.hist(moves, edges, color="#56B4E9", edgecolor="white", linewidth=0.4)
    axes.set_xlabel("decisions per game")
    axes.set_ylabel("games")
