"""The PettingZoo AEC environment: a thin, fast face over the kernel."""

from __future__ import annotations

import copy
import operator
import secrets
from collections.abc import Mapping
from typing import Any, ClassVar, NoReturn, Self, TypedDict, Unpack

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray
from pettingzoo import AECEnv
from pettingzoo.utils.env import AECIterable, AECIterator
from pettingzoo.utils.env_logger import EnvLogger

from symphony9_env.actions import BID, HANDS, NAMES, num_actions
from symphony9_env.engine import SEATS, advance
from symphony9_env.envs.spaces import action_space, observation_space, state_space
from symphony9_env.options import SEED_BITS, OptionValues, check_seed, make_options
from symphony9_env.records import make_record
from symphony9_env.render.showing import RENDER_MODES, Rendered, Showing, check_render_mode, html
from symphony9_env.rewards import settle
from symphony9_env.rules.chance import next_seed
from symphony9_env.rules.deals import pack_box, write_setup
from symphony9_env.rules.setup import deal
from symphony9_env.rules.state import DECISIONS, NONE, OVER, Games, new_games
from symphony9_env.views import STATE_SIZE, observation_size, resample, seat_view
from symphony9_env.views.moves import last_bid
from symphony9_env.views.seat import SeatView, score_sheet
from symphony9_env.views.vector import observe, observe_all


class Observation(TypedDict):
    observation: NDArray[np.float32]
    action_mask: NDArray[np.int8]


class AfterReset:
    """Stands for an attribute until the first reset puts the real one in its place on the instance."""

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    def __get__(self, env: object, owner: type) -> NoReturn:
        raise AttributeError(f"{self.name} cannot be accessed before reset")


