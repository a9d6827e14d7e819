"""The plots of the report that compare agents pair by pair: Nash-averaged ratings, cycles, what decides games."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from matplotlib.figure import Figure

from symphony9_env.arena.deciding import POINTS, DecidingResult, PairDecidingResult, QuantityResult
from symphony9_env.arena.figures import (
    ABOVE,
    OTHER_SOURCE_COLOURS,
    TEXT_COLOUR,
    TILE_COLOURS,
    as_percent,
    colour,
    rank_agents,
    shorten,
)
from symphony9_env.arena.results import Results

MAX_BARS: Final = 16  # more pairs than that are not readable; then only those next to each other in the ratings remain
CYCLIC_COLOUR: Final = "#D55E00"
CHANCE_COLOUR: Final = "#bbbbbb"
UNCLEAR_COLOUR: Final = "#999999"
SOURCE_COLOURS: Final = dict(
    zip(POINTS, (*TILE_COLOURS, *(OTHER_SOURCE_COLOURS[name] for name in POINTS[len(TILE_COLOURS) :])), strict=True)
)


def name_quantity(name: str) -> str:
    """Return the name of a quantity as a person reads it."""
    return name.replace("_", " ")


def label_quantity(name: str) -> str:
    """Return the name of a quantity as the axis of a figure shows it."""
    return f"points: {name_quantity(name)}" if name in POINTS else name_quantity(name)


def draw_nash(figure: Figure, axes: Any, results: Results) -> None:
    """Draw each agent's rating against the equilibrium, Nash-averaged and by the Plackett-Luce model."""
    averaged = results["nash"]
    order = sorted(averaged, key=lambda name: (averaged[name]["rating"], averaged[name]["weight"]))
    mixture = sum(averaged[name]["weight"] * results["agents"][name]["rating"] for name in order)
    figure.set_size_inches(7.5, 1.4 + 0.55 * len(order))
    for line, name in enumerate(order):
        one = averaged[name]
        shade = colour(results, name)
        axes.plot(one["rating_95"], [line, line], color=shade, linewidth=3, solid_capstyle="round")
        label = "Nash-averaged, with its 95 % interval" if line == 0 else None
        axes.plot(one["rating"], line, "o", color=shade, markersize=8, label=label)
        number = f"{one['rating']:.0f}".replace("-", "−")
        background = {"facecolor": "#fbfaf7", "edgecolor": "none", "pad": 1}  # the page's, over the line at 0
        axes.annotate(number, (one["rating"], line), (0, 9), bbox=background, **ABOVE)
        label = "Plackett–Luce, minus that of the mixture" if line == 0 else None
        axes.plot(
            results["agents"][name]["rating"] - mixture, line, "D", color=TEXT_COLOUR, fillstyle="none", label=label
        )
    axes.axvline(0, color=TEXT_COLOUR, linestyle="--", linewidth=1)
    axes.set_yticks(
        range(len(order)), [f"{shorten(name)}\nweight {100 * averaged[name]['weight']:.0f} %" for name in order]
    )
    axes.set_ylim(-0.6, len(order) - 0.3)
    axes.set_xlabel("rating points against the mixture")
    axes.grid(axis="x", color="#dddddd", linewidth=0.7)
    figure.legend(loc="outside lower center", ncols=2)


def draw_cyclic_strength(figure: Figure, axes: Any, results: Results) -> None:
    """Draw the cyclic share with its 95 % interval, and below it the one that luck gives, up to its 95 % quantile."""
    one = results["cyclic_strength"]
    rows = [
        (one["share_by_chance"], [0.0, one["share_by_chance_95"]], CHANCE_COLOUR),
        (one["cyclic_share"], one["cyclic_share_95"], CYCLIC_COLOUR),
    ]
    figure.set_size_inches(7.5, 1.9)
    for line, (share, (low, high), shade) in enumerate(rows):
        axes.barh(line, share, color=shade, height=0.55)
        axes.errorbar(share, line, xerr=[[share - low], [max(0.0, high - share)]], ecolor=TEXT_COLOUR, capsize=4)
    labels = ("mean by luck alone", "these games")
    axes.set_yticks(
        range(len(rows)), [f"{label}: {100 * row[0]:.1f} %" for label, row in zip(labels, rows, strict=True)]
    )
    axes.set_xlim(left=0)
    axes.xaxis.set_major_formatter(lambda value, _: f"{100 * value:g} %")
    axes.set_xlabel("cyclic share of strength")


