"""The vector environment by its standard entry point: when games begin and end, and what illegal actions do."""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.vector import AutoresetMode
from gymnasium.wrappers import TimeAwareObservation

from symphony9_env.envs.single import SingleSeatEnv
from symphony9_env.envs.vector import Symphony9VectorEnv

ID = "symphony9_env:Symphony9-v0"
Actions = np.ndarray[Any, np.dtype[np.int64]]


def first_legal(env: Symphony9VectorEnv) -> Actions:
    actions: Actions = env.action_masks().argmax(axis=1)
    return actions


def play_rows(env: Symphony9VectorEnv, steps: int) -> list[list[tuple[Any, ...]]]:
    """Return what every row goes through: (observation, reward, terminated, truncated) of each step."""
    observations, _ = env.reset(seed=5)
    rows: list[list[tuple[Any, ...]]] = [[(one.tobytes(), 0.0, False, False)] for one in observations]
    for _ in range(steps):
        observations, rewards, terminated, truncated, infos = env.step(first_legal(env))
        for row, one in enumerate(observations):
            if "final_obs" in infos and infos["_final_obs"][row]:  # the step before the next game
                rows[row].append((infos["final_obs"][row].tobytes(), rewards[row], terminated[row], truncated[row]))
                rows[row].append((one.tobytes(), 0.0, False, False))
            else:
                rows[row].append((one.tobytes(), rewards[row], terminated[row], truncated[row]))
    return rows


def test_make_vec_makes_the_batched_environment() -> None:
    env: Any = gymnasium.make_vec(ID, num_envs=6, num_players=3, opponents="greedy", autoreset_mode="NEXT_STEP")
    assert type(env) is Symphony9VectorEnv
    assert env.metadata["autoreset_mode"] is AutoresetMode.NEXT_STEP
    assert vars(env.spec)["max_episode_steps"] == 208
    env.reset(seed=3)
    assert env.np_random_seed == 3
    sync: Any = gymnasium.make_vec(ID, num_envs=2, vectorization_mode="sync", num_players=2)
    assert sync.reset(seed=0)[0].shape == (2, 390)


@pytest.mark.parametrize("limit", [None, 7])
def test_the_modes_show_the_same_games(limit: int | None) -> None:
    made = {mode: Symphony9VectorEnv(4, num_players=2, autoreset_mode=mode, max_episode_steps=limit) for mode in
            (AutoresetMode.SAME_STEP, AutoresetMode.NEXT_STEP)}  # fmt: skip
    same, following = (play_rows(env, 160) for env in made.values())
    for one, other in zip(same, following, strict=True):
        assert sum(step[2] or step[3] for step in other) >= 2
        assert one[: len(other)] == other
    if limit is not None:
        assert {step[2] for row in same for step in row} == {False}
        assert any(step[3] for row in same for step in row)


def test_without_autoreset_games_wait_for_a_reset_of_their_rows() -> None:
    env = Symphony9VectorEnv(3, num_players=2, autoreset_mode="DISABLED")
    env.reset(seed=1)
    terminated = np.zeros(3, bool)
    while not terminated.any():
        observations, _, terminated, _, infos = env.step(first_legal(env))
    assert infos["rank"][terminated].min() >= 1
    assert np.array_equal(infos["_rank"], terminated)
    with pytest.raises(
        ValueError, match=r'the game on row \d has ended; call reset\(options=\{"reset_mask": flags\}\)'
    ):
        env.step(first_legal(env))
    fresh, _ = env.reset(options={"reset_mask": terminated})
    assert np.array_equal(fresh[~terminated], observations[~terminated])
    assert not np.array_equal(fresh[terminated], observations[terminated])
    env.step(first_legal(env))
    seeds = env.batch.seeds.copy()
    env.reset(options={"reset_mask": np.array([False, True, False])})  # a game that is not over
    assert (env.batch.seeds != seeds).tolist() == [False, True, False]
    with pytest.raises(ValueError, match="needed: 3 flags"):
        env.reset(options={"reset_mask": [True]})
    with pytest.raises(ValueError, match="a seed deals all games"):
        env.reset(seed=1, options={"reset_mask": terminated})
    env.step(first_legal(env))


