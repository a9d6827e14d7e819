"""The results of `evaluation.coalition`, computed from its games: results.json (`symphony9-coalition/1`), report, text.

Let d be a deal and A(d), B(d) the mean win shares of the agent over its games, once in every seat, under two
conditions. The loss is the mean of A(d) - B(d). A pair's win share is the sum of those of its two seats.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final, NotRequired, TypedDict

import numpy as np

from evaluation.pages import Bar, Bars, Section, make_page
from symphony9_env.arena.console import format_interval, format_percent, format_table
from symphony9_env.arena.ratings import Floats, estimate_difference, estimate_rate
from symphony9_env.arena.results import GameData, WinResult

FORMAT: Final = "symphony9-coalition/1"
# The conditions.
INDEPENDENT: Final = "independent"
COALITION: Final = "coalition"
PARTNER: Final = "partner"
TRAINED: Final = "trained"
TITLES: Final = {
    INDEPENDENT: "independent players",
    COALITION: "a coalition",
    TRAINED: "a trained coalition",
    PARTNER: "a partner with the same goal",
}


class DifferenceResult(TypedDict):
    """The difference between two win rates on the same deals."""

    difference: float
    difference_95: list[float]  # lower and upper end of the 95 % interval, from the pairs of results


class ConditionResult(WinResult):
    """The games of the agent under one condition."""

    games: int
    mean_score: float  # points of the agent
    others_mean_score: float  # points of the other seats


class PartnerResult(TypedDict):
    """What the agent and its partner win together; `independent` is about the same two seats without a shared goal."""

    independent: WinResult
    together: WinResult
    contribution: DifferenceResult  # together less independent
    agent_gain: DifferenceResult  # the agent's part of it
    partner_gain: DifferenceResult  # the partner's part of it


class CoalitionResults(TypedDict):
    """The contents of `results.json`."""

    format: str
    command: str
    settings: dict[str, Any]  # as in `tournament.json`
    agent: str
    members: str  # the agent in all other seats
    par: float  # the agent's win rate among equals
    deals: int
    games: int  # of all conditions together
    conditions: dict[str, ConditionResult]  # by condition: independent, coalition, partner, trained
    loss: dict[str, DifferenceResult]  # of the agent's win rate, by kind of coalition: coalition, trained
    partner: NotRequired[PartnerResult]


def summarise(
    games: GameData,
    conditions: Sequence[str],
    partner_seats: Callable[[int], list[int]],
    settings: dict[str, Any],
    command: str,
) -> CoalitionResults:
    """Compute the results of complete deals; the games of a deal are ordered by condition and the agent's seat."""
    num_players = games.num_players
    shape = (-1, len(conditions), num_players, num_players)  # deals, conditions, the agent's seats, all seats
    shares, scores = games.column("win_share").reshape(shape), games.column("score").reshape(shape)
    is_agent = np.eye(num_players, dtype=bool)
    is_partner = np.zeros((len(shares), 1, num_players, num_players), bool)
    for deal in range(len(shares)):
        is_partner[deal, 0, np.arange(num_players), partner_seats(deal)] = True
    own = (shares * is_agent).sum((2, 3)) / num_players  # (deals, conditions)
    partner = (shares * is_partner).sum((2, 3)) / num_players
    number = {condition: index for index, condition in enumerate(conditions)}

    def compare(first: Floats, second: Floats, par: float) -> DifferenceResult:
        found = estimate_difference(first, second, par, num_players)
        return {"difference": found.value, "difference_95": found.interval()}

    par = 1 / num_players
    independent = own[:, number[INDEPENDENT]]
    results: CoalitionResults = {
        "format": FORMAT,
        "command": command,
        "settings": settings,
        "agent": games.names[0],
        "members": settings["members"],
        "par": par,
        "deals": len(shares),
        "games": games.num_games,
        "conditions": {
            condition: {
                **_summarise_wins(own[:, index], num_players),
                "games": len(shares) * num_players,
                "mean_score": float(scores[:, index, is_agent].mean()),
                "others_mean_score": float(scores[:, index, ~is_agent].mean()),
            }
            for condition, index in number.items()
        },
        "loss": {
            condition: compare(independent, own[:, number[condition]], par)
            for condition in (COALITION, TRAINED)
            if condition in number
        },
    }
    if PARTNER in number:
        before, after = number[INDEPENDENT], number[PARTNER]
        pair = own + partner
        results["partner"] = {
            "independent": _summarise_wins(pair[:, before], num_players),
            "together": _summarise_wins(pair[:, after], num_players),
            "contribution": compare(pair[:, after], pair[:, before], 2 * par),
            "agent_gain": compare(own[:, after], own[:, before], par),
            "partner_gain": compare(partner[:, after], partner[:, before], par),
        }
    return results


