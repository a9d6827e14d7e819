"""The golden playthroughs: the games play as they did, and together they reach every part of the rules."""

from __future__ import annotations

import pytest

from tools.golden import FOLDER, GAMES, GoldenGame, must_reach, play


@pytest.mark.parametrize("game", GAMES, ids=lambda game: game.name)
def test_the_game_plays_as_it_did(game: GoldenGame) -> None:
    assert play(game).text == (FOLDER / f"{game.name}.txt").read_text(encoding="utf-8")


def test_the_games_reach_everything() -> None:
    reached = set[str]().union(*(play(game).reached for game in GAMES))
    assert must_reach() - reached == set()
