"""The game as text: `TextEnv` for one seat against named opponents, `TextGame` for all seats.

A seat reads the rules once. Whenever it is to decide, it reads what has happened since its last decision (without the
contents of closed hands), its view of the game, and the legal actions. It answers with an action's number or name in
square brackets; `action_parser.py` accepts many spellings. After an answer that is not understood the seat is asked
again, `max_errors` times in a row; then the game ends with a reward of -1 for that seat and 0 for the others. With
`discussion`, an announcement may carry words: `[announce 4: who joins me?]`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final, Unpack

import numpy as np

from symphony9_env.action_parser import parse_action, parse_speech
from symphony9_env.actions import ANNOUNCE, NAMES
from symphony9_env.envs.aec import RawEnv
from symphony9_env.envs.opponents import ILLEGAL_REWARD, Opponent, Opponents, check_seat, random_seat
from symphony9_env.events import Event, EventBuffer, opening_events, see
from symphony9_env.names import agent_name
from symphony9_env.options import OptionValues, check_limit, make_options
from symphony9_env.records import Record
from symphony9_env.views import SeatView, seat_view
from symphony9_env.views.questions import MAX_NEWS, describe_question, format_news, make_prompt
from symphony9_env.views.text import describe_winners

MAX_ERRORS: Final = 2  # in a row, after which the next one ends the game
MAX_SPEECH: Final = 300  # characters of an announcement's words that the others read


@dataclass(frozen=True)
class Question:
    """What the deciding seat is asked, as text and as data."""

    seat: int
    decision: str
    text: str
    legal: dict[int, str]  # the legal actions: their names by number
    error: str | None  # why the last answer was refused, when the question is asked again


class TextGame:
    """A game in which every seat reads text and answers with text.

    Options are those of the game (see `raw_env`), and:
        max_errors: how many answers in a row may be wrong before the next one ends the game; None for any number.
        max_news: how many lines of what has happened a question may repeat; None for all.

    >>> game = TextGame(num_players=2)
    >>> game.reset(seed=7)
    >>> game.seat, game.question().legal[3]
    (1, 'take mozart')
    >>> game.answer("I like him. [take mozart]")
    3
    """

    def __init__(
        self, *, max_errors: int | None = MAX_ERRORS, max_news: int | None = MAX_NEWS, **options: Unpack[OptionValues]
    ) -> None:
        self.options = make_options(("max_errors", "max_news"), **options)
        self._max_errors = check_limit("max_errors", max_errors, least=0)
        self._max_news = check_limit("max_news", max_news)
        self.env = RawEnv(**options)  # the game itself, hidden information included: for tools, not for players
        self._events = self.env.event_buffer = EventBuffer()
        self._news: list[list[str]] = []  # by seat: lines since its last decision
        self._errors: list[str] = []  # of the deciding seat, in a row
        self.forfeited_by: int | None = None  # the seat that ended the game with wrong answers

    @property
    def num_players(self) -> int:
        """The number of players."""
        return self.options.num_players

    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> None:
        """Deal a game as `raw_env` does."""
        self.env.reset(seed, options)
        self._news = [[] for _ in range(self.num_players)]
        self._errors = []
        self.forfeited_by = None
        self._tell(opening_events(self.env.states))

    @property
    def seat(self) -> int:
        """The seat to decide; once the game is over, the last one that did."""
        return self.env.deciding_seat

    @property
    def is_over(self) -> bool:
        """Whether the game has ended, by the rules or by wrong answers."""
        return self.forfeited_by is not None or self.env.decision == "over"

    @property
    def error(self) -> str | None:
        """Why the last answer was refused; None if it was legal."""
        return self._errors[-1] if self._errors else None

    @property
    def rewards(self) -> list[float]:
        """The rewards of all seats for the last decision."""
        if self.forfeited_by is not None:
            return [ILLEGAL_REWARD if seat == self.forfeited_by else 0.0 for seat in range(self.num_players)]
        return list(self.env.rewards.values())

    @property
    def outcome(self) -> str:
        """Who won, or who ended the game with wrong answers; an empty text before the end."""
        if self.forfeited_by is not None:
            return f"{agent_name(self.forfeited_by)} gave no legal action"
        sheet = self.view(self.seat).score_sheet
        return "" if sheet is None else describe_winners(sheet)

    def final_info(self, seat: int) -> dict[str, Any]:
        """Return a seat's score, rank and points by source; empty before the end, and if the game was forfeited."""
        return dict(self.env.infos[agent_name(seat)])

    def record(self) -> Record:
        """Return the game so far as plain JSON data."""
        return self.env.record()

    def view(self, seat: int) -> SeatView:
        """Return what a seat may know."""
        return seat_view(self.env.states, 0, seat, self.options.ledger)

    def prompt(self, seat: int) -> str:
        """Return what a seat must know before the game: the rules in brief, who it is, and how to answer."""
        return make_prompt(seat, self.num_players, self.options.variant.discussion)

    def news(self, seat: int) -> list[str]:
        """Return what has happened since a seat's last decision, in lines."""
        return list(self._news[seat])

    def describe(self, seat: int) -> str:
        """Return the news and the view of a seat, whether or not it is to decide."""
        return describe_question(self.view(seat), self._news[seat], max_news=self._max_news)

    def question(self) -> Question:
        """Return what the deciding seat is asked."""
        view = self.view(self.seat)
        return Question(
            seat=self.seat,
            decision=view.decision,
            text=describe_question(view, self._news[self.seat], self.error, self._max_news),
            legal={action: NAMES[action] for action in view.legal},
            error=self.error,
        )

    def answer(self, text: str) -> int | None:
        """Play the action that an answer of the deciding seat means, and return it; None if it was not understood."""
        if self.is_over:
            raise ValueError("the game is over; call reset() first")
        try:
            action = parse_action(text, self.view(self.seat).legal)
        except ValueError as error:
            self._errors.append(str(error))
            if self._max_errors is not None and len(self._errors) > self._max_errors:
                self.forfeit()
            return None
        self.play(action, parse_speech(text) if action >= ANNOUNCE else "")
        return action

    def forfeit(self) -> None:
        """End the game because the deciding seat gives no legal answer: too many were wrong, or none comes."""
        if self.is_over:
            raise ValueError("the game is over; call reset() first")
        self.forfeited_by = self.seat

    def play(self, action: int, speech: str = "") -> None:
        """Play an action of the deciding seat, and tell all seats what they may see, with the words that were said."""
        seat = self.seat
        self.env.step(action)
        self._errors = []
        self._news[seat] = []
        self._tell(self._events.read(), speech)

    def _tell(self, events: list[Event], speech: str = "") -> None:
        for seat in range(self.num_players):
            lines = format_news(see(events, seat), self.num_players)
            if speech:  # the first line is the announcement
                lines[0] += f' and says: "{speech[:MAX_SPEECH]}"'
            self._news[seat] += lines