def draw_deciding(figure: Figure, axes: Any, results: Results) -> None:
    """Draw the margin of winners, and the difference between pairs of agents, as bars that are stacked by source."""
    winners = results["deciding"]["winners"]
    bars = [("winners\nminus others", {name: one["lead"] for name, one in winners["points"].items()})]
    for first, second, pair in list_pairs(results):
        sign = 1 if pair["agent"] == first else -1
        differences = {source: sign * one["difference"] for source, one in pair["points"].items()}
        bars.append((f"{shorten(first)}\nminus {shorten(second)}", differences))
    bars.reverse()
    figure.set_size_inches(8, 1.9 + 0.55 * len(bars))
    ends = np.zeros((2, len(bars)))
    lines = np.arange(len(bars))
    for source in POINTS:
        points = np.array([values[source] for _, values in bars])
        if points.any():
            for side, part in enumerate((points.clip(min=0), points.clip(max=0))):
                label = name_quantity(source) if side == 0 else None
                axes.barh(lines, part, left=ends[side], color=SOURCE_COLOURS[source], edgecolor="white", label=label)
                ends[side] += part
    totals = [sum(values.values()) for _, values in bars]
    axes.plot(totals, lines, "D", color="white", markeredgecolor="black", markersize=6, label="all")
    axes.axvline(0, color=TEXT_COLOUR, linewidth=1)
    axes.set_yticks(lines, [label for label, _ in bars])
    axes.set_xlabel("mean difference of points")
    axes.grid(axis="x", color="#dddddd", linewidth=0.7)
    axes.set_axisbelow(True)
    figure.legend(loc="outside lower center", ncols=5)


def list_pairs(results: Results) -> list[tuple[str, str, PairDecidingResult]]:
    """Return the pairs to draw, with their names: the higher rated agent first."""
    order = rank_agents(results)
    pairs = results["deciding"]["pairs"]
    found = {frozenset((pair["agent"], pair["against"])): pair for pair in pairs}
    near = 1 if len(pairs) > MAX_BARS else len(order)
    return [
        (name, rival, found[both])
        for place, name in enumerate(order)
        for rival in order[place + 1 : place + 1 + near]
        if (both := frozenset((name, rival))) in found
    ]


def rank_quantities(one: DecidingResult | PairDecidingResult) -> list[tuple[str, QuantityResult]]:
    """Return the quantities in which seats differ, from those of which more goes with ending behind to the best."""
    quantities = {**one["points"], **one["other"]}
    found = [(name, quantity) for name, quantity in quantities.items() if "more_is_ahead" in quantity]
    return sorted(found, key=lambda item: (item[1]["more_is_ahead"], item[0]))


def draw_associations(figure: Figure, axes: Any, results: Results) -> None:
    """Draw for each quantity how often the player with more of it wins against one with less."""
    rows = rank_quantities(results["deciding"]["winners"])
    figure.set_size_inches(7.5, 1.3 + 0.3 * len(rows))
    for line, (name, one) in enumerate(rows):
        shade = SOURCE_COLOURS.get(name, TEXT_COLOUR)
        axes.plot([0.5, one["more_is_ahead"]], [line, line], color=CHANCE_COLOUR, linewidth=2)
        axes.plot(one["more_is_ahead"], line, "o" if name in POINTS else "D", color=shade)
    axes.axvline(0.5, color=TEXT_COLOUR, linestyle="--", linewidth=1)
    axes.set_yticks(range(len(rows)), [label_quantity(name) for name, _ in rows])
    axes.xaxis.set_major_formatter(as_percent)
    axes.set_xlabel("how often the player with more is the winner")
    axes.grid(axis="x", color="#dddddd", linewidth=0.7)


def is_clear(one: QuantityResult) -> bool:
    """Return whether having more of a quantity goes with ending ahead, or behind, by more than luck explains."""
    low, high = one.get("more_is_ahead_95", (0.0, 1.0))
    return low > 0.5 or high < 0.5


def draw_pair_associations(figure: Figure, axes: Any, results: Results) -> None:
    """Draw a heat map of how often, in each pair of agents, the one with more of a quantity ends ahead."""
    pairs = list_pairs(results)
    quantities = [name for name, _ in rank_quantities(results["deciding"]["winners"])][::-1]
    cells = np.full((len(pairs), len(quantities)), np.nan)
    for row, (_, _, pair) in enumerate(pairs):
        found = {**pair["points"], **pair["other"]}
        for column, one in enumerate(found[name] for name in quantities):
            if "more_is_ahead" in one:
                share, is_sure = one["more_is_ahead"], is_clear(one)
                cells[row, column] = share if is_sure else np.nan
                shade = ("white" if abs(share - 0.5) > 0.3 else TEXT_COLOUR) if is_sure else UNCLEAR_COLOUR
                axes.text(column, row, f"{100 * share:.0f}", ha="center", va="center", color=shade)
    figure.set_size_inches(8.5, 2.2 + 0.42 * len(pairs))
    axes.imshow(cells, cmap="RdBu", vmin=0, vmax=1, aspect="auto")
    axes.set_xticks(range(len(quantities)), map(label_quantity, quantities), rotation=45, ha="right")
    axes.set_yticks(range(len(pairs)), [f"{shorten(name)}\nand {shorten(rival)}" for name, rival, _ in pairs])
    axes.set_xlabel("how often the one with more ends ahead, in per cent")
    axes.spines[:].set_visible(False)
