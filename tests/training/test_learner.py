"""The network, the pool and the environment of a training run."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from symphony9_env import agents
from symphony9_env.agents.policy import PolicyAgent
from symphony9_env.batched import BatchedGames
from training.behaviour_cloning import fit, play_chunk
from training.config import Settings, parse_settings
from training.network import make_card, set_weights, weights_of
from training.train import make_env, make_model
from training.vec_env import SelfPlayVecEnv

TINY: dict[str, Any] = {
    "total_steps": 1024,
    "num_threads": 1,
    "game": {"num_players": 3},
    "network": {"hidden": [8, 8, 8]},
    "ppo": {"num_games": 16, "num_steps": 16, "batch_size": 64, "num_epochs": 2},
    "opponents": {"snapshot_every": 256, "max_snapshots": 2},
    "evaluation": {"every": 512, "games": 6, "opponents": ["random"]},
    "warm_start": {"agent": None},
}


def settings(**changes: Any) -> Settings:
    return parse_settings({**TINY, **changes}, "test")


def made(tmp_path: Path, chosen: Settings) -> tuple[SelfPlayVecEnv, Any]:
    env = make_env(chosen, tmp_path)
    model = make_model(chosen, env)
    env.pool.set_latest(make_card(chosen, {}), weights_of(model.policy))
    return env, model


@pytest.mark.parametrize("network", [{"hidden": [8, 7, 6]}, {"kind": "mlp", "hidden": [9, 5], "activation": "tanh"}])
@pytest.mark.parametrize("ledger", [False, True])
def test_the_saved_network_computes_what_the_trained_one_does(tmp_path: Path, network: Any, ledger: bool) -> None:
    chosen = settings(network=network, game={"num_players": 4, "ledger": ledger})
    _, model = made(tmp_path, chosen)
    with torch.no_grad():
        for values in model.policy.parameters():
            values.add_(0.3 * torch.randn_like(values))
    path = tmp_path / "policy.safetensors"
    agents.save_policy(path, make_card(chosen, {}), weights_of(model.policy))
    agent = PolicyAgent.load(path, 0)
    games = BatchedGames(64, num_players=4, ledger=ledger, seed=1)
    for _ in range(40):
        games.step(games.sample_actions())
    seen = torch.from_numpy(games.observation)
    with torch.no_grad():
        for_policy, for_value = model.policy.mlp_extractor(model.policy.extract_features(seen))
        logits, value = model.policy.action_net(for_policy), model.policy.value_net(for_value)[:, 0]
    np.testing.assert_allclose(agent.network.logits(games.observation), logits.numpy(), atol=1e-4)
    told = agent.network.value(games.observation)
    assert told is not None
    np.testing.assert_allclose(told, value.numpy(), atol=1e-4)
    assert np.ptp(logits.numpy()) > 0.1
    other = make_model(chosen, make_env(chosen, tmp_path))
    set_weights(other.policy, *agents.load_policy(path))
    for name, values in weights_of(other.policy).items():
        assert np.array_equal(values, weights_of(model.policy)[name])


def test_the_network_treats_musicians_alike(tmp_path: Path) -> None:
    """Two musicians who change places change their actions' numbers, and nothing else (places have no bias yet)."""
    from symphony9_env.agents.networks import musician_columns

    _, model = made(tmp_path, settings())
    with torch.no_grad():
        for values in model.policy.mlp_extractor.weights.values():
            values.add_(0.3 * torch.randn_like(values))
        model.policy.mlp_extractor.weights["first_place"].zero_()
    columns, _ = musician_columns(ledger=True)
    seen = torch.rand(5, model.observation_space.shape[0])
    swapped = seen.clone()
    swapped[:, columns[1]], swapped[:, columns[4]] = seen[:, columns[4]], seen[:, columns[1]]
    before, after = (model.policy.mlp_extractor.forward_actor(each) for each in (seen, swapped))
    order = list(range(49))
    for first in (0, 6, 12):
        order[first + 1], order[first + 4] = first + 4, first + 1
    torch.testing.assert_close(after, before[:, order])


