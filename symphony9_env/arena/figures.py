"""The plots of the report: each function draws one plot of the results and returns it as an SVG element."""

from __future__ import annotations

import io
import re
from collections.abc import Callable
from typing import Any, Final

import matplotlib as mpl
import numpy as np
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure

from symphony9_env.arena.results import GameData, Results
from symphony9_env.components import CLASSES
from symphony9_env.components.box import scoring_method
from symphony9_env.rules.state import OUTCOMES

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


def colour(agent: int) -> str:
    """Return the colour of an agent, by its index in the results."""
    return PALETTE[agent % len(PALETTE)]


def shorten(name: str) -> str:
    """Return an agent's name cut to the width of a label; the end of a long path is kept."""
    return name if len(name) <= MAX_NAME_LENGTH else "…" + name[1 - MAX_NAME_LENGTH :]


def rank_agents(results: Results) -> list[str]:
    """Return the agents' names from the highest rating to the lowest."""
    return sorted(results["agents"], key=lambda name: -float(results["agents"][name]["rating"]))


def render_svg(draw: Callable[[Figure], None], width: float, height: float) -> str:
    """Draw a figure and return it as an SVG element that scales with the page."""
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(width, height))
        draw(figure)
        out = io.StringIO()
        figure.savefig(out, format="svg", metadata={"Date": None, "Creator": None}, transparent=True)
    text = out.getvalue()
    text = text[text.index("<svg") :]
    return re.sub(r'<svg ([^>]*?)width="[^"]*" height="[^"]*"|<svg ', _scaling, text, count=1)


def _scaling(found: re.Match[str]) -> str:
    return f'<svg {found.group(1) or ""}role="img" '


def draw_ratings(results: Results) -> str:
    """Draw the ratings with their 95 % intervals, the strongest agent on top."""
    order = rank_agents(results)[::-1]

    def draw(figure: Figure) -> None:
        axes = figure.subplots()
        for line, name in enumerate(order):
            one = results["agents"][name]
            axes.plot(
                one["rating_95"], [line, line], color=_colour_of(results, name), linewidth=3, solid_capstyle="round"
            )
            axes.plot(one["rating"], line, "o", color=_colour_of(results, name), markersize=8)
            axes.annotate(f"{one['rating']:.0f}", (one["rating"], line), (0, 8), **ABOVE)
        axes.set_yticks(range(len(order)), [shorten(name) for name in order])
        axes.set_ylim(-0.6, len(order) - 0.3)
        axes.set_xlabel("rating (a difference of 400 points: odds of 10 to 1)")
        axes.grid(axis="x", color="#dddddd", linewidth=0.7)

    return render_svg(draw, 7, 0.9 + 0.5 * len(order))


def _colour_of(results: Results, name: str) -> str:
    return colour(list(results["agents"]).index(name))


def draw_head_to_head(results: Results) -> str:
    """Draw a heat map of how often the agent of a row ends ahead of the agent of a column."""
    order = rank_agents(results)
    cells = np.full((len(order), len(order)), np.nan)
    for row, name in enumerate(order):
        for column, rival in enumerate(order):
            if rival in results["head_to_head"][name]:
                cells[row, column] = results["head_to_head"][name][rival]["ahead"]

    def draw(figure: Figure) -> None:
        axes = figure.subplots()
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

    return render_svg(draw, 7, 1.2 + 0.6 * len(order))


def draw_seats(results: Results) -> str:
    """Draw the win rate of each position in the first round's turn order."""
    rows = results["win_rate_by_seat"]

    def draw(figure: Figure) -> None:
        axes = figure.subplots()
        rates = np.array([row["win_rate"] for row in rows])
        spans = np.array([row["win_rate_95"] for row in rows]).T
        axes.bar(range(len(rows)), rates, color="#56B4E9", width=0.6)
        axes.errorbar(range(len(rows)), rates, np.abs(spans - rates), fmt="none", ecolor=TEXT_COLOUR, capsize=4)
        axes.axhline(results["par"], color=TEXT_COLOUR, linestyle="--", linewidth=1)
        axes.annotate("par", (len(rows) - 0.55, results["par"]), (0, 3), textcoords="offset points", ha="right")
        axes.set_xticks(
            range(len(rows)), ["start player", *(f"{offset} to the left" for offset in range(1, len(rows)))]
        )
        axes.yaxis.set_major_formatter(as_percent)
        axes.set_ylabel("win rate")

    return render_svg(draw, 6, 3.2)


def draw_sources(results: Results) -> str:
    """Draw stacked bars of each agent's points by source, the two sides of a scoring tile together."""
    order = rank_agents(results)[::-1]
    kinds = list(next(iter(results["score_by_source"].values())))
    groups = [
        (f"tile {number}", [kind for kind in kinds if kind[0] == str(number)], shade)
        for number, shade in enumerate(TILE_COLOURS, 1)
    ]
    groups += [(kind.replace("_", " "), [kind], shade) for kind, shade in OTHER_SOURCE_COLOURS.items()]

    def draw(figure: Figure) -> None:
        axes = figure.subplots()
        left = np.zeros(len(order))
        for label, members, shade in groups:
            points = np.array([sum(results["score_by_source"][name][kind] for kind in members) for name in order])
            if points.any():
                axes.barh(range(len(order)), points, left=left, color=shade, label=label, edgecolor="white")
                for bar, width in enumerate(points):
                    if width >= 4:
                        write_inside(axes, left[bar] + width / 2, bar, f"{width:.0f}", shade)
            left += points
        axes.set_yticks(range(len(order)), [shorten(name) for name in order])
        axes.set_xlabel("mean points per game")
        figure.legend(loc="outside lower center", ncols=5)

    return render_svg(draw, 8, 1.9 + 0.5 * len(order))


