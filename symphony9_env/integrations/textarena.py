"""TextArena: the game as talk, for language models. Importing this registers `Symphony9-v0`.

    import textarena
    import symphony9_env.integrations.textarena
    env = textarena.make("Symphony9-v0", discussion=True)
    env.reset(num_players=3, seed=7)

A seat is told the rules once, what others do as they do it (of closed hands only that they are closed), and the table
as it sees it whenever it is to decide. It answers with an action's number or name in square brackets; `replies.py`
is forgiving. An illegal reply is asked again as often as `error_allowance` says; after that the game ends at -1 for
that seat and 0 for the others. With `discussion`, an announcement may carry words: `[announce 4: who joins me?]`.
"""

from __future__ import annotations

from typing import Any, Final, Unpack

import textarena as ta
from textarena.wrappers import GameMessagesAndCurrentBoardObservationWrapper

from symphony9_env.action_parser import parse_action, parse_speech
from symphony9_env.actions import ANNOUNCE, NAMES, is_bid
from symphony9_env.envs.aec import RawEnv
from symphony9_env.options import OptionValues
from symphony9_env.records import Record
from symphony9_env.rules.state import OVER
from symphony9_env.views import SeatView, describe, seat_view
from symphony9_env.views.rules_summary import summarize_rules
from symphony9_env.views.text import describe_last_concert

ENV_ID: Final = "Symphony9-v0"
LONGEST_TALK: Final = 300  # characters of an announcement's words that the others hear
HOW_TO_ANSWER: Final = (
    "Whenever it is your turn you see the table and the legal actions. Answer with one of them, by number or name, in "
    "square brackets, such as [take mozart] or [bid 4]; you may think aloud before it, the others don't hear that."
)
HOW_TO_TALK: Final = " What you say with an announcement they do hear: [announce 4: who joins me?]."


class Symphony9TextEnv(ta.Env):
    """Options as those of `raw_env`, but for `num_players`, which TextArena gives with every reset."""

    def __init__(self, error_allowance: int = 2, **options: Unpack[OptionValues]) -> None:
        self._error_allowance = error_allowance
        self._options = options
        RawEnv(**options)  # wrong options are refused here, not at the first reset

    def reset(self, num_players: int, seed: int | None = None) -> None:
        options: OptionValues = {**self._options, "num_players": num_players}
        self.game = RawEnv(**options)
        self.game.reset(seed=seed)
        self.state = ta.FFAMultiPlayerState(num_players=num_players, error_allowance=self._error_allowance)
        self.state.reset(game_state={}, player_prompt_function=self._prompt)
        self._ask()

    def record(self) -> Record:
        """The game so far as plain JSON data, as `raw_env().record()`."""
        return self.game.record()

    def step(self, action: str) -> tuple[bool, dict[str, Any]]:
        seat = self.game.deciding_seat
        try:
            number = parse_action(action, self._view(seat).legal)
        except ValueError as error:
            if self.state.set_invalid_move(str(error)):
                self._end({seat: -1.0}, f"player_{seat} gave no legal action")
            else:
                self._ask(f"\n\nYour answer was not understood: {error}")
        else:
            self._tell_move(seat, number, parse_speech(action))
            self.game.step(number)
            if is_bid(number) and self._view(seat).decision != "bid":
                self._tell(describe_last_concert(self._view(seat)))
            self._go_on()
        done: tuple[bool, dict[str, Any]] = self.state.step(rotate_player=False)
        return done

    # What is said to whom.

    def _prompt(self, player_id: int, game_state: dict[str, Any]) -> str:
        discussion = self.game.options.variant.discussion
        rules = summarize_rules(self.state.num_players, discussion)
        return f"{rules}\n\nYou are player_{player_id}. {HOW_TO_ANSWER}{HOW_TO_TALK if discussion else ''}"

    def _ask(self, more: str = "") -> None:
        seat = self.game.deciding_seat
        if self.state.current_player_id != seat:  # else TextArena would forgive all errors so far
            self.state.manually_set_current_player_id(seat)
        board = describe(self._view(seat)) + more
        self.state.add_observation(board, ta.ObservationType.GAME_BOARD, to_id=seat)

    def _tell_move(self, seat: int, action: int, words: str) -> None:
        did = "closes a hand" if is_bid(action) else NAMES[action]
        if action >= ANNOUNCE and words:
            did += f' and says: "{words[:LONGEST_TALK]}"'
        self._tell(f"player_{seat}: {did}")

    def _tell(self, message: str) -> None:
        self.state.add_observation(message, ta.ObservationType.GAME_ACTION_DESCRIPTION)

    def _go_on(self) -> None:
        if self.game.states["phase"][0] == OVER:
            ranks = {seat: self.game.infos[agent]["rank"] for seat, agent in enumerate(self.game.possible_agents)}
            winners = [f"player_{seat}" for seat, rank in ranks.items() if rank == 1]
            self._end(dict(enumerate(self.game.rewards.values())), f"{' and '.join(winners)} won")
        else:
            self._ask()

    def _end(self, rewards: dict[int, float], reason: str) -> None:
        everybody = {seat: float(rewards.get(seat, 0.0)) for seat in range(self.state.num_players)}
        self.state.set_game_outcome(everybody, reason)

    def _view(self, seat: int) -> SeatView:
        return seat_view(self.game.states, 0, seat, self.game.options.ledger)


ta.register(
    id=ENV_ID,
    entry_point=Symphony9TextEnv,
    default_wrappers=[GameMessagesAndCurrentBoardObservationWrapper],
)
