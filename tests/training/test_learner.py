"""The network, the pool and the environment of a training run."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from symphony9_env import agents
from symphony9_env.agents import registry
from symphony9_env.agents.base import Positions, Rows
from symphony9_env.agents.policy import PolicyAgent
from symphony9_env.agents.scripted import ScriptedAgent
from symphony9_env.batched import BatchedGames
from symphony9_env.envs.vector import Symphony9VectorEnv
from tests.training.runs import settings
from training.behaviour_cloning import collect_demonstrations, fit
from training.checkpoints import RunFolder
from training.config import Settings
from training.network import export_weights, make_card, set_weights
from training.train import make_model, train
from training.vec_env import SelfPlayVecEnv


def make(tmp_path: Path, chosen: Settings) -> tuple[SelfPlayVecEnv, Any]:
    env = SelfPlayVecEnv(chosen, tmp_path)
    model = make_model(chosen, env)
    env.pool.set_latest(make_card(chosen, {}), export_weights(model.policy))
    return env, model


@pytest.mark.parametrize("network", [{"hidden": [8, 7, 6]}, {"kind": "mlp", "hidden": [9, 5], "activation": "tanh"}])
@pytest.mark.parametrize("ledger", [False, True])
def test_the_saved_network_computes_what_the_trained_one_does(tmp_path: Path, network: Any, ledger: bool) -> None:
    chosen = settings(network=network, game={"num_players": 4, "ledger": ledger})
    _, model = make(tmp_path, chosen)
    with torch.no_grad():
        for values in model.policy.parameters():
            values.add_(0.3 * torch.randn_like(values))
    path = tmp_path / "policy.safetensors"
    agents.save_policy(path, make_card(chosen, {}), export_weights(model.policy))
    agent = PolicyAgent.load(path, 0)
    games = BatchedGames(64, num_players=4, ledger=ledger, seed=1)
    for _ in range(40):
        games.step(games.sample_actions())
    observation = torch.from_numpy(games.observation)
    with torch.no_grad():
        latent_pi, latent_vf = model.policy.mlp_extractor(model.policy.extract_features(observation))
        logits, value = model.policy.action_net(latent_pi), model.policy.value_net(latent_vf)[:, 0]
    np.testing.assert_allclose(agent.network.logits(games.observation), logits.numpy(), atol=1e-4)
    saved_value = agent.network.value(games.observation)
    assert saved_value is not None
    np.testing.assert_allclose(saved_value, value.numpy(), atol=1e-4)
    assert np.ptp(logits.numpy()) > 0.1
    other = make_model(chosen, SelfPlayVecEnv(chosen, tmp_path))
    set_weights(other.policy, *agents.load_policy(path))
    for name, values in export_weights(other.policy).items():
        assert np.array_equal(values, export_weights(model.policy)[name])


def test_the_network_treats_musicians_alike(tmp_path: Path) -> None:
    """Swapping two musicians swaps their actions and changes nothing else, if no position has a bias."""
    from symphony9_env.agents.networks import musician_columns

    _, model = make(tmp_path, settings())
    with torch.no_grad():
        for values in model.policy.mlp_extractor.weights.values():
            values.add_(0.3 * torch.randn_like(values))
        model.policy.mlp_extractor.weights["first_place"].zero_()
    columns, _ = musician_columns(ledger=True)
    original = torch.rand(5, model.observation_space.shape[0])
    swapped = original.clone()
    swapped[:, columns[1]], swapped[:, columns[4]] = original[:, columns[4]], original[:, columns[1]]
    before, after = (model.policy.mlp_extractor.forward_actor(each) for each in (original, swapped))
    order = list(range(49))
    for first in (0, 6, 12):
        order[first + 1], order[first + 4] = first + 4, first + 1
    torch.testing.assert_close(after, before[:, order])


def test_rewards_are_wins_and_shaped_points(tmp_path: Path) -> None:
    chosen = settings(opponents={"latest": 0, "past": 0, "fixed": {"greedy": 1}})
    by_shaping = []
    for shaping in (0.0, 0.5):
        env, _ = make(tmp_path, chosen)
        env.set_shaping(shaping)
        env.reset()
        rng = np.random.default_rng(0)
        returns = []
        totals = np.zeros(env.num_envs)
        for _ in range(150):
            masks = env.action_masks()
            assert masks.shape == (16, 49)
            env.step_async(np.array([rng.choice(np.flatnonzero(mask)) for mask in masks]))
            _, rewards, dones, infos = env.step_wait()
            totals += rewards
            for row in np.flatnonzero(dones):
                assert infos[row]["terminal_observation"].shape == env.observation_space.shape
                returns.append(totals[row])
                totals[row] = 0
        by_shaping.append(np.array(returns))
        assert len(returns) > 20
    plain, shaped = by_shaping
    assert set(np.round(plain, 3)) <= {1.0, 0.5, -0.5, -1.0, 0.0, 0.333}
    points = (shaped - plain) / 0.5
    assert 20 < points.mean() < 80  # a game's points


@pytest.mark.parametrize("coefficient", [0.0, 0.5])
def test_shaping_is_computed_only_while_its_coefficient_is_not_zero(tmp_path: Path, coefficient: float) -> None:
    """The points behind shaping are updated in a step with shaping, and left alone in a step without."""
    env, _ = make(tmp_path, settings())
    env.reset()
    batch = env.vector_env.batch
    env.set_shaping(coefficient)
    points = batch._buffers.points.copy()
    for _ in range(3):  # too few steps for a game to end
        env.step(batch.action_mask.argmax(1))
        assert not batch.terminated.any()
    assert np.array_equal(batch._buffers.points, points) == (coefficient == 0)


class CountingAgent(ScriptedAgent):
    """A user's agent that counts its decisions, and how often it was closed."""

    num_decisions = 0
    num_closed = 0

    def __init__(self, seed: int) -> None:
        super().__init__("greedy", seed)

    def decide(self, positions: Positions, rows: Rows) -> Rows:
        CountingAgent.num_decisions += len(rows)
        return super().decide(positions, rows)

    def close(self) -> None:
        CountingAgent.num_closed += 1


