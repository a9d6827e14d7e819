"""The sections of the report that compare agents pair by pair, each with one sentence on how to read its figure."""

from __future__ import annotations

from symphony9_env.arena import comparison_figures as drawings
from symphony9_env.arena.console import format_interval, format_percent
from symphony9_env.arena.cycles import SIGNIFICANCE
from symphony9_env.arena.figures import render_svg
from symphony9_env.arena.results import Results

Section = tuple[str, str, str]  # title, figure, caption


def list_comparisons(results: Results) -> list[Section]:
    """Return the sections for which the results have data."""
    sections: list[Section] = []
    if "nash" in results:
        figure = render_svg(drawings.draw_nash, results)
        sections.append(("Ratings against the strongest mixture", figure, _caption_nash(results)))
    if "cyclic_strength" in results:
        figure = render_svg(drawings.draw_cyclic_strength, results)
        sections.append(("Cycles", figure, _caption_cycles(results)))
    if results["deciding"]["winners"]["meetings"]:
        figure = render_svg(drawings.draw_deciding, results)
        sections.append(("What decides games", figure, _caption_deciding(results)))
        figure = render_svg(drawings.draw_associations, results)
        sections.append(("What goes with winning", figure, _caption_associations(results)))
        if any(pair["meetings"] for _, _, pair in drawings.list_pairs(results)):
            figure = render_svg(drawings.draw_pair_associations, results)
            sections.append(("What goes with ending ahead", figure, _caption_pair_associations(results)))
    return sections


def _caption_nash(results: Results) -> str:
    averaged = results["nash"]
    text = (
        "A dot shows how an agent does against the mixture of agents that none of them does well against (its weights "
        "are below the names): 0 is as good as the mixture, and 400 points below are odds of 1 to 10 against it. "
    )
    used = [name for name, one in averaged.items() if one["weight"] >= 0.005]
    if len(used) == 1:
        return text + f"The mixture is {used[0]} alone: no other agent ends ahead of it more often than behind."
    used.sort(key=lambda name: -averaged[name]["weight"])
    parts = [f"{name} ({format_percent(averaged[name]['weight'])})" for name in used]
    return text + f"It is {', '.join(parts)}."


def _caption_cycles(results: Results) -> str:
    one = results["cyclic_strength"]
    interval = format_interval(one["cyclic_share_95"], format_percent)
    text = (
        "The orange bar is the share of the results that no ranking of the agents explains, as in rock, paper, "
        "scissors; it means something only if it reaches beyond the line of the grey bar, which is what luck gives. "
        f"The cyclic share is {format_percent(one['cyclic_share'])} (95 %: {interval}), and luck alone gives up to "
        f"{format_percent(one['share_by_chance_95'])}: "
    )
    text += "more than luck explains." if one["p_value"] <= SIGNIFICANCE else "luck explains it."
    if "cycle" not in one:
        return text + " No three agents are proven to beat each other in a circle."
    names, ahead = one["cycle"]["agents"], one["cycle"]["ahead"]
    steps = zip(names, [*names[1:], names[0]], ahead, strict=True)
    parts = [f"{name} ends ahead of {rival} in {format_percent(share)}" for name, rival, share in steps]
    return text + f" The clearest cycle: {', '.join(parts)}."


def _caption_deciding(results: Results) -> str:
    winners = results["deciding"]["winners"]
    best = max(winners["points"], key=lambda name: winners["points"][name]["lead"])
    text = (
        "Each bar splits a difference of points by source: what reaches to the right favours the first name, what "
        "reaches to the left the second, and the diamond is the sum. "
        f"Winners are {winners['margin']:.1f} points ahead of another player on average"
    )
    if "margin_share" in winners["points"][best]:
        share = format_percent(winners["points"][best]["margin_share"])
        text += f"; {share} of it comes from {drawings.name_quantity(best)}"
    return f"{text}.{_say_which_pairs(results)}"


def _say_which_pairs(results: Results) -> str:
    """Return a sentence if there are too many pairs to draw them all; it begins with a space."""
    drawn, there = len(drawings.list_pairs(results)), len(results["deciding"]["pairs"])
    if drawn == there:
        return ""
    return f" Of {there} pairs, the {drawn} next to each other in the ratings are drawn; results.json has them all."


def _caption_associations(results: Results) -> str:
    rows = drawings.rank_quantities(results["deciding"]["winners"])
    text = (
        "A dot shows how often, among a winner and another player who differ in something, the winner is the one with "
        "more of it: on the dashed line it says nothing about winning. It is an association, not a cause."
    )
    if not rows:
        return text
    name, one = max(rows, key=lambda row: abs(row[1]["more_is_ahead"] - 0.5))
    return text + f" The farthest from it is {drawings.name_quantity(name)}: {format_percent(one['more_is_ahead'])}."


def _caption_pair_associations(results: Results) -> str:
    return (
        "Each row is a pair of agents, and each number says how often, if the two differ in something, the one with "
        "more of it ends ahead. Blue: having more goes with ending ahead; red: with ending behind; grey numbers on "
        f"white may be luck. As above, these are associations.{_say_which_pairs(results)}"
    )