@pytest.mark.parametrize("mode", list(AutoresetMode))
@pytest.mark.parametrize("limit", [None, 5])
def test_the_end_of_a_game_tells_the_seat_in_which_the_learner_played_it(
    mode: AutoresetMode, limit: int | None
) -> None:
    env = Symphony9VectorEnv(6, autoreset_mode=mode, max_episode_steps=limit)
    env.reset(seed=1)
    moved = 0
    for _ in range(60):
        seats = env.seats
        _, _, terminated, truncated, infos = env.step(first_legal(env))
        ended = terminated | truncated
        told = infos.get("final_info", infos)
        if ended.any():
            assert told["_seat"][ended].all()
            assert np.array_equal(told["seat"][ended], seats[ended])
        assert np.array_equal(infos["seat"][~ended], env.seats[~ended])
        moved += int((env.seats != seats).sum())
        if mode is AutoresetMode.DISABLED and ended.any():
            _, infos = env.reset(options={"reset_mask": ended})
            assert np.array_equal(infos["seat"], env.seats)
    assert moved


@pytest.mark.parametrize("mode", list(AutoresetMode))
def test_a_save_in_any_mode_continues_exactly(mode: AutoresetMode) -> None:
    def make() -> Symphony9VectorEnv:
        return Symphony9VectorEnv(3, num_players=2, autoreset_mode=mode, max_episode_steps=5)

    env, loaded = make(), make()
    env.reset(seed=2)
    truncated = np.zeros(3, bool)
    while not truncated.any():
        _, _, _, truncated, _ = env.step(first_legal(env))
    loaded.load(env.save())
    for _ in range(8):
        if mode is AutoresetMode.DISABLED:
            for each in (env, loaded):
                each.reset(options={"reset_mask": truncated})
        results = [each.step(first_legal(each)) for each in (env, loaded)]
        assert np.array_equal(results[0][0], results[1][0])
        assert np.array_equal(results[0][3], results[1][3])
        truncated = results[0][3]
    for at, value in ((3, -1), (3, 9), (6, 2)):  # steps, flags
        forged = bytearray(env.save())
        forged[8 * at : 8 * at + 8] = value.to_bytes(8, "little", signed=True)
        with pytest.raises(ValueError, match="impossible numbers of steps"):
            loaded.load(bytes(forged))


def test_illegal_actions_may_be_replaced_by_random_legal_ones() -> None:
    records = []
    for _ in range(2):
        env = Symphony9VectorEnv(4, num_players=2, illegal="random")
        env.reset(seed=4)
        for _ in range(20):
            actions = first_legal(env)
            actions[1:] = [39, -5, 1000]
            _, rewards, terminated, _, _ = env.step(actions)
            assert not rewards.any()
            assert not terminated.any()
        records.append([env.batch.record(row) for row in range(4)])
    assert records[0] == records[1]


@pytest.mark.parametrize("illegal", ["end", "random"])
def test_illegal_actions_of_one_learner(illegal: str) -> None:
    lengths, games = [], []
    for _ in range(2):
        env = SingleSeatEnv(num_players=2, illegal=illegal)
        env.reset(seed=4)
        steps, ended = 0, False
        while not ended:
            _, reward, ended, _, info = env.step(39)
            steps += 1
        lengths.append(steps)
        games.append(env.record())
        assert ("rank" in info) == (illegal == "random")
        assert illegal == "random" or reward == -1
    assert games[0] == games[1]
    assert (lengths[0] == 1) == (illegal == "end")


@pytest.mark.parametrize("make", [SingleSeatEnv, lambda **options: Symphony9VectorEnv(2, **options)])
def test_unknown_ways_to_treat_illegal_actions_are_refused(make: Any) -> None:
    with pytest.raises(ValueError, match="illegal='ignore'; allowed: 'end', 'random'"):
        make(illegal="ignore")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"autoreset_mode": "later"}, "autoreset_mode='later'; allowed: NEXT_STEP, SAME_STEP, DISABLED"),
        ({"max_episode_steps": 0}, "max_episode_steps=0; allowed: a whole number from 1 on, or None"),
    ],
)
def test_wrong_options_are_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Symphony9VectorEnv(2, **options)


def test_wrappers_that_need_a_time_limit_work() -> None:
    env: Any = TimeAwareObservation(gymnasium.make(ID, num_players=2))
    observation, info = env.reset(seed=0)
    ended = False
    steps = 0
    while not ended:
        observation, _, ended, truncated, info = env.step(int(info["action_mask"].argmax()))
        steps += 1
        assert not truncated
    assert observation[-1] == steps
