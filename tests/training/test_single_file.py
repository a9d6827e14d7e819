"""The example of PPO in one file: advantages along each seat's own decisions, and a short run."""

from __future__ import annotations

import runpy
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch

from symphony9_env import BatchedGames

example = SimpleNamespace(**runpy.run_path(str(Path(__file__).parents[2] / "examples" / "ppo_single_file.py")))


def compute_slowly(rollout: Any, gae_lambda: float) -> tuple[dict[tuple[int, int], float], int]:
    """Return the advantages of one sequence after the other, by (step, game), and the number of decisions left out."""
    known, num_left_out = {}, 0
    num_steps, num_games, num_players = rollout.rewards.shape
    for game in range(num_games):
        ends = [*np.flatnonzero(rollout.ended[:, game]).tolist(), num_steps]
        start = 0
        for end in ends:
            for seat in range(num_players):
                own = [step for step in range(start, min(end + 1, num_steps)) if rollout.player[step, game] == seat]
                is_over = end < num_steps
                advantage, value = 0.0, 0.0
                for number in reversed(range(len(own))):
                    step = own[number]
                    until = own[number + 1] if number + 1 < len(own) else min(end + 1, num_steps)
                    own_value = float(rollout.value[step, game])
                    if number + 1 == len(own) and not is_over:
                        num_left_out += 1
                    else:
                        reward = float(rollout.rewards[step:until, game, seat].sum())
                        advantage = reward + value - own_value + gae_lambda * advantage
                        known[step, game] = advantage
                    value = own_value
            start = end + 1
    return known, num_left_out


def test_advantages_follow_each_seat_s_own_decisions() -> None:
    torch.manual_seed(0)
    games = BatchedGames(6, num_players=3, seed=0)
    games.set_shaping(0.5)
    network = example.Network(games.observation.shape[1], games.action_mask.shape[1])
    torch.nn.init.normal_(list(network.value.parameters())[-2])
    rollout = example.collect(games, network, 200)
    assert rollout.ended.any()
    advantages, is_known = example.compute_advantages(rollout, gae_lambda=0.9)
    expected, num_left_out = compute_slowly(rollout, gae_lambda=0.9)
    assert int(is_known.sum()) == len(expected)
    assert int((~is_known).sum()) == num_left_out > 0
    for (step, game), advantage in expected.items():
        assert is_known[step, game]
        assert abs(float(advantages[step, game]) - advantage) < 1e-4


def test_a_short_run_changes_the_network(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "weights.pt"
    won = example.main(["--minutes", "0.05", "--num-players", "2", "--games", "20", "--out", str(out)])
    assert f"wins against greedy: {won:.0%} of 20 games; par 50%" in capsys.readouterr().out
    torch.manual_seed(0)
    games = BatchedGames(1, num_players=2)
    before = example.Network(games.observation.shape[1], games.action_mask.shape[1]).state_dict()
    for name, after in torch.load(out).items():
        assert torch.isfinite(after).all()
        assert not torch.equal(after, before[name])


def test_it_learns_to_beat_random_players() -> None:
    """From 131,000 decisions. The threshold is two standard errors of 400 games above par."""
    torch.set_num_threads(1)
    torch.manual_seed(0)
    settings = example.Settings(num_players=2, num_games=64, batch_size=512)
    games = BatchedGames(settings.num_games, num_players=2, seed=0)
    games.set_shaping(settings.shaping)
    network = example.Network(games.observation.shape[1], games.action_mask.shape[1])
    optimizer = torch.optim.Adam(network.parameters(), settings.learning_rate, eps=1e-5)
    for _ in range(16):
        example.update(network, optimizer, example.collect(games, network, settings.num_steps), settings)
    assert example.evaluate(network, 2, "random", 400, seed=9_000_000) > 0.55
