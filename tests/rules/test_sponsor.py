"""Sponsoring: tracks (R1), picks and purchases (R2, R3), compositions, the bot's picks."""

from __future__ import annotations

import pytest

from symphony9_env.envs.aec import RawEnv
from symphony9_env.rules.state import game_at
from tests.scenarios import (
    bids,
    cubes_of,
    deal,
    decision,
    give,
    legal,
    money,
    play,
    play_until,
    see,
    set_state,
    setup,
)

# R1: uncovered spaces, reputation, seniority.


@pytest.mark.parametrize(
    ("track", "taken", "reputation"),
    [
        ([[4, 1], [2, 18]], 0, 0),  # no uncovered space: reputation 0
        ([[4, 1], [2, 18]], 1, 4),
        ([[2, 0], [3, 0], [5, 2], [4, 0], [1, 17]], 0, 3),  # empty spaces at the front are uncovered
        ([[2, 0], [3, 0], [5, 2], [4, 0], [1, 17]], 1, 3),
        ([[2, 0], [3, 0], [5, 2], [4, 0], [1, 17]], 2, 4),  # and so is an empty one behind an emptied one
        ([[2, 0], [3, 1], [5, 0]], 1, 5),  # also at the very end
    ],
)
def test_r1_reputation_is_that_of_the_rightmost_uncovered_space(
    track: list[list[int]], taken: int, reputation: int
) -> None:
    env = deal(tracks={"handel": track})
    play(env, *["take handel"] * taken)
    assert see(env, 0).musicians[0].reputation == reputation


def test_r1_a_musician_without_uncovered_space_is_junior_to_one_with_reputation_0() -> None:
    env = deal(tracks={"handel": [[0, 19]], "bach": [[0, 0], [9, 19]]})
    places = {musician.name: musician.rank for musician in see(env, 0).musicians}
    assert places["bach"] < places["handel"]


def test_cubes_leave_from_the_leftmost_space() -> None:
    env = deal(tracks={"handel": [[1, 0], [2, 1], [3, 1], [4, 17]]})
    seen = []
    for _ in range(3):
        musician = see(env, 0).musicians[0]
        seen.append((musician.reputation, musician.ahead[0]))
        play(env, "take handel")
    assert seen == [(1, (1, 2)), (2, (1, 3)), (3, (17, 4))]


# R2, R3: what is asked when there is nothing to take.


def test_r2_free_picks_end_with_the_cubes() -> None:
    """Six tracks of one cube: three players take two each, the fourth is not asked."""
    env = deal(tracks={name: [[3, 1]] for name in setup()["tracks"]})
    play(env, "player_0 take handel", "player_0 take bach", "player_1 take haydn", "player_1 take mozart")
    play(env, "player_2 take beethoven", "player_2 take schubert")
    assert decision(env) == ("player_0", "buy_4")


def test_r2_an_odd_last_cube_is_one_free_pick() -> None:
    env = deal(num_players=3, tracks={name: [[3, 1]] for name in setup(3)["tracks"]})
    play(env, "player_0 take handel", "player_0 take bach", "player_1 take haydn", "player_1 take mozart")
    assert see(env, 2).pending == 1
    play(env, "player_2 take beethoven")
    assert decision(env) == ("player_0", "buy_4")


def test_r2_the_bot_s_picks_end_with_the_cubes_too() -> None:
    env = deal(num_players=2, tracks={name: [[3, 1]] for name in setup(2)["tracks"]})
    play(env, "player_0 take handel", "player_0 take bach", "player_1 take haydn", "player_1 take mozart")
    assert decision(env) == ("player_0", "take_for_bot")
    play(env, "player_0 take beethoven")
    assert decision(env) == ("player_0", "buy_4")
    assert cubes_of(env, 2)["beethoven"] == 1


def test_r2_bonus_cubes_can_empty_the_default_boards() -> None:
    """Three players buy all they can and share every high bonus: no free pick is left in round six."""
    env = RawEnv(num_players=3)
    env.reset(seed=0)
    while see(env, 0).round < 6:
        play(env, _seek_the_high_bonus(env))
    assert sum(musician.cubes_left for musician in see(env, 0).musicians) == 0
    assert decision(env)[1] == "buy_4"


