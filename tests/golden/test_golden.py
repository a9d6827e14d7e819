from __future__ import annotations

import pytest

from tools.golden import FOLDER, GAMES, Game, must_reach, play


@pytest.mark.parametrize("game", GAMES, ids=lambda game: game.name)
def test_the_game_plays_as_it_did(game: Game) -> None:
    assert play(game).text == (FOLDER / f"{game.name}.txt").read_text()


def test_the_games_reach_everything() -> None:
    reached = set[str]().union(*(play(game).reached for game in GAMES))
    assert must_reach() - reached == set()
