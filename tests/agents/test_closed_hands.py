"""Agents that simulate games guess the closed hands of the others and do not read them."""

from __future__ import annotations

import pytest

from symphony9_env import agents
from tests.scenarios import at_concert, bids

ALONE = ["search:60", "think:60", "think:60@planner", "think:60@policy", "think:10@search:5"]
ALONE += ["search:60@policy", "search:4@search:2"]
IN_A_TEAM = ["search:60+013", "search:60+23@0:planner", "think:60+03", "think:30+23@0:policy"]
IN_A_TEAM += ["search:40+23@0:policy", "search:4+23@0:search:2", "search:4@1:search:2"]


@pytest.mark.parametrize("name", [*ALONE, *IN_A_TEAM])
def test_the_last_to_bid_decides_the_same_whatever_the_others_hold_in_their_hands(name: str) -> None:
    """Seat 3 bids last. The hands of fellow members of its team are closed, too."""
    choices = set()
    for amount in (0, 4, 8):
        env = at_concert(cubes={3: {"handel": 3}, 0: {"bach": 2}}, budget=[0, 2, 2, 2, 2, 0])
        bids(env, amount, amount, amount)
        choices.add(agents.make(name, seed=2).choose(env))
    assert len(choices) == 1
