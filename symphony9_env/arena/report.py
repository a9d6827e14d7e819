"""`report.html`: the results of a tournament as one page without external resources."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from symphony9_env.arena import figures
from symphony9_env.arena.comparison_sections import list_comparisons
from symphony9_env.arena.console import format_interval, format_percent
from symphony9_env.arena.results import GameData, Results, WinResult
from symphony9_env.components import CLASSES
from symphony9_env.components.box import scoring_method

_TEMPLATES = Environment(
    loader=FileSystemLoader(Path(__file__).parent), autoescape=True, undefined=StrictUndefined, trim_blocks=True
)


def make_report(results: Results, games: GameData, records: list[str]) -> str:
    """Return the page; `records` are the names of the recorded games' files."""
    return _TEMPLATES.get_template("report.html.jinja").render(
        results=results,
        order=figures.rank_agents(results),
        records=records,
        sections=_make_sections(results, games),
        gate=_describe_gate(results),
        control=_describe_control_variate(results),
        adjusted=_list_adjusted(results),
        format_percent=format_percent,
        format_interval=format_interval,
        format_whole=lambda number: f"{number:.0f}",
    )


def _describe_gate(results: Results) -> str | None:
    """Return the verdict of a sequential test of these games; None if there was no test."""
    if "gate" not in results:
        return None
    gate, (new, old) = results["gate"], results["settings"]["agents"]
    low, high = gate["bounds"]
    return (
        f"Sequential test of {new} against {old}: {gate['verdict']}, after {gate['games']:,} games on "
        f"{gate['deals']:,} deals. The log-likelihood ratio is {gate['log_likelihood_ratio']:.2f} (bounds {low:.2f} "
        f"and {high:.2f}), and the margin {format_percent(gate['margin'])} (95 %: "
        f"{format_interval(gate['margin_95'], format_percent)}, as if the number of deals had been fixed in advance). "
        f"H0 is a margin of {format_percent(gate['h0'])} or less, H1 one of {format_percent(gate['h1'])} or more."
    )


def _describe_control_variate(results: Results) -> str | None:
    """Return what the adjusted win rates are corrected for, or why there are none; None without a control variate."""
    if "control_variate" not in results:
        return None
    control = results["control_variate"]
    if "disabled" in control:
        return f"Win rates are not adjusted: {control['disabled']}."
    actions = "; ".join(f"actions of {name}: {about}" for name, about in control["actions"].items())
    return (
        "Adjusted win rates aim at the same numbers as those above, with less luck: the larger the effective number of "
        "games, the narrower the interval. They are corrected for the luck of tokens and bot tiles; redraws of each "
        f"game: {control['redraws']}; {actions}."
    )


def _list_adjusted(results: Results) -> list[tuple[str, WinResult]]:
    """Return the adjusted win rates: of each agent, and of each agent alone against copies of another one."""
    rows: list[tuple[str, WinResult]] = [(name, results["agents"][name]) for name in figures.rank_agents(results)]
    rows += [(f"{one['agent']} against {one['against']}", one) for one in results["one_against_rest"]]
    return [(name, one) for name, one in rows if "adjusted" in one]


def _make_sections(results: Results, games: GameData) -> list[dict[str, Any]]:
    """Return the title, figure and caption of each section of the page."""
    parts = [
        ("Ratings", figures.render_svg(figures.draw_ratings, results), _caption_ratings(results)),
        ("Seats", figures.render_svg(figures.draw_seats, results), _caption_seats(results)),
        ("Where the points come from", figures.render_svg(figures.draw_sources, results), _caption_sources(results)),
        ("Scoring tiles", figures.render_svg(figures.draw_scoring_tiles, results), _caption_scoring_tiles(results)),
        ("Concerts", figures.render_svg(figures.draw_concerts, results), _caption_concerts(results)),
        ("Bids", figures.render_svg(figures.draw_bids, results), _caption_bids(results)),
        ("Furniture", figures.render_svg(figures.draw_furniture, results), _caption_furniture(results)),
        ("Length", figures.render_svg(figures.draw_length, games), _caption_length(results)),
    ]
    if len(results["agents"]) > 1:
        parts.insert(
            1, ("Head to head", figures.render_svg(figures.draw_head_to_head, results), _caption_head_to_head(results))
        )
    place = next(index for index, (title, _, _) in enumerate(parts) if title == "Seats")
    parts[place:place] = list_comparisons(results)
    return [{"title": title, "figure": Markup(figure), "caption": caption} for title, figure, caption in parts]


