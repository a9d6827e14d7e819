"""The network, its update and behaviour cloning."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from symphony9_env import agents
from symphony9_env.agents.policy import PolicyAgent
from symphony9_env.batched import BatchedGames
from symphony9_env.envs.spaces import vector_space
from symphony9_env.views import observation_fields
from tests.training.runs import SHORT, same, settings, steps
from training import train
from training.behaviour_cloning import collect_demonstrations, fit
from training.checkpoints import read_checkpoint
from training.config import Settings
from training.group import Group
from training.network import export_weights, make_card, set_weights
from training.ppo import SelfPlayPPO
from training.run import RunFolder, make_logger
from training.self_play import Rollout, SelfPlay
from training.trainer import Trainer

PPO: dict[str, Any] = {"n_envs": 16, "n_steps": 16, "batch_size": 64, "n_epochs": 2}


def make(chosen: Settings, noise: float = 0.3) -> SelfPlayPPO:
    """Return a model with random weights."""
    model = SelfPlayPPO(chosen, Group())
    model.set_logger(make_logger(None))
    with torch.no_grad():
        for values in model.policy.parameters():
            values.add_(noise * torch.randn_like(values))
    return model


def play(model: SelfPlayPPO, num_decisions: int = 256) -> Rollout:
    games = SelfPlay(model.settings, Group())
    games.deal()
    return games.collect(model.make_actor(), num_decisions)


# The network.


@pytest.mark.parametrize("network", [{"hidden": [8, 7, 6]}, {"kind": "mlp", "hidden": [9, 5], "activation": "tanh"}])
@pytest.mark.parametrize("ledger", [False, True])
def test_the_saved_network_computes_what_the_trained_one_does(tmp_path: Path, network: Any, ledger: bool) -> None:
    chosen = settings(network=network, game={"num_players": 4, "ledger": ledger})
    model = make(chosen)
    path = tmp_path / "policy.safetensors"
    agents.save_policy(path, make_card(chosen, {}), export_weights(model.policy))
    agent = PolicyAgent.load(path, 0)
    games = BatchedGames(64, num_players=4, ledger=ledger, seed=1)
    for _ in range(40):
        games.step(games.sample_actions())
    observation, mask, _ = model.encode(games.states, np.arange(64))
    assert np.array_equal(observation, games.observation)
    with torch.no_grad():
        evaluation = model.policy.evaluate_positions(observation, mask)
    probabilities, saved_value = agent.evaluate(games.states, np.arange(64))
    np.testing.assert_allclose(probabilities, evaluation.log_probs.exp(), atol=1e-5)
    assert saved_value is not None
    np.testing.assert_allclose(saved_value, evaluation.value.numpy(), atol=1e-4)
    assert np.ptp(evaluation.log_probs.numpy()[mask.numpy()]) > 0.1
    other = SelfPlayPPO(chosen, Group())
    set_weights(other.policy, *agents.load_policy(path))
    for name, values in export_weights(other.policy).items():
        assert np.array_equal(values, export_weights(model.policy)[name])


def test_the_network_treats_musicians_alike() -> None:
    """Swapping two musicians swaps their actions and changes nothing else, if no position has a bias."""
    from symphony9_env.agents.networks import musician_columns

    model: Any = make(settings())
    with torch.no_grad():
        model.policy.mlp_extractor.weights["first_place"].zero_()
    columns, _ = musician_columns(ledger=True)
    original = torch.rand(5, vector_space(observation_fields(True)).shape[0])
    swapped = original.clone()
    swapped[:, columns[1]], swapped[:, columns[4]] = original[:, columns[4]], original[:, columns[1]]
    before, after = (model.policy.mlp_extractor.forward_actor(each) for each in (original, swapped))
    order = list(range(49))
    for first in (0, 6, 12):
        order[first + 1], order[first + 4] = first + 4, first + 1
    torch.testing.assert_close(after, before[:, order])


def test_illegal_actions_have_no_probability_and_no_gradient() -> None:
    model = make(settings())
    rollout = play(model)
    inputs = model.encode(rollout.states, np.arange(256))
    log_probs = model.policy.evaluate_positions(*inputs).log_probs
    probabilities = log_probs.exp()
    assert (probabilities[~inputs[1]] == 0).all()
    torch.testing.assert_close(probabilities.sum(1), torch.ones(256))
    entropy = -(probabilities * log_probs).sum()
    assert torch.isfinite(torch.autograd.grad(entropy, list(model.policy.parameters()), allow_unused=True)[0]).all()


# The critic that knows the state.


def test_a_critic_that_knows_the_state_is_trained_but_not_part_of_the_policy(tmp_path: Path) -> None:
    network = {"hidden": [8, 8, 8], "critic": "state", "critic_size": 8}
    folder = RunFolder(tmp_path / "run")
    train.train(settings(**SHORT, network=network), folder)
    state = read_checkpoint(folder.checkpoint).state["policy"]
    before = SelfPlayPPO(settings(**SHORT, network=network), Group()).policy.state_dict()
    critic = [name for name in state if name.startswith("critic")]
    assert len(critic) == 6
    assert all(not torch.equal(state[name], before[name]) for name in critic)
    assert set(agents.load_policy(folder.last)[1]) == set(export_weights(SelfPlayPPO(settings(), Group()).policy))


def test_a_critic_that_knows_the_state_sees_what_the_observation_hides() -> None:
    model = make(settings(network={"hidden": [8, 8, 8], "critic": "state", "critic_size": 8}))
    rollout = play(model, 64)
    observation, mask, state = model.encode(rollout.states, np.arange(64))
    with torch.no_grad():
        one = model.policy.evaluate_positions(observation, mask, state)
        other = model.policy.evaluate_positions(observation, mask, state + 1)
    assert torch.equal(one.value, other.value)
    assert torch.equal(one.log_probs, other.log_probs)
    assert (one.baseline != other.baseline).all()


# The update.


def test_an_update_makes_good_actions_more_likely() -> None:
    model = make(settings(ppo={**PPO, "ent_coef": 0, "learning_rate": 0.003}))
    rollout = play(model)
    sign = np.where(rollout.action < np.median(rollout.action), 1, -1).astype(np.float32)
    rollout = rollout._replace(advantage=sign)
    model.update(rollout)
    with torch.no_grad():
        log_probs = model.policy.evaluate_positions(*model.encode(rollout.states, np.arange(256))).log_probs
    change = log_probs[np.arange(256), rollout.action].numpy() - rollout.log_prob
    assert change[sign > 0].mean() > 0.01
    assert change[sign < 0].mean() < -0.01


def test_target_kl_ends_an_update_early(monkeypatch: pytest.MonkeyPatch) -> None:
    counts = []
    for target in (None, 1e-9, 1e9):
        model = make(settings(ppo={**PPO, "n_epochs": 5, "learning_rate": 0.01, "target_kl": target}))
        num_steps = 0

        def count(*arguments: Any, step: Any = model.step) -> None:
            nonlocal num_steps
            num_steps += 1
            step(*arguments)

        monkeypatch.setattr(model, "step", count)
        model.update(play(model))
        counts.append(num_steps)
    assert counts == [20, 4, 20]  # after the first of five epochs with four minibatches


def measure_divergence(model: SelfPlayPPO, rollout: Rollout) -> float:
    """Return the mean reverse KL divergence of the policy from its slow copy."""
    assert model.reference is not None
    inputs = model.encode(rollout.states, np.arange(len(rollout.action)))
    with torch.no_grad():
        own, slow = (policy.evaluate_positions(*inputs).log_probs for policy in (model.policy, model.reference))
    return float((own.exp() * (own - slow)).sum(1).mean())


def test_the_divergence_from_the_slow_copy_is_kept_small() -> None:
    found = []
    for coefficient in (1e-9, 5.0):
        torch.manual_seed(0)
        ppo = {**PPO, "n_epochs": 4, "learning_rate": 0.003, "kl_coef": coefficient, "kl_decay": 1}
        model = SelfPlayPPO(settings(ppo=ppo), Group())
        model.set_logger(make_logger(None))
        rollout = play(model)
        assert measure_divergence(model, rollout) == pytest.approx(0, abs=1e-6)
        model.update(rollout)
        found.append(measure_divergence(model, rollout))
    assert found[0] > 1e-4
    assert found[1] < found[0] / 2


def test_the_slow_copy_moves_towards_the_policy() -> None:
    model = make(settings(ppo={**PPO, "kl_coef": 0.1, "kl_decay": 0.75}))
    assert model.reference is not None
    model.reset_reference()
    before = [values.clone() for values in model.policy.parameters()]
    model.update(play(model))
    slow = list(model.reference.parameters())
    for start, end, now in zip(before, model.policy.parameters(), slow, strict=True):
        torch.testing.assert_close(now, 0.75 * start + 0.25 * end)
    assert any(not torch.equal(start, end) for start, end in zip(before, model.policy.parameters(), strict=True))


def test_the_slow_copy_is_saved_and_restored_exactly(tmp_path: Path) -> None:
    ppo = {**PPO, "kl_coef": 0.1, "kl_decay": 0.75}
    straight, resumed = RunFolder(tmp_path / "straight"), RunFolder(tmp_path / "resumed")
    train.train(settings(**SHORT, ppo=ppo), straight)
    checkpoint = read_checkpoint(straight.previous)
    train.train(settings(**SHORT, ppo=ppo), resumed, checkpoint)
    assert same(straight.last, resumed.last)
    assert steps(straight) == steps(resumed)
    one, other = (read_checkpoint(folder.checkpoint).state for folder in (straight, resumed))
    assert one["reference"]
    for name, values in one["reference"].items():
        assert torch.equal(values, other["reference"][name])
    assert not torch.equal(one["reference"]["value_net.weight"], one["policy"]["value_net.weight"])


def test_the_slow_copy_begins_with_what_was_cloned() -> None:
    cloning = {"agent": "greedy", "games": 64}
    chosen = settings(ppo={**PPO, "kl_coef": 0.1}, behaviour_cloning=cloning, network={"kind": "mlp", "hidden": [4]})
    trainer = Trainer(chosen, Group(), None)
    before = trainer.model.policy.state_dict()["value_net.weight"].clone()
    trainer.start()
    assert trainer.model.reference is not None
    for name, values in trainer.model.policy.state_dict().items():
        assert torch.equal(values, trainer.model.reference.state_dict()[name])
    assert not torch.equal(before, trainer.model.policy.state_dict()["value_net.weight"])


def test_bfloat16_computes_nearly_the_same_update() -> None:
    gradients = []
    for precision in ("float32", "bfloat16"):
        torch.manual_seed(0)
        model = make(settings(ppo={**PPO, "batch_size": 256, "n_epochs": 1, "precision": precision}))
        model.update(play(model))
        assert model.flat.grad is not None
        gradients.append(model.flat.grad.clone())
        assert all(values.dtype == torch.float32 for values in model.policy.parameters())
    full, half = gradients
    assert not torch.equal(full, half)
    assert torch.nn.functional.cosine_similarity(full, half, dim=0) > 0.98


# Behaviour cloning.


def test_behaviour_cloning_learns_the_agents_choices() -> None:
    chosen = settings(behaviour_cloning={"agent": "greedy", "random_move_probability": 0.1})
    model = make(chosen, noise=0)
    optimizer = model.make_optimizer(0.01)
    agreement = [fit(model, collect_demonstrations(chosen, seed), optimizer, 64)[0] for seed in range(3)]
    assert agreement[-1] > agreement[0] + 0.05
    played = collect_demonstrations(chosen, 5)
    mask = model.encoder.encode(played.states, np.arange(len(played.action))).mask
    assert mask[np.arange(len(played.action)), played.action].all()
    assert set(np.round(np.unique(played.reward), 2)) <= {1.0, 0.5, -0.5, -1.0, 0.0, 0.33}