@pytest.fixture
def own_agents(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Register the agent `counting`; return a file with two agents that are functions, one of which fails."""
    monkeypatch.setattr(registry, "_registered", {"counting": CountingAgent})
    monkeypatch.setattr(CountingAgent, "num_decisions", 0)
    monkeypatch.setattr(CountingAgent, "num_closed", 0)
    path = tmp_path / "own_agents.py"
    path.write_text(
        "def first(message):\n    return min(message['legal'], key=int)\n\ndef fail(message):\n    return 99\n"
    )
    return path


def test_the_pool_takes_every_agent_that_can_be_made_and_closes_it(tmp_path: Path, own_agents: Path) -> None:
    names = ["planner", "policy", "counting", f"{own_agents}:first", f"mine={own_agents}:first"]
    chosen = settings(opponents={"latest": 0, "past": 0, "fixed": dict.fromkeys(names, 1.0), "same_kind": 0})
    assert CountingAgent.num_closed == 1  # after the settings were checked
    env, _ = make(tmp_path, chosen)
    env.reset()
    for _ in range(3):
        env.step(env.vector_env.batch.action_mask.argmax(1))
    assert set(np.unique(env.pool.member_at)) == {1, 2, 3, 4, 5}
    assert CountingAgent.num_decisions > 0
    env.close()
    assert CountingAgent.num_closed == 2  # by the check of the settings and by the run


@pytest.mark.parametrize("part", ["opponents", "evaluation", "behaviour_cloning"])
def test_a_run_that_an_agent_fails_names_it_and_closes_all(
    tmp_path: Path, own_agents: Path, part: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The environment also closes its opponents when it is garbage-collected; count what the run itself closes.
    monkeypatch.setattr(Symphony9VectorEnv, "__del__", lambda self: None)
    failing = f"{own_agents}:fail"
    fixed = {"counting": 1} | ({failing: 1} if part == "opponents" else {})
    changes: dict[str, Any] = {"opponents": {"latest": 0, "past": 0, "fixed": fixed}}
    if part == "evaluation":
        changes[part] = {"opponents": [failing], "games": 3}
    if part == "behaviour_cloning":
        changes[part] = {"agent": failing}
    chosen = settings(**changes)
    with pytest.raises(ValueError, match=r"own_agents.py:fail' gave no legal action"):
        train(chosen, RunFolder(tmp_path / "run"))
    assert CountingAgent.num_closed == 2  # by the check of the settings and by the run


def test_the_pool_prefers_snapshots_that_still_beat_the_learner(tmp_path: Path) -> None:
    chosen = settings()
    env, model = make(tmp_path, chosen)
    pool = env.pool
    card, weights = make_card(chosen, {}), export_weights(model.policy)
    before = pool.probabilities()
    pool.add_snapshot("one", card, weights)
    pool.add_snapshot("two", card, weights)
    pool.ahead_rates[-2:] = [0.1, 0.9]
    probabilities = pool.probabilities()
    assert probabilities.sum() == pytest.approx(1)
    assert probabilities[0] == pytest.approx(0.3)
    assert before[0] == pytest.approx(0.7)  # without snapshots their weight goes to the current policy
    assert probabilities[-2] + probabilities[-1] == pytest.approx(0.4)
    assert probabilities[-1] > 5 * probabilities[-2]
    pool.add_snapshot("three", card, weights)
    assert pool.retired == {"one"}
    assert pool.probabilities()[-3] == 0
    env.reset()
    state = pool.state_dict()
    restored = SelfPlayVecEnv(chosen, tmp_path).pool
    restored.load_state_dict(state)
    assert restored.state_dict() == state


def test_the_pool_counts_who_finishes_ahead(tmp_path: Path) -> None:
    chosen = settings(opponents={"latest": 0, "past": 0, "fixed": {"greedy": 1, "random": 0}})
    env, _ = make(tmp_path, chosen)
    env.reset()
    seats = env.vector_env.seats
    ranks = np.full((16, 3), 1.0)
    ranks[np.arange(16), seats] = 3
    env.pool.end(np.arange(16), seats, ranks)
    assert env.pool.ahead_rates[1] > 0.5
    assert env.pool.ahead_rates[2] == 0.5  # did not play


def test_behaviour_cloning_learns_the_agents_choices(tmp_path: Path) -> None:
    chosen = settings(behaviour_cloning={"agent": "greedy", "random_move_probability": 0.1})
    _, model = make(tmp_path, chosen)
    optimizer = torch.optim.Adam(model.policy.parameters(), 0.01)
    agreement = [fit(model, collect_demonstrations(chosen, seed), optimizer, 64)[0] for seed in range(3)]
    assert agreement[-1] > agreement[0] + 0.05
    played = collect_demonstrations(chosen, 5)
    assert played.mask[np.arange(len(played.action)), played.action].all()
    assert set(np.round(np.unique(played.reward), 2)) <= {1.0, 0.5, -0.5, -1.0, 0.0, 0.33}