def _summarise_wins(means: Floats, num_games: int) -> WinResult:
    """Return the win rate from the mean win share of each deal, over so many games."""
    estimate, effective = estimate_rate(means * num_games, np.full(len(means), float(num_games)))
    return {"win_rate": estimate.value, "win_rate_95": estimate.interval(), "effective_games": effective}


def format_difference(found: DifferenceResult) -> str:
    """Return a difference of win rates in percentage points, with its interval."""
    interval = format_interval(found["difference_95"], _format_points)
    return f"{_format_points(found['difference'])} ({interval})"


def _format_points(difference: float) -> str:
    return f"{100 * difference:.1f}"


def _list_conditions(results: CoalitionResults) -> list[list[str]]:
    return [
        [
            TITLES[condition],
            format_percent(one["win_rate"]),
            format_interval(one["win_rate_95"], format_percent),
            f"{one['mean_score']:.1f}",
            f"{one['others_mean_score']:.1f}",
            format_difference(results["loss"][condition]) if condition in results["loss"] else "",
        ]
        for condition, one in results["conditions"].items()
    ]


_CONDITIONS_HEAD: Final = ("", "win rate", "95 %", "points", "others", "loss (95 %)")
_PARTNER_HEAD: Final = ("", "win rate", "95 %")


def _list_pairs(found: PartnerResult) -> list[list[str]]:
    rows = [("for themselves", found["independent"]), ("the partner for both", found["together"])]
    wins = [
        [label, format_percent(one["win_rate"]), format_interval(one["win_rate_95"], format_percent)]
        for label, one in rows
    ]
    gains = [
        ("contribution", found["contribution"]),
        ("the agent's part", found["agent_gain"]),
        ("the partner's part", found["partner_gain"]),
    ]
    return wins + [
        [
            f"{label}, in percentage points",
            _format_points(one["difference"]),
            format_interval(one["difference_95"], _format_points),
        ]
        for label, one in gains
    ]


def format_results(results: CoalitionResults) -> str:
    """Return the results as text."""
    text = format_table([f"{results['agent']} against", *_CONDITIONS_HEAD[1:]], _list_conditions(results))
    games = results["conditions"][INDEPENDENT]["games"]
    text += f"\npar, the win rate among equals: {format_percent(results['par'])}; {games} games of each condition"
    if "partner" in results:
        head = [f"{results['agent']} and a partner, both", *_PARTNER_HEAD[1:]]
        text += "\n\n" + format_table(head, _list_pairs(results["partner"]))
    return text


def make_report(results: CoalitionResults) -> str:
    """Return the page."""
    agent, members, settings = results["agent"], results["members"], results["settings"]
    facts = (
        f"Symphony No. 9, {settings['num_players']} players; {results['games']:,} games on {results['deals']:,} deals, "
        f"each with the agent in every seat under every condition; members: {members}"
        f"{', which know how the agent plays' if settings['informed'] else ''}; seed {settings['seed']}; "
        f"symphony9-env {settings['version']}."
    )
    losses = [
        f"The win rate of {agent} is {format_difference(loss)} percentage points lower against {TITLES[condition]} "
        "than against independent players."
        for condition, loss in results["loss"].items()
    ]
    sections = [_make_loss_section(results)]
    if "partner" in results:
        sections.append(_make_partner_section(results, results["partner"]))
        losses.append(
            f"With a partner that shares its goal, the two win {format_difference(results['partner']['contribution'])} "
            "percentage points more of the games than as independent players."
        )
    return make_page(f"{agent} and coalitions", facts, results["command"], " ".join(losses), sections)


def _make_loss_section(results: CoalitionResults) -> Section:
    shown = {name: one for name, one in results["conditions"].items() if name != PARTNER}
    bars = [Bar(TITLES[name], (one["win_rate"],), one["win_rate_95"]) for name, one in shown.items()]
    return Section(
        "What a coalition costs",
        Bars(bars, results["par"], f"win rate of {results['agent']}"),
        f"Each bar is how often {results['agent']} wins against these players, with its 95 % interval: the further the "
        "bar of a coalition ends to the left of that of independent players, the more the agent depends on the others "
        "not combining against it.",
        _CONDITIONS_HEAD,
        _list_conditions(results),
    )


def _make_partner_section(results: CoalitionResults, found: PartnerResult) -> Section:
    rows = []
    for label, condition, wins in (
        ("both for themselves", INDEPENDENT, found["independent"]),
        ("the partner for both", PARTNER, found["together"]),
    ):
        own = results["conditions"][condition]["win_rate"]
        rows.append(Bar(label, (own, wins["win_rate"] - own), wins["win_rate_95"]))
    return Section(
        "What the agent contributes to a partner",
        Bars(rows, 2 * results["par"], "win rate of the pair", (results["agent"], f"partner ({results['members']})")),
        "Each bar is how often one of the two wins, with its 95 % interval, and its colours who of them: the further "
        "the lower bar reaches beyond the upper one, the more the agent and a partner with a shared goal gain.",
        _PARTNER_HEAD,
        _list_pairs(found),
    )
