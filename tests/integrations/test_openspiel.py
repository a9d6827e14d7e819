"""OpenSpiel: the game `python_symphony9`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from symphony9_env import symphony9_v0

pyspiel = pytest.importorskip("pyspiel")

from open_spiel.python.algorithms import ismcts, mcts  # noqa: E402

from symphony9_env.integrations import openspiel  # noqa: E402
from symphony9_env.integrations.openspiel import NAME  # noqa: E402

GAMES = sorted((Path(__file__).parents[1] / "records").glob("*.json"))


def load(**params: Any) -> Any:
    return pyspiel.load_game(NAME, {"deals": 20, **params})


def played(game: Any, moves: int, deal: int = 3, seed: int = 0) -> Any:
    """A state after so many random moves."""
    state, rng = game.new_initial_state(), np.random.default_rng(seed)
    state.apply_action(deal)
    for _ in range(moves):
        if not state.is_terminal():
            state.apply_action(int(rng.choice(state.legal_actions())))
    return state


def at_closed_hands(game: Any) -> Any:
    """A state in which the player to decide has somebody's closed hand before him."""
    for moves in range(200):
        state = played(game, moves)
        if (state.states["hand"][0] >= 0).any():
            return state
    raise AssertionError("nobody closed a hand")


@pytest.mark.parametrize("players", [2, 3, 4])
def test_openspiel_s_own_simulation_test(players: int) -> None:
    pyspiel.random_sim_test(load(players=players), num_sims=1, serialize=True, verbose=False)


@pytest.mark.parametrize("params", [{"discussion": True}, {"ledger": True, "reward": "margin"}, {"reward": "score"}])
def test_with_options(params: dict[str, Any]) -> None:
    pyspiel.random_sim_test(load(players=2, **params), num_sims=1, serialize=True, verbose=False)


@pytest.mark.parametrize("players", [2, 3, 4])
def test_the_same_seed_and_actions_are_the_same_game_as_in_the_environment(players: int) -> None:
    state = played(load(players=players, seed=100), 1000, deal=7)
    env = symphony9_v0.raw_env(num_players=players)
    env.reset(seed=107)
    for player, action in state.moves:
        assert env.deciding_seat == player
        env.step(action)
    assert state.record() == env.record()
    assert state.returns() == [env.rewards[agent] for agent in env.possible_agents]


@pytest.mark.parametrize("path", GAMES[::5], ids=lambda path: path.stem)
def test_a_record_of_an_independent_implementation(path: Path) -> None:
    record = json.loads(path.read_text())
    game = load(players=record["num_players"], discussion=record["discussion"])
    state = game.new_initial_state()
    state.apply_action(0)
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
    state = played(load(players=3), 30)
    env = symphony9_v0.raw_env(num_players=3)
    env.reset(seed=3)
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
    budgets = {
        tuple(state.resample_from_infostate(me, np.random.default_rng(n).random).states["budget"][0]) for n in range(20)
    }
    assert len(budgets) > 1  # drawn again, not the true ones


def test_a_resampled_state_does_not_know_the_seed() -> None:
    """It would give the true deal away."""
    state = at_closed_hands(load(players=3, seed=4700))
    twin = state.resample_from_infostate(state.current_player(), np.random.default_rng(0).random)
    assert twin.seed is None
    assert twin.record()["seed"] is None
    assert str(twin).startswith("resampled deal: player_")
    assert "4703" not in str(twin)
    assert state.record()["seed"] == 4703
    while not twin.is_terminal():
        twin.apply_action(twin.legal_actions()[0])
    assert twin.clone().record()["result"] == twin.record()["result"]
    before = load().new_initial_state()
    assert str(before.resample_from_infostate(0, np.random.default_rng(0).random)) == "before the deal"


def test_information_states_tell_histories_apart_that_the_observation_does_not() -> None:
    game = load(players=4)
    one, other = game.new_initial_state(), game.new_initial_state()
    for state, moves in ((one, (0, 1)), (other, (1, 0))):
        state.apply_action(5)
        for move in moves:
            state.apply_action(move)
    me = one.current_player()
    assert one.observation_tensor(me) == other.observation_tensor(me)
    assert one.information_state_string(me) != other.information_state_string(me)
    assert one.information_state_tensor(me) != other.information_state_tensor(me)


def test_clones_are_independent_and_whole() -> None:
    state = played(load(players=3), 25)
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
        played(load(), 5).apply_action_with_legality_check(48)
    with pytest.raises(ValueError, match="before the deal"):
        load().new_initial_state().record()
    with pytest.raises(ValueError, match="observer parameters"):
        openspiel.Symphony9Game({}).make_py_observer(None, {"x": 1})
