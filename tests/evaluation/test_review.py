"""The game review finds the mistakes of the weaker player."""

from __future__ import annotations

import pytest

from evaluation.review import review_game


@pytest.mark.parametrize("weak", ["greedy", "random"])
@pytest.mark.parametrize("weak_seat", [0, 1])
def test_search_disagrees_more_often_with_the_weaker_player(weak: str, weak_seat: int) -> None:
    names = ["search:60", "search:60"]
    names[weak_seat] = weak
    games = [review_game(names, seed, playouts=60) for seed in range(2)]
    weaker = sum(counts[weak_seat].disagreements for counts in games)
    stronger = sum(counts[1 - weak_seat].disagreements for counts in games)
    assert weaker > stronger
