"""The PettingZoo AEC environment that refuses illegal actions: a thin, fast adapter over the rules kernel."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Any, ClassVar, NoReturn, Self, TypedDict, Unpack

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray
from pettingzoo import AECEnv
from pettingzoo.utils.env_logger import EnvLogger

from symphony9_env.actions import NAMES, format_actions, num_actions
from symphony9_env.engine import SEATS, advance, advance_with_events
from symphony9_env.envs.spaces import MASK_IN_INFO, action_space, check_mask, observation_space, vector_space
from symphony9_env.events import EventBuffer
from symphony9_env.names import agent_name
from symphony9_env.options import (
    OptionValues,
    check_limit,
    check_seed,
    draw_seed,
    make_options,
    whole_number,
    with_option_signature,
)
from symphony9_env.records import Record, make_record
from symphony9_env.render.render_modes import RENDER_MODES, Rendered, Renderer, check_render_mode, to_notebook_html
from symphony9_env.rewards import compute_rewards
from symphony9_env.rules.chance import next_seed
from symphony9_env.rules.setup import deal
from symphony9_env.rules.state import DECISIONS, NONE, OVER, new_states
from symphony9_env.scores import score_sheet
from symphony9_env.setup_format import pack_box, write_setup
from symphony9_env.views import STATE_FIELDS, STATE_SIZE, observation_size, resample, seat_view
from symphony9_env.views.moves import replace_bids
from symphony9_env.views.rules_summary import summarize_rules_and_actions
from symphony9_env.views.seat import SeatView
from symphony9_env.views.vector import observe, observe_all

# Agents that are language models are shown the documentation of this module as the rules (PettingZoo's tutorial on
# LangChain does that).
__doc__ = f"{__doc__}\n\n{summarize_rules_and_actions()}"


class Observation(TypedDict):
    """What an agent observes: the vector of `views/fields.py` and the mask of its legal actions."""

    observation: NDArray[np.float32]
    action_mask: NDArray[np.int8]


class AfterReset:
    """A placeholder for an attribute that the first reset sets on the instance."""

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    def __get__(self, env: object, owner: type) -> NoReturn:
        raise AttributeError(f"{self.name} cannot be accessed before reset")


class RawEnv(AECEnv[str, Any, int]):
    """Symphony No. 9 for 2 to 4 players; an illegal action raises a ValueError and changes nothing.

    `help(RawEnv.__init__)` explains the options of the game. The others say how PettingZoo presents it:
        render_mode: None, "ansi" (text), "rgb_array" (an image) or "human" (a window, or printed text).
        mask: where the mask of legal actions is. "observation" makes observations dictionaries, with the vector and
            the mask; with "info", observations are the plain vector, and every agent's info has an `action_mask`.
        max_cycles: truncate the game after so many decisions; None plays it to its end.

    >>> env = RawEnv(num_players=2)
    >>> env.reset(seed=7)
    >>> env
    <RawEnv: 2 players, seed 7, round 1, player_1 to decide (take)>
    """

    metadata: ClassVar[dict[str, Any]] = {
        "name": "symphony9_v0",
        "render_modes": list(RENDER_MODES),
        "is_parallelizable": False,  # one seat decides at a time; parallel_env() is for code that wants that API
        "render_fps": 2,
    }

    agents: Any = AfterReset()
    agent_selection: Any = AfterReset()
    rewards: Any = AfterReset()
    terminations: Any = AfterReset()
    truncations: Any = AfterReset()
    infos: Any = AfterReset()

    @with_option_signature
    def __init__(
        self,
        *,
        render_mode: str | None = None,
        mask: str = "observation",
        max_cycles: int | None = None,
        **options: Unpack[OptionValues],
    ) -> None:
        super().__init__()
        self.mask = check_mask(mask)
        self.max_cycles = check_limit("max_cycles", max_cycles)
        self.render_mode = check_render_mode(render_mode)
        self._renderer = Renderer(self.metadata["render_fps"])
        self.event_buffer: EventBuffer | None = None  # set one to receive the events of each step
        self.options = make_options(("render_mode", "mask", "max_cycles"), **options)
        self.possible_agents = [agent_name(player) for player in range(self.options.num_players)]
        self._box = pack_box(self.options.variant)
        # The true state, hidden information included: for search, tests and tools, not for players. Only read it.
        # Whoever writes into it, as tests do, must call `refresh` afterwards.
        self.states = new_states(1)
        self._observation = np.zeros(observation_size(self.options.ledger), np.float32)
        self._mask = np.zeros(num_actions(self.options.variant.discussion), np.int8)
        self.waiting_mask = np.zeros_like(self._mask)  # the mask of the seats that are not to decide
        self._history: list[tuple[int, int]] = []  # (player, action)
        self.game_seed: int | None = None  # None if the game was dealt by hand without a seed
        self._last_seed: int | None = None
        self._points = np.zeros(SEATS, np.int64)  # if the game ended now; updated only for shaping
        self._player = self._phase = NONE
        self._has_ended = False  # the game is over, or the episode was ended before
        self.has_reset = False
        self.observation_spaces = {agent: observation_space(self.options, self.mask) for agent in self.possible_agents}
        self.action_spaces = {agent: action_space(self.options) for agent in self.possible_agents}
        self.state_space = vector_space(STATE_FIELDS)

    # The current game.

    @property
    def history(self) -> tuple[tuple[int, int], ...]:
        """All moves so far as (seat, action), closed hands included."""
        return tuple(self._history)

    @property
    def cumulative_rewards(self) -> dict[str, float]:
        """What each agent has received since its last action, as `last()` reports it."""
        return dict(self._cumulative_rewards)

    def moves(self, row: int = 0) -> list[int]:
        """Return the actions played so far, closed hands included."""
        return [action for _, action in self._history]

    @property
    def action_mask(self) -> NDArray[np.int8]:
        """A copy of the deciding seat's mask of legal actions; all zeros once the game is over."""
        self.require_reset("action_mask")
        return self._mask.copy()

    @property
    def deciding_seat(self) -> int:
        """The seat to decide; once the game is over, the last one that did."""
        self.require_reset("deciding_seat")
        return self._player

    @property
    def decision(self) -> str:
        """What is asked of the deciding seat, such as "bid"; "over" once the game is over."""
        self.require_reset("decision")
        return DECISIONS[self._phase]

    def __repr__(self) -> str:
        name = f"{type(self).__name__}: {self.options.num_players} players"
        if not self.has_reset:
            return f"<{name}, not reset>"
        asked = "over" if self._phase == OVER else f"{self.agent_selection} to decide ({self.decision})"
        return f"<{name}, seed {self.game_seed}, round {int(self.states['round_index'][0]) + 1}, {asked}>"

    def record(self) -> Record:
        """Return the game so far as plain JSON data; `symphony9_env.records` reads and replays it."""
        self.require_reset("record()")
        return make_record(self.states, self._history, self.game_seed)

    def resample(self, seat: int, rng: np.random.Generator) -> Self:
        """Return a copy for search: a game that `seat` can't tell from this one, ready to be played on.

        The other players' money and furniture are kept, because a perfect memory of the payments knows them. Their
        closed hands and the tokens and bot tiles to come are drawn again. The copy's record is that of the resampled
        game, and it has no render mode and no event buffer.
        """
        self.require_reset("resample()")
        twin = copy.deepcopy(self)
        twin.render_mode = None
        twin.event_buffer = None  # it may still hold the contents of a closed hand
        twin.game_seed = twin._last_seed = None  # the seed would reveal the true deal
        twin.states = resample(self.states, seat, rng)
        twin._history = replace_bids(twin.states, 0, self._history)
        return twin

    def observation_space(self, agent: str) -> spaces.Space[Any]:
        return self.observation_spaces[agent]

    def action_space(self, agent: str) -> spaces.Space[Any]:
        return self.action_spaces[agent]

    # Dealing.

    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> None:
        """Deal a game by seed, or by hand with options={"setup": ...} in the form of a game record's set-up."""
        if options is not None and not isinstance(options, Mapping):
            raise ValueError(f"options={options!r}; allowed: a mapping, or None")
        setup = options.get("setup") if options else None
        seed = None if seed is None else check_seed(seed)
        if setup is not None:
            write_setup(self._box, self.states, 0, setup)
        else:
            if seed is None:
                seed = draw_seed() if self._last_seed is None else next_seed(self._last_seed)
            deal(self._box, self.states, 0, np.uint64(seed))
        self.game_seed = seed
        self._last_seed = self._last_seed if seed is None else seed
        self._start()

    def _start(self) -> None:
        self._history = []
        if self.event_buffer is not None:
            self.event_buffer.clear()
        self.has_reset = True
        self._skip_agent_selection = None
        self.agents = self.possible_agents[:]
        self.rewards = dict.fromkeys(self.agents, 0.0)
        self._cumulative_rewards = dict.fromkeys(self.agents, 0.0)
        self.terminations = dict.fromkeys(self.agents, False)
        self.truncations = dict.fromkeys(self.agents, False)
        self.infos: dict[str, dict[str, Any]] = {agent: {} for agent in self.agents}
        self.refresh()
        self._put_masks_into_infos()
        if self.options.shaping:  # the deal is the baseline
            kind, unused = self.options.reward_kind, np.zeros(SEATS)
            compute_rewards(self.states, 0, kind, 0.0, self._points, unused, unused)
        if self.render_mode == "human":
            self.render()

    def refresh(self) -> None:
        """Derive the deciding seat, its observation and its mask from the state again."""
        self._move_to(advance(self.states, 0, NONE, self._observation, self._mask))

    def _move_to(self, where: int) -> None:
        """Select the seat that decides now; `where` is what the engine returned."""
        self._phase, self._player = divmod(where, SEATS)
        self._has_ended = self._phase == OVER
        self.agent_selection = self.possible_agents[self._player]

    def _put_masks_into_infos(self) -> None:
        """Put every agent's mask into its info, if that is where it belongs; keys that change would break libraries."""
        if self.mask == MASK_IN_INFO:
            self.infos = {agent: {**info, "action_mask": self.mask_of(agent)} for agent, info in self.infos.items()}

    # Playing.

    def step(self, action: int | None) -> None:
        """Play a legal action of the deciding seat; once the game is over, remove agents with None."""
        self.require_reset("step()")
        if not self._has_ended:
            self._play(self._check_action(action))
        elif self.agents and action is None:
            self._was_dead_step(action)
        else:
            legal = "None, until all are done" if self.agents else "nothing, call reset() first"
            raise ValueError(f"action {action!r} after the game is over; legal: {legal}")

    def _check_action(self, action: Any) -> int:
        number = whole_number(action)
        if number is None:
            problem = f"{action!r} is no action number"
        elif not 0 <= number < len(self._mask):
            problem = f"{number} is out of range"
        elif not self._mask[number]:
            problem = f"{number} ({NAMES[number]!r}) is illegal now"
        else:
            return number
        legal = format_actions(np.flatnonzero(self._mask))
        raise ValueError(f"action {problem}; {self.agent_selection} may choose: {legal}")

    def _play(self, action: int) -> None:
        agent = self.agent_selection
        self._history.append((self._player, action))
        self._move_to(self._advance(action))
        if self.options.shaping or self._phase == OVER:
            self._cumulative_rewards[agent] = 0.0
            self._reward()
        if self._phase == OVER:
            self._finish()
        elif self.max_cycles is not None and len(self._history) >= self.max_cycles:
            self._truncate()
        self._put_masks_into_infos()
        if self.render_mode == "human":
            self.render()

    def _advance(self, action: int) -> int:
        arrays = (self.states, 0, action, self._observation, self._mask)
        if self.event_buffer is None:
            return advance(*arrays)
        return advance_with_events(*arrays, self.event_buffer.array)

    def _reward(self) -> None:
        rewards, ranks = np.zeros(SEATS), np.zeros(SEATS)
        kind, shaping = self.options.reward_kind, float(self.options.shaping)
        compute_rewards(self.states, 0, kind, shaping, self._points, ranks, rewards)
        self.rewards = dict(zip(self.possible_agents, rewards.tolist(), strict=False))
        self._accumulate_rewards()

    def _finish(self) -> None:
        self.terminations = dict.fromkeys(self.agents, True)
        self.infos = {
            agent: {"score": line.total, "rank": line.rank, "breakdown": line.breakdown}
            for agent, line in score_sheet(self.states, 0).items()
        }
        self._deads_step_first()

    def _truncate(self) -> None:
        self._has_ended = True
        self.truncations = dict.fromkeys(self.agents, True)
        self._deads_step_first()

    # Observing and rendering.

    def observe(self, agent: str) -> Any:
        """Return what an agent may know now, in new arrays: an `Observation`, or with mask="info" the vector alone."""
        self.require_reset("observe()")
        if agent not in self.possible_agents:
            raise ValueError(f"agent {agent!r}; allowed: {', '.join(self.possible_agents)}")
        vector = self.observation_of(agent)
        if self.mask == MASK_IN_INFO:
            return vector
        return {"observation": vector, "action_mask": self.mask_of(agent)}

    def observation_of(self, agent: str) -> NDArray[np.float32]:
        """Return the vector that an agent observes."""
        if self._is_to_decide(agent):
            return self._observation.copy()
        vector = np.empty_like(self._observation)
        observe(self.states, 0, self.possible_agents.index(agent), vector)
        return vector

    def mask_of(self, agent: str) -> NDArray[np.int8]:
        """Return an agent's mask of legal actions; all zeros (in `parallel_env` all ones) if it is not to decide."""
        return (self._mask if self._is_to_decide(agent) else self.waiting_mask).copy()

    def _is_to_decide(self, agent: str) -> bool:
        return self._phase != OVER and agent == self.possible_agents[self._player]

    def state(self) -> NDArray[np.float32]:
        """Return the complete state, hidden information included, for centralised critics; see `views.STATE_FIELDS`."""
        self.require_reset("state()")
        state = np.empty(STATE_SIZE, np.float32)
        observe_all(self.states, 0, state)
        return state

    def render(self) -> Rendered:
        """Render the game as the deciding seat sees it.

        `ansi` returns text and `rgb_array` an image (800 by 1200 by 3). `human`, which needs no call, shows the image
        in a window, or prints the text where no window can open.
        """
        self.require_reset("render()")
        if self.render_mode is None:
            EnvLogger.get_logger().warning("render() without a render_mode: make the environment with one")
            return None
        return self._renderer.render(self._view(), self.render_mode)

    def _view(self) -> SeatView:
        return seat_view(self.states, 0, self._player, self.options.ledger)

    def _repr_html_(self) -> str:
        """Render the game for notebooks, as the deciding seat sees it."""
        return to_notebook_html(self._view() if self.has_reset else None)

    def close(self) -> None:
        """Close the window, if one is open."""
        self._renderer.close()

    def require_reset(self, use: str) -> None:
        """Raise an error if no game has been dealt yet; `use` names what needs one, such as "render()"."""
        if not self.has_reset:
            raise ValueError(f"{use} before reset(): call reset() first")
