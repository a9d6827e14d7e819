"""Dealing: what a seed and the options give (R16)."""

from __future__ import annotations

import json
from itertools import pairwise

import numpy as np

from symphony9_env.actions import NO_TOKEN
from symphony9_env.envs.aec import RawEnv
from symphony9_env.rules.state import GAME, NONE
from symphony9_env.setup_format import read_setup
from tests.scenarios import (
    deal,
    decision,
    finish,
    legal,
    play,
    see,
    setup,
)


def test_r16_schubert_s_board_is_left_out_with_fewer_than_four() -> None:
    for num_players, tracks in ((2, "random"), (3, "random"), (3, "historical")):
        env = RawEnv(num_players=num_players, tracks=tracks)
        used = set()
        for seed in range(60):
            env.reset(seed=seed)
            used |= {json.dumps(track) for track in env.record()["setup"]["tracks"].values()}
        components = env.options.variant.load_components()
        schubert = {json.dumps(components.track("schubert", side, num_players)) for side in "AB"}
        others = {
            json.dumps(components.track(name, side, num_players))
            for name in ("handel", "bach", "haydn", "mozart", "beethoven")
            for side in ("AB" if tracks == "random" else "A")
        }
        assert used == others
        assert not used & schubert


def test_the_start_marker_goes_counter_clockwise() -> None:
    env = deal(start_player=1)
    starts: list[tuple[int, int]] = []
    rng = np.random.default_rng(5)
    while decision(env)[1] != "over":
        view = see(env, 0)
        if not starts or starts[-1][0] != view.round:
            starts.append((view.round, int(view.start_player[-1])))
        play(env, legal(env)[int(rng.integers(len(legal(env))))])
    assert all(later == (earlier - 1) % 4 for (_, earlier), (_, later) in pairwise(starts))
    assert len(starts) == 6


def test_a_deal_has_everything_in_the_right_number() -> None:
    for num_players in (2, 3, 4):
        env = RawEnv(num_players=num_players, tracks="random")
        for seed in range(50):
            env.reset(seed=seed)
            dealt = read_setup(env.states, 0)
            # write_setup checks charts, budget, tiles and tracks: a dealt game must pass as one by hand
            env.reset(options={"setup": dealt})
            assert read_setup(env.states, 0) == dealt


def test_scoring_sides_follow_the_option() -> None:
    for scoring in ("A", "B"):
        env = RawEnv(scoring=scoring)
        env.reset(seed=1)
        assert {tile[1] for tile in env.record()["setup"]["scoring"].values()} == {scoring}
    by_hand = dict(zip(setup()["tracks"], ["6B", "5A", "4A", "3B", "2A", "1B"], strict=True))
    env = RawEnv(scoring=by_hand)
    env.reset(seed=1)
    assert env.record()["setup"]["scoring"] == by_hand


def test_every_start_player_token_order_and_side_comes_up() -> None:
    env = RawEnv()
    starts, sides, firsts, owners = set(), set(), set(), set()
    for seed in range(200):
        env.reset(seed=seed)
        dealt = env.record()["setup"]
        starts.add(dealt["start_player"])
        sides |= set(dealt["scoring"].items())
        firsts.add(dealt["budget"][0])
        owners |= {(seat, name) for seat, names in enumerate(dealt["starting_cubes"]) for name in names}
    assert starts == {0, 1, 2, 3}
    assert len(sides) == 6 * 12
    assert firsts == {-2, 0, 2}
    assert len(owners) == 4 * 6


def test_the_shipped_tracks_never_run_empty_in_the_sponsor_phases() -> None:
    """6 x 17 cubes for 6 x 16 picks, 5 x 15 for 6 x 12: what docs/rules.md says of the reconstruction."""
    for num_players, cubes, picks in ((4, 17, 16), (3, 15, 12), (2, 15, 12)):
        env = RawEnv(num_players=num_players, tracks="random")
        env.reset(seed=num_players)
        tracks = env.record()["setup"]["tracks"]
        assert {sum(space[1] for space in track) for track in tracks.values()} == {cubes}
        assert len(tracks) * cubes > 6 * picks
        finish(env, np.random.default_rng(0))


def test_a_game_s_record_has_no_padding() -> None:
    """Or equal games could differ in their bytes."""
    assert sum(GAME[name].itemsize for name in GAME.names or ()) == GAME.itemsize


def test_no_token_is_the_kernel_s_none() -> None:
    """Hands of actions.py are kept in fields whose empty value is NONE."""
    assert NO_TOKEN == NONE
