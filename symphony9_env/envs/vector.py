"""The Gymnasium vector environment: a batch of games with one learning seat each.

`gymnasium.make_vec("symphony9_env:Symphony9-v0", num_envs=256, opponents="greedy")` makes it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, Unpack

import numpy as np
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space
from numpy.typing import ArrayLike, NDArray

from symphony9_env.batched import BatchedGames
from symphony9_env.engine import MAX_DECISIONS
from symphony9_env.envs.opponents import ILLEGAL_REWARD, Opponent, Opponents, check_illegal, check_seat, random_seat
from symphony9_env.envs.spaces import action_space, vector_space
from symphony9_env.options import OptionValues, check_limit, check_seed, make_options, with_option_signature
from symphony9_env.rules.chance import next_seed
from symphony9_env.views import observation_fields, observation_size
from symphony9_env.views.vector import observe

Rows = NDArray[np.int64]
Flags = NDArray[np.bool_]
_OWN_OPTIONS: Final = (
    "num_envs", "opponents", "seat", "illegal", "max_episode_steps", "autoreset_mode", "num_threads",
)  # fmt: skip
StepResult = tuple[NDArray[np.float32], NDArray[np.float64], Flags, Flags, dict[str, Any]]


class Symphony9VectorEnv(VectorEnv[NDArray[np.float32], NDArray[np.int64], Any]):
    """A Gymnasium vector environment: `num_envs` games, each with one learner; agents play the other seats.

    A step plays the learner's decision and all that the others decide until the learner is asked again; the rewards
    in between are added up. The masks of legal actions are in `action_masks()` and in infos["action_mask"].

    Options are those of the game (see `raw_env`), and:
        opponents: an agent as `agents.make` takes it, for all seats, or a list of them, clockwise from the learner;
            or your own `Opponents`, such as a pool that draws new ones for every game.
        seat: the learner's seat in every game, or "random": drawn from each game's seed.
        illegal: what an illegal action does: "end" ends the game with a reward of -1; "random" plays a random legal
            action instead, for learners without masks.
        max_episode_steps: truncate a game after so many decisions of the learner; None plays it to its end.
        autoreset_mode: when the next game begins, as Gymnasium defines it. SAME_STEP: at once; the last observation of
            the finished game is in infos["final_obs"], its seat, score and rank in infos["final_info"]. NEXT_STEP: with
            the next step, which ignores the action. DISABLED: with reset(options={"reset_mask": flags}). In these two
            modes, `seat` in the infos of a finished game is the one in which the learner played it.
        num_threads: as for `BatchedGames`.

    >>> env = Symphony9VectorEnv(8, num_players=3, opponents="greedy")
    >>> observations, infos = env.reset(seed=0)
    >>> env.action_masks().shape
    (8, 40)
    """

    @with_option_signature
    def __init__(
        self,
        num_envs: int,
        *,
        opponents: Opponent | Sequence[Opponent] | Opponents = "random",
        seat: int | str = "random",
        illegal: str = "end",
        max_episode_steps: int | None = None,
        autoreset_mode: AutoresetMode | str = AutoresetMode.SAME_STEP,
        num_threads: int = 1,
        **options: Unpack[OptionValues],
    ) -> None:
        self.closed = True  # if an argument is refused, there is nothing to close
        self.options = make_options(_OWN_OPTIONS, **options)
        self._plays_random = check_illegal(illegal) == "random"
        self._max_steps = check_limit("max_episode_steps", max_episode_steps)
        self._autoreset_mode = _check_autoreset_mode(autoreset_mode)
        self.metadata = {"autoreset_mode": self._autoreset_mode}
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
        self._num_steps = np.zeros(self.num_envs, np.int64)  # of the learner in the current game
        self._awaits_reset = np.zeros(self.num_envs, bool)  # its game has ended, and the caller has not seen the next
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
        """Deal all games; without a seed, with the one that follows the last.

        `options={"reset_mask": flags}` deals only the flagged games, with the seeds that follow theirs. Other options
        have no effect.
        """
        seed = None if seed is None else check_seed(seed)
        super().reset(seed=seed)  # for `np_random`
        mask = (options or {}).get("reset_mask")
        if mask is not None:
            self._reset_some(np.asarray(mask), seed)
        else:
            self._is_ready = False
            self._batch.reset(next_seed(self._batch.seed) if seed is None else seed)
            self._begin_games(self._rows)
            self._is_ready = True
        return self._batch.observation.copy(), self._infos()

    def _reset_some(self, mask: NDArray[Any], seed: int | None) -> None:
        if mask.shape != (self.num_envs,) or mask.dtype != np.bool_:
            raise ValueError(f"reset_mask: {mask.dtype} of shape {mask.shape}; needed: {self.num_envs} flags")
        if seed is not None:
            raise ValueError(
                f"seed={seed!r}: a seed deals all games; reset_mask deals some, with the seeds that follow"
            )
        if not self._is_ready:
            raise ValueError("reset_mask: not all games have been dealt; call reset() first")
        unfinished = mask & ~self._awaits_reset  # the next games of the others have begun already
        self._awaits_reset &= ~mask
        if unfinished.any():
            self._is_ready = False
            self._batch.deal(unfinished)
            self._begin_games(np.flatnonzero(unfinished))
            self._is_ready = True

    def step(self, actions: ArrayLike) -> StepResult:
        """Play the learners' actions, then the others' until each learner decides again or its game ends."""
        if not self._is_ready:  # there was no reset, or an opponent raised an error
            raise ValueError("step(): the learners are not to decide; call reset() first")
        given = self._check_actions(actions)
        playing = self._begin_step()
        illegal = playing & self._find_illegal(given)
        self._is_ready = False
        if self._plays_random and illegal.any():
            given[illegal] = self._batch.sample_actions(np.flatnonzero(illegal))
            illegal[:] = False
        rewards = np.where(illegal, ILLEGAL_REWARD, 0.0)
        rows = np.flatnonzero(playing & ~illegal)
        over = self._play(rows, given[rows], rewards)
        self._num_steps[playing] += 1
        terminated = over | illegal
        truncated = playing & ~terminated & (self._num_steps == self._max_steps)
        ended = terminated | truncated
        final_obs, infos = self._end_games(over, ended) if ended.any() else (None, {})
        self._is_ready = True
        observation = self._batch.observation.copy()
        if final_obs is not None and self._autoreset_mode != AutoresetMode.SAME_STEP:
            observation[ended] = np.stack(list(final_obs[ended]))
            self._awaits_reset |= ended
        return observation, rewards, terminated, truncated, {**self._infos(), **infos}

    def _check_actions(self, actions: ArrayLike) -> NDArray[np.int64]:
        given = np.asarray(actions)
        if given.shape != (self.num_envs,) or not np.issubdtype(given.dtype, np.integer):
            wanted = f"needed: {self.num_envs} whole numbers"
            raise ValueError(f"actions: {given.dtype} of shape {given.shape}; {wanted}")
        return given.astype(np.int64)

    def _begin_step(self) -> Flags:
        """Return the games in which the learner's action counts; the others show their first position instead."""
        awaiting = self._awaits_reset
        if self._autoreset_mode == AutoresetMode.DISABLED and awaiting.any():
            row = int(awaiting.argmax())
            raise ValueError(
                f'step(): the game on row {row} has ended; call reset(options={{"reset_mask": flags}}) first'
            )
        playing = ~awaiting
        self._awaits_reset = np.zeros(self.num_envs, bool)
        return playing

    def _end_games(self, over: Flags, ended: Flags) -> tuple[NDArray[Any], dict[str, Any]]:
        """Begin the next games on the rows that have ended; return the last observations, and the infos about the end.

        `over` flags the games that were played to their end, by the rules.
        """
        final_obs = self._observe_ends(over, ended)
        final_info = {**self._score_ends(over), "seat": self.seats}  # before the next games change the seats
        if (ended & ~over).any():
            self._batch.deal(ended & ~over)
        if over.any():
            self._opponents.end(np.flatnonzero(over), self._seats[over], self._batch.final_ranks[over])
        self._begin_games(np.flatnonzero(ended))
        if self._autoreset_mode != AutoresetMode.SAME_STEP:
            return final_obs, final_info
        final_info["_seat"] = ended.copy()
        flags = {"_final_obs": ended.copy(), "_final_info": ended.copy()}
        return final_obs, {"final_obs": final_obs, "final_info": final_info, **flags}

    def _observe_ends(self, over: Flags, ended: Flags) -> NDArray[Any]:
        """Return the last observations in Gymnasium's form: an object array with None for the other rows."""
        final_obs = np.full(self.num_envs, None, dtype=object)
        for row in np.flatnonzero(ended).tolist():
            states = self._batch.final_states if over[row] else self._batch.states
            final_obs[row] = np.empty(observation_size(self.options.ledger), np.float32)
            observe(states, row, int(self._seats[row]), final_obs[row])
        return final_obs

    def _score_ends(self, over: Flags) -> dict[str, Any]:
        """Return the learners' scores and ranks in Gymnasium's form: arrays, and flags of the rows that have them."""
        final_info: dict[str, Any] = {}
        if over.any():
            for name, values in (("score", self._batch.final_scores), ("rank", self._batch.final_ranks)):
                final_info[name] = np.where(over, values[self._rows, self._seats], 0.0)
                final_info[f"_{name}"] = over.copy()
        return final_info

    def close_extras(self, **kwargs: Any) -> None:
        """Release the opponents' resources; `close` calls this, also after a constructor that failed."""
        if hasattr(self, "_opponents"):
            self._opponents.close()

    def save(self) -> bytes:
        """Return all games and the learners' seats as bytes, exactly; the opponents' own state is not saved."""
        return np.array([self._seats, self._num_steps, self._awaits_reset], np.int64).tobytes() + self._batch.save()

    def load(self, data: bytes) -> None:
        """Restore what `save` returned, for the same options; change nothing if it is refused with a ValueError."""
        size = 3 * self._seats.nbytes
        restored = self._batch.copy()
        restored.load(data[size:])
        seats, num_steps, awaits_reset = np.frombuffer(data[:size], np.int64).reshape(3, self.num_envs)
        most = MAX_DECISIONS if self._max_steps is None else self._max_steps - 1
        if not np.array_equal(restored.player, seats):
            raise ValueError("not a save, or damaged: a learner is not to decide")
        if num_steps.min() < 0 or num_steps.max() > most or awaits_reset.min() < 0 or awaits_reset.max() > 1:
            raise ValueError("not a save, or damaged: impossible numbers of steps")
        self._batch.load(data[size:])
        self._seats[:] = seats
        self._num_steps[:] = num_steps
        self._awaits_reset = awaits_reset == 1
        self._is_ready = True

    def _find_illegal(self, actions: NDArray[np.int64]) -> Flags:
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
        self._num_steps[rows] = 0
        self._awaits_reset[rows] = False
        self._opponents.begin(rows, self._seats[rows], self._batch.seeds[rows])
        others = self._rows_of_others(rows)
        self._play(others, self._decide_for_others(others), rewards=np.zeros(self.num_envs))

    def _decide_for_others(self, rows: Rows) -> Rows:
        return self._opponents.decide(self._batch, rows, self._seats[rows])

    def _rows_of_others(self, rows: Rows) -> Rows:
        """Return those of the rows on which the learner is not to decide."""
        others: Rows = rows[self._batch.player[rows] != self._seats[rows]]
        return others

    def _infos(self) -> dict[str, Any]:
        every = np.ones(self.num_envs, bool)
        return {"action_mask": self.action_masks(), "_action_mask": every, "seat": self.seats, "_seat": every.copy()}


def _check_autoreset_mode(mode: Any) -> AutoresetMode:
    """Return Gymnasium's mode, also given by its name or value."""
    for one in AutoresetMode:
        if mode in (one, one.name, one.value):
            return one
    raise ValueError(f"autoreset_mode={mode!r}; allowed: {', '.join(one.name for one in AutoresetMode)}")
