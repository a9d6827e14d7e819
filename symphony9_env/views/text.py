"""The game in words, as one seat may know it: for terminals, logs and language models."""

from __future__ import annotations

from symphony9_env.actions import NAMES
from symphony9_env.components import FURNITURE_POINTS, FURNITURE_VALUES, scoring_method
from symphony9_env.rules.state import NUM_ROUNDS
from symphony9_env.views.seat import Board, Musician, SeatView

QUESTIONS = {
    "take": "take a cube from any track, free",
    "take_for_bot": "take a cube from any track for the bot",
    "buy_4": "pay $4 for a cube from any track, or pass",
    "buy_8": "pay $8 for a cube from any track, or pass",
    "announce": "announce what you will contribute (binding nobody), or pass",
    "bid": "close a hand: your secret contribution to the concert",
    "keep": "low class bonus: keep one of the cubes that income makes you give up, or pass",
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
    parts = [_heading(view), _concert(view), _tracks(view), _boards(view), _own(view)]
    parts.append(_score_sheet(view) if view.score_sheet else _question(view))
    return "\n\n".join(part for part in parts if part)


def _heading(view: SeatView) -> str:
    return (
        f"Symphony No. 9, {view.num_players} players. Round {view.round} of {NUM_ROUNDS}. "
        f"You are {view.name}. Start player: {view.start_player}."
    )


def _concert(view: SeatView) -> str:
    ranges = ", ".join(f"{name} {low}-{high} (${income} a cube)" for name, low, high, income in view.classes)
    token = "not shown yet" if view.budget_token is None else _token(view.budget_token)
    lines = [
        f"Concert: {ranges}; contributions $0-{view.limit} each.",
        f"Budget token of this round: {token}. Shown so far: {_tokens(view.budget_seen)}. "
        f"Not yet shown: {_tokens(view.budget_left)}.",
        f"Successful concerts: {view.successes}, performers: {view.performers}.",
    ]
    if view.outcome is not None:
        lines.append(last_concert(view))
    if said := [f"{board.name} ${board.announced}" for board in view.boards if board.announced is not None]:
        lines.append("Announced: " + ", ".join(said) + ".")
    if closed := [board.name for board in view.boards if board.has_closed_hand]:
        lines.append("Hands closed: " + ", ".join(closed) + ".")
    if kept := [f"{board.name} {board.kept}" for board in view.boards if board.kept is not None]:
        lines.append("Kept by the bonus: " + ", ".join(kept) + ".")
    return "\n".join(lines)


def last_concert(view: SeatView) -> str:
    """Who gave what to the last concert, and how it went."""
    gave = ", ".join(f"{board.name} {_hand(board.last_contribution)}" for board in view.boards)
    if view.performing:
        ended = f"{view.outcome} class, performed by {', '.join(view.performing)}"
    else:
        ended = f"failed, {view.outcome}"
    bot = f" The bot's tile: {'/'.join(str(n) for n in view.bot_tiles_seen[-1])}." if view.bot_tiles_seen else ""
    return f"Last concert: {gave}; total {view.total}: {ended}.{bot}"


def _tracks(view: SeatView) -> str:
    head = f"{'musician':10} rank fame   rep left  tile            more cubes taken -> reputation"
    return "\n".join([head, *(_track(musician) for musician in view.musicians)])


def _track(musician: Musician) -> str:
    ahead = " ".join(f"{to_go}->{reputation}" for to_go, reputation in musician.ahead)
    points = "/".join(f"{value:g}" for value in musician.scoring_points)
    tile = f"{musician.scoring_tile} ({points})"
    return (
        f"{musician.name:10} {musician.rank:>4} {musician.fame:6} {musician.reputation:>3} "
        f"{musician.cubes_left:>4}  {tile:15} {'dead' if musician.is_dead else ahead}"
    )


def _boards(view: SeatView) -> str:
    names = [musician.name for musician in view.musicians]
    head = f"{'cubes':10} " + " ".join(f"{name:>9}" for name in names) + "   (earlier+new, *compositions)"
    return "\n".join([head, *(_board(board, board.name == view.name) for board in view.boards)])


def _board(board: Board, is_own: bool) -> str:
    cells = [
        f"{earlier}+{new}" + (f" *{tiles}" if tiles else "")
        for earlier, new, tiles in zip(board.earlier_cubes, board.new_cubes, board.compositions, strict=True)
    ]
    notes = []
    if board.sold_this_round:
        notes.append("sold this round: " + ", ".join(f"${value}" for value in board.sold_this_round))
    if board.money is not None and not is_own:
        notes.append(f"has ${board.money}, furniture {_furniture(board.furniture)}")
    text = f"{board.name:10} " + " ".join(f"{cell:>9}" for cell in cells)
    return text + ("   " + "; ".join(notes) if notes else "")


def _own(view: SeatView) -> str:
    own = view.boards[0]
    lines = [f"You have ${own.money}, furniture {_furniture(own.furniture)}."]
    if view.hand is not None:
        lines.append(f"Your closed hand: {_hand(view.hand)}.")
    if view.score_sheet is None:
        parts = ", ".join(f"{source} {points:g}" for source, points in view.points.breakdown.items() if points)
        lines.append(f"Your points if the game ended now: {round(view.points.total, 2):g} ({parts}).")
    lines.append("Scoring: " + "; ".join(_tile(musician) for musician in view.musicians) + ".")
    return "\n".join(lines)


def _tile(musician: Musician) -> str:
    return f"{musician.name} {musician.scoring_tile} {scoring_method(musician.scoring_tile)}"


def _question(view: SeatView) -> str:
    if view.to_decide != view.name:
        return f"Waiting for {view.to_decide} ({view.decision})."
    left = f" ({view.pending} left)" if view.pending > 1 else ""
    actions = ", ".join(f"{number} {NAMES[number]}" for number in view.legal)
    return f"Your decision, {view.decision}{left}: {QUESTIONS[view.decision]}.\nLegal actions: {actions}."


def _score_sheet(view: SeatView) -> str:
    assert view.score_sheet is not None
    sources = list(view.points.breakdown)
    lines = [f"{'final score':12} " + " ".join(f"{source:>10}" for source in (*sources, "total"))]
    for player, line in view.score_sheet.items():
        cells = [*line.breakdown.values(), line.total]
        lines.append(f"{player:12} " + " ".join(f"{round(cell, 2):>10g}" for cell in cells))
    winners = [player for player, line in view.score_sheet.items() if line.rank == 1]
    won = "wins" if len(winners) == 1 else "share the win"
    return "\n".join([*lines, f"{' and '.join(winners)} {won}."])


def _tokens(tokens: tuple[int, ...]) -> str:
    return " ".join(_token(token) for token in tokens) or "none"


def _hand(hand: tuple[int, int | None] | None) -> str:
    if hand is None:
        return "nothing"
    total, furniture = hand
    return f"${total}" + (f" (with the ${furniture} furniture)" if furniture else "")


def _furniture(values: tuple[int, ...] | None) -> str:
    if not values:
        return "none"
    points = dict(zip(FURNITURE_VALUES, FURNITURE_POINTS, strict=True))
    return ", ".join(f"${value} ({points[value]} points)" for value in values)


def _token(value: int) -> str:
    return f"{value:+d}" if value else "0"
