"""The Gymnasium vector environment: one learner seat in each of many games."""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.vector.utils import batch_space
from gymnasium.wrappers.vector import DictInfoToList, RecordEpisodeStatistics

from symphony9_env.actions import number
from symphony9_env.agents import AgentFailed
from symphony9_env.agents.base import Positions, Rows
from symphony9_env.envs.aec import RawEnv
from symphony9_env.envs.opponents import Opponents
from symphony9_env.envs.vector import Symphony9VectorEnv
from symphony9_env.views.vector import observe


def legal(env: Symphony9VectorEnv, rng: np.random.Generator) -> np.ndarray[Any, np.dtype[np.int64]]:
    return np.array([rng.choice(np.flatnonzero(mask)) for mask in env.action_masks()])


def play_moves(env: Symphony9VectorEnv, count: int) -> None:
    rng = np.random.default_rng(0)
    for _ in range(count):
        env.step(legal(env, rng))


@pytest.mark.parametrize(
    "options", [{"num_players": 2}, {"num_players": 3, "discussion": True}, {"ledger": True}], ids=str
)
def test_spaces_contain_what_comes(options: dict[str, Any]) -> None:
    env = Symphony9VectorEnv(5, **options)
    assert env.observation_space == batch_space(env.single_observation_space, 5)
    rng = np.random.default_rng(0)
    observations, infos = env.reset(seed=3)
    for _ in range(150):
        assert env.observation_space.contains(observations)
        assert np.array_equal(infos["action_mask"], env.action_masks())
        actions = legal(env, rng)
        assert env.action_space.contains(actions)
        observations, rewards, terminated, truncated, infos = env.step(actions)
        assert rewards.shape == terminated.shape == (5,)
        assert terminated.dtype == np.bool_
        assert not truncated.any()
        for row in np.flatnonzero(terminated):
            assert env.single_observation_space.contains(infos["final_obs"][row])
            assert infos["final_info"]["_rank"][row]


@pytest.mark.parametrize("seat", [0, 2, "random"])
def test_it_is_the_game_of_the_environment_as_the_learner_s_seat_lives_it(seat: int | str) -> None:
    """Every learner decision, observation and reward, checked against a replay of each row's record."""
    env = Symphony9VectorEnv(4, num_players=3, seat=seat, shaping=True, reward="margin")
    env.reset(seed=1)
    rng = np.random.default_rng(1)
    for _ in range(60):
        seats = env.seats
        before = [env.batch.record(row) for row in range(4)]
        actions = legal(env, rng)
        observations, rewards, terminated, _, _ = env.step(actions)
        for row in range(4):
            if terminated[row]:
                continue
            twin = RawEnv(num_players=3, shaping=True, reward="margin")
            twin.reset(seed=int(env.batch.seeds[row]))
            collected = 0.0
            record = env.batch.record(row)
            assert record["actions"][len(before[row]["actions"])][0] == f"player_{seats[row]}"
            for step, (_, name) in enumerate(record["actions"]):
                twin.step(number(name))
                if step >= len(before[row]["actions"]):
                    collected += twin.rewards[f"player_{seats[row]}"]
            assert twin.deciding_seat == seats[row]
            assert np.array_equal(twin.observe(twin.agent_selection)["observation"], observations[row])
            assert rewards[row] == pytest.approx(collected)
    if seat == "random":
        assert len(set(env.seats.tolist())) > 1


def test_final_rewards_and_infos_are_the_learner_s() -> None:
    env = Symphony9VectorEnv(6, num_players=2, seat=1)
    env.reset(seed=0)
    rng = np.random.default_rng(0)
    ended = 0
    for _ in range(200):
        _, rewards, terminated, _, infos = env.step(legal(env, rng))
        for row in range(6):
            if terminated[row]:
                ended += 1
                rank = infos["final_info"]["rank"][row]
                assert rank == env.batch.final_ranks[row, 1]
                assert rewards[row] == {1: 1.0, 2: -1.0}[rank] or rewards[row] == 0
                last = np.zeros(390, np.float32)
                observe(env.batch.final_states, row, 1, last)
                assert np.array_equal(last, infos["final_obs"][row])
            else:
                assert rewards[row] == 0
    assert ended > 12


def test_a_row_does_not_depend_on_the_others() -> None:
    small, large = Symphony9VectorEnv(2, num_players=4), Symphony9VectorEnv(7, num_players=4)
    small.reset(seed=5)
    large.reset(seed=5)
    for _ in range(120):
        actions = np.array([np.flatnonzero(mask)[0] for mask in large.action_masks()])
        one, other = small.step(actions[:2]), large.step(actions)
        assert np.array_equal(one[0], other[0][:2])
        assert np.array_equal(one[1], other[1][:2])
        assert np.array_equal(one[2], other[2][:2])


