"""TextArena: the game as text, for language models. Importing this module registers `Symphony9-v0`.

    import textarena
    import symphony9_env.integrations.textarena
    env = textarena.make("Symphony9-v0", discussion=True)
    env.reset(num_players=3, seed=7)

With `num_players=1`, one model plays a seat against `opponents`, in a game of `table_size` players. How seats read and
answer is that of `envs/text.py`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, Unpack

import textarena as ta
from textarena.wrappers import GameMessagesAndCurrentBoardObservationWrapper

from symphony9_env.envs.opponents import Opponent
from symphony9_env.envs.text import MAX_ERRORS, TextEnv, TextGame
from symphony9_env.options import OptionValues
from symphony9_env.records import Record
from symphony9_env.views import describe
from symphony9_env.views.questions import describe_question

ENV_ID: Final = "Symphony9-v0"


class Symphony9TextEnv(ta.Env):
    """The game as text, with the options of `raw_env` except `num_players`, which TextArena passes to `reset`.

    Alone, a model plays in a `seat` (or a "random" one) against the `opponents` at a table of `table_size` players.
    """

    def __init__(
        self,
        error_allowance: int = MAX_ERRORS,
        opponents: Opponent | Sequence[Opponent] = "planner",
        seat: int | str = "random",
        table_size: int = 4,
        **options: Unpack[OptionValues],
    ) -> None:
        self._error_allowance = error_allowance
        self._options = options
        self._alone: dict[str, Any] = {"opponents": opponents, "seat": seat, "num_players": table_size}
        TextGame(**options)  # so that wrong options are refused here and not at the first reset

    def reset(self, num_players: int, seed: int | None = None) -> None:
        options: dict[str, Any] = {**self._options, "max_errors": self._error_allowance}
        self._single = TextEnv(**{**options, **self._alone}) if num_players == 1 else None
        if self._single is not None:
            self._single.reset(seed)
            self.game = self._single.game
        else:
            self.game = TextGame(**{**options, "num_players": num_players})
            self.game.reset(seed)
        self.state = ta.FFAMultiPlayerState(num_players=num_players, error_allowance=self._error_allowance)
        self.state.reset(game_state={}, player_prompt_function=self._make_prompt)
        self._ask()

    def record(self) -> Record:
        """Return the game so far as plain JSON data, as `raw_env().record()` does."""
        return self.game.record()

    def get_board_str(self) -> str:
        """Return the view of the seat to decide, which TextArena displays as the board."""
        return describe(self.game.view(self.game.seat))

    def step(self, action: str) -> tuple[bool, dict[str, Any]]:
        """Play the action that a reply means, or ask again; return whether the game is over, and TextArena's info."""
        if self._single is None:
            self.game.answer(action)
            rewards = self.game.rewards
        else:
            _, reward, _, _ = self._single.step(action)
            rewards = [reward]
        if self.game.error is not None:
            self.state.set_invalid_move(self.game.error)
        if self.game.is_over:
            self.state.set_game_outcome(dict(enumerate(rewards)), self.game.outcome)
        else:
            self._ask()
        done: tuple[bool, dict[str, Any]] = self.state.step(rotate_player=False)
        return done

    def close(self) -> Any:
        if self._single is not None:
            self._single.close()
        return super().close()

    def _make_prompt(self, player_id: int, game_state: dict[str, Any]) -> str:
        return self.game.prompt(player_id if self._single is None else self._single.seat)

    def _ask(self) -> None:
        """Tell the player to decide what has happened since its last decision, and show it the table."""
        seat = self.game.seat
        player = seat if self._single is None else 0
        if self.state.current_player_id != player:  # setting the same player again would reset the count of errors
            self.state.manually_set_current_player_id(player)
        if self.game.error is None:
            news = "\n".join(self.game.news(seat))
            self.state.add_observation(news, ta.ObservationType.GAME_ACTION_DESCRIPTION, to_id=player)
        board = describe_question(self.game.view(seat), (), self.game.error)
        self.state.add_observation(board, ta.ObservationType.GAME_BOARD, to_id=player)


ta.register(
    id=ENV_ID,
    entry_point=Symphony9TextEnv,
    default_wrappers=[GameMessagesAndCurrentBoardObservationWrapper],
)
