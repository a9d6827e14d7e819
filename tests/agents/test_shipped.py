"""The policies that come with the package."""

from __future__ import annotations

import re

import numpy as np
import pytest

from symphony9_env import agents, symphony9_v0
from symphony9_env.agents.base import StoredPositions
from symphony9_env.agents.policy import load_policy, shipped_path
from symphony9_env.arena.matches import win_rate_against
from symphony9_env.options import Variant
from symphony9_env.rules.state import new_states


@pytest.mark.parametrize("num_players", [2, 3, 4])
def test_there_is_a_policy_for_every_number_of_players(num_players: int) -> None:
    card, _ = load_policy(shipped_path(num_players))
    assert card.num_players == (num_players,)
    assert card.training["settings"]["game"]["num_players"] == num_players
    env = symphony9_v0.env(num_players=num_players)
    env.reset(seed=3)
    assert agents.make("policy", seed=1).choose(env) == agents.make(shipped_path(num_players), seed=1).choose(env)


@pytest.mark.parametrize("num_players", [2, 3, 4])
def test_a_shipped_policy_beats_planners(num_players: int) -> None:
    """Above par (a half, a third, a quarter) on a hundred games; docs/training.md has the figures of a thousand."""
    policy, planner = agents.make("policy", seed=1), agents.make("planner", seed=2)
    assert win_rate_against(policy, planner, Variant(num_players=num_players), 100, 77).low > 1 / num_players


def test_games_with_different_player_counts_are_decided_in_one_call() -> None:
    states = new_states(6)
    policy = agents.make("policy", seed=1)
    expected = []
    for row in range(6):
        env = symphony9_v0.raw_env(num_players=2 + row % 3)
        env.reset(seed=row)
        states[row] = env.states[0]
        expected.append(policy.choose(env))
    assert policy.decide(StoredPositions.of(states), np.arange(6)).tolist() == expected


@pytest.mark.parametrize("num_players", [2, 3, 4])
def test_the_fingerprint_of_a_shipped_policy_is_a_hash_of_its_content(num_players: int) -> None:
    assert re.fullmatch(r"policy [0-9a-f]{16}", agents.make("policy", seed=0).fingerprint(num_players))
