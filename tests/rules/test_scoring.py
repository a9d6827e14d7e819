"""Scoring tiles with both columns, exact points (R11), ties."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest

from symphony9_env.envs.aec import RawEnv
from symphony9_env.rules.state import SELL_LAST, game_at
from tests.scenarios import (
    deal,
    play,
    scores,
    see,
    set_state,
    setup,
)


def tile_score(num_players: int, tile: str, own: int, **fields: Any) -> float:
    """What a tile side on Handel's track gives player_0, who has `own` compositions of his."""
    others = iter(f"{n}A" for n in range(1, 7) if str(n) != tile[0])
    names = list(setup(num_players)["tracks"])
    env = deal(num_players, scoring={name: tile if name == "handel" else next(others) for name in names})
    set_state(env, **fields)
    game_at(env.states).compositions[0, 0] += own
    return see(env, 0).points.breakdown["handel"]


FOUR, FEWER = 4, 3
LEVELS = (1, 2, 3, 4)
_NONE = [[0] * 6] * 3  # the other boards


@pytest.mark.parametrize(
    ("tile", "fields", "four", "fewer"),
    [
        ("1A", {}, (5, 10, 15, 20), (4, 8, 12, 16)),
        ("1B", {}, (5, 10, 15, 20), (4, 8, 12, 16)),
        ("2A", {"num_successes": 4}, (4, 8, 12, 12), (4, 8, 12, 12)),
        ("2B", {"num_performers": 7}, (3.5, 7, 10.5, 10.5), (3.5, 7, 10.5, 10.5)),
        ("3A", {"dead": [0, 1, 1, 0, 1, 0]}, (9, 12, 15, 15), (6, 9, 12, 12)),
        ("3B", {"earlier_cubes": [[1, 2, 0, 0, 0, 0], *[[5] * 6] * 3], "new_cubes": [[0, 2, 0, 0, 0, 0], *_NONE]},
         (5, 7.5, 10, 10), (5, 7.5, 10, 10)),
        ("4A", {"furniture": [[1, 0, 0], *[[1] * 3] * 3]}, (10, 12, 14, 14), (8, 10, 12, 12)),
        ("4B", {}, (20, 20, 20, 20), (15, 15, 15, 15)),
        ("5A", {"compositions": [[0, 1, 2, 0, 0, 0], *_NONE]}, (3, 6, 9, 9), (3, 6, 9, 9)),
        ("5B", {"compositions": [[0, 3, 4, 1, 0, 0], *_NONE]}, (6, 12, 16, 20), (3, 8, 12, 15)),
        ("6A", {"compositions": [[0, 1, 2, 0, 0, 2], *_NONE]}, (5, 7.5, 10, 10), None),
        ("6B", {"compositions": [[0, 1, 2, 0, 0, 2], *_NONE]}, (5, 7.5, 10, 10), None),
    ],
)  # fmt: skip
def test_scoring_tiles_with_both_columns(
    tile: str, fields: dict[str, Any], four: tuple[float, ...], fewer: tuple[float, ...] | None
) -> None:
    assert tuple(tile_score(FOUR, tile, own, **fields) for own in LEVELS) == four
    if fewer is not None:
        assert tuple(tile_score(FEWER, tile, own, **fields) for own in LEVELS) == fewer


def test_without_a_tile_a_colour_scores_nothing() -> None:
    for tile in ("2A", "3B", "4A", "4B", "6B"):
        assert tile_score(FOUR, tile, 0, num_successes=6) == 0


def test_r11_points_are_exact_thirds() -> None:
    env = deal(scoring=dict(zip(setup()["tracks"], ["4B", "1A", "2A", "3A", "5A", "6A"], strict=True)))
    game_at(env.states).compositions[:, 0] = [2, 1, 1, 1]
    assert [Fraction(total).limit_denominator(6) - 15 for total in scores(env)] == [20] + [Fraction(16, 3)] * 3


def test_money_furniture_and_last_works_score() -> None:
    env = deal()
    set_state(
        env, money=[11, 12, 0, 2], furniture=[[1, 0, 0], [0, 1, 1], [0, 0, 0], [1, 1, 1]], dead=[0, 1, 0, 0, 0, 0]
    )
    game_at(env.states).compositions[1, 1] = 2
    sheet = [see(env, seat).points.breakdown for seat in range(4)]
    assert [points["money"] for points in sheet] == [3, 4, 0, 0]
    assert [points["furniture"] for points in sheet] == [2, 7, 0, 9]
    assert [points["last_works"] for points in sheet] == [0, 2, 0, 0]


def end_with(points: list[int], tiles: list[int]) -> RawEnv:
    """A finished game in which everyone has this many points (all of them money) and worthless tiles."""
    env = deal(len(points))
    set_state(env, phase=SELL_LAST, round_index=5, turn=len(points) - 1, player=len(points) - 1, pending=1,
          furniture=[[0] * 3] * 4)  # fmt: skip
    game = game_at(env.states)
    game.furniture[len(points) - 1] = [1, 0, 0]
    for player, (value, count) in enumerate(zip(points, tiles, strict=True)):
        game.compositions[player, 1] = count  # 2A with no success: nothing
        game.money[player] = 3 * value
    game.money[len(points) - 1] -= 4
    set_state(env)
    play(env, "sell 4")
    return env


@pytest.mark.parametrize(
    ("points", "tiles", "ranks", "rewards"),
    [
        ([10, 20, 5, 7], [0, 0, 0, 0], [2, 1, 4, 3], [-1 / 3, 1, -1 / 3, -1 / 3]),
        ([10, 10, 5, 7], [1, 2, 0, 0], [2, 1, 4, 3], [-1 / 3, 1, -1 / 3, -1 / 3]),  # more tiles
        ([10, 10, 5, 7], [1, 1, 0, 0], [1, 1, 4, 3], [1 / 2, 1 / 2, -1 / 2, -1 / 2]),  # shared
        ([10, 10, 10, 7], [1, 1, 1, 5], [1, 1, 1, 4], [1 / 3, 1 / 3, 1 / 3, -1]),
        ([7, 7, 7, 7], [2, 2, 2, 2], [1, 1, 1, 1], [0, 0, 0, 0]),
        ([9, 3, 9, 9], [0, 9, 0, 1], [2, 4, 2, 1], [-1 / 3, -1 / 3, -1 / 3, 1]),
    ],
)
def test_ties_ranks_and_shared_wins(
    points: list[int], tiles: list[int], ranks: list[int], rewards: list[float]
) -> None:
    env = end_with(points, tiles)
    infos = [env.infos[agent] for agent in env.possible_agents]
    assert [info["score"] for info in infos] == points
    assert [info["rank"] for info in infos] == ranks
    assert list(env.rewards.values()) == pytest.approx(rewards)
