"""What a seat is told and asked in words: shared by text environments, messages to agents, and language models."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from symphony9_env.events import SeenEvent
from symphony9_env.names import agent_name
from symphony9_env.views.game_log import format_line, log_lines
from symphony9_env.views.rules_summary import summarize_rules
from symphony9_env.views.seat import SeatView
from symphony9_env.views.text import describe

MAX_NEWS: Final = 60  # lines of what has happened that a question repeats, the latest ones
HOW_TO_ANSWER: Final = (
    "Whenever it is your turn, you see the table and the legal actions. Answer with one of them, by number or name, in "
    "square brackets, such as [take mozart] or [bid 4]. You may think aloud before it; the others don't hear that."
)
HOW_TO_TALK: Final = " They do hear what you say with an announcement: [announce 4: who joins me?]."


def make_prompt(seat: int, num_players: int, discussion: bool, *, can_talk: bool = True) -> str:
    """Return what a seat must know before the game: the rules in brief, who it is, and how to answer.

    `can_talk` tells whether the others hear what is said with an announcement.
    """
    rules = summarize_rules(num_players, discussion)
    talk = HOW_TO_TALK if discussion and can_talk else ""
    return f"{rules}\n\nYou are {agent_name(seat)}. {HOW_TO_ANSWER}{talk}"


def format_error(error: str) -> str:
    """Return what a seat is told when its last answer was refused."""
    return f"Your answer was not understood: {error}"


def format_news(events: Sequence[SeenEvent], num_players: int) -> list[str]:
    """Return the events of one move, or of a game as dealt, as lines of text."""
    return [format_line(line, num_players) for line in log_lines(events)]


def describe_question(
    view: SeatView, news: Sequence[str], error: str | None = None, max_news: int | None = MAX_NEWS
) -> str:
    """Return a question: what has happened since the last one, the view, and why the last answer was refused."""
    parts = [describe(view)]
    if news:
        num_left_out = 0 if max_news is None else max(0, len(news) - max_news)
        latest = list(news[num_left_out:])
        if num_left_out:
            latest.insert(0, f"({num_left_out} earlier lines are left out)")
        parts.insert(0, "\n".join(["What has happened since your last decision:", *latest]))
    if error is not None:
        parts.append(format_error(error))
    return "\n\n".join(parts)
