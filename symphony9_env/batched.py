"""Many games in one call: `BatchedGames`, for training, search and evaluation."""

from __future__ import annotations

import copy
import hashlib
import inspect
import operator
from typing import Any, Final, Self, Unpack

import numpy as np
from numpy.typing import ArrayLike, NDArray

from symphony9_env.actions import NAMES, format_actions, num_actions
from symphony9_env.engine import (
    MAX_DECISIONS,
    deal_rows,
    first_illegal,
    new_buffers,
    play_rows,
    sample_rows,
    step_rows,
)
from symphony9_env.game_replay import deal_again, replay_moves
from symphony9_env.names import agent_name
from symphony9_env.options import (
    OptionValues,
    check_seed,
    draw_seed,
    make_options,
    whole_number,
    with_option_signature,
)
from symphony9_env.records import Record, make_record
from symphony9_env.rules.chance import MAX_SEED
from symphony9_env.rules.setup import deal
from symphony9_env.rules.state import GAME, NONE, NUM_ROUNDS, OVER, States, new_states
from symphony9_env.saved_arrays import Arrays, pack_arrays, unpack_arrays
from symphony9_env.scores import score_sheet
from symphony9_env.setup_format import hash_box, pack_box
from symphony9_env.threads import ExclusiveUse, ThreadPool
from symphony9_env.views import layout_hash, observation_size

SAVE_FORMAT: Final = "symphony9-batch/1"
# What a save contains besides the seed. The games are played again from these; all other arrays follow from the games.
_SAVED: Final = (
    "num_dealt",
    "history",
    "length",
    "ended_seeds",
    "ended_history",
    "ended_length",
    "stream",
    "points",
    "rewards",
    "terminated",
)


