"""OpenSpiel: the game `python_symphony9`."""

from __future__ import annotations

import json
from collections import Counter
from itertools import permutations
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from symphony9_env import symphony9_v0
from symphony9_env.components import BUDGET_TOKENS

pyspiel = pytest.importorskip("pyspiel")

from open_spiel.python.algorithms import ismcts, mcts  # noqa: E402

from symphony9_env.integrations import openspiel  # noqa: E402
from symphony9_env.integrations.openspiel_observer import rebuild_game  # noqa: E402
from tests.integrations.openspiel_games import (  # noqa: E402
    at_closed_hands,
    change_hidden,
    find_shown,
    has_closed_hand,
    list_contents,
    load,
    play_random_moves,
)

GAMES = sorted((Path(__file__).parents[1] / "records").glob("*.json"))


@pytest.mark.parametrize("players", [2, 3, 4])
def test_openspiel_s_own_simulation_test(players: int) -> None:
    pyspiel.random_sim_test(load(players=players), num_sims=1, serialize=True, verbose=False)


@pytest.mark.parametrize("params", [{"discussion": True}, {"ledger": True, "reward": "margin"}, {"reward": "score"}])
def test_with_options(params: dict[str, Any]) -> None:
    pyspiel.random_sim_test(load(players=2, **params), num_sims=1, serialize=True, verbose=False)


@pytest.mark.parametrize("players", [2, 3, 4])
def test_a_deal_is_that_of_its_seed_in_the_environment_but_for_what_is_hidden(players: int) -> None:
    env = symphony9_v0.raw_env(num_players=players)
    env.reset(seed=107)
    setup = play_random_moves(load(players=players, seed=100), 0, deal=7).record()["setup"]
    hidden = {"budget", "bot_tiles"}
    assert {name: part for name, part in setup.items() if name not in hidden} == {
        name: part for name, part in env.record()["setup"].items() if name not in hidden
    }


@pytest.mark.parametrize("players", [2, 3, 4])
def test_the_same_set_up_and_actions_are_the_same_game_as_in_the_environment(players: int) -> None:
    state = play_random_moves(load(players=players), 1000, deal=7)
    env = symphony9_v0.raw_env(num_players=players)
    env.reset(options={"setup": state.record()["setup"]})
    for player, action in state.moves:
        assert env.deciding_seat == player
        env.step(action)
    assert state.record() == {**env.record(), "seed": None}
    assert state.returns() == [env.rewards[agent] for agent in env.possible_agents]


@pytest.mark.parametrize("path", GAMES[::5], ids=lambda path: path.stem)
def test_a_record_of_an_independent_implementation(path: Path) -> None:
    record = json.loads(path.read_text())
    state = play_random_moves(load(players=record["num_players"], discussion=record["discussion"]), 0)
    env = symphony9_v0.raw_env(num_players=record["num_players"], discussion=record["discussion"])
    env.reset(options={"setup": record["setup"]})
    state.states[:] = env.states
    for (agent, name), legal in zip(record["actions"], record["legal"], strict=True):
        assert agent == f"player_{state.current_player()}"
        named = {state.action_to_string(action): action for action in state.legal_actions()}
        assert sorted(named) == sorted(legal)
        state.apply_action(named[name])
    assert state.record()["result"] == record["result"]


def test_observations_are_the_environment_s() -> None:
    state = play_random_moves(load(players=3), 30)
    env = symphony9_v0.raw_env(num_players=3)
    env.reset(options={"setup": state.record()["setup"]})
    for _, action in state.moves:
        env.step(action)
    for seat, agent in enumerate(env.possible_agents):
        assert np.array_equal(state.observation_tensor(seat), env.observe(agent)["observation"])
    assert "You are player_1" in state.observation_string(1)


def test_closed_hands_and_coming_tokens_are_in_nobody_else_s_information() -> None:
    state = at_closed_hands(load(players=4))
    me = state.current_player()
    told, seen = state.information_state_string(me), state.information_state_tensor(me)
    assert "closes a hand" in told
    for number in range(20):
        other = state.resample_from_infostate(me, np.random.default_rng(number).random)
        assert other.information_state_string(me) == told
        assert other.information_state_tensor(me) == seen
        assert other.legal_actions() == state.legal_actions()


