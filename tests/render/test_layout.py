"""The image of a game: every position of whole games is drawn legibly, and nothing that is hidden."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations
from xml.etree import ElementTree as ET

import numpy as np
import pytest
from hypothesis import assume, given, settings

from symphony9_env.envs.aec import RawEnv
from symphony9_env.options import OptionValues
from symphony9_env.render.drawing import Drawing, Rectangle, Text
from symphony9_env.render.layout import draw
from symphony9_env.render.svg import to_svg
from symphony9_env.render.tracks import list_spaces
from symphony9_env.rules.state import States, game_at
from symphony9_env.views import resample, seat_view
from symphony9_env.views.text import QUESTIONS
from tests.properties.strategies import moves, positions, rngs
from tests.properties.test_secrets import change_secrets
from tests.render.bounds import bounds, text_length
from tests.scenarios import deal, give, play, play_until, see

GAMES: list[OptionValues] = [
    {"num_players": 2, "discussion": True},
    {"num_players": 3, "discussion": True, "ledger": True, "tracks": "random"},
    {"num_players": 4, "discussion": True},
]


def whole_game(options: OptionValues, seed: int = 3) -> Iterator[RawEnv]:
    env = RawEnv(**options)
    env.reset(seed=seed)
    yield env
    for move in moves(env, np.random.default_rng(seed)):
        env.step(move)
        yield env


def texts_of(drawing: Drawing) -> list[str]:
    return [shape.text for shape in drawing.primitives if isinstance(shape, Text)]


def svg_of(states: States, seat: int, ledger: bool = False) -> str:
    return to_svg(draw(seat_view(states, 0, seat, ledger)))


@pytest.mark.parametrize("options", GAMES, ids=str)
def test_every_position_is_well_formed_and_stays_in_the_picture(options: OptionValues) -> None:
    for env in whole_game(options):
        for seat in range(env.options.num_players):
            drawing = draw(see(env, seat, env.options.ledger))
            ET.fromstring(to_svg(drawing))
            for shape in drawing.primitives:
                left, top, right, bottom = bounds(shape)
                assert left >= 0 <= top, shape
                assert right <= drawing.width, shape
                assert bottom <= drawing.height, shape


def box_of(label: Text, wider: float) -> tuple[float, float, float, float]:
    """Return the box of a text in a font this much wider than ours; descenders may touch what is below."""
    width = min(text_length(label) * wider, label.fit or 1e9)
    left = label.x - {"start": 0.0, "middle": width / 2, "end": width}[label.anchor]
    return left, label.y - 0.72 * label.fitted_size, left + width, label.y


@pytest.mark.parametrize("wider", [1.0, 1.17])  # 1.17: DejaVu Sans, the widest that systems have
@pytest.mark.parametrize("options", GAMES, ids=str)
def test_words_are_legible_and_never_on_each_other(options: OptionValues, wider: float) -> None:
    for number, env in enumerate(whole_game(options)):
        if number % 5 and not all(env.terminations.values()):
            continue
        drawing = draw(see(env, env.deciding_seat, env.options.ledger))
        found = [(shape, box_of(shape, wider)) for shape in drawing.primitives if isinstance(shape, Text)]
        assert min(shape.fitted_size for shape, _ in found) > 8.5
        for (one, first), (other, second) in combinations(found, 2):
            apart = first[2] <= second[0] or second[2] <= first[0] or first[3] <= second[1] or second[3] <= first[1]
            assert apart, (one, other)
        for shape, (left, _, right, _) in found:
            assert left >= 0, shape
            assert right <= drawing.width, shape


def test_cards_do_not_overlap() -> None:
    drawing = draw(see(deal(), 0))
    cards = [s for s in drawing.primitives if isinstance(s, Rectangle) and s.radius == 8 and s.height > 100]
    assert len(cards) == 3
    for one, other in combinations(map(bounds, cards), 2):
        assert one[2] <= other[0] or one[3] <= other[1]


@settings(max_examples=40, deadline=None)
@given(positions(), rngs())
def test_what_is_hidden_from_a_seat_never_moves_its_picture(env: RawEnv, rng: np.random.Generator) -> None:
    assume(not all(env.terminations.values()))  # then the score sheet is open
    for seat in range(env.options.num_players):
        other = env.states.copy()
        change_secrets(game_at(other), seat, rng)
        assert svg_of(other, seat) == svg_of(env.states, seat)
        assert svg_of(resample(env.states, seat, rng), seat, ledger=True) == svg_of(env.states, seat, ledger=True)


def test_a_closed_hand_is_drawn_for_its_owner_only() -> None:
    one, other = deal(), deal()
    for env, hand in ((one, "bid 7 with 4"), (other, "bid 0")):
        play_until(env, "bid")
        play(env, hand)
    assert "$7 with $4" in texts_of(draw(see(one, 0)))
    assert svg_of(one.states, 0) != svg_of(other.states, 0)
    for seat in (1, 2, 3):
        assert "closed" in texts_of(draw(see(one, seat)))
        assert svg_of(one.states, seat) == svg_of(other.states, seat)


def test_the_question_is_asked_of_the_deciding_seat_and_others_wait() -> None:
    env = deal()
    assert f"{QUESTIONS['take']} (2 left)" in texts_of(draw(see(env, 0)))
    assert "Waiting for player_0: take" in texts_of(draw(see(env, 1)))


def test_spaces_are_read_off_the_view() -> None:
    track = [[2, 0], [3, 2], [5, 0], [4, 3]]
    env = deal(tracks={"handel": track})
    found = list_spaces(see(env, 0).musicians[0])
    assert [(s.reputation, s.cubes, s.is_covered, s.is_current) for s in found] == [
        (2, 0, False, True),
        (3, 2, True, False),
        (5, 0, True, False),
        (4, 3, True, False),
    ]
    play(env, "take handel", "take handel")
    found = list_spaces(see(env, 0).musicians[0])
    assert [(s.reputation, s.cubes, s.is_covered, s.is_current) for s in found] == [
        (2, 0, False, False),
        (3, 0, False, False),
        (5, 0, False, True),
        (4, 3, True, False),
    ]


def test_many_cubes_are_a_number() -> None:
    env = deal()
    give(env, 0, handel=14)
    shown = texts_of(draw(see(env, 0)))
    assert "14" in shown
    assert "×19" in shown  # on the tracks


def test_the_end_shows_the_score_sheet_and_the_winners() -> None:
    *_, env = whole_game({"num_players": 2})
    shown = texts_of(draw(see(env, 1)))
    sheet = see(env, 1).score_sheet
    assert sheet is not None
    assert "Final score" in shown
    for player, line in sheet.items():
        assert (f"{player} wins" in shown) == (line.rank == 1)
        assert f"{round(line.total, 2):g}" in shown
