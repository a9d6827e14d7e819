"""The game as text, as one seat may know it: for terminals and language models."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from symphony9_env.actions import format_actions
from symphony9_env.components import FURNITURE_POINTS, FURNITURE_VALUES, scoring_method
from symphony9_env.rules.state import NUM_ROUNDS
from symphony9_env.scores import ScoreLine, winners
from symphony9_env.views.seat import Board, Musician, SeatView

QUESTIONS: Final = {
    "take": "take a cube from any track for free",
    "take_for_bot": "take a cube from any track for the bot",
    "buy_4": "pay $4 for a cube from any track, or pass",
    "buy_8": "pay $8 for a cube from any track, or pass",
    "announce": "announce what you will contribute (this is not binding), or pass",
    "bid": "choose your secret contribution to the concert",
    "keep": "low class bonus: keep one of the cubes that you would give up for income, or pass",
    "bonus": "high class bonus: take a cube from any track",
    "discard": "the concert failed and you are to blame: give up a cube",
    "sell": "the last round is over: sell furniture, or pass",
    "over": "the game is over",
}


def describe(view: SeatView) -> str:
    """Return a view as text: all that the seat may know, what is asked, and the legal actions by number and name.

    >>> from symphony9_env import describe, seat_view, symphony9_v0
    >>> env = symphony9_v0.raw_env(num_players=2)
    >>> env.reset(seed=7)
    >>> describe(seat_view(env.states, 0, seat=0)).splitlines()[0]
    'Symphony No. 9, 2 players. Round 1 of 6. You are player_0. Start player: player_1.'
    """
    parts = [
        _describe_round(view),
        _describe_concert(view),
        _format_tracks(view),
        _format_boards(view),
        _describe_own(view),
        _format_score_sheet(view.score_sheet) if view.score_sheet else _describe_decision(view),
    ]
    return "\n\n".join(parts)


def _describe_round(view: SeatView) -> str:
    return (
        f"Symphony No. 9, {view.num_players} players. Round {view.round} of {NUM_ROUNDS}. "
        f"You are {view.name}. Start player: {view.start_player}."
    )


def _describe_concert(view: SeatView) -> str:
    token = "not revealed yet" if view.budget_token is None else format_token(view.budget_token)
    lines = [
        f"Concert classes by total: {format_classes(view.classes)}. Each player contributes $0 to ${view.limit}.",
        f"Budget token of this round: {token}. Revealed so far: {_format_tokens(view.budget_seen)}. "
        f"Not revealed yet: {_format_tokens(view.budget_left)}.",
        f"Successful concerts so far: {view.successes}. Performers so far: {view.performers}.",
    ]
    if view.outcome is not None:
        lines.append(_describe_last_concert(view))
    lists = {
        "Announced": [f"{board.name} ${board.announced}" for board in view.boards if board.announced is not None],
        "Closed hands": [board.name for board in view.boards if board.has_closed_hand],
        "Cubes kept as low class bonus": [f"{board.name} {board.kept}" for board in view.boards if board.kept],
    }
    return "\n".join([*lines, *(f"{title}: {', '.join(items)}." for title, items in lists.items() if items)])


def _describe_last_concert(view: SeatView) -> str:
    gave = ", ".join(f"{board.name} {_format_hand(board.last_contribution)}" for board in view.boards)
    if view.performing:
        ended = f"{view.outcome} class, performed by {', '.join(view.performing)}"
    else:
        ended = f"it failed ({view.outcome})"
    bot = f" The bot's tile: {'/'.join(str(n) for n in view.bot_tiles_seen[-1])}." if view.bot_tiles_seen else ""
    return f"Last concert: contributions {gave}; total {view.total}: {ended}.{bot}"


def _format_tracks(view: SeatView) -> str:
    head = f"{'musician':10} rank fame   rep left  tile            cubes to take -> next reputation"
    return "\n".join([head, *(_format_track(musician) for musician in view.musicians)])


def _format_track(musician: Musician) -> str:
    ahead = " ".join(f"{to_go}->{reputation}" for to_go, reputation in musician.ahead)
    points = "/".join(f"{value:g}" for value in musician.scoring_points)
    tile = f"{musician.scoring_tile} ({points})"
    return (
        f"{musician.name:10} {musician.rank:>4} {musician.fame:6} {musician.reputation:>3} "
        f"{musician.cubes_left:>4}  {tile:15} {'dead' if musician.is_dead else ahead}"
    )


def _format_boards(view: SeatView) -> str:
    names = [musician.name for musician in view.musicians]
    note = "   (cubes from earlier rounds + new cubes, * compositions)"
    head = f"{'cubes':10} " + " ".join(f"{name:>9}" for name in names) + note
    return "\n".join([head, *(_format_board(board, board.name == view.name) for board in view.boards)])


def _format_board(board: Board, is_own: bool) -> str:
    cells = [
        f"{earlier}+{new}" + (f" *{tiles}" if tiles else "")
        for earlier, new, tiles in zip(board.earlier_cubes, board.new_cubes, board.compositions, strict=True)
    ]
    notes = []
    if board.sold_this_round:
        notes.append("sold this round: " + ", ".join(f"${value}" for value in board.sold_this_round))
    if board.money is not None and not is_own:
        notes.append(f"has ${board.money}, furniture: {_format_furniture(board.furniture)}")
    text = f"{board.name:10} " + " ".join(f"{cell:>9}" for cell in cells)
    return text + ("   " + "; ".join(notes) if notes else "")


def _describe_own(view: SeatView) -> str:
    own = view.boards[0]
    lines = [f"You have ${own.money}. Your furniture: {_format_furniture(own.furniture)}."]
    if view.hand is not None:
        lines.append(f"Your closed hand: {_format_hand(view.hand)}.")
    if view.score_sheet is None:
        parts = ", ".join(f"{source} {points:g}" for source, points in view.points.breakdown.items() if points)
        lines.append(f"Your points if the game ended now: {round(view.points.total, 2):g} ({parts}).")
    tiles = [f"{one.name} {one.scoring_tile} ({scoring_method(one.scoring_tile)})" for one in view.musicians]
    return "\n".join([*lines, f"What the scoring tiles count: {', '.join(tiles)}."])


def _describe_decision(view: SeatView) -> str:
    if view.to_decide != view.name:
        return f"Waiting for {view.to_decide} ({view.decision})."
    left = f" ({view.pending} left)" if view.pending > 1 else ""
    asked = f"Your decision, {view.decision}{left}: {QUESTIONS[view.decision]}."
    return f"{asked}\nLegal actions: {format_actions(view.legal)}."


def _format_score_sheet(sheet: Mapping[str, ScoreLine]) -> str:
    sources = next(iter(sheet.values())).breakdown
    lines = [f"{'final score':12} " + " ".join(f"{source:>10}" for source in (*sources, "total"))]
    for player, line in sheet.items():
        cells = [*line.breakdown.values(), line.total]
        lines.append(f"{player:12} " + " ".join(f"{round(cell, 2):>10g}" for cell in cells))
    return "\n".join([*lines, f"{describe_winners(sheet)}."])


def describe_winners(sheet: Mapping[str, ScoreLine]) -> str:
    """Return who wins a game, from its score sheet."""
    names = winners(sheet)
    return f"{' and '.join(names)} {'wins' if len(names) == 1 else 'share the win'}"


def format_classes(classes: Iterable[tuple[str, int, int, int]]) -> str:
    """Return the concert classes, each given as its name, first and last total and income."""
    return ", ".join(f"{name} {low}-{high} (income ${income} per cube)" for name, low, high, income in classes)


def _format_tokens(tokens: tuple[int, ...]) -> str:
    return ", ".join(format_token(token) for token in tokens) or "none"


def _format_hand(hand: tuple[int, int | None] | None) -> str:
    if hand is None:
        return "nothing"
    total, furniture = hand
    return f"${total}" + (f" (including the ${furniture} furniture)" if furniture else "")


def _format_furniture(values: tuple[int, ...] | None) -> str:
    points = dict(zip(FURNITURE_VALUES, FURNITURE_POINTS, strict=True))
    return ", ".join(f"${value} ({points[value]} points)" for value in values or ()) or "none"


def format_token(value: int) -> str:
    """Return the value of a budget token with its sign, 0 without."""
    return f"{value:+d}" if value else "0"
