"""Batches of games: each row plays as it would alone, whatever the other rows do."""

from __future__ import annotations

import copy
import importlib
import pickle
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from symphony9_env import BatchedGames, records
from symphony9_env.engine import MAX_DECISIONS, Buffers
from symphony9_env.envs.aec import RawEnv
from symphony9_env.options import OptionValues
from symphony9_env.rules.chance import MAX_SEED
from tests.properties.strategies import options, seeds

ARRAYS = ("observation", "action_mask", "player", "terminated", "rewards", "final_scores", "final_ranks", "seeds")
ALL_OPTIONS: list[OptionValues] = [
    {"num_players": 2, "tracks": "random", "shaping": True, "reward": "margin"},
    {"num_players": 2, "discussion": True, "ledger": True, "scoring": "A"},
    {"num_players": 3, "scoring": "B", "reward": "score"},
    {"num_players": 3, "tracks": "random", "discussion": True, "shaping": True},
    {"num_players": 4, "shaping": True, "reward": "score", "ledger": True},
    {"num_players": 4, "tracks": "random", "discussion": True},
]


def snapshot(games: BatchedGames, rows: Any = slice(None)) -> list[bytes]:
    """Return the contents of all arrays of a batch, for some rows."""
    return [getattr(games, name)[rows].tobytes() for name in ARRAYS]


# Independence.


@pytest.mark.parametrize("chosen", ALL_OPTIONS, ids=str)
def test_a_row_plays_the_game_that_the_environment_deals_with_its_seed(chosen: OptionValues) -> None:
    """Observations, masks, seats, rewards, scores and ranks, over several games in a row."""
    games = BatchedGames(3, seed=5, **chosen)
    envs = [RawEnv(**chosen) for _ in range(3)]
    for env, seed in zip(envs, games.seeds, strict=True):
        env.reset(seed=seed)
    ended = 0
    for _ in range(400):
        for row, env in enumerate(envs):
            seen = env.observe(env.agent_selection)
            assert np.array_equal(games.observation[row], seen["observation"])
            assert np.array_equal(games.action_mask[row], seen["action_mask"])
            assert games.player[row] == env.deciding_seat
        actions = games.sample_actions()
        games.step(actions)
        for row, (env, action) in enumerate(zip(envs, actions, strict=True)):
            env.step(action)
            over = all(env.terminations.values())
            assert games.terminated[row] == over
            assert games.rewards[row].tolist() == [env.rewards[agent] for agent in env.possible_agents]
            if over:
                ended += 1
                infos = [env.infos[agent] for agent in env.possible_agents]
                assert games.final_scores[row].tolist() == [info["score"] for info in infos]
                assert games.final_ranks[row].tolist() == [info["rank"] for info in infos]
                env.reset(seed=games.seeds[row])
    assert ended >= 6


@settings(max_examples=25, deadline=None)
@given(options(), seeds, st.integers(2, 9), st.integers(1, 260))
def test_a_row_does_not_depend_on_the_batch_around_it(chosen: OptionValues, seed: int, size: int, steps: int) -> None:
    small, large = BatchedGames(size, seed=seed, **chosen), BatchedGames(3 * size, seed=seed, **chosen)
    threaded = BatchedGames(size, seed=seed, num_threads=3, **chosen)
    for _ in range(steps):
        for games in (small, large, threaded):
            games.step(games.sample_actions())
    assert snapshot(small) == snapshot(large, slice(0, size)) == snapshot(threaded)


def test_seeds_differ_between_rows_games_and_batches() -> None:
    seen = set()
    for seed in range(4):
        games = BatchedGames(50, seed=seed, num_players=2)
        for _ in range(250):
            seen |= set(games.seeds.tolist())
            games.step(games.sample_actions())
    assert len(seen) > 4 * 50 * 2
    assert all(0 <= seed <= MAX_SEED for seed in seen)


def test_reset_starts_again_and_without_a_seed_takes_one_from_the_system() -> None:
    games = BatchedGames(4, seed=1)
    first = snapshot(games)
    for _ in range(200):
        games.step(games.sample_actions())
    assert not np.isnan(games.final_scores).any()
    games.reset(1)
    assert snapshot(games) == first
    assert np.isnan(games.final_scores).all()
    assert np.isnan(games.final_ranks).all()
    games.reset()
    assert games.seed != 1
    assert BatchedGames(1).seed != BatchedGames(1).seed


# Buffers.


def test_the_arrays_stay_the_same_objects_and_have_the_promised_shapes() -> None:
    games = BatchedGames(5, num_players=3, seed=0)
    before = {name: id(getattr(games, name)) for name in ARRAYS}
    for _ in range(150):
        games.step(games.sample_actions())
    games.reset(3)
    games.load(games.save())
    assert {name: id(getattr(games, name)) for name in ARRAYS} == before
    assert games.observation.dtype == np.float32
    assert games.action_mask.dtype == np.int8
    assert games.observation.shape == (5, 390)
    assert games.rewards.shape == games.final_scores.shape == games.final_ranks.shape == (5, 3)
    assert games.player.shape == games.terminated.shape == games.seeds.shape == (5,)