def test_an_illegal_action_ends_the_game_at_minus_one() -> None:
    env = Symphony9VectorEnv(3, seat=0)
    env.reset(seed=0)
    seeds = env.batch.seeds.copy()
    actions = np.array([np.flatnonzero(mask)[0] for mask in env.action_masks()])
    actions[1] = 39  # nobody closes a hand at the first decision
    _, rewards, terminated, _, infos = env.step(actions)
    assert rewards.tolist() == [0.0, -1.0, 0.0]
    assert terminated.tolist() == [False, True, False]
    assert (env.batch.seeds == seeds).tolist() == [True, False, True]
    assert infos["_final_obs"].tolist() == [False, True, False]
    assert "score" not in infos["final_info"]
    actions = np.array([1000, -1, 40])
    assert env.step(actions)[1].tolist() == [-1.0] * 3


def test_seeds_repeat_games_and_go_on_from_each_other() -> None:
    env, other = Symphony9VectorEnv(3), Symphony9VectorEnv(3)
    first, _ = env.reset(seed=7)
    second, _ = env.reset()
    assert not np.array_equal(first, second)
    again, _ = other.reset(seed=7)
    assert np.array_equal(first, again)
    assert np.array_equal(other.reset()[0], second)


def test_numpy_seeds_are_seeds_and_wrong_ones_are_refused() -> None:
    env = Symphony9VectorEnv(3)
    plain, _ = env.reset(seed=5)
    again, _ = env.reset(seed=np.int64(5))  # type: ignore[arg-type]
    assert np.array_equal(plain, again)
    assert env.np_random_seed == 5
    for seed in (-1, 2**53, 1.5, [1, 2, 3]):
        with pytest.raises(ValueError, match="seed="):
            env.reset(seed=seed)  # type: ignore[arg-type]


def test_arrays_are_the_caller_s_to_keep() -> None:
    env = Symphony9VectorEnv(3)
    observations, infos = env.reset(seed=0)
    kept = (observations.copy(), infos["action_mask"].copy())
    env.step(legal(env, np.random.default_rng(0)))
    assert np.array_equal(observations, kept[0])
    assert np.array_equal(infos["action_mask"], kept[1])


@pytest.mark.skipif(
    gymnasium.__version__.startswith("1.1."), reason="its DictInfoToList can't read its RecordEpisodeStatistics"
)
def test_gymnasium_s_vector_wrappers_work() -> None:
    env: Any = DictInfoToList(RecordEpisodeStatistics(Symphony9VectorEnv(4, num_players=2)))
    env.reset(seed=0)
    rng = np.random.default_rng(0)
    lengths = []
    for _ in range(120):
        *_, infos = env.step(legal(env.unwrapped, rng))
        lengths += [info["episode"]["l"] for info in infos if "episode" in info]
    assert len(lengths) >= 4
    assert 20 < np.mean(lengths) < 80


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"seat": 4}, "seat=4; allowed: 0 to 3, or 'random'"),
        ({"seat": "first"}, "seat='first'"),
        ({"seat": True}, "seat=True"),
        ({"opponents": "champion"}, "unknown agent 'champion'; allowed: random, greedy"),
        ({"opponents": ["random"]}, "1 of them; needed: one for all, or a list of 3"),
        ({"num_players": 5}, "num_players=5"),
        ({"num_threads": 0}, "num_threads=0"),
    ],
    ids=str,
)
def test_wrong_arguments_are_refused(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Symphony9VectorEnv(2, **arguments)


def test_a_step_needs_a_reset() -> None:
    env = Symphony9VectorEnv(3)
    actions = legal(env, np.random.default_rng(0))
    with pytest.raises(ValueError, match=r"call reset\(\) first"):
        env.step(actions)
    env.reset(seed=0)
    saved = env.save()
    play_moves(env, 1)
    loaded = Symphony9VectorEnv(3)
    loaded.load(saved)
    play_moves(loaded, 1)
    assert loaded.save() == env.save()


def test_after_an_opponent_failed_a_reset_is_needed() -> None:
    class Failing(Opponents):
        has_to_fail = False

        def decide(self, positions: Positions, rows: Rows, seats: Rows) -> Rows:
            if self.has_to_fail and len(rows):
                raise AgentFailed("clumsy", "gave no legal action", int(rows[0]))
            return super().decide(positions, rows, seats)

    opponents = Failing("random", 2)
    env = Symphony9VectorEnv(3, num_players=2, opponents=opponents)
    env.reset(seed=0)
    opponents.has_to_fail = True
    with pytest.raises(AgentFailed):
        play_moves(env, 10)
    opponents.has_to_fail = False
    with pytest.raises(ValueError, match=r"call reset\(\) first"):
        play_moves(env, 1)
    env.reset(seed=0)
    play_moves(env, 10)


@pytest.mark.parametrize("actions", [[0], [0.0, 0.0], [[0, 0]], 3], ids=str)
def test_actions_of_the_wrong_shape_or_type_are_refused(actions: Any) -> None:
    env = Symphony9VectorEnv(2)
    env.reset(seed=0)
    with pytest.raises(ValueError, match=r"needed: 2 whole numbers"):
        env.step(actions)