class BatchedGames:
    """A batch of `num_games` games that are stepped together, with the options of `raw_env` except render_mode.

    Every step fills the arrays below in place, and they stay the same objects: copy what you want to keep. Which
    games a row gets depends on the batch's seed, the row and how many games the row has played, and on nothing else.

    observation: (n, size) float32 of the seat to decide in each game
    action_mask: (n, actions) int8 of that seat's legal actions
    player: (n,) the seat to decide
    terminated: (n,) whether the last step ended the game; the row then holds a new game
    rewards: (n, num_players) of the last step, including a finished game's final rewards
    final_scores, final_ranks: (n, num_players) of the last game that ended on the row; NaN before
    seeds: (n,) the seed of the game now on each row; `reset(seed=...)` of the environment deals the same game

    >>> games = BatchedGames(num_games=64, num_players=3, seed=0)
    >>> games.step(games.sample_actions())
    >>> games.observation.shape
    (64, 390)
    """

    observation: NDArray[np.float32]
    action_mask: NDArray[np.int8]
    player: NDArray[np.int64]
    terminated: NDArray[np.bool_]
    rewards: NDArray[np.float64]
    final_scores: NDArray[np.float64]
    final_ranks: NDArray[np.float64]
    seeds: NDArray[np.int64]

    @with_option_signature
    def __init__(
        self, num_games: int, *, seed: int | None = None, num_threads: int = 1, **options: Unpack[OptionValues]
    ) -> None:
        self.options = make_options(("num_games", "seed", "num_threads"), **options)
        self.num_games = _check_count("num_games", num_games)
        self.num_threads = _check_count("num_threads", num_threads)
        self._box = pack_box(self.options.variant)
        self._shaping = float(self.options.shaping)
        self._states = new_states(self.num_games)
        self._ended = new_states(self.num_games)
        self._buffers = new_buffers(
            self.num_games,
            self.options.num_players,
            num_actions(self.options.variant.discussion),
            observation_size(self.options.ledger),
        )
        for name in inspect.get_annotations(BatchedGames):  # the public arrays
            setattr(self, name, getattr(self._buffers, name))
        self._all_rows = np.arange(self.num_games)
        self._actions = np.zeros(self.num_games, np.int64)
        self._threads = ThreadPool(self.num_threads)
        self._exclusive = ExclusiveUse("this batch")
        self.reset(seed)

    @property
    def seed(self) -> int:
        """The seed of the batch, from which those of all its games follow."""
        return int(self._seed)

    @property
    def states(self) -> States:
        """The true states of the games, hidden information included: for search and tools, not for players."""
        return self._states

    @property
    def final_states(self) -> States:
        """The final state of the last game that ended on each row; all zeros before."""
        return self._ended

    def moves(self, row: int) -> list[int]:
        """Return the actions played so far in the game on a row, closed hands included."""
        moves: list[int] = self._buffers.history[row, : self._buffers.length[row]].tolist()
        return moves

    def __repr__(self) -> str:
        rounds = np.bincount(self._states["round_index"] + 1, minlength=NUM_ROUNDS + 1)[1:]
        return (
            f"<BatchedGames: {self.num_games} games of {self.options.num_players} players, seed {self.seed}, "
            f"games in rounds 1 to {NUM_ROUNDS}: {rounds.tolist()}>"
        )

    def set_shaping(self, coefficient: float) -> None:
        """Set the reward for each point that a step brings; 0 turns shaping off, and nothing is computed for it.

        Training uses this to anneal shaping. Points are counted from the last deal or from the last step with shaping.
        """
        self._shaping = float(coefficient)

    def reset(self, seed: int | None = None) -> None:
        """Deal the first game of every row; without a seed, draw one from the system's entropy."""
        checked = np.uint64(draw_seed() if seed is None else check_seed(seed))
        with self._exclusive:
            self._seed = checked
            for name in ("num_dealt", "terminated", "rewards", "history", "ended_length"):
                getattr(self._buffers, name)[:] = 0
            self.final_scores[:] = np.nan
            self.final_ranks[:] = np.nan
            self._ended[:] = np.zeros((), GAME)
            self._deal(self._all_rows)

    def deal(self, rows: ArrayLike) -> None:
        """Abandon the games on these rows and deal the next ones."""
        with self._exclusive:
            self._deal(self._check_rows(rows))

    def _deal(self, rows: NDArray[np.int64]) -> None:
        deal_rows(self._box, self._seed, self._states, self._buffers, rows)

    # Playing.

    def step(self, actions: ArrayLike, rows: ArrayLike | None = None) -> None:
        """Play one decision in every game, or only on these rows.

        `actions` holds one action for each of the rows, in their order, or one for every game of the batch. An illegal
        action raises a ValueError that names the row and the action; then no game of the batch has moved.
        """
        with self._exclusive:
            chosen = self._all_rows if rows is None else self._check_rows(rows)
            moves = self._check_actions(actions, chosen)
            self.rewards[:] = 0
            if rows is not None:
                self.terminated[:] = False
            if self.num_threads == 1:
                self._step(chosen, moves)
            else:  # plain threads: the compiled step releases the GIL, and rows are independent
                parts = (np.array_split(array, self.num_threads) for array in (chosen, moves))
                self._threads.run(self._step, zip(*parts, strict=True))

    def _step(self, rows: NDArray[np.int64], actions: NDArray[np.int64]) -> None:
        kind = self.options.reward_kind
        arrays = (self._states, self._ended, self._buffers)
        step_rows(self._box, self._seed, *arrays, rows, actions, kind, self._shaping)

    def _check_rows(self, rows: ArrayLike) -> NDArray[np.int64]:
        given = np.asarray(rows)
        if given.dtype == np.bool_ and given.shape == (self.num_games,):
            return np.flatnonzero(given)
        if given.size == 0:
            return np.empty(0, np.int64)
        if given.ndim != 1 or not np.issubdtype(given.dtype, np.integer):
            raise ValueError(f"rows: must be row numbers, or a mask of {self.num_games} booleans")
        chosen = given.astype(np.int64)
        if chosen.min() < 0 or chosen.max() >= self.num_games:
            wrong = chosen[(chosen < 0) | (chosen >= self.num_games)][0]
            raise ValueError(f"rows: {wrong} is not a row; allowed: 0 to {self.num_games - 1}")
        if len(np.unique(chosen)) < len(chosen):
            raise ValueError("rows: a row is named twice; each at most once")
        return chosen

    def _check_actions(self, actions: ArrayLike, rows: NDArray[np.int64]) -> NDArray[np.int64]:
        given = np.asarray(actions)
        if given.shape == (self.num_games,) != rows.shape:
            given = given[rows]  # one for every game: those of the other rows don't matter
        if given.shape != rows.shape:
            raise ValueError(f"actions: shape {given.shape}; needed: one for each row, {rows.shape}")
        if given.size and not np.issubdtype(given.dtype, np.integer):
            raise ValueError(f"actions: of type {given.dtype}; needed: whole numbers")
        moves = self._actions[: len(rows)]
        np.copyto(moves, given, casting="unsafe")
        index = first_illegal(self._buffers.legal, rows, moves)
        if index != NONE:
            raise ValueError(self._explain_illegal(int(rows[index]), int(given[index])))
        return moves

    def _explain_illegal(self, row: int, action: int) -> str:
        mask = self.action_mask[row]
        name = f" ({NAMES[action]!r})" if 0 <= action < len(mask) else ""
        allowed = f"{agent_name(self.player[row])} may choose: {format_actions(np.flatnonzero(mask))}"
        return f"row {row}: action {action}{name} is illegal; {allowed}"

    def sample_actions(
        self, rows: ArrayLike | None = None, *, out: NDArray[np.int64] | None = None
    ) -> NDArray[np.int64]:
        """Draw a legal action uniformly for every game, or on these rows, from each game's own random stream."""
        chosen = self._all_rows if rows is None else self._check_rows(rows)
        actions = np.empty(len(chosen), np.int64) if out is None else out
        if actions.shape != chosen.shape or actions.dtype != np.int64:
            raise ValueError(f"out: {actions.dtype} of shape {actions.shape}; needed: int64 of shape {chosen.shape}")
        with self._exclusive:
            sample_rows(self._buffers.legal, self._buffers.stream, chosen, actions)
        return actions

    # Saving and copying.

    def record(self, row: int) -> Record:
        """Return the record of the game now on a row, as `raw_env().record()` does."""
        index = operator.index(row)
        if not 0 <= index < self.num_games:
            raise ValueError(f"row={row!r}; allowed: 0 to {self.num_games - 1}")
        replay = replay_moves(deal_again(self._states, index), self.moves(index))
        history = [(player, action) for player, action, _ in replay]
        return make_record(self._states, history, int(self.seeds[index]), index)

    def copy(self) -> Self:
        """Return an independent batch in exactly the same state."""
        return copy.deepcopy(self)

    __copy__ = copy  # a batch that shared its arrays with another would be of no use

    def __getstate__(self) -> dict[str, Any]:
        with self._exclusive:
            return vars(self).copy()

    def save(self) -> bytes:
        """Return the whole batch, games in progress included, as bytes that `load` restores exactly."""
        with self._exclusive:
            return pack_arrays({**self._header(), "games": self._hash_games()}, self._saved_arrays())

    def _saved_arrays(self) -> Arrays:
        saved = {name: getattr(self._buffers, name) for name in _SAVED}
        for name in ("", "ended_"):  # the ends of the rows hold moves of earlier games
            is_played = np.arange(MAX_DECISIONS) < saved[f"{name}length"][:, None]
            saved[f"{name}history"] = np.where(is_played, saved[f"{name}history"], 0).astype(np.uint8)
        return {"seed": np.array([self._seed]), **saved}

    def _hash_games(self) -> str:
        return hashlib.sha256(self._states.tobytes() + self._ended.tobytes()).hexdigest()

    def load(self, saved: bytes) -> None:
        """Restore what `save` returned, in place.

        Every game is played again by the rules, so that data that was damaged or forged can't do harm. Raise a
        ValueError, and leave the batch as it is, if the data is no save or was made with other options.
        """
        twin = self.copy()
        header, arrays = unpack_arrays(saved, self._header(), self._saved_arrays())
        try:
            twin._rebuild(arrays)
            if twin._hash_games() != header.get("games"):
                raise ValueError("the games are not those that were saved")
        except ValueError as error:
            raise ValueError(f"not a save, or damaged: {error}") from None
        with self._exclusive:
            self._seed = twin._seed
            for own, restored in zip(self._arrays(), twin._arrays(), strict=True):
                own[:] = restored

    def _arrays(self) -> list[NDArray[Any]]:
        return [self._states, self._ended, *self._buffers]

    def _rebuild(self, saved: Arrays) -> None:
        """Play the games of a save again; raise a ValueError if the rules don't allow them."""
        _check_saved(saved)
        self.reset(int(saved["seed"][0]))
        self._buffers.num_dealt[:] = saved["num_dealt"] - 1
        self._deal(self._all_rows)
        for number in range(int(saved["length"].max())):
            rows = np.flatnonzero(saved["length"] > number)
            self.step(saved["history"][rows, number], rows)
            if self.terminated.any():
                raise ValueError("a game goes on after its end")
        self._rebuild_ended(saved)
        for name in _SAVED:
            getattr(self._buffers, name)[:] = saved[name]

    def _rebuild_ended(self, saved: Arrays) -> None:
        """Play the last game that ended on each row again, and score it."""
        ended = np.flatnonzero(saved["ended_length"])
        for row in ended.tolist():
            deal(self._box, self._ended, row, np.uint64(saved["ended_seeds"][row]))
        for number in range(int(saved["ended_length"].max())):
            rows = np.flatnonzero(saved["ended_length"] > number)
            moves = saved["ended_history"][rows, number].astype(np.int64)
            if play_rows(self._ended, rows, moves, self._buffers.ended_history, self._buffers.ended_length) != NONE:
                raise ValueError("an action of a finished game is illegal")
        if (self._ended["phase"][ended] != OVER).any():
            raise ValueError("a finished game has not ended")
        for row in ended.tolist():
            sheet = score_sheet(self._ended, row).values()
            self.final_scores[row] = [line.total for line in sheet]
            self.final_ranks[row] = [line.rank for line in sheet]

    def _header(self) -> dict[str, Any]:
        """Return what must be equal for a saved batch to fit this one."""
        packed = ("components", "scoring")  # the hash of the box covers them
        return {
            "format": SAVE_FORMAT,
            "num_games": self.num_games,
            **{name: value for name, value in self.options.as_keywords().items() if name not in packed},
            "box": hash_box(self._box),
            "layout": layout_hash(self.options.ledger),
            "state": hashlib.sha256(repr(GAME.descr).encode()).hexdigest()[:16],
        }


def _check_saved(saved: Arrays) -> None:
    """Raise a ValueError unless the numbers of a save are in the ranges that the rest relies on."""
    for name, low, high in (
        ("seed", 0, MAX_SEED),
        ("ended_seeds", 0, MAX_SEED),
        ("num_dealt", 1, MAX_SEED),
        ("length", 0, MAX_DECISIONS),
        ("ended_length", 0, MAX_DECISIONS),
        ("points", -MAX_SEED, MAX_SEED),
        ("rewards", -MAX_SEED, MAX_SEED),
        ("terminated", 0, 1),
    ):
        values = saved[name].view(np.uint8) if saved[name].dtype == np.bool_ else saved[name]
        if not ((values >= low) & (values <= high)).all():
            raise ValueError(f"{name} has a value outside {low} to {high}")


def _check_count(name: str, value: Any) -> int:
    count = whole_number(value)
    if count is None or count < 1:
        raise ValueError(f"{name}={value!r}; allowed: a whole number from 1 up")
    return count
