"""Search finds obvious moves and uses no hidden information."""

from __future__ import annotations

import numpy as np
import pytest

from symphony9_env import agents
from symphony9_env.actions import NAMES
from symphony9_env.agents import search_tree
from symphony9_env.agents.search import SearchAgent
from symphony9_env.rules.state import SELL_LAST, game_at
from tests.scenarios import at_concert, deal, set_state


def test_the_last_decision_is_optimal() -> None:
    """The $8 token is worth 4 points; sold, its $8 are worth only 2, at $3 a point."""
    env = deal(2)
    set_state(env, phase=SELL_LAST, pending=1, round_index=5)
    game = game_at(env.states)
    game.money[:2] = [0, 30]
    game.furniture[:2] = [[0, 0, 1], [0, 0, 0]]
    game.compositions[0] = [2, 0, 0, 0, 0, 0]  # 8 points by tile 1A
    game.money[1] = 35  # 11 points: 12 win, 8 + 2 lose
    set_state(env)
    for seed in range(5):
        assert NAMES[agents.make("search:30", seed=seed).choose(env)] == "pass"


def test_a_single_choice_is_not_searched() -> None:
    env = at_concert()
    game_at(env.states).money[:] = 0
    game_at(env.states).furniture[:] = 0
    set_state(env)
    assert NAMES[agents.make("search:1000000", seed=1).choose(env)] == "bid 0"


def test_a_search_with_a_known_rival_strategy_can_be_made_and_plays() -> None:
    env = deal(3)
    assert agents.make("search:10@random", seed=1).name == "search:10@random"
    assert env.observe("player_0")["action_mask"][agents.make("search:10@random", seed=1).choose(env)]


def test_a_node_is_found_again_and_the_hash_table_never_fills() -> None:
    slots, keys, *_ = search_tree.new_tree(50)
    slots[:] = -1
    find = getattr(search_tree._find_node, "py_func", search_tree._find_node)
    num_nodes = 0
    for number in range(50):
        node, num_nodes, is_new = find(
            slots, keys, np.uint64(number * 200), num_nodes
        )  # all keys have the same first slot
        assert (node, num_nodes, is_new) == (number, number + 1, True)
    for number in range(50):
        assert find(slots, keys, np.uint64(number * 200), num_nodes) == (number, 50, False)


@pytest.mark.parametrize("num_players", [2, 4])
def test_search_beats_greedy(num_players: int) -> None:
    """Twelve games in different seats; the probability of losing most of them is below one in a thousand."""
    from symphony9_env.arena.matches import ScheduledGame, play
    from symphony9_env.options import Variant

    players = [agents.make("search:60", seed=1), agents.make("greedy", seed=2)]
    games = []
    for number in range(12):
        seat = number % num_players
        games.append(
            ScheduledGame(number, number, 1000 + number, tuple(0 if s == seat else 1 for s in range(num_players)))
        )
    won = 0
    for played in play(games, players, Variant(num_players=num_players)):
        scores = _scores(played.final)
        won += scores[played.game.agents.index(0)] == max(scores)
    assert won >= 7


def _scores(final: np.ndarray) -> list[float]:
    from symphony9_env.scores import score_sheet

    return [line.total for line in score_sheet(final, 0).values()]


def test_compared_actions_face_the_same_worlds_and_must_be_legal() -> None:
    env = deal(2)
    agent = agents.make("search:40", seed=0)
    assert isinstance(agent, SearchAgent)
    one, same, other = agent.compare(env.states, 0, [0, 0, 1])
    assert one.shape == (40,)
    assert (one == same).all()
    assert (one != other).any()
    assert set(np.concatenate([one, other])) <= {0.0, 0.5, 1.0}
    with pytest.raises(ValueError, match=r"actions \[22\] are not legal in game 0"):
        agent.compare(env.states, 0, [0, 22])


def test_comparing_actions_leaves_the_choice_as_it_was() -> None:
    env = deal(3)
    agent = agents.make("search:40", seed=3)
    assert isinstance(agent, SearchAgent)
    before = agent.choose(env)
    agent.compare(env.states, 0, [0, 1])
    assert agent.choose(env) == before
