"""Hypothesis strategies for positions: any options, any seed, any number of random legal moves."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from hypothesis import strategies as st

from symphony9_env.envs.aec import RawEnv
from symphony9_env.options import OptionValues
from symphony9_env.rules.chance import MAX_SEED
from tests.scenarios import setup

seeds = st.integers(0, MAX_SEED)


@st.composite
def options(draw: st.DrawFn) -> OptionValues:
    return {
        "num_players": draw(st.sampled_from([2, 3, 4])),
        "tracks": draw(st.sampled_from(["historical", "random"])),
        "scoring": draw(st.sampled_from(["random", "A", "B"])),
        "discussion": draw(st.booleans()),
        "ledger": draw(st.booleans()),
        "reward": draw(st.sampled_from(["win", "margin", "score"])),
        "shaping": draw(st.booleans()),
    }


@st.composite
def tracks(draw: st.DrawFn) -> list[list[int]]:
    """Draw any valid track: 1 to 8 spaces, empty ones anywhere, 1 to 19 cubes."""
    spaces = draw(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 3)), min_size=1, max_size=8))
    track = [[reputation, cubes] for reputation, cubes in spaces]
    total = sum(cubes for _, cubes in track)
    if total == 0:
        track[draw(st.integers(0, len(track) - 1))][1] = 1
    while sum(cubes for _, cubes in track) > 19:
        next(space for space in track if space[1])[1] -= 1
    return track


@st.composite
def environments(draw: st.DrawFn) -> RawEnv:
    """Draw a game that has just been dealt: by seed, or by hand with odd tracks."""
    env = RawEnv(**draw(options()))
    env.reset(seed=draw(seeds))
    if draw(st.integers(0, 3)) == 0:
        by_hand = env.record()["setup"]
        by_hand["tracks"] = {name: draw(tracks()) for name in setup(env.options.num_players)["tracks"]}
        env.reset(options={"setup": by_hand})
    return env


def moves(env: RawEnv, rng: np.random.Generator, seldom_sell: bool = True) -> Iterator[int]:
    """Yield random legal moves until the game is over; the caller plays them one by one."""
    while not all(env.terminations.values()):
        legal = np.flatnonzero(env.action_mask)
        if seldom_sell and rng.random() < 0.8:
            kept = legal[(legal < 19) | (legal > 21)]
            legal = kept if len(kept) else legal
        yield int(rng.choice(legal))


@st.composite
def positions(draw: st.DrawFn, max_moves: int = 200) -> RawEnv:
    """Draw a game in any position."""
    env = draw(environments())
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    for _, move in zip(range(draw(st.integers(0, max_moves))), moves(env, rng), strict=False):
        env.step(move)
    return env


def rngs() -> st.SearchStrategy[Any]:
    return st.integers(0, 2**32).map(np.random.default_rng)
