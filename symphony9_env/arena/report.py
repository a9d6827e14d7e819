"""`report.html`: the results as one page that opens without a network."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from symphony9_env.arena import figures
from symphony9_env.arena.console import format_interval, format_percent
from symphony9_env.arena.results import Games, Results
from symphony9_env.arena.tournament_folder import Folder
from symphony9_env.components import CLASSES
from symphony9_env.components.box import scoring_method

_TEMPLATES = Environment(
    loader=FileSystemLoader(Path(__file__).parent), autoescape=True, undefined=StrictUndefined, trim_blocks=True
)


def write_report(folder: Folder, results: Results, games: Games, records: list[str]) -> Path:
    template = _TEMPLATES.get_template("report.html.jinja")
    return folder.write(
        "report.html",
        template.render(
            results=results,
            order=figures.by_rating(results),
            records=records,
            sections=_sections(results, games),
            percent=format_percent,
            between=format_interval,
            whole=lambda number: f"{number:.0f}",
        ),
    )


def _sections(results: Results, games: Games) -> list[dict[str, Any]]:
    """Title, figure and caption of each part of the page."""
    parts = [
        ("Ratings", figures.ratings(results), _about_ratings(results)),
        ("Seats", figures.seats(results), _about_seats(results)),
        ("Where the points come from", figures.sources(results), _about_sources(results)),
        ("Scoring tiles", figures.scoring_tiles(results), _about_tiles(results)),
        ("Concerts", figures.concerts(results), _about_concerts(results)),
        ("Bids", figures.bids(results), _about_bids(results)),
        ("Furniture", figures.furniture(results), _about_furniture(results)),
        ("Length", figures.length(games), _about_length(results)),
    ]
    if len(results["agents"]) > 1:
        parts.insert(1, ("Head to head", figures.head_to_head(results), _about_pairs(results)))
    return [{"title": title, "figure": Markup(figure), "caption": caption} for title, figure, caption in parts]


def _about_ratings(results: Results) -> str:
    order = figures.by_rating(results)
    text = "Dots are ratings, bars their 95 % intervals: where bars don't overlap, the difference is more than luck. "
    text += "400 points mean that one ends ahead of the other ten times out of eleven; 1500 is the average here."
    if len(order) > 1:
        first, second = (results["agents"][name] for name in order[:2])
        gap = first["rating"] - second["rating"]
        text += f" {order[0]} leads {order[1]} by {gap:.0f} points."
    return text


def _about_pairs(results: Results) -> str:
    pairs = [
        (one["ahead"], name, rival)
        for name, rivals in results["head_to_head"].items()
        for rival, one in rivals.items()
        if one["ahead"] >= 0.5
    ]
    text = "Each cell: how often the row's agent ends ahead of the column's when both sit at a table. Blue rows win."
    if pairs:
        ahead, name, rival = max(pairs)
        close, one, other = min(pairs)
        text += f" Clearest: {name} ahead of {rival} in {format_percent(ahead)}; "
        text += f"closest: {one} and {other}, {format_percent(close)}."
    return text


def _about_seats(results: Results) -> str:
    rows = results["win_rate_by_seat"]
    off = [row for row in rows if not row["win_rate_95"][0] <= results["par"] <= row["win_rate_95"][1]]
    text = "Games won by place in the first round's turn order, whoever sat there; the dashed line is par. "
    if not off:
        return text + "No place is away from par by more than chance explains."
    best = max(rows, key=lambda row: float(row["win_rate"]))
    where = "the first start player" if best["place"] == 0 else f"{best['place']} to the left of the first start player"
    return text + f"The best place is {where}, with {format_percent(best['win_rate'])}."


def _about_sources(results: Results) -> str:
    best = figures.by_rating(results)[0]
    points = results["score_by_source"][best]
    tiles = sum(value for name, value in points.items() if name[0].isdecimal())
    return (
        "Mean points by source, scoring tiles by their number (both sides together). "
        f"{best} makes {tiles:.0f} points by scoring tiles and {points['money']:.0f} by money."
    )


def _about_tiles(results: Results) -> str:
    tiles = results["scoring_tiles"]
    best = max(tiles, key=lambda tile: float(tiles[tile]["winners_mean"]))
    gap = max(tiles, key=lambda tile: float(tiles[tile]["winners_mean"] - tiles[tile]["mean"]))
    return (
        f"What each side of each scoring tile gave. Winners make most by {best} ({scoring_method(best)}), "
        f"and the widest gap format_interval winners and everybody is at {gap} ({scoring_method(gap)})."
    )


def _about_concerts(results: Results) -> str:
    rounds = results["concerts"]
    success = [sum(row[name] for name in CLASSES) for row in rounds]
    mean = sum(success) / len(success)
    return (
        "How concerts ended, round by round, in per cent: blue is success, by class; orange is failure. "
        f"{format_percent(mean)} succeed, {format_percent(success[0])} in the first round "
        f"and {format_percent(success[-1])} in the last."
    )


def _about_bids(results: Results) -> str:
    means = {
        name: sum(row["mean"] for row in rounds) / len(rounds) for name, rounds in results["bids_by_round"].items()
    }
    most, least = max(means, key=lambda name: means[name]), min(means, key=lambda name: means[name])
    return (
        "Mean contribution by round, with the middle half of all bids shaded. "
        f"On average {most} gives most (${means[most]:.1f}) and {least} least (${means[least]:.1f})."
    )


def _about_furniture(results: Results) -> str:
    sold = {name: sum(n * share for n, share in enumerate(row)) for name, row in results["furniture_sold"].items()}
    most = max(sold, key=lambda name: sold[name])
    return (
        f"Tokens sold or paid into concerts by the end, in per cent of games. {most} sells most: {sold[most]:.1f} of 3."
    )


def _about_length(results: Results) -> str:
    length = results["length"]
    low, _, high = length["quartiles"]
    text = f"Decisions of all players together: {length['mean']:.0f} on average, "
    return text + f"half of the games {low:.0f} to {high:.0f}."
