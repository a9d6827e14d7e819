"""The observation vector has the promised fields: they are read back and compared with the seat's view."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from numpy.typing import NDArray

from symphony9_env.components import CLASSES, FURNITURE_VALUES, MUSICIANS, SCORING_METHODS, scoring_method
from symphony9_env.envs.aec import RawEnv
from symphony9_env.rules.state import DECISIONS, OUTCOMES, game_at
from symphony9_env.views import (
    FIELDS,
    LEDGER_FIELDS,
    STATE_FIELDS,
    STATE_SIZE,
    Board,
    SeatView,
    layout_hash,
    observation_fields,
    observation_size,
)
from symphony9_env.views.fields import CUBES_UNIT, HIDDEN_SIZE, MONEY_SHOWN, MONEY_UNIT, TILES_UNIT, TOTAL_UNIT
from symphony9_env.views.vector import observe_hidden
from tests.properties.strategies import positions
from tests.scenarios import deal, see, set_state

Vector = NDArray[np.float32]


def read(vector: Vector, name: str) -> NDArray[np.float64]:
    field = next(field for field in STATE_FIELDS if field.name == name)
    return vector[field.slice].reshape(field.shape).astype(np.float64)


def one_hot(size: int, index: int | None) -> list[float]:
    return [float(number == index) for number in range(size)]


def pad(values: Any, *shape: int) -> NDArray[np.float64]:
    values = np.asarray(values, np.float64)
    full = np.zeros(shape)
    full[tuple(slice(0, size) for size in values.shape)] = values
    return full


def tokens(values: tuple[int, ...] | None) -> list[float]:
    return [float(value in (values or ())) for value in FURNITURE_VALUES]


def expected_common_fields(view: SeatView) -> dict[str, Any]:
    """Return the expected fields that are the same for every seat, from the plain-Python view."""
    musicians = view.musicians
    ahead = [[(reputation / 9, cubes / 20) for cubes, reputation in m.ahead] for m in musicians]
    spaces = np.zeros((6, 8, 2))
    for row, track in enumerate(ahead):
        spaces[row, : len(track)] = np.array(track).reshape(-1, 2)
    return {
        "num_players": one_hot(3, view.num_players - 2),
        "bot": [float(view.num_players == 2)],
        "round": one_hot(6, view.round - 1),
        "decision": one_hot(len(DECISIONS), DECISIONS.index(view.decision)),
        "pending": [view.pending / 2],
        "reputation": pad([m.reputation / 9 for m in musicians], 6),
        "place": pad([(7 - m.rank) / 6 for m in musicians], 6),
        "fame": pad([one_hot(3, CLASSES.index(m.fame)) for m in musicians], 6, 3),
        "dead": pad([m.is_dead for m in musicians], 6),
        "cubes_left": pad([m.cubes_left / 20 for m in musicians], 6),
        "ahead_reputation": spaces[..., 0],
        "ahead_cubes": spaces[..., 1],
        "scoring": pad([one_hot(10, SCORING_METHODS.index(scoring_method(m.scoring_tile))) for m in musicians], 6, 10),
        "budget_token": one_hot(3, None if view.budget_token is None else [-2, 0, 2].index(view.budget_token)),
        "budget_seen": [view.budget_seen.count(token) / 4 for token in (-2, 0, 2)],
        "successes": [view.successes / 6],
        "performers": [view.performers / 18],
        "outcome": one_hot(5, None if view.outcome is None else OUTCOMES.index(view.outcome)),
        "total": [(view.total or 0) / TOTAL_UNIT],
    }


def expected_seat_fields(view: SeatView) -> dict[str, Any]:
    """Return the expected fields that are relative to the observer."""
    boards = view.boards
    names = [board.name for board in boards]
    own = boards[0]

    def by_board(values: list[Any], *shape: int) -> NDArray[np.float64]:
        return pad(values, 4, *shape)

    def contribution(board: Board) -> tuple[int, int | None]:
        return board.last_contribution or (0, None)

    return {
        "to_decide": one_hot(4, names.index(view.to_decide) if view.to_decide else None),
        "start_player": one_hot(4, names.index(view.start_player)),
        "money": [min(own.money or 0, MONEY_SHOWN) / MONEY_UNIT],
        "furniture": tokens(own.furniture),
        "hand": [1.0, view.hand[0] / 8] if view.hand else [0.0, 0.0],
        "hand_token": one_hot(3, FURNITURE_VALUES.index(view.hand[1]) if view.hand and view.hand[1] else None),
        "earlier_cubes": by_board([pad(b.earlier_cubes, 6) / CUBES_UNIT for b in boards], 6),
        "new_cubes": by_board([pad(b.new_cubes, 6) / CUBES_UNIT for b in boards], 6),
        "compositions": by_board([pad(b.compositions, 6) / TILES_UNIT for b in boards], 6),
        "sales": by_board([tokens(b.sold_this_round) for b in boards], 3),
        "announced": by_board([(b.announced is not None, (b.announced or 0) / 8) for b in boards], 2),
        "kept": by_board([one_hot(6, MUSICIANS.index(b.kept) if b.kept else None) for b in boards], 6),
        "contribution": by_board([contribution(b)[0] / 8 for b in boards]),
        "contribution_token": by_board([tokens((contribution(b)[1] or 0,)) for b in boards], 3),
    }


def expected_ledger_fields(view: SeatView) -> dict[str, Any]:
    others = [board for board in view.boards[1:] if board.name != "bot"]
    return {
        "others_money": pad([min(b.money or 0, MONEY_SHOWN) / MONEY_UNIT for b in others], 3),
        "others_furniture": pad([tokens(b.furniture) for b in others], 3, 3),
    }


@settings(max_examples=150, deadline=None)
@given(positions())
def test_every_field_means_what_the_layout_says(env: RawEnv) -> None:
    for seat, agent in enumerate(env.possible_agents):
        vector = env.observe(agent)["observation"]
        view = see(env, seat, env.options.ledger)
        expected = {**expected_common_fields(view), **expected_seat_fields(view)}
        expected["discussion"] = [float(env.options.variant.discussion)]
        expected["seniority"] = pad(game_at(env.states).num_uncovered[: len(view.musicians)] / 8, 6)
        if env.options.ledger:
            expected |= expected_ledger_fields(view)
        assert set(expected) == {field.name for field in observation_fields(env.options.ledger)}
        for name, values in expected.items():
            np.testing.assert_allclose(read(vector, name), values, atol=1e-6, err_msg=name)


@settings(max_examples=60, deadline=None)
@given(positions())
def test_the_state_holds_everything(env: RawEnv) -> None:
    game = game_at(env.states)
    count = env.options.num_players
    state = env.state()
    assert state.shape == (STATE_SIZE,)
    view = see(env, 0, ledger=True)
    for name, values in {
        **expected_common_fields(view),
        **expected_seat_fields(view),
        **expected_ledger_fields(view),
    }.items():
        np.testing.assert_allclose(read(state, name), values, atol=1e-6, err_msg=name)
    closed = [(hand >= 0, max(hand, 0) / 8) for hand in game.hand[:count].tolist()]
    np.testing.assert_allclose(read(state, "all_hands"), pad(closed, 4, 2))
    inside = [one_hot(3, token if token >= 0 else None) for token in game.hand_token[:count].tolist()]
    np.testing.assert_allclose(read(state, "all_hand_tokens"), pad(inside, 4, 3))
    np.testing.assert_allclose(read(state, "all_budget"), game.budget / 2)
    np.testing.assert_allclose(read(state, "all_bot_tiles"), game.bot_tiles / 8, atol=1e-6)


@settings(max_examples=60, deadline=None)
@given(positions())
def test_what_is_hidden_is_that_of_the_state_seen_from_the_deciding_seat_and_the_present_round(env: RawEnv) -> None:
    game = game_at(env.states)
    count, seat, start = env.options.num_players, max(int(game.player), 0), int(game.round_index)
    game.player = seat  # also when the game is over
    state, hidden = env.state(), np.ones((1, HIDDEN_SIZE), np.float32)
    observe_hidden(env.states, np.array([0]), hidden)
    vector = np.concatenate([state[: STATE_SIZE - HIDDEN_SIZE], hidden[0]])
    order = [(seat + offset) % count for offset in range(count)]
    for name in ("all_hands", "all_hand_tokens"):
        np.testing.assert_array_equal(read(vector, name), pad(read(state, name)[order], 4, len(read(state, name)[0])))
    np.testing.assert_array_equal(read(vector, "all_budget"), pad(read(state, "all_budget")[start:], 6))
    np.testing.assert_array_equal(read(vector, "all_bot_tiles"), pad(read(state, "all_bot_tiles")[start:], 6, 3))


def test_fields_follow_one_another_without_gap_and_the_ledger_comes_last() -> None:
    for fields in (observation_fields(), observation_fields(ledger=True), STATE_FIELDS):
        assert fields[0].start == 0
        assert all(one.stop == other.start for one, other in pairwise(fields))
        assert len({field.name for field in fields}) == len(fields)
    assert observation_fields(ledger=True)[: len(FIELDS)] == FIELDS
    assert observation_size(ledger=True) - observation_size() == sum(field.size for field in LEDGER_FIELDS)


def test_the_layout_hash_tells_layouts_apart() -> None:
    """A change here means that saved policies no longer fit: raise LAYOUT_VERSION and say so in the changelog."""
    assert layout_hash() != layout_hash(ledger=True)
    assert layout_hash() == "2b5cf800e5cec1c4"


def test_the_box_holds_the_most_that_a_field_may_be() -> None:
    """20 sixths, rounded as the encoder does, are a little more than 20 / 6."""
    env = deal(2, discussion=True)
    set_state(
        env,
        earlier_cubes=[[20] * 6] * 4,
        new_cubes=[[20] * 6] * 4,
        compositions=[[6] * 6] * 4,
        reputation=[9] * 6,
        num_uncovered=[8] * 6,
        cubes_left=[19] * 6,
        ahead_cubes=[19] * 48,
        ahead_reputation=[9] * 48,
        num_successes=6,
        num_performers=18,
        outcome=4,
        total=115,
        contribution=[99] * 4,
        announced=[8] * 4,
        hand=[8] * 4,
        money=[9999] * 4,
        budget=[2] * 4 + [0, 0],
        round_index=5,
        phase=5,
    )
    for agent in env.possible_agents:
        assert env.observation_space(agent).contains(env.observe(agent))
    assert env.state_space.contains(env.state())


def test_fields_have_a_range() -> None:
    assert {field.range for field in FIELDS if field.name == "furniture"} == {(0, 1)}


@pytest.mark.parametrize(("amount", "shown"), [(0, 0), (40, 1), (200, 5), (5000, 5)])
def test_money_is_shown_up_to_a_limit(amount: int, shown: float) -> None:
    env = deal()
    set_state(env, money=[amount] * 4)
    vector = env.observe("player_0")["observation"]
    assert read(vector, "money") == [shown]
    assert env.observation_space("player_0").contains(env.observe("player_0"))
