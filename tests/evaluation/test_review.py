"""The game review finds the mistakes of the weaker player."""

from __future__ import annotations

import pytest

from evaluation.review import Counts, review_game
from symphony9_env import actions, agents, symphony9_v0
from symphony9_env.replay.commentators import Commentators

NUM_DEALS = 4


@pytest.mark.parametrize(("weak", "strong"), [("greedy", "policy"), ("random", "search:60")])
def test_search_disagrees_with_the_weaker_player_more_than_twice_as_often(weak: str, strong: str) -> None:
    """Both play the same deals in both seats, and the strong one is not the search that reviews."""
    totals = {weak: Counts(), strong: Counts()}
    for names in ([weak, strong], [strong, weak]):
        for seed in range(NUM_DEALS):
            for name, counts in zip(names, review_game(names, seed, playouts=250), strict=True):
                totals[name].add(counts)
    rates = {name: total.disagreements / total.reviewed for name, total in totals.items()}
    assert rates[weak] > 2 * rates[strong]


def test_a_bad_move_is_found_though_search_itself_hardly_tries_it() -> None:
    """Bidding 4 in the fourth round of this game halves the chance to win."""
    env = symphony9_v0.raw_env(num_players=2)
    env.reset(seed=0)
    planner = agents.make("planner", seed=1)
    while env.decision != "bid" or env.states["round_index"][0] < 3:
        env.step(planner.choose(env))
    commentators = Commentators(env.record(), None, playouts=100)
    assert commentators.search is not None
    move = actions.number("bid 4")
    commentators.search.analyze(env.states, 0)
    *_, visits, _ = commentators.search._buffers[0][1]
    assert visits[0, move] < 10
    comment = commentators.comment_on(env.states, move)["search"]
    assert comment is not None
    assert comment["is_disagreement"]
