"""One seat as a Gymnasium environment: its own rules, and other people's checkers."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

from symphony9_env import agents, symphony9_v0
from symphony9_env.agents import AgentFailed, Card, ExternalAgent, save_policy
from symphony9_env.agents.base import Positions, Rows
from symphony9_env.agents.transports import FunctionTransport
from symphony9_env.envs.single import SingleSeatEnv
from symphony9_env.records import replay
from tests.agents.test_protocol import random_weights

ID = "symphony9_env:Symphony9-v0"


def finish(env: Any, name: str = "planner") -> tuple[float, dict[str, Any]]:
    """Play the learner's seat to the end; the sum of rewards and the last info."""
    agent = agents.make(name, seed=4)
    total, terminated, info = 0.0, False, {}
    while not terminated:
        _, reward, terminated, truncated, info = env.step(agent.choose(env))
        assert not truncated
        total += reward
    return total, info


@pytest.mark.parametrize("num_players", [2, 3, 4])
def test_gymnasiums_checker_passes(num_players: int, no_display: None) -> None:
    env = gymnasium.make(ID, num_players=num_players, opponents="greedy").unwrapped
    check_env(env)  # all render modes too


def test_sb3s_checker_passes() -> None:
    checker = pytest.importorskip("stable_baselines3.common.env_checker")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        checker.check_env(SingleSeatEnv(num_players=3), warn=True)


def test_it_is_made_by_its_name() -> None:
    env = gymnasium.make(ID, num_players=3, opponents=["planner", "random"], seat=2)
    observation, info = env.reset(seed=5)
    assert env.observation_space.contains(observation)
    assert isinstance(env.observation_space, gymnasium.spaces.Box)
    assert isinstance(env.action_space, gymnasium.spaces.Discrete)
    assert info["seat"] == 2
    assert np.array_equal(info["action_mask"], env.unwrapped.action_masks())  # type: ignore[attr-defined]


@pytest.mark.parametrize("options", [{}, {"reward": "margin", "shaping": True}, {"reward": "score", "shaping": True}])
def test_rewards_between_own_turns_are_added_up(options: dict[str, Any]) -> None:
    """The learner's rewards are those that the AEC environment gives its seat over the same game."""
    env = SingleSeatEnv(num_players=3, opponents="greedy", seat=1, **options)
    env.reset(seed=3)
    total, info = finish(env)
    expected = 0.0
    for step, raw in enumerate(replay(env.record(), **options)):
        expected += raw.rewards["player_1"] if step else 0.0
    assert total == pytest.approx(expected)
    assert info["score"] == env.record()["result"]["scores"][1]
    assert info["rank"] >= 1
    assert sum(info["breakdown"].values()) == pytest.approx(info["score"])
    assert not info["action_mask"].any()


def test_the_learner_is_asked_at_all_its_decisions_and_no_others() -> None:
    env = SingleSeatEnv(num_players=4, opponents="planner", seat=3)
    env.reset(seed=11)
    own = 0
    terminated = False
    agent = agents.make("greedy", seed=1)
    while not terminated:
        assert env.states["player"][0] == 3
        _, _, terminated, _, _ = env.step(agent.choose(env))
        own += 1
    assert own == sum(player == "player_3" for player, _ in env.record()["actions"])


def test_a_seed_deals_what_the_aec_environment_deals() -> None:
    env = SingleSeatEnv(num_players=2)
    env.reset(seed=77)
    raw = symphony9_v0.raw_env(num_players=2)
    raw.reset(seed=77)
    assert env.record()["setup"] == raw.record()["setup"]


def test_the_same_seed_plays_the_same_and_every_seat_comes_up() -> None:
    games = []
    for _ in range(2):
        env = SingleSeatEnv(num_players=4, opponents="random")
        seats = []
        for seed in range(30):
            env.reset(seed=seed)
            seats.append(env.seat)
        finish(env)
        games.append((seats, env.record()))
    assert games[0] == games[1]
    assert set(games[0][0]) == {0, 1, 2, 3}


def test_opponents_sit_clockwise_from_the_learner() -> None:
    """A policy that always sells first sits where it was put."""
    env = SingleSeatEnv(num_players=4, opponents=["planner", "greedy", "investor"], seat=2)
    names = [agent.name for agent in env._opponents.agents]
    assert names == ["planner", "greedy", "investor"]
    env.reset(seed=6)
    finish(env)
    players = {0: "greedy", 1: "investor", 3: "planner"}  # 3 is next to 2, then 0, then 1
    chosen = {seat: agents.make(name, seed=0) for seat, name in players.items()}
    moves = env.record()["actions"]
    for raw, (player, move) in zip(replay(env.record()), moves, strict=False):
        seat = int(player[-1])
        if seat in chosen:
            from symphony9_env.actions import NAMES

            assert NAMES[chosen[seat].choose(raw)] == move


@pytest.mark.parametrize("action", [39, 40, -1, 1000, 2.5, None, "pass"])
def test_an_illegal_action_ends_the_episode(action: Any) -> None:
    env = SingleSeatEnv(num_players=4, reward="score")
    env.reset(seed=1)
    observation, reward, terminated, truncated, info = env.step(action)
    assert (reward, terminated, truncated) == (-1.0, True, False)
    assert env.observation_space.contains(observation)
    assert "score" not in info
    with pytest.raises(ValueError, match="call reset"):
        env.step(0)
    env.reset()
    assert env.action_masks().any()


