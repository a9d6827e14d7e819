"""The environment for stable-baselines3."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

pytest.importorskip("sb3_contrib")

from sb3_contrib import MaskablePPO
from stable_baselines3 import PPO
from stable_baselines3.common.vec_env import VecMonitor

from symphony9_env.envs.vector import Symphony9VectorEnv
from symphony9_env.integrations.sb3 import Symphony9VecEnv


def test_it_shows_the_games_of_the_vector_environment() -> None:
    env: Any = Symphony9VecEnv(4, num_players=3, opponents="greedy")
    vector_env = Symphony9VectorEnv(4, num_players=3, opponents="greedy")
    env.seed(9)
    observation = env.reset()
    expected, _ = vector_env.reset(seed=9)
    returns, ends = np.zeros(4), 0
    for _ in range(80):
        assert np.array_equal(observation, expected)
        actions = env.action_masks().argmax(axis=1)
        observation, rewards, dones, infos = env.step(actions)
        expected, wanted, terminated, _, final = vector_env.step(actions)
        returns += wanted
        assert np.array_equal(rewards, wanted)
        assert np.array_equal(dones, terminated)
        for row in np.flatnonzero(dones):
            info = infos[row]
            assert np.array_equal(info["terminal_observation"], final["final_obs"][row])
            assert info["episode"]["r"] == returns[row]
            assert (info["score"], info["rank"]) == tuple(final["final_info"][name][row] for name in ("score", "rank"))
            returns[row] = 0
            ends += 1
        assert all(infos[row] == {} for row in np.flatnonzero(~dones))
    assert ends >= 4


@pytest.mark.parametrize("wrap", [lambda env: env, VecMonitor], ids=["plain", "monitored"])
def test_maskable_ppo_learns_in_one_line(wrap: Any) -> None:
    env = wrap(Symphony9VecEnv(8, num_players=2, opponents="random"))
    model = MaskablePPO("MlpPolicy", env, n_steps=32, batch_size=64, n_epochs=1, seed=0, device="cpu").learn(512)
    assert model.num_timesteps == 512
    assert model.ep_info_buffer


def test_algorithms_without_masks_play_whole_games() -> None:
    env = Symphony9VecEnv(8, num_players=2, opponents="random", illegal="random")
    model = PPO("MlpPolicy", env, n_steps=64, batch_size=64, n_epochs=1, seed=0, device="cpu").learn(512)
    assert min(episode["l"] for episode in model.ep_info_buffer or ()) > 20