def _caption_ratings(results: Results) -> str:
    order = figures.rank_agents(results)
    text = (
        "Dots are ratings, lines their 95 % intervals. Where the lines of two agents don't overlap, the difference "
        "is larger than chance explains. An agent rated 400 points higher than another ends ahead of it in ten games "
        "out of eleven; the mean rating is 1500."
    )
    if len(order) > 1:
        first, second = (results["agents"][name] for name in order[:2])
        text += f" {order[0]} leads {order[1]} by {first['rating'] - second['rating']:.0f} points."
    return text


def _caption_head_to_head(results: Results) -> str:
    pairs = [
        (pair["ahead"], name, rival)
        for name, rivals in results["head_to_head"].items()
        for rival, pair in rivals.items()
        if pair["ahead"] >= 0.5
    ]
    text = (
        "Each cell shows how often the agent of its row ends ahead of the agent of its column in the games that both "
        "play. Blue: the row's agent is ahead more often; red: the column's."
    )
    if pairs:
        ahead, name, rival = max(pairs)
        close, one, other = min(pairs)
        text += f" The clearest result: {name} ends ahead of {rival} in {format_percent(ahead)} of cases. "
        text += f"The closest: {one} ends ahead of {other} in {format_percent(close)}."
    return text


def _caption_seats(results: Results) -> str:
    rows = results["win_rate_by_seat"]
    text = "Win rate by position in the first round's turn order, whichever agent sits there. The dashed line is par. "
    if all(row["win_rate_95"][0] <= results["par"] <= row["win_rate_95"][1] for row in rows):
        return text + "No position differs from par by more than chance explains."
    best = max(rows, key=lambda row: row["win_rate"])
    position = (
        "that of the start player" if best["offset"] == 0 else f"{best['offset']} to the left of the start player"
    )
    return text + f"The best position is {position}, with {format_percent(best['win_rate'])}."


def _caption_sources(results: Results) -> str:
    best = figures.rank_agents(results)[0]
    points = results["score_by_source"][best]
    tiles = sum(value for name, value in points.items() if name[0].isdecimal())
    return (
        "Mean points by source; both sides of a scoring tile count together. "
        f"{best} scores {tiles:.0f} points with scoring tiles and {points['money']:.0f} with money."
    )


def _caption_scoring_tiles(results: Results) -> str:
    tiles = results["scoring_tiles"]
    best = max(tiles, key=lambda tile: tiles[tile]["winners_mean"])
    gap = max(tiles, key=lambda tile: tiles[tile]["winners_mean"] - tiles[tile]["mean"])
    return (
        "Mean points from each side of each scoring tile. "
        f"Winners score most with {best} ({scoring_method(best)}). "
        f"The gap between winners and all players is widest for {gap} ({scoring_method(gap)})."
    )


def _caption_concerts(results: Results) -> str:
    rounds = results["concerts"]
    success = [sum(row[name] for name in CLASSES) for row in rounds]
    mean = sum(success) / len(success)
    return (
        "Outcomes of the concerts by round, in per cent. Blue concerts succeeded, by class; orange concerts failed. "
        f"{format_percent(mean)} succeed: {format_percent(success[0])} in the first round "
        f"and {format_percent(success[-1])} in the last."
    )


def _caption_bids(results: Results) -> str:
    means = {
        name: sum(row["mean"] for row in rounds) / len(rounds) for name, rounds in results["bids_by_round"].items()
    }
    most, least = max(means, key=lambda name: means[name]), min(means, key=lambda name: means[name])
    text = "Mean contribution by round; the middle half of the contributions is shaded. "
    if most == least:
        return text + f"On average {most} contributes ${means[most]:.1f}."
    return text + (f"On average {most} contributes most (${means[most]:.1f}) and {least} least (${means[least]:.1f}).")


def _caption_furniture(results: Results) -> str:
    sold = {name: sum(n * share for n, share in enumerate(row)) for name, row in results["furniture_sold"].items()}
    most = max(sold, key=lambda name: sold[name])
    return (
        "Number of furniture tokens sold or contributed to concerts by the end of the game, in per cent of games. "
        f"{most} sells most: {sold[most]:.1f} of 3 on average."
    )


def _caption_length(results: Results) -> str:
    length = results["length"]
    low, _, high = length["quartiles"]
    return (
        f"Number of decisions of all players together: {length['mean']:.0f} on average, "
        f"and {low:.0f} to {high:.0f} in the middle half of the games."
    )
