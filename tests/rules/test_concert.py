"""Concerts: hands (R12), classes, income and bonuses (R4, R5, R13, R14), penalties (R6), piles (R15), discussion."""

from __future__ import annotations

import pytest

from symphony9_env.rules.state import game_at
from tests.scenarios import (
    at_concert,
    bids,
    cubes_of,
    deal,
    decision,
    legal,
    money,
    play,
    play_until,
    see,
    set_state,
)

# Hands.


def test_r12_hands_are_asked_for_clockwise_from_the_start_player() -> None:
    env = deal(start_player=3)
    play_until(env, "bid")
    for player in ("player_3", "player_0", "player_1", "player_2"):
        assert decision(env) == (player, "bid")
        play(env, "bid 0")


def test_a_hand_is_coins_or_one_token_and_coins_up_to_the_limit() -> None:
    env = at_concert()
    set_state(env, money=[1, 20, 20, 20])
    assert legal(env) == [
        *("sell 4", "sell 6", "sell 8"),
        *("bid 0", "bid 1", "bid 4 with 4", "bid 5 with 4", "bid 6 with 6", "bid 7 with 6", "bid 8 with 8"),
    ]
    three = at_concert(num_players=3)
    assert "bid 7 with 6" in legal(three)
    assert not {"bid 8", "bid 8 with 4", "bid 8 with 6", "bid 8 with 8"} & set(legal(three))


def test_a_closed_hand_stays_its_owner_s_until_it_is_paid() -> None:
    env = at_concert()
    play(env, "player_0 bid 8 with 8")
    assert money(env)[0] == 20
    assert see(env, 0).boards[0].furniture == (4, 6, 8)
    assert see(env, 0).hand == (8, 8)


@pytest.mark.parametrize(
    ("num_players", "total", "outcome"),
    [
        *((4, total, "too little") for total in (-2, 7)),
        *((4, total, "low") for total in (8, 11)),
        *((4, total, "medium") for total in (12, 14)),
        *((4, total, "high") for total in (15, 17)),
        *((4, total, "too much") for total in (18, 34)),
        *((3, total, "too little") for total in (-2, 6)),
        *((3, total, "low") for total in (7, 10)),
        *((3, total, "medium") for total in (11, 13)),
        *((3, total, "high") for total in (14, 16)),
        *((3, total, "too much") for total in (17, 23)),
    ],
)
def test_the_total_decides_the_class(num_players: int, total: int, outcome: str) -> None:
    token = 2 if total > 0 else -2
    env = at_concert(num_players, budget=[token, 0, 0, 2, 2, 2])
    left = total - token
    for player in range(num_players):
        amount = min(left, 8 if num_players == 4 else 7)
        left -= amount
        play(env, f"player_{player} bid {amount}")
    assert (see(env, 0).total, see(env, 0).outcome) == (total, outcome)


# Success: income, discards, bonuses.


def test_r14_a_contributed_token_counts_as_sold_and_brings_no_change() -> None:
    env = at_concert(budget=[0, 0, 2, 2, 2, 2])
    bids(env, "8 with 4", 1, 1, 1)
    assert see(env, 0).outcome == "low"
    assert money(env)[0] == 20 - 4
    assert see(env, 0).boards[0].furniture == (6, 8)
    game_at(env.states).compositions[0, 3] = 1  # the plain deal has 4A with Mozart: $5 at level 1
    assert see(env, 0).points.breakdown["mozart"] == 5


def test_nothing_is_paid_for_a_failed_concert() -> None:
    env = at_concert(budget=[2, 0, 0, 2, 2, 2])
    bids(env, "8 with 8", 8, 8, 8)
    assert see(env, 0).outcome == "too much"
    assert money(env) == [20] * 4
    assert see(env, 0).boards[0].furniture == (4, 6, 8)


LOW_CUBES = {"beethoven": 2, "schubert": 1, "handel": 1}  # all tracks alike: the last two rows are of low fame


def test_r13_keeping_is_asked_after_paying_and_before_income() -> None:
    env = at_concert(cubes={1: LOW_CUBES}, budget=[0, 0, 2, 2, 2, 2])
    bids(env, 1, 5, 1, 1)
    assert decision(env) == ("player_1", "keep")
    assert money(env) == [19, 15, 19, 19]
    assert legal(env) == ["keep beethoven", "keep schubert", "pass", "sell 4", "sell 6", "sell 8"]
    play(env, "player_1 keep beethoven")
    assert money(env) == [19, 15 + 3 * 3, 19, 19]
    assert cubes_of(env, 1) == {"beethoven": 2, "handel": 1}


