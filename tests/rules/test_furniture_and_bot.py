"""Furniture (R7, R8) and the bot (R9, R10)."""

from __future__ import annotations

import numpy as np

from symphony9_env.rules.state import GIVE_UP, OVER, game_at
from tests.scenarios import (
    at_concert,
    bids,
    deal,
    decision,
    give,
    legal,
    money,
    play,
    play_until,
    scores,
    see,
    set_state,
)

# Furniture.


def test_r7_furniture_may_be_sold_at_any_own_decision_and_the_same_decision_is_asked_again() -> None:
    env = deal(num_players=2, discussion=True)
    set_state(env, furniture=[[1, 1, 1], [1, 1, 1], [0, 0, 0], [0, 0, 0]])
    met = set()
    rng = np.random.default_rng(0)
    for _ in range(3):
        env.reset(seed=int(rng.integers(1000)))
        while decision(env)[1] != "over":
            player, asked = decision(env)
            seat = int(player[-1])
            game_at(env.states).furniture[seat] = 1
            set_state(env)
            before = (money(env)[seat], see(env, seat).pending)
            play(env, "sell 6")
            assert decision(env) == (player, asked)
            assert (money(env)[seat] - 6, see(env, seat).pending) == before
            assert see(env, 1 - seat).boards[1].sold_this_round == (6,)  # public
            met.add(asked)
            names = [name for name in legal(env) if not name.startswith("sell")]
            play(env, names[int(rng.integers(len(names)))])
            game = game_at(env.states)
            game.sales[:] = 0
    assert met >= {"take", "take_for_bot", "buy_4", "buy_8", "announce", "bid", "discard", "sell"}


def test_r7_a_pick_for_the_bot_may_come_after_a_sale() -> None:
    env = deal(num_players=2)
    play_until(env, "take_for_bot")
    play(env, "player_0 sell 8", "player_0 take bach")
    assert money(env) == [28, 20]
    assert decision(env) == ("player_0", "take_for_bot")


def test_r8_after_round_six_each_with_furniture_is_asked_once_more() -> None:
    env = deal(start_player=1)
    set_state(env, phase=GIVE_UP, round_index=5, turn=3, outcome=4, contribution=[0, 0, 0, 0], pending=1,
          player=0, furniture=[[1, 1, 1], [0, 0, 0], [0, 1, 0], [1, 0, 1]])  # fmt: skip
    give(env, 0, handel=1)
    play(env, "player_0 discard handel")
    assert decision(env) == ("player_2", "sell")  # clockwise from round six's start player, who has none
    play(env, "player_2 sell 6")
    assert decision(env) == ("player_3", "sell")  # none left: not asked again
    play(env, "player_3 sell 4")
    assert (decision(env), legal(env)) == (("player_3", "sell"), ["pass", "sell 8"])
    play(env, "player_3 pass", "player_0 pass")
    assert decision(env) == ("", "over")
    assert money(env) == [20, 20, 26, 24]


def test_nothing_is_asked_after_round_six_of_those_without_furniture() -> None:
    env = at_concert(budget=[0] * 2 + [2] * 4)
    set_state(env, round_index=5, furniture=[[0, 0, 0]] * 4)
    bids(env, 8, 8, 8, 8)
    assert game_at(env.states).phase == OVER


# The bot.


def test_r9_the_bot_is_ranked_for_tile_4b_like_a_player() -> None:
    env = deal(2, scoring={"handel": "4B", "bach": "1A", "haydn": "2A", "mozart": "3A", "beethoven": "5A"})
    game_at(env.states).compositions[:3, 0] = [1, 2, 3]
    assert [total - 15 for total in scores(env)] == [6, 9]
    game_at(env.states).compositions[:3, 0] = [1, 0, 1]
    assert [total - 15 for total in scores(env)] == [12, 0]


def test_r10_a_bot_without_cubes_gives_the_low_amount() -> None:
    env = at_concert(2, bot_tiles=[[6, 4, 0]] * 6)
    bids(env, 0, 0)
    assert see(env, 0).boards[2].last_contribution == (6, None)


def test_tied_colours_of_the_bot_give_the_lowest_of_their_amounts() -> None:
    env = at_concert(2, cubes={2: {"handel": 2, "bach": 2, "haydn": 1}}, bot_tiles=[[6, 4, 5]] * 6)
    bids(env, 0, 0)  # Handel is of high fame, Bach of medium
    assert see(env, 0).boards[2].last_contribution == (4, None)


def test_both_players_pick_two_cubes_for_the_bot_after_the_free_ones() -> None:
    env = deal(2, start_player=1)
    asked = []
    while decision(env)[1] in ("take", "take_for_bot"):
        asked.append(decision(env))
        play(env, "take bach")
    assert asked == [
        *[("player_1", "take")] * 2,
        *[("player_0", "take")] * 2,
        *[("player_1", "take_for_bot")] * 2,
        *[("player_0", "take_for_bot")] * 2,
    ]
    assert see(env, 0).boards[2].new_cubes[1] == 4