def test_writing_into_the_observation_does_no_harm() -> None:
    games, untouched = BatchedGames(3, seed=0, ledger=True), BatchedGames(3, seed=0, ledger=True)
    for _ in range(300):
        games.observation[:] = 99
        for batch in (games, untouched):
            batch.step(batch.sample_actions())
        assert snapshot(games) == snapshot(untouched)


def test_a_step_allocates_nothing_after_the_first() -> None:
    """Neither in compiled code nor in Python, games that end and are followed by the next included.

    Numba itself wraps each array that is passed to compiled code: the same small number in every call.
    """
    runtime: Any = importlib.import_module("numba.core.runtime")
    games = BatchedGames(64, num_players=4, seed=0, shaping=True)
    actions = games.sample_actions()
    games.step(actions)
    runtime._nrt_python.memsys_enable_stats()
    before = runtime.rtsys.get_allocation_stats().alloc
    tracemalloc.start()
    ended = 0
    for _ in range(300):
        games.sample_actions(out=actions)
        games.step(actions)
        ended += int(games.terminated.sum())
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    per_step, rest = divmod(runtime.rtsys.get_allocation_stats().alloc - before, 300)
    assert (per_step, rest) == (len(Buffers._fields) + 12, 0)
    assert peak < 8_000  # a few small objects, no array of the batch's size (the smallest has 25,600 bytes)
    assert ended > 64


def test_no_game_is_longer_than_its_history() -> None:
    """The bound is arithmetic; here is the longest that random play finds, discussion and all."""
    games = BatchedGames(256, seed=3, discussion=True)
    longest = 0
    for _ in range(400):
        games.step(games.sample_actions())
        longest = max(longest, *(len(games.moves(row)) for row in range(games.num_games)))
    assert 150 < longest <= MAX_DECISIONS


# Sampling.


def test_sampling_is_uniform_over_the_legal_actions() -> None:
    games = BatchedGames(1, seed=0)
    legal = np.flatnonzero(games.action_mask[0])
    counts = np.bincount([games.sample_actions()[0] for _ in range(9000)], minlength=40)
    assert set(np.flatnonzero(counts)) == set(legal)
    assert counts[legal].min() > 850  # 1000 expected, sd 30
    assert counts[legal].max() < 1150


def test_samples_are_fresh_arrays_and_each_row_has_its_own_chance() -> None:
    games = BatchedGames(200, seed=0)
    first, second = games.sample_actions(), games.sample_actions()
    assert first is not second
    assert (first != second).any()
    assert len(set(first.tolist())) > 5


# Rows.


def test_rows_can_be_stepped_selectively() -> None:
    games = BatchedGames(6, seed=2, num_players=2, shaping=True)
    alone = BatchedGames(6, seed=2, num_players=2, shaping=True)
    rng = np.random.default_rng(0)
    for _ in range(300):
        actions = games.sample_actions()
        rows = rng.permutation(6)[: rng.integers(0, 7)]
        others = np.setdiff1d(np.arange(6), rows)
        before = snapshot(games, others)
        games.step(actions[rows], rows=rows)
        assert not games.terminated[others].any()
        assert not games.rewards[others].any()
        untouched = [part for name, part in zip(ARRAYS, snapshot(games, others), strict=True) if name not in CLEARED]
        assert untouched == [part for name, part in zip(ARRAYS, before, strict=True) if name not in CLEARED]
    for _ in range(20):
        alone.step(alone.sample_actions())
    mask = np.zeros(6, bool)
    mask[[1, 4]] = True
    actions = alone.sample_actions()
    twin = alone.copy()
    alone.step(actions[mask], rows=mask)
    third = twin.copy()
    twin.step(actions[[4, 1]], rows=[4, 1])
    third.step(actions, rows=[4, 1])  # one for every game
    assert snapshot(alone) == snapshot(twin) == snapshot(third)


CLEARED = ("terminated", "rewards")


# Refusals.