class RawEnv(AECEnv[str, Observation, int]):
    """Symphony No. 9 for 2 to 4 players: an illegal action raises a ValueError and changes nothing.

    Options, all by keyword (`symphony9_env.options.Options` has their defaults):
        num_players: 2, 3 or 4.
        tracks: "historical" or "random": which board lies at which musician.
        scoring: "random", "A", "B", or a tile side for every musician, such as {"handel": "4A", ...}.
        reward: "win", "margin" or "score", given at the end.
        shaping: whether every step also gives the change in own points.
        discussion: whether amounts are announced before hands close.
        ledger: whether the observation shows the others' money and furniture.
        components: the path of an owner's own file of track boards and bot tiles.
        render_mode: None, "ansi" (text), "rgb_array" (a picture) or "human" (a window, or printed text).
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

    def __init__(self, *, render_mode: str | None = None, **options: Unpack[OptionValues]) -> None:
        super().__init__()
        self.render_mode = check_render_mode(render_mode)
        self._showing = Showing(self.metadata["render_fps"])
        self.options = make_options(**options)
        self.possible_agents = [f"player_{player}" for player in range(self.options.num_players)]
        self._box = pack_box(self.options)
        self._games = new_games(1)
        self._observation = np.zeros(observation_size(self.options.ledger), np.float32)
        self._mask = np.zeros(num_actions(self.options.discussion), np.int8)
        self._waiting_mask = np.zeros_like(self._mask)  # shown to seats that are not to decide
        self._history: list[tuple[int, int]] = []  # (player, action)
        self._seed: int | None = None  # of the game on the table; None if dealt by hand
        self._last_seed: int | None = None
        self._points = np.zeros(SEATS, np.int64)  # if the game ended now; kept up to date only for shaping
        self._player = self._step = NONE
        self._has_reset = False
        self.observation_spaces = {agent: observation_space(self.options) for agent in self.possible_agents}
        self.action_spaces = {agent: action_space(self.options) for agent in self.possible_agents}
        self.state_space = state_space()

    # What the game is dealt from and where it stands.

    @property
    def game(self) -> Games:
        """The game's record (an array of one), the true state: for search, tests and tools, not for players.

        To be read: after writing into it the environment would still show what was before.
        """
        return self._games

    @property
    def game_seed(self) -> int | None:
        """The seed of the game on the table; None if it was dealt by hand without one."""
        return self._seed

    @property
    def moves(self) -> tuple[tuple[int, int], ...]:
        """All moves so far, closed hands included: (seat, action)."""
        return tuple(self._history)

    @property
    def deciding_seat(self) -> int:
        """The seat to decide; once the game is over, the last that did."""
        self._need_reset("deciding_seat")
        return self._player

    def record(self) -> dict[str, Any]:
        """The game so far as plain JSON data; `symphony9_env.records` reads and replays it."""
        self._need_reset("record")
        return make_record(self._games, self._history, self._seed)

    def resampled(self, seat: int, rng: np.random.Generator) -> Self:
        """A copy to search in: one that `seat` can't tell from this game, ready to be played on.

        The others' money and furniture are kept (a perfect memory knows them); their closed hands, the tokens
        and the bot tiles to come are drawn anew. Its record is that of the resampled game. It has no render mode.
        """
        self._need_reset("resampled")
        twin = copy.deepcopy(self)
        twin.render_mode = None
        twin._seed = twin._last_seed = None  # the seed would give the true deal away
        twin._games = resample(self._games, seat, rng)
        for player in range(self.options.num_players):
            total, token = (int(twin._games[name][0, player]) for name in ("hand", "hand_token"))
            if total != NONE:
                twin._history[last_bid(twin._history, player)] = (player, BID + HANDS.index((total, token)))
        return twin

    def observation_space(self, agent: str) -> spaces.Space[Any]:
        return self.observation_spaces[agent]

    def action_space(self, agent: str) -> spaces.Space[Any]:
        return self.action_spaces[agent]

    # Dealing.

    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> None:
        """Deal a game by seed, or by hand with options={"setup": ...} of a game record's form."""
        if options is not None and not isinstance(options, Mapping):
            raise ValueError(f"options={options!r}; allowed: a mapping, or None")
        setup = options.get("setup") if options else None
        if seed is not None:
            seed = check_seed(seed)
        if setup is not None:
            write_setup(self._box, self._games, 0, setup)
        else:
            if seed is None:
                seed = secrets.randbits(SEED_BITS) if self._last_seed is None else next_seed(self._last_seed)
            deal(self._box, self._games, 0, np.uint64(seed))
        self._seed = seed
        self._last_seed = self._last_seed if seed is None else seed
        self._start()

    def _start(self) -> None:
        self._history = []
        self._has_reset = True
        self._skip_agent_selection = None
        self.agents = self.possible_agents[:]
        self.rewards = dict.fromkeys(self.agents, 0.0)
        self._cumulative_rewards = dict.fromkeys(self.agents, 0.0)
        self.terminations = dict.fromkeys(self.agents, False)
        self.truncations = dict.fromkeys(self.agents, False)
        self.infos: dict[str, dict[str, Any]] = {agent: {} for agent in self.agents}
        self._move_to(advance(self._games, 0, NONE, self._observation, self._mask))
        if self.options.shaping:  # the deal is the baseline
            settle(self._games, 0, self.options.reward_number, False, self._points, np.zeros(SEATS), np.zeros(SEATS))
        if self.render_mode == "human":
            self.render()

    def _move_to(self, where: int) -> None:
        """Ask the seat that decides now; `where` as the engine tells it."""
        self._step, self._player = divmod(where, SEATS)
        agent = self.possible_agents[self._player]
        self.agent_selection = agent
        self.infos[agent] = {"decision": DECISIONS[self._step]}

    # Playing.

    def step(self, action: int | None) -> None:
        if not self._has_reset:
            raise ValueError("step() before reset(): call reset() first")
        if self._step == OVER:
            self._step_after_the_end(action)
            return
        self._play(self._checked(action))

    def _step_after_the_end(self, action: int | None) -> None:
        if not self.agents:
            raise ValueError(f"action {action!r} after the game is over; legal: nothing, call reset() first")
        if action is not None:
            raise ValueError(f"action {action!r} after the game is over; legal: None, until all are done")
        self._was_dead_step(action)

    def _checked(self, action: Any) -> int:
        number = action_number(action)
        if number is None:
            raise ValueError(f"action {action!r} is no action number; {self._allowed()}")
        if not 0 <= number < len(self._mask):
            raise ValueError(f"action {number} is out of range; {self._allowed()}")
        if not self._mask[number]:
            raise ValueError(f"action {number} ({NAMES[number]!r}) is illegal now; {self._allowed()}")
        return number

    def _allowed(self) -> str:
        legal = ", ".join(f"{number} {NAMES[number]}" for number in np.flatnonzero(self._mask))
        return f"{self.agent_selection} may choose: {legal}"

    def _play(self, action: int) -> None:
        agent = self.agent_selection
        self._history.append((self._player, action))
        self.infos[agent] = {}
        self._move_to(advance(self._games, 0, action, self._observation, self._mask))
        if self.options.shaping or self._step == OVER:
            self._cumulative_rewards[agent] = 0.0
            self._reward()
        if self._step == OVER:
            self._finish()
        if self.render_mode == "human":
            self.render()

    def _reward(self) -> None:
        rewards, ranks = np.zeros(SEATS), np.zeros(SEATS)
        settle(self._games, 0, self.options.reward_number, self.options.shaping, self._points, ranks, rewards)
        self.rewards = dict(zip(self.possible_agents, rewards.tolist(), strict=False))
        self._accumulate_rewards()

    def _finish(self) -> None:
        self.terminations = dict.fromkeys(self.agents, True)
        self.infos = {
            agent: {"score": line.total, "rank": line.rank, "breakdown": line.breakdown}
            for agent, line in score_sheet(self._games, 0).items()
        }
        self._deads_step_first()

    # Looking.

    def observe(self, agent: str) -> Observation:
        """What an agent may know now, in fresh arrays; the mask of an agent who is not to decide is all zeros."""
        self._need_reset("observe")
        seat = self._seat(agent)
        if seat == self._player and self._step != OVER:
            return {"observation": self._observation.copy(), "action_mask": self._mask.copy()}
        observation = np.empty_like(self._observation)
        observe(self._games, 0, seat, observation)
        return {"observation": observation, "action_mask": self._waiting_mask.copy()}

    def state(self) -> NDArray[np.float32]:
        """Everything, hidden things included, for centralised critics; `views.STATE_FIELDS` names its parts."""
        self._need_reset("state")
        state = np.empty(STATE_SIZE, np.float32)
        observe_all(self._games, 0, state)
        return state

    def render(self) -> Rendered:
        """The table as the deciding seat sees it.

        `ansi` returns text and `rgb_array` a picture (800 by 1200 by 3). `human`, which needs no call, shows the
        picture in a window, or prints the text where no window can open.
        """
        self._need_reset("render")
        if self.render_mode is None:
            EnvLogger.get_logger().warning("render() without a render_mode: make the environment with one")
            return None
        return self._showing.show(self._view(), self.render_mode)

    def _view(self) -> SeatView:
        return seat_view(self._games, 0, self._player, self.options.ledger)

    def _repr_html_(self) -> str:
        """For notebooks: the table as the deciding seat sees it."""
        return html(self._view() if self._has_reset else None)

    def close(self) -> None:
        """Close the window, if there is one."""
        self._showing.close()

    def _seat(self, agent: str) -> int:
        try:
            return self.possible_agents.index(agent)
        except ValueError:
            raise ValueError(f"agent {agent!r}; allowed: {', '.join(self.possible_agents)}") from None

    def _need_reset(self, call: str) -> None:
        if not self._has_reset:
            raise ValueError(f"{call}() before reset(): call reset() first")