def test_the_kept_cube_may_be_declined() -> None:
    env = at_concert(cubes={1: LOW_CUBES}, budget=[0, 0, 2, 2, 2, 2])
    bids(env, 1, 5, 1, 1)
    play(env, "player_1 pass")
    assert cubes_of(env, 1) == {"beethoven": 1, "handel": 1}


def test_r13_a_low_bonus_winner_without_a_cube_to_discard_is_not_asked() -> None:
    env = at_concert(cubes={0: {"beethoven": 1}, 1: {"handel": 3}}, budget=[0, 0, 2, 2, 2, 2])
    bids(env, 1, 5, 1, 1)
    assert decision(env)[1] == "take"
    assert cubes_of(env, 0) == {}


def test_r5_several_winners_choose_clockwise_from_the_start_player() -> None:
    env = at_concert(
        cubes=dict.fromkeys(range(4), LOW_CUBES), start_player=2, budget=[0, 0, 2, 2, 2, 2]
    )  # fmt: skip
    set_state(env)
    bids(env, 2, 2, 2, 2)
    order = []
    while decision(env)[1] == "keep":
        order.append(decision(env)[0])
        play(env, "keep schubert")
    assert order == ["player_2", "player_3", "player_0", "player_1"]


def test_r4_a_tie_at_0_is_a_tie_for_the_bonus() -> None:
    """Two players give nothing and the bot's 9 alone makes a medium class concert: both have given most."""
    env = at_concert(2, cubes={0: {"mozart": 1}, 1: {"beethoven": 1}, 2: {"handel": 1}}, bot_tiles=[[0, 0, 9]] * 6)
    bids(env, 0, 0)
    view = see(env, 0)
    assert (view.total, view.outcome) == (11, "medium")
    assert money(env) == [20 + 5, 20 + 5]


def test_r4_the_bot_never_wins_a_bonus_nor_keeps_others_from_it() -> None:
    env = at_concert(2, cubes={2: {"handel": 1}}, bot_tiles=[[0, 0, 9]] * 6, budget=[0, 0, 2, 2, 2, 2])
    bids(env, 2, 1)
    assert see(env, 0).outcome == "medium"
    assert money(env) == [20 - 2 + 5, 20 - 1]


def test_income_pays_every_cube_and_takes_one_of_each_colour_that_paid() -> None:
    env = at_concert(3, cubes={0: {"bach": 3, "haydn": 1}, 1: {"handel": 2}}, budget=[2, 0, 0, 2, 2, 2])
    bids(env, 3, 4, 2)
    assert see(env, 0).performing == ("bach", "haydn")  # medium: the middle two of five
    assert money(env) == [20 - 3 + 4 * 5, 20 - 4 + 5, 20 - 2]
    assert cubes_of(env, 0) == {"bach": 2}
    assert cubes_of(env, 1) == {"handel": 2}


def test_the_high_bonus_takes_a_cube_after_income_into_this_round_s_pile() -> None:
    env = at_concert(cubes={1: {"handel": 2}}, budget=[2, 0, 0, 2, 2, 2])
    bids(env, 4, 5, 3, 3)
    assert (see(env, 0).outcome, see(env, 0).performing) == ("high", ("handel",))
    assert decision(env) == ("player_1", "bonus")
    assert money(env)[1] == 20 - 5 + 2 * 9
    assert "pass" not in legal(env)
    play(env, "player_1 take handel")
    assert cubes_of(env, 1) == {"handel": 2}
    assert see(env, 0).round == 2


def test_r13_a_bonus_cube_lies_with_this_round_s_until_cleanup() -> None:
    env = at_concert(budget=[2, 0, 0, 2, 2, 2])
    bids(env, 4, 5, 5, 1)
    play(env, "player_1 take bach")
    assert decision(env) == ("player_2", "bonus")
    assert see(env, 0).boards[1].new_cubes == (0, 1, 0, 0, 0, 0)


def test_a_musician_emptied_by_a_high_bonus_dies_this_round() -> None:
    env = at_concert(tracks={"bach": [[1, 1]]}, budget=[2, 0, 0, 2, 2, 2])
    bids(env, 4, 5, 3, 3)
    play(env, "player_1 take bach")
    assert see(env, 0).musicians[1].is_dead


def test_the_high_bonus_is_not_asked_without_a_cube_left() -> None:
    env = at_concert(budget=[2, 0, 0, 2, 2, 2])
    set_state(env, cubes_left=[0] * 6, num_uncovered=[2] * 6)
    bids(env, 4, 5, 3, 3)
    assert see(env, 0).outcome == "high"
    assert decision(env)[1] == "buy_4"


