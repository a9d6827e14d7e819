"""The Gymnasium environment: one seat learns, and agents play the others."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Unpack

import gymnasium
import numpy as np
from numpy.typing import NDArray

from symphony9_env.envs.aec import RawEnv
from symphony9_env.envs.opponents import ILLEGAL_REWARD, Opponent, Opponents, check_illegal, check_seat, random_seat
from symphony9_env.envs.spaces import action_space, vector_space
from symphony9_env.options import OptionValues, check_seed, make_options, whole_number, with_option_signature
from symphony9_env.records import Record
from symphony9_env.render.render_modes import RENDER_MODES, Rendered, Renderer, check_render_mode, to_notebook_html
from symphony9_env.rules.state import States
from symphony9_env.views import observation_fields, seat_view
from symphony9_env.views.seat import SeatView

StepResult = tuple[NDArray[np.float32], float, bool, bool, dict[str, Any]]


class SingleSeatEnv(gymnasium.Env[NDArray[np.float32], np.int64]):
    """One learner's seat, as `gymnasium.make("symphony9_env:Symphony9-v0", ...)`; agents play the other seats.

    A step plays the learner's decision and all that the others decide until the learner is asked again; the rewards
    in between are added up. The mask of legal actions is in `action_masks()` and in info["action_mask"]; at the end
    info has `score`, `rank` and `breakdown`.

    Options are those of `raw_env`, and:
        opponents: an agent as `agents.make` takes it, for all seats, or a list of them, clockwise from the learner.
        seat: the learner's seat, or "random": drawn from each game's seed.
        illegal: what an illegal action does: "end" ends the episode with a reward of -1; "random" plays a random legal
            action instead, for learners without masks.
    """

    metadata = {  # noqa: RUF012
        "render_modes": list(RENDER_MODES),
        "render_fps": 2,
    }

    @with_option_signature
    def __init__(
        self,
        *,
        opponents: Opponent | Sequence[Opponent] = "random",
        seat: int | str = "random",
        illegal: str = "end",
        render_mode: str | None = None,
        **options: Unpack[OptionValues],
    ) -> None:
        self.render_mode = check_render_mode(render_mode)
        self.options = make_options(("opponents", "seat", "illegal", "render_mode"), **options)
        self._plays_random = check_illegal(illegal) == "random"
        self._env = RawEnv(**options)  # without a render mode: it would render what the deciding seat sees
        self._renderer = Renderer(self.metadata["render_fps"])
        self._opponents = Opponents(opponents, self.options.num_players)
        self._fixed_seat = check_seat(seat, self.options.num_players)
        self.seat = 0  # the learner's in the current game
        self._has_stopped = True  # no game has been dealt, the episode is over, or an opponent has failed
        self._row = np.zeros(1, np.int64)
        self.observation_space = vector_space(observation_fields(self.options.ledger))
        self.action_space = action_space(self.options)

    @property
    def states(self) -> States:
        """The true state (an array of one), hidden information included: for search, tests and tools."""
        return self._env.states

    def moves(self, row: int = 0) -> list[int]:
        """Return the actions played so far, closed hands included."""
        return self._env.moves(row)

    @property
    def has_reset(self) -> bool:
        """Whether a game has been dealt."""
        return self._env.has_reset

    @property
    def terminations(self) -> dict[str, bool]:
        """Whether the episode is over, by agent."""
        return dict.fromkeys(self._env.possible_agents, self._has_stopped)

    def __repr__(self) -> str:
        return repr(self._env).replace("RawEnv", f"SingleSeatEnv, learner {self._learner}")

    def record(self) -> Record:
        """Return the game so far as plain JSON data."""
        return self._env.record()

    def action_masks(self) -> NDArray[np.int8]:
        """Return the mask of the learner's legal actions."""
        return self._env.mask_of(self._learner)

    @property
    def _learner(self) -> str:
        return self._env.possible_agents[self.seat]

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[NDArray[np.float32], dict[str, Any]]:
        """Deal a game as `raw_env` does, and play it up to the learner's first decision."""
        super().reset(seed=None if seed is None else check_seed(seed))
        self._env.reset(seed, options)
        if self._fixed_seat is None:
            dealt = self._env.game_seed
            drawn = int(self.np_random.integers(2**53)) if dealt is None else dealt
            self.seat = random_seat(drawn, self.options.num_players)
        else:
            self.seat = self._fixed_seat
        self._play_others()
        self._show()
        return self._observe(), self._info()

    def step(self, action: Any) -> StepResult:
        """Play the learner's action, then the others' until the learner decides again or the game is over."""
        if self._has_stopped:
            raise ValueError(f"action {action!r}: no game is under way; call reset() first")
        number = _scalar(action)
        mask = self.action_masks()
        if number is None or not 0 <= number < len(mask) or not mask[number]:
            if self._plays_random:
                return self.step(self.np_random.choice(np.flatnonzero(mask)))
            self._has_stopped = True
            return self._observe(), ILLEGAL_REWARD, True, False, self._info()
        self._env.step(number)
        reward = self._env.rewards[self._learner] + self._play_others()
        self._show()
        return self._observe(), reward, self._has_stopped, False, self._info()

    def _play_others(self) -> float:
        """Play the others' moves until the learner is to decide or the game is over; return the learner's reward."""
        self._has_stopped = True  # if an opponent raises an error, the learner is not to decide
        reward = 0.0
        seats = np.array([self.seat])
        while not self._env.terminations[self._learner] and self._env.deciding_seat != self.seat:
            self._env.step(int(self._opponents.decide(self._env, self._row, seats)[0]))
            reward += self._env.rewards[self._learner]
        self._has_stopped = self._env.terminations[self._learner]
        return reward

    def _observe(self) -> NDArray[np.float32]:
        return self._env.observation_of(self._learner)

    def _info(self) -> dict[str, Any]:
        return {"action_mask": self.action_masks(), "seat": self.seat, **self._env.infos[self._learner]}

    def render(self) -> Rendered:  # type: ignore[override]
        """Render the game as the learner sees it, in the way `raw_env` does."""
        self._env.require_reset("render()")
        return self._renderer.render(self._view(), self.render_mode)

    def _show(self) -> None:
        """Render to people after every reset and step."""
        if self.render_mode == "human":
            self.render()

    def _view(self) -> SeatView:
        return seat_view(self._env.states, 0, self.seat, self.options.ledger)

    def _repr_html_(self) -> str:
        """Render the game for notebooks, as the learner sees it."""
        return to_notebook_html(self._view() if self._env.has_reset else None)

    def close(self) -> None:
        """Close the window, if one is open, and release the opponents' resources."""
        self._renderer.close()
        self._opponents.close()


def _scalar(action: Any) -> int | None:
    """Return an action as an int, also from an array of one, which some libraries pass; None if it is no number."""
    return whole_number(action.item() if isinstance(action, np.ndarray) and action.size == 1 else action)