@pytest.mark.parametrize("players", [2, 3, 4])
def test_the_opening_position_tells_nothing_about_the_tokens_and_tiles_to_come(players: int) -> None:
    draws = Counter(permutations(BUDGET_TOKENS, 6))
    game = load(players=players)
    for deal in range(20):
        state = game.new_initial_state()
        state.apply_action(deal)
        outcomes = {
            tuple(map(int, state.action_to_string(number).split()[1:])): probability
            for number, probability in state.chance_outcomes()
        }
        assert list(outcomes) == sorted(draws)
        assert outcomes == {tokens: count / draws.total() for tokens, count in draws.items()}
        state.apply_action(0)
        assert state.is_chance_node() == (players == 2)
        if players == 2:
            assert state.chance_outcomes() == [(number, 1 / 3**6) for number in range(3**6)]


@pytest.mark.parametrize("params", [{"players": 2}, {"players": 3}, {"players": 4, "discussion": True}], ids=str)
def test_nothing_in_a_resampled_state_depends_on_what_the_player_can_not_know(params: dict[str, Any]) -> None:
    game = load(**params)
    num_closed = num_drawn_again = 0
    for moves in range(0, 160, 7):
        state = play_random_moves(game, moves, deal=moves % 20, seed=moves)
        num_closed += has_closed_hand(state)
        for me in range(game.num_players()):
            other = change_hidden(state, me)
            assert other.information_state_string(me) == state.information_state_string(me)
            one, same = (
                true.resample_from_infostate(me, np.random.default_rng(moves).random) for true in (state, other)
            )
            assert list_contents(one) == list_contents(same)
            if len(find_shown(state, me)[0]) < 5:  # otherwise there may be nothing that he can't know
                assert other.history() != state.history()
                num_drawn_again += one.history() != state.history()
    assert num_closed >= 2
    assert num_drawn_again >= 20


@pytest.mark.parametrize("players", [2, 3, 4])
def test_a_resampled_state_is_what_its_history_says(players: int) -> None:
    game = load(players=players)
    state = at_closed_hands(game)
    twin = state.resample_from_infostate(state.current_player(), np.random.default_rng(1).random)
    again = game.new_initial_state()
    for action in twin.history():
        assert action in again.legal_actions()
        again.apply_action(action)
    assert list_contents(again) == list_contents(twin)
    assert str(game.deserialize_state(twin.serialize())) == str(twin)
    while not twin.is_terminal():
        twin.apply_action(twin.legal_actions()[0])
    assert twin.clone().record()["result"] == twin.record()["result"]


def test_what_is_hidden_is_drawn_by_its_probability_given_what_was_shown() -> None:
    """Every number of an even grid is drawn once, so that frequencies are probabilities but for the grid's width."""
    state, size = at_closed_hands(load(players=2)), 2000
    me = state.current_player()
    tokens, tiles, moves = find_shown(state, me)
    drawn = [state.resample_from_infostate(me, lambda one=one: (one + 0.5) / size) for one in range(size)]
    found = Counter(tuple(one.states["budget"][0].tolist()) for one in drawn)
    possible = Counter(draw for draw in permutations(BUDGET_TOKENS, 6) if list(draw[: len(tokens)]) == tokens)
    assert set(found) == set(possible)
    for sequence, draws in possible.items():
        assert abs(found[sequence] - size * draws / possible.total()) <= 1
    closed = next(index for index, move in enumerate(moves) if move.endswith("closes a hand"))
    for equal in (
        Counter(one.states["bot_tiles"][0].tobytes() for one in drawn),
        Counter(one.moves[closed] for one in drawn),
    ):
        assert len(equal) > 1
        assert max(equal.values()) - min(equal.values()) <= 1
    assert len({one.states["bot_tiles"][0].tobytes() for one in drawn}) == 3 ** (6 - len(tiles))


