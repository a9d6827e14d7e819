"""Who plays against the learner: fixed agents, and snapshots that still beat it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from symphony9_env.agents import registry
from symphony9_env.agents.base import Positions, Rows
from symphony9_env.agents.scripted import ScriptedAgent
from tests.training.runs import settings
from training.group import Group
from training.network import export_weights
from training.opponent_pool import LEARNER, OpponentPool
from training.ppo import SelfPlayPPO
from training.run import RunFolder, make_logger
from training.self_play import SelfPlay
from training.train import train


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


def test_the_pool_takes_every_agent_that_can_be_made_and_closes_it(own_agents: Path) -> None:
    names = ["level:3", "think:2", "counting", f"{own_agents}:first", f"mine={own_agents}:first"]
    chosen = settings(opponents={"latest": 0, "past": 0, "fixed": dict.fromkeys(names, 1.0), "same_kind": 0})
    assert CountingAgent.num_closed == 1  # after the settings were checked
    games = SelfPlay(chosen, Group())
    games.deal()
    assert set(np.unique(games.pool.member_at)) == {0, 1, 2, 3, 4, 5}
    assert ((games.pool.member_at == LEARNER).sum(1) == 1).all()
    games.collect(SelfPlayPPO(chosen, Group()).make_actor(), 32)
    assert CountingAgent.num_decisions > 0
    games.close()
    assert CountingAgent.num_closed == 2  # by the check of the settings and by the run


@pytest.mark.parametrize("part", ["opponents", "evaluation", "behaviour_cloning"])
def test_a_run_that_an_agent_fails_names_it_and_closes_all(tmp_path: Path, own_agents: Path, part: str) -> None:
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


def test_the_pool_prefers_snapshots_that_still_beat_the_learner() -> None:
    chosen = settings()
    pool = OpponentPool(chosen, 16)
    weights = export_weights(SelfPlayPPO(chosen, Group()).policy)
    before = pool.probabilities()
    pool.add_snapshot(1, weights)
    pool.add_snapshot(2, weights)
    pool.ahead_rates[-2:] = [0.1, 0.9]
    probabilities = pool.probabilities()
    assert probabilities.sum() == pytest.approx(1)
    assert probabilities[0] == pytest.approx(0.3)
    assert before[0] == pytest.approx(0.7)  # without snapshots their weight goes to the current policy
    assert probabilities[-2] + probabilities[-1] == pytest.approx(0.4)
    assert probabilities[-1] > 5 * probabilities[-2]


def test_a_new_snapshot_takes_the_place_of_the_one_that_beats_the_learner_least_often() -> None:
    chosen = settings(opponents={"max_snapshots": 3})
    pool = OpponentPool(chosen, 16)
    weights = export_weights(SelfPlayPPO(chosen, Group()).policy)
    for number in (1, 2, 3):
        pool.add_snapshot(number, weights)
    first = len(pool.ahead_rates) - 3
    pool.ahead_rates[first:] = [0.6, 0.2, 0.1]
    pool.add_snapshot(4, weights)  # the newest of the others has hardly played, so it stays
    assert [one.number for one in pool.snapshots] == [1, 4, 3]
    assert pool.ahead_rates[first:].tolist() == [0.6, 0.5, 0.1]
    restored = OpponentPool(chosen, 16)
    restored.load_state_dict(pool.state_dict())
    assert [one.number for one in restored.snapshots] == [1, 4, 3]
    assert restored.ahead_rates.tolist() == pool.ahead_rates.tolist()
    for one, other in zip(pool.snapshots, restored.snapshots, strict=True):
        assert all(np.array_equal(one.weights[name], other.weights[name]) for name in weights)


def test_a_snapshot_keeps_its_weights_and_plays_with_them() -> None:
    chosen = settings(opponents={"latest": 0, "past": 1, "fixed": {}})
    games, model = SelfPlay(chosen, Group()), SelfPlayPPO(chosen, Group())
    model.set_logger(make_logger(None))
    weights = export_weights(model.policy)
    games.pool.add_snapshot(1, weights)
    before = {name: values.copy() for name, values in weights.items()}
    games.deal()
    assert (games.pool.member_at == 1).sum() == 32  # two of three seats in 16 games
    model.update(games.collect(model.make_actor(), 64))
    for name, values in games.pool.snapshots[0].weights.items():
        assert np.array_equal(values, before[name])
    assert any(not np.array_equal(values, before[name]) for name, values in export_weights(model.policy).items())


def test_the_pool_counts_who_finishes_ahead() -> None:
    chosen = settings(opponents={"latest": 0, "past": 0, "fixed": {"greedy": 1, "random": 0}})
    games = SelfPlay(chosen, Group())
    games.deal()
    pool = games.pool
    pool.end(np.arange(16), np.where(pool.member_at == LEARNER, 3.0, 1.0))
    assert pool.ahead_rates[1] > 0.5
    assert pool.ahead_rates[2] == 0.5  # did not play
    before = pool.ahead_rates[1]
    pool.end(np.arange(16), np.where(pool.member_at == LEARNER, 1.0, 3.0))
    assert pool.ahead_rates[1] < before


def test_ahead_of_several_seats_of_the_learner_is_the_mean_over_them() -> None:
    pool = OpponentPool(settings(opponents={"latest": 1, "past": 0, "fixed": {"greedy": 1}}), 1)
    pool.member_at[:] = [LEARNER, 1, LEARNER]
    pool.end(np.array([0]), np.array([[1.0, 2.0, 3.0]]))  # ahead of one, behind the other
    assert pool.ahead_rates[1] == 0.5
    pool.end(np.array([0]), np.array([[1.5, 1.5, 3.0]]))  # level with one, ahead of the other
    assert pool.ahead_rates[1] == pytest.approx(0.5 + 0.005 * 0.25)
