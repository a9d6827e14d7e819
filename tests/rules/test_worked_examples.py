"""Every worked example of the rulebook, on tracks made for the example (the printed boards are pictures).

The rulebook's players are Ana, Ben, Carl and David: player_0 to player_3. Its colours are red Handel, yellow
Bach, green Haydn, blue Mozart, purple Beethoven, brown Schubert.
"""

from __future__ import annotations

from typing import Any

import pytest

from symphony9_env.envs.aec import RawEnv
from symphony9_env.rules.state import CONTRIBUTE, game_at
from tests.scenarios import bids, cubes_of, deal, decision, give, legal, money, play, scores, see, set_state, setup

ANA, BEN, CARL, DAVID = range(4)
STARTING = [["handel"], ["bach", "beethoven"], ["haydn", "mozart"], ["schubert"]]


@pytest.fixture
def sponsored() -> RawEnv:
    """The sponsor phase of p. 8, up to the last $8 cube."""
    env = deal(starting_cubes=STARTING)
    play(env, "player_0 take handel", "player_0 take mozart")
    play(env, "player_1 take bach", "player_1 take beethoven")
    play(env, "player_2 take handel", "player_2 take mozart")
    play(env, "player_3 take haydn", "player_3 take beethoven")
    play(env, "player_0 take mozart", "player_1 take haydn", "player_2 take handel", "player_3 take haydn")
    play(env, "player_0 take schubert", "player_1 pass", "player_2 take handel")
    return env


def test_sponsor_round_p8(sponsored: RawEnv) -> None:
    assert decision(sponsored) == ("player_3", "buy_8")
    assert cubes_of(sponsored, ANA) == {"handel": 2, "mozart": 2, "schubert": 1}
    assert cubes_of(sponsored, BEN) == {"bach": 2, "haydn": 1, "beethoven": 2}
    assert cubes_of(sponsored, CARL) == {"handel": 3, "haydn": 1, "mozart": 2}
    assert cubes_of(sponsored, DAVID) == {"haydn": 2, "beethoven": 1, "schubert": 1}
    assert money(sponsored) == [20 - 4 - 8, 20 - 4, 20 - 4 - 8, 20 - 4]


def test_compositions_p9(sponsored: RawEnv) -> None:
    """Carl's red, Ben's yellow and purple, David's green and brown, Ana's blue; each gives up one cube."""
    play(sponsored, "player_3 take schubert")
    tiles = game_at(sponsored.states).compositions
    assert tiles.tolist() == [
        [0, 0, 0, 1, 0, 0],
        [0, 1, 0, 0, 1, 0],
        [1, 0, 0, 0, 0, 0],
        [0, 0, 1, 0, 0, 1],
    ]
    assert cubes_of(sponsored, ANA) == {"handel": 2, "mozart": 1, "schubert": 1}
    assert cubes_of(sponsored, BEN) == {"bach": 1, "haydn": 1, "beethoven": 1}
    assert cubes_of(sponsored, CARL) == {"handel": 2, "haydn": 1, "mozart": 2}
    assert cubes_of(sponsored, DAVID) == {"haydn": 1, "beethoven": 1, "schubert": 1}


def concert_table(**changes: Any) -> RawEnv:
    """The tracks of p. 10: reputations 5, 4, 1, 4, 3, 5; Mozart's space further right than Bach's."""
    return deal(
        tracks={
            "handel": [[1, 0], [5, 0], [1, 17]],
            "bach": [[1, 0], [4, 0], [1, 17]],
            "haydn": [[1, 0], [2, 17]],
            "mozart": [[1, 0], [2, 0], [4, 0], [1, 17]],
            "beethoven": [[3, 0], [2, 17]],
            "schubert": [[1, 0], [5, 0], [1, 17]],
        },
        **changes,
    )


def test_ranking_p10() -> None:
    """Handel above Schubert (nearer the top), Mozart above Bach (further right)."""
    view = see(concert_table(), ANA)
    ranked = sorted(view.musicians, key=lambda musician: musician.rank)
    assert [musician.name for musician in ranked] == ["handel", "schubert", "mozart", "bach", "beethoven", "haydn"]
    assert [musician.fame for musician in ranked] == ["high", "medium", "medium", "medium", "low", "low"]


def test_successful_concert_p10_p11() -> None:
    """4 + 0 + 5 + 2 and a budget of 2 make 13: medium; Carl, who gave most, gets $5 more."""
    env = concert_table(budget=[2, 2, 2, 2, 0, 0])
    set_state(env, phase=CONTRIBUTE, pending=1)
    give(env, ANA, handel=2, mozart=1, schubert=1)
    give(env, BEN, bach=1, haydn=1, beethoven=1)
    give(env, CARL, handel=2, haydn=1, mozart=2)
    give(env, DAVID, haydn=1, beethoven=1, schubert=1)
    bids(env, 4, 0, 5, 2)
    view = see(env, ANA)
    assert (view.total, view.outcome, view.performing) == (13, "medium", ("bach", "mozart", "schubert"))
    assert money(env) == [20 - 4 + 2 * 4, 20 + 4, 20 - 5 + 2 * 4 + 5, 20 - 2 + 4]
    assert cubes_of(env, ANA) == {"handel": 2}
    assert cubes_of(env, BEN) == {"haydn": 1, "beethoven": 1}
    assert cubes_of(env, CARL) == {"handel": 2, "haydn": 1, "mozart": 1}
    assert cubes_of(env, DAVID) == {"haydn": 1, "beethoven": 1}
    assert (view.successes, view.performers) == (1, 3)