def test_before_the_deal_nothing_is_known() -> None:
    state = load(players=2, deals=1000).new_initial_state()
    assert str(state) == str(state.resample_from_infostate(0, np.random.default_rng(0).random)) == "before the deal"
    state.apply_action(7)
    assert str(state) == "deal 7"
    drawn = [str(state.resample_from_infostate(0, lambda chance=chance: chance)) for chance in (0.0, 0.5, 1.0)]
    assert drawn == ["deal 0", "deal 500", "deal 999"]


def test_information_states_tell_histories_apart_that_the_observation_does_not() -> None:
    game = load(players=4)
    one, other = game.new_initial_state(), game.new_initial_state()
    for state, moves in ((one, (0, 1)), (other, (1, 0))):
        for action in (5, 0, *moves):  # a deal, tokens, and two moves
            state.apply_action(action)
    me = one.current_player()
    assert one.observation_tensor(me) == other.observation_tensor(me)
    assert one.information_state_string(me) != other.information_state_string(me)
    assert one.information_state_tensor(me) != other.information_state_tensor(me)


def test_clones_are_independent_and_whole() -> None:
    state = play_random_moves(load(players=3), 25)
    before = str(state)
    clone = state.clone()
    clone.apply_action(clone.legal_actions()[0])
    assert str(state) == before != str(clone)
    assert state.clone().record() == state.record()


def test_python_ismcts_plays_a_legal_move() -> None:
    game, rng = load(players=2), np.random.RandomState(0)
    bot = ismcts.ISMCTSBot(game, mcts.RandomRolloutEvaluator(1, rng), 2.0, 5, random_state=rng)
    state = at_closed_hands(game)
    assert bot.step(state) in state.legal_actions()


def test_wrong_parameters_are_refused() -> None:
    with pytest.raises(ValueError, match="num_players=5; allowed: 2, 3, 4"):
        load(players=5)
    with pytest.raises(ValueError, match="deals=0"):
        load(deals=0)
    with pytest.raises(pyspiel.SpielError, match="playrs"):
        load(playrs=3)
    with pytest.raises(pyspiel.SpielError, match="48"):
        play_random_moves(load(), 5).apply_action_with_legality_check(48)
    with pytest.raises(ValueError, match="before the deal"):
        load().new_initial_state().record()
    with pytest.raises(ValueError, match="observer parameters"):
        openspiel.Symphony9Game({}).make_py_observer(None, {"x": 1})


@pytest.mark.parametrize("players", [2, 3, 4])
def test_the_outcomes_of_a_seed_deal_its_game(players: int) -> None:
    game = load(players=players, seed=100)
    state = game.new_initial_state()
    for outcome in game.find_outcomes(107):
        state.apply_action(outcome)
    env = symphony9_v0.raw_env(num_players=players)
    env.reset(seed=107)
    assert state.record() == {**env.record(), "seed": None}
    with pytest.raises(ValueError, match="seed=120; allowed with these parameters: 100 to 119"):
        game.find_outcomes(120)


def test_agents_of_kaggle_environments_do_not_receive_the_state() -> None:
    assert load().new_initial_state().hides_state_from_agents() is True


@pytest.mark.parametrize("params", [{"players": 2}, {"players": 3}, {"players": 4, "discussion": True}], ids=str)
def test_a_game_is_rebuilt_from_the_information_of_a_player(params: dict[str, Any]) -> None:
    game = load(**params)
    for state in (at_closed_hands(game), *(play_random_moves(game, moves, seed=moves) for moves in range(0, 150, 30))):
        for me in range(params["players"]):
            env = rebuild_game(state.information_state_string(me))
            assert np.array_equal(env.observe(f"player_{me}")["observation"], state.observation_tensor(me))
            assert state.is_terminal() or env.deciding_seat == state.current_player()
            assert [action for _, action in env.history] == [
                mine if closed else action
                for (_, action), (_, mine), closed in zip(
                    state.moves,
                    env.history,
                    [name.endswith("closes a hand") for name in find_shown(state, me)[2]],
                    strict=True,
                )
            ]