class FailsOnce(ExternalAgent):
    """Raises `AgentFailed` at its first decision after `has_to_fail` is set."""

    has_to_fail = False

    def decide(self, positions: Positions, rows: Rows) -> Rows:
        if self.has_to_fail:
            self.has_to_fail = False
            raise AgentFailed(self.name, "gave no legal action", int(rows[0]))
        return super().decide(positions, rows)


def test_after_an_opponent_failed_a_reset_is_needed() -> None:
    """The learner, who is not to decide, is not punished for an illegal action."""
    opponent = FailsOnce(FunctionTransport(lambda message: min(message["legal"], key=int)), "clumsy")
    env = SingleSeatEnv(num_players=2, opponents=opponent, seat=0)
    env.reset(seed=1)
    opponent.has_to_fail = True
    with pytest.raises(AgentFailed, match="clumsy"):
        finish(env)
    with pytest.raises(ValueError, match=r"no game is under way; call reset\(\) first"):
        env.step(0)
    env.reset(seed=1)
    assert not env.step(int(np.flatnonzero(env.action_masks())[0]))[2]


def test_numpy_seeds_are_seeds_and_wrong_ones_are_refused() -> None:
    env = SingleSeatEnv(num_players=2)
    plain, _ = env.reset(seed=5)
    again, _ = env.reset(seed=np.int64(5))  # type: ignore[arg-type]
    assert np.array_equal(plain, again)
    for seed in (-1, 2**53, 1.5):
        with pytest.raises(ValueError, match="seed="):
            env.reset(seed=seed)  # type: ignore[arg-type]


def test_arrays_of_one_are_actions_too() -> None:
    env = SingleSeatEnv(num_players=2, seat=0)
    env.reset(seed=1)
    legal = np.flatnonzero(env.action_masks())[:1]
    assert not env.step(legal)[2]


def test_a_saved_policy_is_an_opponent(tmp_path: Path) -> None:
    card = Card(num_players=(2,), hidden=(8,))
    save_policy(tmp_path / "p.safetensors", card, random_weights(card))
    env = gymnasium.make(ID, num_players=2, opponents=str(tmp_path / "p.safetensors"))
    env.reset(seed=1)
    finish(env.unwrapped)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"opponents": ["random"]}, "1 of them; needed: one for all, or a list of 3"),
        ({"opponents": "nobody"}, "unknown agent 'nobody'"),
        ({"opponents": ["random", "greedy", 3]}, "agent 3"),
        ({"seat": 4}, "seat=4; allowed: 0 to 3, or 'random'"),
        ({"seat": "any"}, "seat='any'"),
        ({"num_players": 7}, "num_players=7"),
        ({"render_mode": "video"}, "render_mode='video'"),
    ],
)
def test_bad_arguments_are_refused(options: dict[str, Any], said: str) -> None:
    with pytest.raises(ValueError, match=said.replace("[", r"\[")):
        SingleSeatEnv(**options)


def test_a_policy_for_other_player_counts_is_refused_at_once(tmp_path: Path) -> None:
    card = Card(num_players=(2,), hidden=(8,))
    save_policy(tmp_path / "p.safetensors", card, random_weights(card))
    with pytest.raises(ValueError, match="is for 2 players; this game has 4"):
        SingleSeatEnv(num_players=4, opponents=tmp_path / "p.safetensors")


def test_the_table_is_shown_as_the_learner_sees_it(capsys: pytest.CaptureFixture[str], no_display: None) -> None:
    env = SingleSeatEnv(num_players=2, seat=1, render_mode="ansi")
    env.reset(seed=2)
    shown = env.render()
    assert isinstance(shown, str)
    human = SingleSeatEnv(num_players=2, seat=1, render_mode="human")
    human.reset(seed=2)
    assert capsys.readouterr().out == shown + "\n\n"
    human.step(np.flatnonzero(human.action_masks())[0])
    out = capsys.readouterr().out
    assert out.count("You are player_1") == 1
    assert "You are player_0" not in out  # the opponent's view is not the learner's to see


def test_a_picture_is_given_by_its_name() -> None:
    env: Any = gymnasium.make(ID, num_players=3, seat=0, render_mode="rgb_array")
    env.reset(seed=1)
    pictures = []
    for _ in range(3):
        pictures.append(env.render())
        env.step(env.action_space.sample(env.unwrapped.action_masks()))
    assert [picture.shape for picture in pictures] == [(800, 1200, 3)] * 3
    assert not np.array_equal(*pictures[-2:])
    frames: Any = gymnasium.make(ID, num_players=2, render_mode="rgb_array_list")
    frames.reset(seed=1)
    frames.step(frames.action_space.sample(frames.unwrapped.action_masks()))
    assert len(frames.render()) == 2


def test_sb3_makes_many_of_them_by_name() -> None:
    """It asks for rgb_array by itself."""
    env_util = pytest.importorskip("stable_baselines3.common.env_util")
    envs = env_util.make_vec_env(ID, n_envs=2, seed=1, env_kwargs={"num_players": 2})
    envs.reset()
    assert [picture.shape for picture in envs.get_images() if picture is not None] == [(800, 1200, 3)] * 2


def test_rendering_needs_a_deal() -> None:
    env = SingleSeatEnv(num_players=2, render_mode="ansi")
    with pytest.raises(ValueError, match=r"render\(\) before reset\(\)"):
        env.render()