def test_failed_concert_p12() -> None:
    """1 + 1 + 4 + 3 - 2 = 7: too little; Ana and Ben gave least and give up a cube each; nobody pays."""
    env = concert_table(budget=[-2, 2, 2, 2, 0, 0])
    set_state(env, phase=CONTRIBUTE, pending=1)
    give(env, ANA, handel=2, mozart=1)
    give(env, BEN, bach=1)
    bids(env, 1, 1, 4, 3)
    view = see(env, ANA)
    assert (view.total, view.outcome, view.successes) == (7, "too little", 0)
    assert decision(env) == ("player_0", "discard")
    play(env, "player_0 discard mozart", "player_1 discard bach")
    assert cubes_of(env, ANA) == {"handel": 2}
    assert cubes_of(env, BEN) == {}
    assert money(env) == [20, 20, 20, 20]
    assert see(env, ANA).round == 2


def test_deaths_and_marker_p13() -> None:
    """Round five: Bach and Haydn are emptied, die at its end, and the marker goes from Ana to David."""
    env = concert_table()
    set_state(env, phase=CONTRIBUTE, pending=1, round_index=4)
    game = game_at(env.states)
    for row in (1, 2):
        game.cubes_left[row] = 0
        game.num_uncovered[row] = game.track_length[row]
    set_state(env)
    assert not any(musician.is_dead for musician in see(env, ANA).musicians)
    for board in range(4):
        give(env, board)
    bids(env, 8, 8, 8, 8)  # too much, and nobody has a cube to give up
    view = see(env, ANA)
    assert [musician.name for musician in view.musicians if musician.is_dead] == ["bach", "haydn"]
    assert (view.round, view.start_player) == (6, "player_3")
    assert decision(env) == ("player_3", "take")
    assert "take bach" not in legal(env)


@pytest.mark.parametrize(
    ("tiles", "points"),
    [
        ([3, 2, 1, 0], [20, 10, 6, 0]),
        ([3, 0, 3, 0], [15, 0, 15, 0]),
        ([2, 2, 1, 1], [15, 15, 3, 3]),
        ([0, 2, 2, 2], [0, 12, 12, 12]),
        ([1, 2, 2, 0], [6, 15, 15, 0]),
        ([1, 1, 3, 0], [8, 8, 20, 0]),
    ],
)
def test_tile_4b_tables_p15(tiles: list[int], points: list[int]) -> None:
    env = deal(scoring=dict(zip(setup()["tracks"], ["4B", "1A", "2A", "3A", "5A", "6A"], strict=True)))
    game_at(env.states).compositions[:, 0] = tiles
    without = 20 // 3 + 9  # money and furniture; no other colour has a composition
    assert [total - without for total in scores(env)] == points


def test_score_pad_p16_p17() -> None:
    """52.5, 76.5, 66, and 57 for David: the rulebook prints 58 with 3 last works where its table shows 2."""
    env = deal(scoring=dict(zip(setup()["tracks"], ["1A", "2B", "3A", "4A", "5A", "6B"], strict=True)))
    set_state(
        env,
        compositions=[[3, 1, 2, 0, 0, 1], [2, 2, 1, 3, 1, 2], [0, 2, 1, 2, 2, 1], [1, 0, 1, 1, 3, 2]],
        dead=[0, 1, 1, 1, 0, 0],
        num_successes=5,
        num_performers=11,
        money=[12, 2, 19, 8],
        furniture=[[0, 1, 1], [0, 0, 0], [0, 0, 0], [0, 0, 0]],
    )
    assert scores(env) == [52.5, 76.5, 66.0, 57.0]


def test_bot_contribution_p19() -> None:
    """Two red and two blue cubes: the lower of their levels, medium; tile 1/3/5 makes $3.

    The concert is medium, so the bot also gives up a yellow and a blue cube and gets nothing.
    """
    env = deal(
        num_players=2,
        tracks={
            "handel": [[5, 0], [1, 17]],
            "bach": [[3, 0], [1, 17]],
            "haydn": [[1, 0], [1, 17]],
            "mozart": [[4, 0], [1, 17]],
            "beethoven": [[2, 0], [1, 17]],
        },
        bot_tiles=[[1, 3, 5]] * 6,
        budget=[0, 0, 2, 2, 2, 2],
    )
    set_state(env, phase=CONTRIBUTE, pending=1)
    for board, cubes in enumerate([{}, {}, {"handel": 2, "mozart": 2, "bach": 1}]):
        give(env, board, **cubes)
    bids(env, 5, 4)
    view = see(env, 0)
    assert view.boards[2].last_contribution == (3, None)
    assert (view.total, view.outcome, view.performing) == (12, "medium", ("bach", "mozart"))
    assert cubes_of(env, 2) == {"handel": 2, "mozart": 1}
    assert money(env) == [20 - 5 + 5, 20 - 4]
    assert view.start_player == "player_1"  # p. 19: the marker goes between the two players
