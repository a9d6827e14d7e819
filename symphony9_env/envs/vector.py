"""The Gymnasium vector environment: a batch of games with one learning seat each."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Unpack

import numpy as np
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space
from numpy.typing import ArrayLike, NDArray

from symphony9_env.batched import BatchedGames
from symphony9_env.envs.opponents import Opponent, Opponents, check_seat, random_seat
from symphony9_env.envs.single import ILLEGAL_REWARD
from symphony9_env.envs.spaces import action_space, vector_space
from symphony9_env.options import OptionValues, make_options, with_option_signature
from symphony9_env.rules.chance import next_seed
from symphony9_env.rules.state import States
from symphony9_env.views import observation_fields, observation_size
from symphony9_env.views.vector import observe

Rows = NDArray[np.int64]
Flags = NDArray[np.bool_]
StepResult = tuple[NDArray[np.float32], NDArray[np.float64], Flags, Flags, dict[str, Any]]


class Symphony9VectorEnv(VectorEnv[NDArray[np.float32], NDArray[np.int64], Any]):
    """A Gymnasium vector environment: `num_envs` games, each with one learner; agents play the other seats.

    A step plays the learner's decision and all that the others decide until the learner is asked again; the rewards
    in between are added up. A finished game is followed by the next at once (`AutoresetMode.SAME_STEP`): its last
    observation is in infos["final_obs"], its score and rank in infos["final_info"]. An illegal action ends the game
    with a reward of -1.

    Options are those of `raw_env` (render_mode apart), and:
        opponents: an agent as `agents.make` takes it, for all seats, or a list of them, clockwise from the learner;
            or your own `Opponents`, such as a pool that draws new ones for every game.
        seat: the learner's seat in every game, or "random": drawn from each game's seed.
        num_threads: as for `BatchedGames`.

    >>> env = Symphony9VectorEnv(8, num_players=3, opponents="greedy")
    >>> observations, infos = env.reset(seed=0)
    >>> env.action_masks().shape
    (8, 40)
    """

    metadata = {"autoreset_mode": AutoresetMode.SAME_STEP}  # noqa: RUF012

    @with_option_signature
    def __init__(
        self,
        num_envs: int,
        *,
        opponents: Opponent | Sequence[Opponent] | Opponents = "random",
        seat: int | str = "random",
        num_threads: int = 1,
        **options: Unpack[OptionValues],
    ) -> None:
        self.closed = True  # if an argument is refused, there is nothing to close
        self.options = make_options(("num_envs", "opponents", "seat", "num_threads"), **options)
        self._batch = BatchedGames(num_envs, num_threads=num_threads, **options)
        if not isinstance(opponents, Opponents):
            opponents = Opponents(opponents, self.options.num_players)
        self._opponents = opponents
        self.closed = False
        self._fixed_seat = check_seat(seat, self.options.num_players)
        self.num_envs = self._batch.num_games
        self.single_observation_space = vector_space(observation_fields(self.options.ledger))
        self.single_action_space = action_space(self.options)
        self.observation_space = batch_space(self.single_observation_space, self.num_envs)
        self.action_space = batch_space(self.single_action_space, self.num_envs)
        self._seats = np.zeros(self.num_envs, np.int64)
        self._rows = np.arange(self.num_envs)
        self._is_ready = False  # whether the learner is to decide in every game

    @property
    def batch(self) -> BatchedGames:
        """The games themselves, hidden information included: for tools, not for players."""
        return self._batch

    def __repr__(self) -> str:
        return f"<Symphony9VectorEnv: {self.num_envs} games of {self.options.num_players} players>"

    @property
    def seats(self) -> Rows:
        """The learner's seat in the current game of each row."""
        return self._seats.copy()

    def action_masks(self) -> NDArray[np.int8]:
        """Return the masks of the learner's legal actions, (num_envs, actions)."""
        return self._batch.action_mask.copy()

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[NDArray[np.float32], dict[str, Any]]:
        """Deal all games; without a seed, with the one that follows the last. `options` has no effect."""
        self._is_ready = False
        self._batch.reset(next_seed(self._batch.seed) if seed is None else seed)
        self._begin_games(self._rows)
        self._is_ready = True
        return self._batch.observation.copy(), self._infos()

    def step(self, actions: ArrayLike) -> StepResult:
        """Play the learners' actions, then the others' until each learner decides again or its game ends."""
        if not self._is_ready:  # there was no reset, or an opponent raised an error
            raise ValueError("step(): the learners are not to decide; call reset() first")
        given = np.asarray(actions)
        illegal = self._find_illegal(given)
        self._is_ready = False
        rewards = np.where(illegal, ILLEGAL_REWARD, 0.0)
        infos: dict[str, Any] = {}
        if illegal.any():
            self._add_final_observations(infos, np.flatnonzero(illegal), self._batch.states)
            self._batch.deal(illegal)
        legal = np.flatnonzero(~illegal)
        ended = self._play(legal, given[legal], rewards)
        if ended.any():
            self._add_final_observations(infos, np.flatnonzero(ended), self._batch.final_states)
            self._add_final_scores(infos["final_info"], np.flatnonzero(ended))
            self._opponents.end(np.flatnonzero(ended), self._seats[ended], self._batch.final_ranks[ended])
        terminated = ended | illegal
        if terminated.any():
            self._begin_games(np.flatnonzero(terminated))
        self._is_ready = True
        truncated = np.zeros(self.num_envs, bool)
        return self._batch.observation.copy(), rewards, terminated, truncated, {**infos, **self._infos()}

    def close_extras(self, **kwargs: Any) -> None:
        """Release the opponents' resources; `close` calls this, also after a constructor that failed."""
        if hasattr(self, "_opponents"):
            self._opponents.close()

    def save(self) -> bytes:
        """Return all games and the learners' seats as bytes, exactly; the opponents' own state is not saved."""
        return self._seats.tobytes() + self._batch.save()

    def load(self, data: bytes) -> None:
        """Restore what `save` returned, for the same options; change nothing if it is refused with a ValueError."""
        size = self._seats.nbytes
        restored = self._batch.copy()
        restored.load(data[size:])
        seats = np.frombuffer(data[:size], np.int64)
        if not np.array_equal(restored.player, seats):
            raise ValueError("not a save, or damaged: a learner is not to decide")
        self._batch.load(data[size:])
        self._seats[:] = seats
        self._is_ready = True

    def _find_illegal(self, actions: NDArray[Any]) -> Flags:
        if actions.shape != (self.num_envs,) or not np.issubdtype(actions.dtype, np.integer):
            wanted = f"needed: {self.num_envs} whole numbers"
            raise ValueError(f"actions: {actions.dtype} of shape {actions.shape}; {wanted}")
        mask = self._batch.action_mask
        inside = (actions >= 0) & (actions < mask.shape[1])
        legal: Flags = inside & (mask[self._rows, np.where(inside, actions, 0)] == 1)
        return ~legal

    def _play(self, rows: Rows, moves: NDArray[Any], rewards: NDArray[np.float64]) -> Flags:
        """Play a move on each of these rows, then the others' moves until each learner decides or its game ends.

        Add the learners' rewards to `rewards`, and return which games ended.
        """
        ended = np.zeros(self.num_envs, bool)
        while len(rows):
            self._batch.step(moves, rows=rows)
            rewards[rows] += self._batch.rewards[rows, self._seats[rows]]
            ended |= self._batch.terminated
            rows = self._rows_of_others(rows[~ended[rows]])
            moves = self._decide_for_others(rows)
        return ended

    def _begin_games(self, rows: Rows) -> None:
        """Choose the learners' seats in games just dealt, and play up to each learner's first decision."""
        if self._fixed_seat is None:
            self._seats[rows] = [random_seat(int(seed), self.options.num_players) for seed in self._batch.seeds[rows]]
        else:
            self._seats[rows] = self._fixed_seat
        self._opponents.begin(rows, self._seats[rows], self._batch.seeds[rows])
        others = self._rows_of_others(rows)
        self._play(others, self._decide_for_others(others), rewards=np.zeros(self.num_envs))

    def _decide_for_others(self, rows: Rows) -> Rows:
        return self._opponents.decide(self._batch, rows, self._seats[rows])

    def _rows_of_others(self, rows: Rows) -> Rows:
        """Return those of the rows on which the learner is not to decide."""
        others: Rows = rows[self._batch.player[rows] != self._seats[rows]]
        return others

    def _add_final_observations(self, infos: dict[str, Any], rows: Rows, states: States) -> None:
        """Add the last observations to the infos in Gymnasium's form: an object array and an array of flags."""
        final_obs = infos.setdefault("final_obs", np.full(self.num_envs, None, dtype=object))
        infos.setdefault("final_info", {})
        for name in ("_final_obs", "_final_info"):
            infos.setdefault(name, np.zeros(self.num_envs, bool))[rows] = True
        for row in rows.tolist():
            final_obs[row] = np.empty(observation_size(self.options.ledger), np.float32)
            observe(states, row, int(self._seats[row]), final_obs[row])

    def _add_final_scores(self, final_info: dict[str, Any], rows: Rows) -> None:
        seats = self._seats[rows]
        for name, values in (("score", self._batch.final_scores), ("rank", self._batch.final_ranks)):
            final_info[name] = np.zeros(self.num_envs)
            final_info[name][rows] = values[rows, seats]
            final_info[f"_{name}"] = np.isin(self._rows, rows)

    def _infos(self) -> dict[str, Any]:
        every = np.ones(self.num_envs, bool)
        return {"action_mask": self.action_masks(), "_action_mask": every, "seat": self.seats, "_seat": every.copy()}
