"""TextArena: the game as text, for language models. Importing this module registers `Symphony9-v0`.

    import textarena
    import symphony9_env.integrations.textarena
    env = textarena.make("Symphony9-v0", discussion=True)
    env.reset(num_players=3, seed=7)

A seat reads the rules once, then what happens as it happens (without the contents of closed hands), and its view of the
game whenever it is to decide. It answers with an action's number or name in square brackets; `action_parser.py` accepts
many spellings. After an illegal answer the seat is asked again, as often as `error_allowance` says; then the game ends
with -1 for that seat and 0 for the others. With `discussion`, an announcement may carry words:
`[announce 4: who joins me?]`.
"""

from __future__ import annotations

from typing import Any, Final, Unpack

import textarena as ta
from textarena.wrappers import GameMessagesAndCurrentBoardObservationWrapper

from symphony9_env.action_parser import parse_action, parse_speech
from symphony9_env.actions import ANNOUNCE
from symphony9_env.envs.aec import RawEnv
from symphony9_env.events import Event, EventBuffer, opening_events, see
from symphony9_env.names import agent_name
from symphony9_env.options import OptionValues
from symphony9_env.records import Record
from symphony9_env.rules.state import OVER
from symphony9_env.views import SeatView, describe, seat_view
from symphony9_env.views.game_log import format_line, log_lines
from symphony9_env.views.rules_summary import summarize_rules

ENV_ID: Final = "Symphony9-v0"
MAX_SPEECH: Final = 300  # characters of an announcement's words that the others read
HOW_TO_ANSWER: Final = (
    "Whenever it is your turn, you see the table and the legal actions. Answer with one of them, by number or name, in "
    "square brackets, such as [take mozart] or [bid 4]. You may think aloud before it; the others don't hear that."
)
HOW_TO_TALK: Final = " They do hear what you say with an announcement: [announce 4: who joins me?]."


class Symphony9TextEnv(ta.Env):
    """The game as text, with the options of `raw_env` except `num_players`, which TextArena passes to `reset`."""

    def __init__(self, error_allowance: int = 2, **options: Unpack[OptionValues]) -> None:
        self._error_allowance = error_allowance
        self._options = options
        RawEnv(**options)  # so that wrong options are refused here and not at the first reset

    def reset(self, num_players: int, seed: int | None = None) -> None:
        options: OptionValues = {**self._options, "num_players": num_players}
        self.game = RawEnv(**options)
        self._events = self.game.event_buffer = EventBuffer()
        self.game.reset(seed=seed)
        self.state = ta.FFAMultiPlayerState(num_players=num_players, error_allowance=self._error_allowance)
        self.state.reset(game_state={}, player_prompt_function=self._make_prompt)
        self._narrate(opening_events(self.game.states))
        self._ask()

    def record(self) -> Record:
        """Return the game so far as plain JSON data, as `raw_env().record()` does."""
        return self.game.record()

    def step(self, action: str) -> tuple[bool, dict[str, Any]]:
        """Play the action that a reply means, or ask again; return whether the game is over, and TextArena's info."""
        seat = self.game.deciding_seat
        try:
            number = parse_action(action, self._view(seat).legal)
        except ValueError as error:
            if self.state.set_invalid_move(str(error)):
                self._end({seat: -1.0}, f"{agent_name(seat)} gave no legal action")
            else:
                self._ask(f"\n\nYour answer was not understood: {error}")
        else:
            self.game.step(number)
            self._narrate(self._events.read(), parse_speech(action) if number >= ANNOUNCE else "")
            self._continue()
        done: tuple[bool, dict[str, Any]] = self.state.step(rotate_player=False)
        return done

    # Messages to the seats.

    def _make_prompt(self, player_id: int, game_state: dict[str, Any]) -> str:
        discussion = self.game.options.variant.discussion
        rules = summarize_rules(self.state.num_players, discussion)
        return f"{rules}\n\nYou are {agent_name(player_id)}. {HOW_TO_ANSWER}{HOW_TO_TALK if discussion else ''}"

    def _ask(self, more: str = "") -> None:
        seat = self.game.deciding_seat
        if self.state.current_player_id != seat:  # setting the same player again would reset the count of errors
            self.state.manually_set_current_player_id(seat)
        self.state.add_observation(describe(self._view(seat)) + more, ta.ObservationType.GAME_BOARD, to_id=seat)

    def _narrate(self, events: list[Event], speech: str = "") -> None:
        """Tell every seat what it may see of the events of a move, and the words said with an announcement."""
        for seat in range(self.state.num_players):
            lines = [format_line(line, self.state.num_players) for line in log_lines(see(events, seat))]
            if speech:  # the first line is the announcement
                lines[0] += f' and says: "{speech[:MAX_SPEECH]}"'
            self.state.add_observation("\n".join(lines), ta.ObservationType.GAME_ACTION_DESCRIPTION, to_id=seat)

    def _continue(self) -> None:
        if self.game.states["phase"][0] == OVER:
            winners = [agent for agent, info in self.game.infos.items() if info["rank"] == 1]
            self._end(dict(enumerate(self.game.rewards.values())), f"{' and '.join(winners)} won")
        else:
            self._ask()

    def _end(self, rewards: dict[int, float], reason: str) -> None:
        self.state.set_game_outcome({seat: rewards.get(seat, 0.0) for seat in range(self.state.num_players)}, reason)

    def _view(self, seat: int) -> SeatView:
        return seat_view(self.game.states, 0, seat, self.game.options.ledger)


ta.register(
    id=ENV_ID,
    entry_point=Symphony9TextEnv,
    default_wrappers=[GameMessagesAndCurrentBoardObservationWrapper],
)