class TextEnv:
    """One seat reads text and answers with text; agents play the other seats.

    Options are those of `TextGame`, and:
        opponents: an agent as `agents.make` takes it, for all seats, or a list of them, clockwise from the reader.
        seat: the reader's seat, or "random": drawn from each game's seed.

    >>> env = TextEnv(num_players=2, opponents="planner", seat=0)
    >>> text = env.reset(seed=7)
    >>> text, reward, done, info = env.step("I like him. [take mozart]")
    >>> info["action"], reward, done
    ('take mozart', 0.0, False)
    """

    def __init__(
        self,
        *,
        opponents: Opponent | Sequence[Opponent] = "planner",
        seat: int | str = "random",
        max_errors: int | None = MAX_ERRORS,
        max_news: int | None = MAX_NEWS,
        **options: Unpack[OptionValues],
    ) -> None:
        make_options(("opponents", "seat", "max_errors", "max_news"), **options)
        self.game = TextGame(max_errors=max_errors, max_news=max_news, **options)
        self._opponents = Opponents(opponents, self.game.num_players)
        self._fixed_seat = check_seat(seat, self.game.num_players)
        self.seat = 0  # the reader's in the current game

    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> str:
        """Deal a game as `raw_env` does, play it up to the reader's first decision, and return the rules and that."""
        self.game.reset(seed, options)
        dealt = self.game.env.game_seed
        drawn = random_seat(0 if dealt is None else dealt, self.game.num_players)
        self.seat = drawn if self._fixed_seat is None else self._fixed_seat
        self._play_others()
        return f"{self.game.prompt(self.seat)}\n\n{self.game.question().text}"

    def step(self, reply: str) -> tuple[str, float, bool, dict[str, Any]]:
        """Play the action that a reply means, then the others' until the reader is asked again.

        Return the next question (at the end, the last view and the outcome), the reward since the last step, whether
        the game is over, and an info: `legal` (names by number), `decision`, `action` (the name of what was played, or
        None), `error` (why the reply was refused, or None), and at the end `score`, `rank`, `breakdown` and `outcome`.
        """
        action = self.game.answer(reply)
        reward = self.game.rewards[self.seat] if action is not None or self.game.is_over else 0.0
        reward += self._play_others()
        return self.observe(), reward, self.game.is_over, self._info(action)

    def observe(self) -> str:
        """Return the question that the reader is asked; at the end, the last view and the outcome."""
        if self.game.forfeited_by is not None:
            return f"The game is over: {self.game.outcome}."
        return self.game.describe(self.seat) if self.game.is_over else self.game.question().text

    def info(self) -> dict[str, Any]:
        """Return the info as `step` does, for the position as it is."""
        return self._info(None)

    def record(self) -> Record:
        """Return the game so far as plain JSON data."""
        return self.game.record()

    def close(self) -> None:
        """Release the opponents' resources."""
        self._opponents.close()

    def _info(self, action: int | None) -> dict[str, Any]:
        played = {"action": None if action is None else NAMES[action]}
        if self.game.is_over:
            ended = {"outcome": self.game.outcome, **self.game.final_info(self.seat)}
            return {"legal": {}, "decision": "over", **played, "error": None, **ended}
        question = self.game.question()
        return {"legal": question.legal, "decision": question.decision, **played, "error": question.error}

    def _play_others(self) -> float:
        """Play the others' moves until the reader is to decide or the game is over; return the reader's reward."""
        reward, row, seats = 0.0, np.zeros(1, np.int64), np.array([self.seat])
        while not self.game.is_over and self.game.seat != self.seat:
            self.game.play(int(self._opponents.decide(self.game.env, row, seats)[0]))
            reward += self.game.rewards[self.seat]
        return reward
