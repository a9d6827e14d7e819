"""Hidden information never reaches a seat, and resampling keeps what the seat may know."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from symphony9_env.actions import HANDS
from symphony9_env.envs.aec import RawEnv
from symphony9_env.events import EventBuffer
from symphony9_env.records import replay
from symphony9_env.rules.chance import next_seed
from symphony9_env.rules.state import DECISIONS, NONE, States, game_at
from symphony9_env.views import FIELDS, SeatView, describe, observation_size, resample, seat_view
from symphony9_env.views.vector import observe
from tests.properties.strategies import moves, positions, rngs
from tests.scenarios import bids, deal, legal, play, play_until, quiet, see


def seen_by(states: States, seat: int, ledger: bool = False) -> tuple[bytes, str, SeatView]:
    """Return all that reaches a seat: its vector, its text, and the view that images and messages are made from."""
    vector = np.zeros(observation_size(ledger), np.float32)
    observe(states, 0, seat, vector)
    view = seat_view(states, 0, seat, ledger)
    return vector.tobytes(), describe(view), view


def change_secrets(game: Any, seat: int, rng: np.random.Generator) -> None:
    """Overwrite everything hidden from a seat with something else, possible or not."""
    for other in range(game.num_players):
        if other != seat:
            game.money[other] = rng.integers(0, 100)
            game.furniture[other] = rng.integers(0, 2, 3)
            if game.hand[other] != NONE:
                game.hand[other], game.hand_token[other] = HANDS[rng.integers(len(HANDS))]
    asked = DECISIONS[game.phase]
    tokens = game.round_index + (asked not in ("take", "take_for_bot", "buy_4", "buy_8"))  # shown at the concert
    tiles = game.round_index + (asked in ("keep", "bonus", "discard", "sell", "over"))  # drawn when hands open
    game.budget[tokens:] = rng.choice([-2, 0, 2], 6 - tokens)
    game.bot_tiles[tiles:] = rng.integers(0, 7, (6 - tiles, 3))


@settings(max_examples=150, deadline=None)
@given(positions(), rngs())
def test_what_is_hidden_from_a_seat_never_moves_what_it_sees(env: RawEnv, rng: np.random.Generator) -> None:
    assume(not all(env.terminations.values()))  # then the score sheet is open
    for seat in range(env.options.num_players):
        other = env.states.copy()
        change_secrets(game_at(other), seat, rng)
        assert seen_by(other, seat) == seen_by(env.states, seat)


@settings(max_examples=60, deadline=None)
@given(positions(), rngs())
def test_what_is_hidden_from_the_deciding_seat_never_moves_what_is_rendered(
    env: RawEnv, rng: np.random.Generator
) -> None:
    assume(not all(env.terminations.values()))
    assume(not env.options.ledger)
    env.render_mode = "ansi"
    before = env.render()
    change_secrets(game_at(env.states), env.deciding_seat, rng)
    assert env.render() == before


def test_tokens_and_bot_tiles_are_shown_when_the_rules_show_them() -> None:
    env = deal(2, discussion=True, bot_tiles=[[0, 2, 4]] * 6, budget=[2, -2, 2, 2, 0, 0])
    seen = {}
    while see(env, 0).round < 2 or see(env, 0).decision == "take":
        view = see(env, 0)
        seen[view.round, view.decision] = (view.budget_token, len(view.bot_tiles_seen))
        play(env, quiet(legal(env)))
    assert seen[1, "buy_8"] == (None, 0)
    assert seen[1, "announce"] == (2, 0)
    assert seen[1, "bid"] == (2, 0)
    assert seen[1, "discard"] == (2, 1)
    assert seen[2, "take"] == (None, 1)


def test_sales_and_announcements_are_visible_in_their_round_only() -> None:
    """A total over rounds would give furniture away."""
    env = deal(discussion=True)
    spots = {field.name: field.slice for field in FIELDS}
    play(env, "player_0 sell 6")
    play_until(env, "announce")
    play(env, "player_0 announce 5")
    boards, vector = see(env, 1).boards, env.observe("player_1")["observation"]
    assert [board.sold_this_round for board in boards] == [(), (), (), (6,)]
    assert [board.announced for board in boards] == [None, None, None, 5]
    assert vector[spots["sales"]].sum() == vector[spots["announced"]][6] == 1
    play_until(env, "take")
    boards, vector = see(env, 1).boards, env.observe("player_1")["observation"]
    assert see(env, 1).round == 2
    assert [board.sold_this_round for board in boards] == [()] * 4
    assert [board.announced for board in boards] == [None] * 4
    assert not vector[spots["sales"]].any()
    assert not vector[spots["announced"]].any()


def test_the_ledger_shows_the_others_purses() -> None:
    env = deal()
    before = seen_by(env.states, 0, ledger=True)
    game_at(env.states).money[2] += 1
    assert seen_by(env.states, 0, ledger=True)[0] != before[0]
    assert seen_by(env.states, 0, ledger=True)[1] != before[1]


@settings(max_examples=150, deadline=None)
@given(positions(), rngs())
def test_a_resampled_state_looks_the_same_to_its_seat_even_with_perfect_memory(
    env: RawEnv, rng: np.random.Generator
) -> None:
    for seat in range(env.options.num_players):
        true = env.states.copy()
        sample = resample(env.states, seat, rng)
        assert env.states.tobytes() == true.tobytes()  # a copy was changed, not the game
        assert seen_by(sample, seat, ledger=True) == seen_by(true, seat, ledger=True)
        changed = {name for name in true.dtype.names or () if sample[name].tobytes() != true[name].tobytes()}
        assert changed <= {"budget", "bot_tiles", "hand", "hand_token"}
        assert sample["hand"][0, seat] == true["hand"][0, seat]
        counts = Counter(sample["budget"][0].tolist())
        assert counts[2] <= 4
        assert counts[0] <= 2
        assert counts[-2] <= 2


@settings(max_examples=40, deadline=None)
@given(positions(), st.integers(0, 1), rngs())
def test_a_resampled_environment_plays_to_the_end_and_its_record_replays(
    env: RawEnv, seat: int, rng: np.random.Generator
) -> None:
    before = (env.states.tobytes(), env.record())
    twin = env.resample(seat, rng)
    agent = env.possible_agents[seat]
    assert np.array_equal(twin.observe(agent)["observation"], env.observe(agent)["observation"])
    for move in moves(twin, rng):
        twin.step(move)
    *_, again = replay(twin.record())
    assert again.record() == twin.record()
    assert (env.states.tobytes(), env.record()) == before


def test_resampling_draws_hands_evenly_and_keeps_them_legal() -> None:
    env = deal()
    play_until(env, "bid")
    play(env, "player_0 bid 1", "player_1 bid 2")
    game = game_at(env.states)
    game.money[0], game.furniture[0] = 1, [1, 0, 0]
    rng = np.random.default_rng(0)
    drawn = Counter(
        (int(sample["hand"][0, 0]), int(sample["hand_token"][0, 0]))
        for sample in (resample(env.states, 1, rng) for _ in range(4000))
    )
    assert set(drawn) == {(0, NONE), (1, NONE), (4, 0), (5, 0)}
    assert min(drawn.values()) > 850  # 1000 expected, sd 27


def test_resampling_draws_the_tokens_to_come_from_those_unseen() -> None:
    env = deal(budget=[2, 2, 2, 2, 0, 0])
    rng = np.random.default_rng(0)
    play_until(env, "bid")
    later = Counter(int(resample(env.states, 0, rng)["budget"][0, 5]) for _ in range(3500))
    # one +2 is shown: three +2, two 0, two -2 are left of which five come
    assert later[2] / 3500 == pytest.approx(3 / 7, abs=0.05)
    assert later[-2] / 3500 == pytest.approx(2 / 7, abs=0.05)


def test_resampling_draws_the_bot_s_tiles_to_come_evenly_this_round_s_too_while_hands_close() -> None:
    env = deal(2, bot_tiles=[[0, 2, 4]] * 6)
    play_until(env, "bid")
    rng = np.random.default_rng(0)
    samples = [resample(env.states, 0, rng)["bot_tiles"][0] for _ in range(3000)]
    for round_index in (0, 5):
        drawn = Counter(tuple(sample[round_index].tolist()) for sample in samples)
        assert set(drawn) == {(0, 2, 4), (1, 3, 5), (2, 4, 6)}
        assert min(drawn.values()) > 880  # 1000 expected, sd 26
    bids(env, 0, 0)
    assert all(resample(env.states, 0, rng)["bot_tiles"][0, 0].tolist() == [0, 2, 4] for _ in range(30))


def test_a_resampled_environment_does_not_know_the_seed() -> None:
    """It would give the true deal away."""
    env = RawEnv()
    env.reset(seed=7)
    twin = env.resample(0, np.random.default_rng(0))
    assert twin.game_seed is None
    assert twin.record()["seed"] is None
    twin.reset()
    assert twin.game_seed != next_seed(7)


def test_a_resampled_environment_does_not_keep_the_events_of_a_closed_hand() -> None:
    env = deal()
    env.event_buffer = EventBuffer()
    play_until(env, "bid")
    play(env, "player_0 bid 3")
    twin = env.resample(1, np.random.default_rng(0))
    assert twin.event_buffer is None
    (event,) = env.event_buffer.read()  # the original keeps them
    assert (event.kind, event.amount) == ("hand_closed", 3)


def test_resampling_refuses_a_seat_that_is_not_there() -> None:
    with pytest.raises(ValueError, match="seat=4; allowed: 0 to 3"):
        resample(deal().states, 4, np.random.default_rng(0))
    with pytest.raises(ValueError, match=r"rng=3; allowed: a numpy.random.Generator"):
        resample(deal().states, 0, 3)  # type: ignore[arg-type]


def test_a_closed_hand_is_seen_by_its_owner_only() -> None:
    env = deal()
    play_until(env, "bid")
    play(env, "player_0 bid 7 with 4")
    other = deal()
    play_until(other, "bid")
    play(other, "player_0 bid 0")
    assert seen_by(env.states, 0) != seen_by(other.states, 0)
    for seat in (1, 2, 3):
        assert seen_by(env.states, seat) == seen_by(other.states, seat)