@pytest.mark.parametrize(
    ("actions", "rows", "message"),
    [
        ([0, 0, 18], None, r"row 2: action 18 \('pass'\) is illegal; player_\d may choose: 0 take handel"),
        ([0, 0, -1], None, "row 2: action -1 is illegal"),
        ([40, 0, 0], None, "row 0: action 40 is illegal"),
        ([2**40, 0, 0], None, f"row 0: action {2**40} is illegal"),
        ([0, 0], None, "actions: shape"),
        (0, None, "actions: shape"),
        ([0.0, 0.0, 0.0], None, "actions: of type float64"),
        ([True, True, True], None, "actions: of type bool"),
        (["pass"] * 3, None, "actions: of type"),
        ([0, 18], [0, 2], r"row 2: action 18 \('pass'\) is illegal"),
        ([0, 0, 18], [0, 2], r"row 2: action 18 \('pass'\) is illegal"),
        ([0, 0, 0, 0], [0, 2], "actions: shape"),
        ([0], [3], "rows: 3 is not a row; allowed: 0 to 2"),
        ([0], [-1], "rows: -1 is not a row"),
        ([0, 0], [1, 1], "rows: a row is named twice"),
        ([0], [0.5], "rows: must be row numbers"),
        ([0], [[0]], "rows: must be row numbers"),
    ],
    ids=str,
)
def test_what_is_illegal_is_refused_before_any_game_moves(actions: Any, rows: Any, message: str) -> None:
    games = BatchedGames(3, seed=0)
    before = games.save()
    with pytest.raises(ValueError, match=message):
        games.step(actions, rows=rows)
    assert games.save() == before
    games.step(games.sample_actions())


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"num_games": 0}, "num_games=0; allowed: a whole number from 1 up"),
        ({"num_games": 2.5}, "num_games=2.5"),
        ({"num_games": 1, "num_threads": 0}, "num_threads=0"),
        ({"num_games": 1, "seed": -1}, "seed=-1"),
        ({"num_games": 2, "num_players": [2, 3]}, r"num_players=\[2, 3\]; allowed: 2, 3, 4"),
        ({"num_games": 2, "tracks": ["random", "historical"]}, "tracks="),
        ({"num_games": 1, "reward": "x"}, "reward='x'"),
    ],
    ids=str,
)
def test_wrong_arguments_are_refused(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        BatchedGames(**arguments)


def test_there_is_no_render_mode() -> None:
    with pytest.raises(
        TypeError,
        match=r"argument 'render_mode': unknown option; allowed: num_players, .*, num_threads$",
    ):
        BatchedGames(1, render_mode="ansi")  # type: ignore[call-arg]


# Copies, saves, records.


@pytest.mark.parametrize("how", ["copy", "deepcopy", "pickle", "save"])
@pytest.mark.parametrize("num_threads", [1, 2])
def test_a_copy_is_exact_and_independent(how: str, num_threads: int) -> None:
    games = BatchedGames(7, seed=9, num_players=3, shaping=True, num_threads=num_threads)
    for _ in range(130):
        games.step(games.sample_actions())
    if how == "save":
        twin = BatchedGames(7, seed=1, num_players=3, shaping=True)
        twin.load(games.save())
    else:
        makers: dict[str, Callable[[], BatchedGames]] = {
            "copy": games.copy,
            "deepcopy": lambda: copy.deepcopy(games),
            "pickle": lambda: pickle.loads(pickle.dumps(games)),
        }
        twin = makers[how]()
    still = snapshot(twin)
    for _ in range(250):
        games.step(games.sample_actions())
    assert snapshot(twin) == still
    for _ in range(250):
        twin.step(twin.sample_actions())
    assert snapshot(twin) == snapshot(games)
    assert twin.record(3) == games.record(3)
    twin.reset(4)
    games.reset(4)
    assert snapshot(twin) == snapshot(games)


@pytest.mark.parametrize(
    ("other", "message"),
    [
        ({"num_players": 4}, "saved with num_players='3'; needed: '4'"),
        ({"num_players": 3, "ledger": True}, "saved with ledger='False'; needed: 'True'"),
        ({"num_players": 3, "scoring": "A"}, "saved with box="),
        ({"num_players": 3, "reward": "score"}, "saved with reward='win'; needed: 'score'"),
        ({"num_players": 3, "num_games": 5}, "saved with num_games='4'; needed: '5'"),
    ],
    ids=str,
)
def test_loading_refuses_other_options(other: dict[str, Any], message: str) -> None:
    saved = BatchedGames(4, num_players=3, seed=0).save()
    games = BatchedGames(**{"num_games": 4, "seed": 5, **other})
    before = games.save()
    with pytest.raises(ValueError, match=message):
        games.load(saved)
    assert games.save() == before


def test_loading_refuses_other_components(tmp_path: Path) -> None:
    own = tmp_path / "own.toml"
    own.write_text("[bach]\nA = [[1, 5, 0]]\n")
    games = BatchedGames(2, seed=0)
    with pytest.raises(ValueError, match="saved with box="):
        games.load(BatchedGames(2, seed=0, components=own).save())


def test_loading_refuses_what_is_damaged() -> None:
    games = BatchedGames(2, seed=0)
    saved = games.save()
    for damaged in (b"", b"hello", saved[:100], saved[: len(saved) // 2], saved[:-30]):
        with pytest.raises(ValueError, match="not a save, or damaged"):
            games.load(damaged)
    assert games.save() == saved


def test_a_row_s_record_replays() -> None:
    games = BatchedGames(3, seed=8, num_players=2, tracks="random", discussion=True)
    for _ in range(170):
        games.step(games.sample_actions())
    for row in range(3):
        record = games.record(row)
        assert record["seed"] == games.seeds[row]
        *_, env = records.replay(record)
        assert np.array_equal(env.observe(env.agent_selection)["observation"], games.observation[row])
        assert env.record() == record
    with pytest.raises(ValueError, match="row=3; allowed: 0 to 2"):
        games.record(3)