# Failure: penalties.


@pytest.mark.parametrize(("round_index", "given_up"), [(0, 1), (2, 1), (3, 2), (4, 2)])
def test_penalties_by_round(round_index: int, given_up: int) -> None:
    env = at_concert(cubes={0: {"bach": 3}, 1: {"bach": 3}}, budget=[0] * 2 + [2] * 4)
    set_state(env, round_index=round_index)
    bids(env, 0, 1, 1, 1)
    assert (decision(env), see(env, 0).pending) == (("player_0", "discard"), given_up)
    assert legal(env) == ["discard bach", "sell 4", "sell 6", "sell 8"]
    play(env, *["player_0 discard bach"] * given_up)
    assert cubes_of(env, 0) == {"bach": 3 - given_up}
    assert cubes_of(env, 1) == {"bach": 3}
    assert decision(env)[1] == "take"


def test_penalties_of_those_who_tie_come_one_after_the_other_and_those_without_cubes_are_not_asked() -> None:
    env = at_concert(cubes={0: {"bach": 2}, 2: {"handel": 1}}, budget=[2, 0, 0, 2, 2, 2])
    set_state(env, round_index=3)
    bids(env, 8, 8, 8, 0)
    asked = []
    while decision(env)[1] == "discard":
        asked.append(decision(env)[0])
        play(env, legal(env)[0])
    assert asked == ["player_0", "player_0", "player_2"]


def test_r6_the_bot_is_never_punished_nor_saves_others() -> None:
    env = at_concert(2, cubes={board: {"handel": 1} for board in range(3)}, bot_tiles=[[0, 0, 0]] * 6)
    bids(env, 1, 2)  # the bot gives less than both
    assert decision(env) == ("player_0", "discard")
    play(env, "player_0 discard handel")
    assert cubes_of(env, 2) == {"handel": 1}
    assert decision(env)[1] == "take"


# Who knows what: piles.


def test_r15_discards_come_from_the_earlier_cubes_first_and_piles_merge_at_cleanup() -> None:
    env = at_concert(budget=[0, 0, 2, 2, 2, 2])
    game = game_at(env.states)
    game.earlier_cubes[0, 5] = 1
    game.new_cubes[0, 5] = 2
    set_state(env)
    bids(env, 1, 5, 1, 1)  # low class: Schubert performs
    assert see(env, 0).boards[0].earlier_cubes[5] == 2
    assert see(env, 0).boards[0].new_cubes[5] == 0

    env = at_concert(budget=[0, 0, 2, 2, 2, 2])
    game = game_at(env.states)
    game.earlier_cubes[0, 5] = 1
    game.new_cubes[0, 5] = 2
    set_state(env)
    bids(env, 0, 0, 0, 1)  # too little
    play(env, "player_0 discard schubert")
    assert see(env, 0).boards[0].new_cubes[5] == 0  # merged already: nobody else has a cube
    assert see(env, 0).boards[0].earlier_cubes[5] == 2


def test_r15_a_penalty_takes_earlier_cubes_first() -> None:
    env = at_concert(cubes={1: {"bach": 1}}, budget=[0, 0, 2, 2, 2, 2])
    game = game_at(env.states)
    game.earlier_cubes[0, 5] = 1
    game.new_cubes[0, 5] = 1
    set_state(env)
    bids(env, 0, 0, 0, 1)
    play(env, "player_0 discard schubert")
    assert decision(env) == ("player_1", "discard")
    board = see(env, 0).boards[0]
    assert (board.earlier_cubes[5], board.new_cubes[5]) == (0, 1)


# Discussion.


def test_discussion_comes_after_the_token_and_binds_nobody() -> None:
    env = deal(3, discussion=True, start_player=1)  # fmt: skip
    play_until(env, "announce")
    assert see(env, 0).budget_token == 2
    assert legal(env) == ["pass", "sell 4", "sell 6", "sell 8", *[f"announce {n}" for n in range(8)]]
    play(env, "player_1 announce 7", "player_2 pass", "player_0 announce 0")
    assert [board.announced for board in see(env, 1).boards] == [7, None, 0]
    play(env, "player_1 bid 0", "player_2 bid 7", "player_0 bid 7")
    assert see(env, 1).total == 16


def test_without_discussion_nobody_is_asked() -> None:
    env = deal()
    play_until(env, "buy_8")
    play(env, *["pass"] * 4)
    assert decision(env)[1] == "bid"