class CheckedEnv(RawEnv):
    """Symphony No. 9 for 2 to 4 players, with the behaviour of PettingZoo's stock wrappers. Options as `raw_env`.

    An illegal move ends the game at -1 for whoever made it; an action out of range fails an assertion; a step
    after the end is a warning. Done here rather than in three wrappers: several times as fast.
    """

    def __init__(self, *, render_mode: str | None = None, **options: Unpack[OptionValues]) -> None:
        super().__init__(render_mode=render_mode, **options)
        self._has_updated = False
        self._ended_by_illegal_move = False

    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> None:
        super().reset(seed, options)
        self._ended_by_illegal_move = False
        self._has_updated = True

    def step(self, action: int | None) -> None:
        if not self._has_reset:
            EnvLogger.error_step_before_reset()
        self._has_updated = True
        if not self.agents:
            EnvLogger.warn_step_after_terminated_truncated()
        elif self._step == OVER or self._ended_by_illegal_move:
            if action is not None:
                self._in_range(action)
            self._was_dead_step(action)
        else:
            number = self._in_range(action)
            if self._mask[number]:
                self._play(number)
            else:
                self._end_by_illegal_move()

    def _in_range(self, action: Any) -> int:
        number = action_number(action)
        if number is None or not 0 <= number < len(self._mask):
            raise AssertionError("action is not in action space")
        return number

    def _end_by_illegal_move(self) -> None:
        EnvLogger.warn_on_illegal_move()
        agent = self.agent_selection
        self._ended_by_illegal_move = True
        self._cumulative_rewards[agent] = 0.0
        self.terminations = dict.fromkeys(self.agents, True)
        self.truncations = dict.fromkeys(self.agents, True)
        self.rewards = dict.fromkeys(self.agents, 0.0)
        self.rewards[agent] = -1.0
        self._accumulate_rewards()
        self._deads_step_first()

    def _need_reset(self, call: str) -> None:
        if not self._has_reset:
            raise AssertionError(f"reset() needs to be called before {call}.")

    def agent_iter(self, max_iter: int = 2**63) -> AECIterable[str, Observation, int]:
        if not self._has_reset:
            EnvLogger.error_agent_iter_before_reset()
        return _OrderedIterable(self, max_iter)


class _OrderedIterable(AECIterable[str, Observation, int]):
    def __iter__(self) -> AECIterator[str, Observation, int]:
        return _OrderedIterator(self.env, self.max_iter)


class _OrderedIterator(AECIterator[str, Observation, int]):
    def __next__(self) -> str:
        agent: str = super().__next__()
        if not self.env._has_updated:
            raise AssertionError("need to call step() or reset() in a loop over `agent_iter`")
        self.env._has_updated = False
        return agent


def action_number(action: Any) -> int | None:
    """A whole number as an int (NumPy's too); None for anything else, True and False included."""
    if type(action) is int:
        return action
    if isinstance(action, bool):
        return None
    try:
        return operator.index(action)
    except TypeError:
        return None