def _seek_the_high_bonus(env: RawEnv) -> str:
    """Return a move that takes the cube of the best musician, or bids a third of a high class concert."""
    view, names = see(env, env.deciding_seat), legal(env)
    takes = [f"take {musician.name}" for musician in sorted(view.musicians, key=lambda musician: musician.rank)]
    share = {2: "bid 4", 0: "bid 5", -2: "bid 6"}[view.budget_token or 0]
    return next(name for name in (*takes, share, "sell 4", "sell 6", "sell 8", "pass") if name in names)


def test_r3_buying_is_asked_without_a_cube_on_any_track() -> None:
    env = deal(tracks={name: [[3, 1]] for name in setup()["tracks"]})
    play_until(env, "buy_4")
    assert legal(env) == ["pass", "sell 4", "sell 6", "sell 8"]


def test_r3_buying_is_asked_without_money_and_selling_makes_it_possible() -> None:
    env = deal()
    play_until(env, "buy_8")
    set_state(env, money=[7, 20, 20, 20])
    assert legal(env) == ["pass", "sell 4", "sell 6", "sell 8"]
    play(env, "player_0 sell 4")
    assert decision(env) == ("player_0", "buy_8")
    assert "take handel" in legal(env)
    play(env, "player_0 take handel")
    assert money(env)[0] == 7 + 4 - 8


def test_r3_a_single_choice_is_still_asked() -> None:
    env = deal()
    play_until(env, "buy_4")
    set_state(env, money=[0, 20, 20, 20], furniture=[[0, 0, 0], *[[1, 1, 1]] * 3])
    assert (decision(env), legal(env)) == (("player_0", "buy_4"), ["pass"])


def test_the_first_turn_can_not_be_passed_and_passing_the_second_does_not_make_the_third_cheaper() -> None:
    env = deal()
    assert "pass" not in legal(env)
    play_until(env, "buy_8")
    play(env, "player_0 take bach")
    assert money(env)[0] == 20 - 8


# Compositions.


def test_composition_ties_go_to_the_nearest_to_the_start_player() -> None:
    env = deal(start_player=2)
    play_until(env, "buy_8")
    for board, cubes in enumerate([{"handel": 3}, {"handel": 3}, {"bach": 1}, {"handel": 1}]):
        give(env, board, **cubes)
    play(env, *["pass"] * 4)
    tiles = game_at(env.states).compositions[:, 0].tolist()
    assert tiles == [1, 0, 0, 0]  # 2, 3, 0, 1 is the order
    assert cubes_of(env, 0) == {"handel": 2}  # floor of half is given up
    assert cubes_of(env, 1) == {"handel": 3}


def test_the_bot_wins_every_composition_tie_it_is_in() -> None:
    env = deal(num_players=2)
    play_until(env, "buy_8")
    for board in range(3):
        give(env, board, handel=2)
    play(env, "pass", "pass")
    assert game_at(env.states).compositions[:, 0].tolist() == [0, 0, 1, 0]
    assert [cubes_of(env, board)["handel"] for board in range(3)] == [2, 2, 1]


def test_no_cubes_no_tile_and_a_musician_emptied_this_round_still_gives_his() -> None:
    env = deal(tracks={"handel": [[3, 1]]})
    play(env, "take handel")
    play_until(env, "buy_8")
    for board in range(4):
        give(env, board, **({"handel": 1} if board == 3 else {}))
    play(env, *["pass"] * 4)
    assert game_at(env.states).compositions.sum() == 1
    assert game_at(env.states).compositions[3, 0] == 1
    assert cubes_of(env, 3) == {"handel": 1}  # a single cube is not given up


def test_the_dead_give_no_tile_but_perform() -> None:
    env = deal(tracks={"handel": [[9, 0], [9, 1]]}, budget=[2, 0, 2, 2, 2, 0])
    play(env, "take handel")
    play_until(env, "bid")
    bids(env, 8, 8, 8, 8)
    play_until(env, "buy_8")
    assert see(env, 0).musicians[0].is_dead
    for board in range(4):
        give(env, board, handel=board)
    tiles = game_at(env.states).compositions[:, 0].sum()
    play(env, *["pass"] * 4)
    assert game_at(env.states).compositions[:, 0].sum() == tiles
    bids(env, 4, 4, 4, 4)  # high class: 16
    assert see(env, 0).performing == ("handel",)
