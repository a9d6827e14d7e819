"""One seat of the game as a Gymnasium environment: a learner, or a person, against named rivals."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Unpack

import gymnasium
import numpy as np
from numpy.typing import NDArray

from symphony9_env.envs.aec import RawEnv, action_number
from symphony9_env.envs.opponents import Opponent, Opponents, check_seat, random_seat
from symphony9_env.envs.spaces import action_space, vector_space
from symphony9_env.options import OptionValues, check_seed
from symphony9_env.render.showing import RENDER_MODES, Rendered, Showing, html
from symphony9_env.rules.state import Games
from symphony9_env.views import observation_fields, seat_view
from symphony9_env.views.seat import SeatView

ILLEGAL_REWARD = -1.0

Stepped = tuple[NDArray[np.float32], float, bool, bool, dict[str, Any]]


class SingleSeatEnv(gymnasium.Env[NDArray[np.float32], np.int64]):
    """`gymnasium.make("symphony9_env:Symphony9-v0", ...)`: one seat decides here, the others are played by agents.

    A step plays the learner's decision and all that the others decide until the learner is asked again; rewards that
    fell in between are added up. An illegal action ends the episode at -1. The mask of legal actions is in
    `action_masks()` and in info["action_mask"]; at the end info has `score`, `rank` and `breakdown`.

    Options are those of `raw_env`, and:
        opponents: an agent's name or a saved policy's path for all, or a list of them, clockwise from the learner.
        seat: the learner's seat, or "random": drawn from each game's seed.
    """

    metadata = {  # noqa: RUF012
        "render_modes": list(RENDER_MODES),
        "render_fps": 2,
    }

    def __init__(
        self,
        *,
        opponents: Opponent | Sequence[Opponent] = "random",
        seat: int | str = "random",
        render_mode: str | None = None,
        **options: Unpack[OptionValues],
    ) -> None:
        self._table = RawEnv(render_mode=render_mode, **options)
        self._table.render_mode = None  # it would show what the deciding seat sees, not the learner
        self.options = self._table.options
        self.render_mode = render_mode
        self._showing = Showing(self.metadata["render_fps"])
        self._opponents = Opponents(opponents, self.options.num_players)
        self._fixed_seat = check_seat(seat, self.options.num_players)
        self._seat = 0
        self._stopped = True  # nothing dealt, or ended
        self._row = np.zeros(1, np.int64)
        self.observation_space = vector_space(observation_fields(self.options.ledger))
        self.action_space = action_space(self.options)

    @property
    def game(self) -> Games:
        """The game's record (an array of one), the true state: for search, tests and tools, not for players."""
        return self._table.game

    @property
    def terminations(self) -> dict[str, bool]:
        """Whether the episode is over, by agent."""
        return dict.fromkeys(self._table.possible_agents, self._stopped)

    @property
    def seat(self) -> int:
        """The learner's seat in the game on the table."""
        return self._seat

    def record(self) -> dict[str, Any]:
        """The game so far as plain JSON data."""
        return self._table.record()

    def action_masks(self) -> NDArray[np.int8]:
        """What the learner may choose now."""
        return self._table.observe(self._learner)["action_mask"]

    @property
    def _learner(self) -> str:
        return self._table.possible_agents[self._seat]

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[NDArray[np.float32], dict[str, Any]]:
        """Deal a game as `raw_env` does, and play it up to the learner's first decision."""
        if seed is not None:
            seed = check_seed(seed)
        super().reset(seed=seed)
        self._table.reset(seed, options)
        dealt = self._table.game_seed
        if self._fixed_seat is None:
            drawn = int(self.np_random.integers(2**53)) if dealt is None else dealt
            self._seat = random_seat(drawn, self.options.num_players)
        else:
            self._seat = self._fixed_seat
        self._play_on()
        self._show()
        return self._seen(), self._info()

    def step(self, action: Any) -> Stepped:
        if self._stopped:
            raise ValueError(f"action {action!r}: nothing is on the table; call reset() first")
        number = _scalar(action)
        mask = self.action_masks()
        if number is None or not 0 <= number < len(mask) or not mask[number]:
            self._stopped = True
            return self._seen(), ILLEGAL_REWARD, True, False, self._info()
        self._table.step(number)
        reward = self._table.rewards[self._learner] + self._play_on()
        self._show()
        return self._seen(), reward, self._stopped, False, self._info()

    def _play_on(self) -> float:
        """The others decide until the learner is asked or the game is over; returns what that gave the learner."""
        reward = 0.0
        seats = np.array([self._seat])
        while not self._table.terminations[self._learner] and self._table.deciding_seat != self._seat:
            self._table.step(int(self._opponents.decide(self._table.game, self._row, seats)[0]))
            reward += self._table.rewards[self._learner]
        self._stopped = self._table.terminations[self._learner]
        return reward

    def _seen(self) -> NDArray[np.float32]:
        return self._table.observe(self._learner)["observation"]

    def _info(self) -> dict[str, Any]:
        return {"action_mask": self.action_masks(), "seat": self._seat, **self._table.infos[self._learner]}

    def render(self) -> Rendered:  # type: ignore[override]
        """The table as the learner sees it: as `raw_env` renders, `human` after each reset and step."""
        self._table._need_reset("render")
        return self._showing.show(self._view(), self.render_mode)

    def _show(self) -> None:
        if self.render_mode == "human":
            self.render()

    def _view(self) -> SeatView:
        return seat_view(self._table.game, 0, self._seat, self.options.ledger)

    def _repr_html_(self) -> str:
        """For notebooks: the table as the learner sees it."""
        return html(self._view() if self._table._has_reset else None)

    def close(self) -> None:
        """Close the window, if there is one."""
        self._showing.close()


def _scalar(action: Any) -> int | None:
    """An action number, also out of an array of one, as some libraries give it."""
    return action_number(action.item() if isinstance(action, np.ndarray) and action.size == 1 else action)
