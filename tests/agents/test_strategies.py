"""The scripted strategies' estimates and decisions, in positions made for each question."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest

from symphony9_env import agents, symphony9_v0
from symphony9_env.actions import NAMES
from symphony9_env.agents import bidding, choices, eccentric, valuation
from symphony9_env.agents.strategies import STRATEGIES, scripted_rows
from symphony9_env.compilation import as_recarray, rule
from symphony9_env.components import MUSICIANS
from symphony9_env.rules.concert import bot_contribution
from symphony9_env.rules.state import BUY_4, CONTRIBUTE, NONE, SELL_LAST, game_at, new_states
from symphony9_env.scores import score_sheet
from tests.scenarios import at_concert, bids, deal, give, play, play_until, set_state


def choice(name: str, env: Any) -> str:
    return NAMES[agents.make(name, seed=1).choose(env)]


def in_row_order(*tiles: str) -> dict[str, str]:
    return dict(zip(MUSICIANS, tiles, strict=True))


def with_tiles(env: Any, seat: int, **compositions: int) -> None:
    names = list(env.record()["setup"]["tracks"])
    rows = game_at(env.states).compositions.copy()
    rows[seat] = [compositions.get(name, 0) for name in names] + [0] * (6 - len(names))
    game_at(env.states).compositions[:] = rows
    set_state(env)


def test_an_unknown_strategy_chooses_nothing() -> None:
    env, actions = deal(), np.zeros(1, np.int64)
    scripted_rows(len(STRATEGIES), env.states, np.zeros(1, np.int64), np.uint64(1), new_states(1), actions)
    assert actions.tolist() == [NONE]


def test_greedy_takes_the_composition_that_gives_most() -> None:
    """Tile 1A gives 5 points for a composition at once; the other tiles give nothing in this position."""
    for musician, tiles in (("handel", "1A 2A 3A 4A 5A 6A"), ("mozart", "2A 3A 4A 1A 5A 6A")):
        env = deal(scoring=in_row_order(*tiles.split()))
        for board in range(4):
            give(env, board)
        assert choice("greedy", env) == f"take {musician}"


def test_greedy_buys_only_what_is_worth_its_price() -> None:
    env = deal(
        scoring={"handel": "1A", "bach": "2A", "haydn": "3A", "mozart": "4A", "beethoven": "5A", "schubert": "6A"}
    )
    for board in range(4):
        give(env, board)
    set_state(env, phase=BUY_4, pending=1)
    assert choice("greedy", env) == "take handel"  # 5 points for $4
    give(env, 1, handel=9, bach=9, haydn=9, mozart=9, beethoven=9, schubert=9)
    assert choice("greedy", env) == "pass"  # nothing can be won


def test_investor_bids_what_is_missing_for_its_class() -> None:
    env = at_concert(cubes={0: {"handel": 3}}, budget=[2, 2, 2, 2, 0, 0])
    game_at(env.states).contribution[:] = [0, 3, 3, 3]
    game_at(env.states).outcome = 0
    set_state(env)
    assert choice("investor", env) == "bid 5"  # 2 + 9 + 5 = 16, the middle of high class, which handel plays


@pytest.mark.parametrize("name", ["greedy", "investor", "planner", "eccentric"])
def test_the_last_sales_are_exact(name: str) -> None:
    """Tile 4A makes selling pay; without it only odd dollars do."""
    for with_4a, money in product((False, True), range(20, 26)):
        env = deal(
            scoring={"handel": "4A", "bach": "1A", "haydn": "2A", "mozart": "3A", "beethoven": "5A", "schubert": "6A"}
        )
        with_tiles(env, 0, handel=2 if with_4a else 0)
        set_state(env, phase=SELL_LAST, pending=1, round_index=5)
        game_at(env.states).money[0] = money
        set_state(env)
        best = {}
        for sold in product((0, 1), repeat=3):
            copy = env.states.copy()
            game = game_at(copy)
            game.money[0] += sum(value for value, gone in zip((4, 6, 8), sold, strict=True) if gone)
            game.furniture[0] = [1 - gone for gone in sold]
            best[sold] = score_sheet(copy, 0)["player_0"].total
        while env.agent_selection == "player_0" and not all(env.terminations.values()):
            move = choice(name, env)
            play(env, move)
            if move == "pass":
                break
        assert score_sheet(env.states, 0)["player_0"].total == max(best.values())


def test_an_eccentric_keeps_its_preferences_for_a_game_and_shares_them_with_nobody() -> None:
    found: list[tuple[float, ...]] = []
    for seed in (1, 2):
        env = symphony9_v0.raw_env(num_players=2)
        env.reset(seed=seed)
        seats = {env.agent_selection: preferences(env)}
        while env.agent_selection in seats:
            env.step(agents.make("random", seed=0).choose(env))
        seats[env.agent_selection] = preferences(env)
        for _ in range(30):
            env.step(agents.make("random", seed=0).choose(env))
        assert preferences(env) == seats[env.agent_selection]
        found += seats.values()
    assert len(set(found)) == 4
    assert all(1 / 3 <= factor <= 3 for factors in found for factor in factors)
    assert len({factor for factors in found for factor in factors}) == 12


def preferences(env: Any) -> tuple[float, ...]:
    stream = as_python(eccentric._deal_stream, env)
    return tuple(as_python(_factor_of, env, stream, number) for number in range(3))


@rule
def _factor_of(_game: Any, stream: Any, number: int) -> float:
    return eccentric._draw_factor(stream, number)


def test_a_token_goes_into_the_hand_when_coins_do_not_suffice() -> None:
    env = at_concert()
    game_at(env.states).money[0] = 1
    set_state(env)
    assert NAMES[as_python(choices.choose_contribution, env, 5)] == "bid 5 with 4"
    assert NAMES[as_python(choices.choose_contribution, env, 1)] == "bid 1"
    assert NAMES[as_python(choices.choose_contribution, env, 2)] == "bid 1"  # no token fits: all coins


def as_python(compiled: Any, env: Any, *args: Any) -> Any:
    """Call a rule of the kernel from Python: through a compiled caller, or directly if compilation is disabled."""
    import numba

    if not hasattr(compiled, "py_func"):
        return compiled(as_recarray(env.states.copy())[0], *args)
    call = numba.njit(lambda games, more: compiled(games[0], *more))
    return call(env.states.copy(), args)


@pytest.mark.parametrize("num_players", [2, 3, 4])
def test_the_predicted_totals_are_the_sums_of_the_predicted_contributions(num_players: int) -> None:
    """Compare with an enumeration of all contributions of the rivals and the bot."""
    env = at_concert(num_players, cubes={1: {"handel": 2}, 2: {"bach": 1}}, budget=[-2, 2, 2, 2, 0, 0])
    with_max, with_min = as_python(bidding._predict_total, env, 0)
    predictions = []
    for rival in range(1, num_players):
        predicted = np.zeros(bidding.NUM_BIDS)
        as_python(bidding._predict_bid, env, rival, predicted)
        assert predicted.sum() == pytest.approx(1)
        predictions.append(predicted)
    tiles = env.states["bot_tile_set"][0] if num_players == 2 else ()
    amounts = [int(as_python(bot_contribution, env, tile)) for tile in tiles] or [0]
    most, least = np.zeros_like(with_max), np.zeros_like(with_min)
    for amount in amounts:
        for given in product(range(bidding.NUM_BIDS), repeat=num_players - 1):
            probability = np.prod([predictions[rival][bid] for rival, bid in enumerate(given)]) / len(amounts)
            total = -2 - bidding.LOWEST_TOKEN + amount + sum(given)
            if total < len(most):
                most[total, max(given) :] += probability
                least[total, : min(given) + 1] += probability
    np.testing.assert_allclose(with_max, most, atol=1e-12)
    np.testing.assert_allclose(with_min, least, atol=1e-12)
    assert with_max[:, -1].sum() == pytest.approx(1)


def test_the_planner_spoils_a_concert_that_pays_only_others() -> None:
    """With a total that is too high nothing is paid, and a player without cubes has no penalty to fear."""
    env = at_concert(cubes={1: {"handel": 4}, 2: {"handel": 3}, 3: {"handel": 3}}, budget=[2, 2, 2, 2, 0, 0])
    assert choice("planner", env) == "bid 8"


def test_the_planner_pays_for_a_concert_that_pays_it_well() -> None:
    env = at_concert(cubes={0: {"handel": 5}}, budget=[0, 2, 2, 2, 2, 0])
    game_at(env.states).contribution[:] = [4, 4, 4, 4]
    game_at(env.states).outcome = 2
    set_state(env)
    assert int(choice("planner", env).split()[1]) >= 2


def test_the_planner_estimates_what_tiles_will_count() -> None:
    env = deal(scoring=in_row_order("1A", "2A", "3A", "4B", "5B", "6A"))
    points = [as_python(valuation.next_composition_points, env, 0, row, 3.0) for row in range(6)]
    death = [as_python(valuation.death_probability, env, row) for row in range(6)]
    assert points[0] - death[0] == pytest.approx(5)
    assert points[1] - death[1] == pytest.approx(6 * valuation.SUCCESSES_PER_ROUND)  # one point a success at level 1
    assert points[2] - death[2] == pytest.approx(3 * 3.0)  # three points a dead musician
    assert points[3] - death[3] == pytest.approx(20 * (1 - 5 * valuation.RANK_DOUBT_PER_ROUND))
    with_tiles(env, 0, beethoven=1)
    second = as_python(valuation.next_composition_points, env, 0, 4, 3.0)
    pairs = 6 * valuation.PAIRS_PER_ROUND
    assert (points[4] - death[4], second - death[4]) == pytest.approx((2 * pairs, 1 * pairs))  # level 1, and one more


def test_an_empty_track_is_a_certain_death() -> None:
    env = deal(tracks={"handel": [[3, 0], [4, 6]]})
    assert 0 < as_python(valuation.death_probability, env, 0) < 1
    game_at(env.states).cubes_left[0] = 0
    assert as_python(valuation.death_probability, env, 0) == 1
    assert as_python(valuation.death_probability, env, 1) == 0  # nineteen cubes on the track


def test_the_planner_gives_the_bot_what_hurts_the_rival() -> None:
    env = deal(2)
    play_until(env, "take_for_bot")
    for board in range(3):
        give(env, board)
    seat, rival = env.deciding_seat, 1 - env.deciding_seat
    give(env, seat, handel=2)
    give(env, rival, bach=2)
    give(env, 2, handel=1, bach=1)
    assert choice("planner", env) == "take bach"


def test_announcements_are_what_the_planner_would_bid() -> None:
    env = at_concert(discussion=True)
    set_state(env, phase=CONTRIBUTE, pending=1)
    would = choice("planner", env)
    set_state(env, phase=CONTRIBUTE - 1, pending=1)
    assert choice("planner", env).split()[1] == would.split()[1]


def test_bids_are_made_with_what_is_there() -> None:
    env = at_concert()
    game_at(env.states).money[:] = 0
    game_at(env.states).furniture[:] = 0
    set_state(env)
    for _ in range(4):
        for name in ("greedy", "investor", "planner", "search:5"):
            assert choice(name, env) == "bid 0"
        bids(env, 0)