def write_inside(axes: Any, x: float, y: float, text: str, shade: str) -> None:
    """Write a number in the middle of a bar, white on a dark shade."""
    light = sum(part * weight for part, weight in zip(to_rgb(shade), (0.3, 0.59, 0.11), strict=True))
    axes.text(x, y, text, ha="center", va="center", color=TEXT_COLOUR if light > 0.55 else "white")


def draw_scoring_tiles(results: Results) -> str:
    """Draw the mean points of each side of a scoring tile: of all players, and of the winners."""
    tiles = results["scoring_tiles"]
    order = sorted(tiles, key=lambda tile: tiles[tile]["winners_mean"])

    def draw(figure: Figure) -> None:
        axes = figure.subplots()
        for line, tile in enumerate(order):
            one = tiles[tile]
            axes.plot([one["mean"], one["winners_mean"]], [line, line], color="#bbbbbb", linewidth=2)
            axes.plot(one["mean"], line, "o", color="#56B4E9", label="all players" if line == 0 else None)
            axes.plot(one["winners_mean"], line, "D", color="#D55E00", label="winners" if line == 0 else None)
        axes.set_yticks(range(len(order)), [f"{scoring_method(tile)}  {tile}" for tile in order])
        axes.set_xlabel("mean points per player, in games with this tile")
        axes.grid(axis="x", color="#dddddd", linewidth=0.7)
        axes.legend(loc="lower right")

    return render_svg(draw, 8.5, 1.2 + 0.3 * len(order))


def draw_concerts(results: Results) -> str:
    """Draw the shares of the outcomes of the concerts, round by round."""
    rounds = results["concerts"]

    def draw(figure: Figure) -> None:
        axes = figure.subplots()
        numbers = range(1, len(rounds) + 1)
        bottom = np.zeros(len(rounds))
        for outcome, shade in zip(OUTCOMES, OUTCOME_COLOURS, strict=True):
            shares = np.array([row[outcome] for row in rounds])
            label = f"{outcome} class" if outcome in CLASSES else outcome
            axes.bar(numbers, shares, bottom=bottom, color=shade, label=label, edgecolor="white")
            for number, low, share in zip(numbers, bottom, shares, strict=True):
                if share >= 0.07:
                    write_inside(axes, number, low + share / 2, f"{100 * share:.0f}", shade)
            bottom += shares
        axes.set_xlabel("round")
        axes.yaxis.set_major_formatter(as_percent)
        axes.set_ylabel("share of concerts")
        figure.legend(loc="outside right center", reverse=True)

    return render_svg(draw, 7, 3.4)


def draw_bids(results: Results) -> str:
    """Draw each agent's mean contribution by round, with the middle half of the contributions shaded."""

    def draw(figure: Figure) -> None:
        axes = figure.subplots()
        for agent, (name, rounds) in enumerate(results["bids_by_round"].items()):
            numbers = np.arange(1, len(rounds) + 1)
            axes.plot(numbers, [row["mean"] for row in rounds], "o-", color=colour(agent), label=shorten(name))
            low, high = [row["low_quartile"] for row in rounds], [row["high_quartile"] for row in rounds]
            axes.fill_between(numbers, low, high, color=colour(agent), alpha=0.1, linewidth=0)
        axes.set_xlabel("round")
        axes.set_ylabel("mean contribution ($)")
        axes.set_ylim(0)
        figure.legend(loc="outside right center")

    return render_svg(draw, 7, 3.2)


def draw_furniture(results: Results) -> str:
    """Draw how many furniture tokens each agent sold."""
    order = rank_agents(results)[::-1]

    def draw(figure: Figure) -> None:
        axes = figure.subplots()
        left = np.zeros(len(order))
        for sold, shade in enumerate(SOLD_COLOURS):
            shares = np.array([results["furniture_sold"][name][sold] for name in order])
            axes.barh(range(len(order)), shares, left=left, color=shade, edgecolor="white", label=f"{sold} sold")
            for bar, share in enumerate(shares):
                if share >= 0.07:
                    write_inside(axes, left[bar] + share / 2, bar, f"{100 * share:.0f}", shade)
            left += shares
        axes.set_yticks(range(len(order)), [shorten(name) for name in order])
        axes.xaxis.set_major_formatter(as_percent)
        axes.set_xlabel("share of games")
        figure.legend(loc="outside lower center", ncols=4)

    return render_svg(draw, 7, 1.5 + 0.4 * len(order))


def draw_length(games: GameData) -> str:
    """Draw a histogram of the number of decisions in a game."""
    moves = games.column("moves")[:, 0]

    def draw(figure: Figure) -> None:
        axes = figure.subplots()
        low, high = int(moves.min()), int(moves.max())
        width = max(1, (high - low) // 40)
        edges = [edge - 0.5 for edge in range(low, high + width + 1, width)]
        axes.hist(moves, edges, color="#56B4E9", edgecolor="white", linewidth=0.4)
        axes.set_xlabel("decisions per game")
        axes.set_ylabel("games")

    return render_svg(draw, 7, 2.6)