def test_rewards_are_wins_and_a_part_of_the_points(tmp_path: Path) -> None:
    chosen = settings(opponents={"latest": 0, "past": 0, "fixed": {"greedy": 1}})
    by_shaping = []
    for shaping in (0.0, 0.5):
        env, _ = made(tmp_path, chosen)
        env.set_shaping(shaping)
        env.reset()
        rng = np.random.default_rng(0)
        sums, wins = [], []
        totals = np.zeros(env.num_envs)
        for _ in range(150):
            masks = env.action_masks()
            assert masks.shape == (16, 49)
            env.step_async(np.array([rng.choice(np.flatnonzero(mask)) for mask in masks]))
            _, rewards, dones, infos = env.step_wait()
            totals += rewards
            for row in np.flatnonzero(dones):
                assert infos[row]["terminal_observation"].shape == env.observation_space.shape
                sums.append(totals[row])
                wins.append(env.vector_env.batch.final_ranks[row])
                totals[row] = 0
        by_shaping.append(np.array(sums))
        assert len(sums) > 20
    plain, shaped = by_shaping
    assert set(np.round(plain, 3)) <= {1.0, 0.5, -0.5, -1.0, 0.0, 0.333}
    points = (shaped - plain) / 0.5
    assert 20 < points.mean() < 80  # a game's points


def test_the_pool_prefers_those_who_still_beat_the_learner(tmp_path: Path) -> None:
    chosen = settings()
    env, model = made(tmp_path, chosen)
    pool = env.pool
    card, weights = make_card(chosen, {}), weights_of(model.policy)
    without = pool.odds()
    pool.add_snapshot("one", card, weights)
    pool.add_snapshot("two", card, weights)
    pool.ahead[-2:] = [0.1, 0.9]
    odds = pool.odds()
    assert odds.sum() == pytest.approx(1)
    assert odds[0] == pytest.approx(0.3)
    assert without[0] == pytest.approx(0.7)  # no past yet: itself instead
    assert odds[-2] + odds[-1] == pytest.approx(0.4)
    assert odds[-1] > 5 * odds[-2]
    pool.add_snapshot("three", card, weights)
    assert pool.retired == {"one"}
    assert pool.odds()[-3] == 0
    env.reset()
    state = pool.state()
    again = make_env(chosen, tmp_path).pool
    again.restore(state)
    assert again.state() == state


def test_the_pool_tells_who_ended_ahead(tmp_path: Path) -> None:
    chosen = settings(opponents={"latest": 0, "past": 0, "fixed": {"greedy": 1, "random": 0}})
    env, _ = made(tmp_path, chosen)
    env.reset()
    seats = env.vector_env.seats
    ranks = np.full((16, 3), 1.0)
    ranks[np.arange(16), seats] = 3
    env.pool.end(np.arange(16), seats, ranks)
    assert env.pool.ahead[1] > 0.5
    assert env.pool.ahead[2] == 0.5  # did not play


def test_a_warm_start_learns_what_the_agent_does(tmp_path: Path) -> None:
    chosen = settings(warm_start={"agent": "greedy", "learning_rate": 0.01, "slips": 0.1})
    _, model = made(tmp_path, chosen)
    optimizer = torch.optim.Adam(model.policy.parameters(), 0.01)
    agreement = [fit(model, play_chunk(chosen, seed), optimizer, 64)[0] for seed in range(3)]
    assert agreement[-1] > agreement[0] + 0.05
    chunk = play_chunk(chosen, 5)
    assert chunk.mask[np.arange(len(chunk.action)), chunk.action].all()
    assert set(np.round(np.unique(chunk.reward), 2)) <= {1.0, 0.5, -0.5, -1.0, 0.0, 0.33}
