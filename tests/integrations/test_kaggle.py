"""kaggle-environments: the OpenSpiel game as its environment, and what its agents can see."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from symphony9_env import agents
from symphony9_env.envs.text import TextEnv

kaggle_environments = pytest.importorskip("kaggle_environments")
pytest.importorskip("pyspiel")

from symphony9_env.integrations import kaggle  # noqa: E402
from symphony9_env.rules.state import game_at  # noqa: E402
from tests.integrations.openspiel_games import at_closed_hands, change_hidden, load, play_random_moves  # noqa: E402
from tests.properties.test_secrets import change_secrets  # noqa: E402


def make(num_players: int, **configuration: Any) -> Any:
    return kaggle_environments.make(kaggle.environment_name(num_players), configuration=configuration)


def choose_middle(observation: Any) -> dict[str, int]:
    """A scripted agent: the legal action in the middle of the list."""
    legal = observation.get("legalActions") or [-1]
    return {"submission": legal[len(legal) // 2]}


def show_position(state: Any) -> Any:
    """Kaggle's environment in the position of a state of OpenSpiel."""
    env = make(state.get_game().num_players(), seed=0, initialActions=state.history())
    env.step([kaggle.NO_ACTION] * state.get_game().num_players())
    return env


def observe_again(env: Any) -> list[dict[str, Any]]:
    """What each agent would be shown of the state as it is now."""
    for one in env.state:
        one.action = {"submission": None}
    env.steps = env.steps[:1]  # in the first step, no action is played
    return [dict(one.observation) for one in kaggle._interpret(env.state, env, [])]


def test_every_number_of_players_has_an_environment() -> None:
    names = [f"open_spiel_python_symphony9{end}" for end in ("_2p", "_3p", "")]
    assert [kaggle.environment_name(count) for count in (2, 3, 4)] == names
    assert [kaggle_environments.make(name).name for name in names] == names
    assert [len(kaggle_environments.make(name).state) for name in names] == [2, 3, 4]


def test_seeds_that_openspiel_cannot_take_are_refused() -> None:
    for seed in (-1, 2**31):
        with pytest.raises(ValueError, match=f"seed={seed}; allowed for OpenSpiel's games: 0 to 2147483647"):
            kaggle.configure_seed(seed, 2)


@pytest.mark.parametrize("players", [3, 4])
def test_a_game_of_built_in_agents_is_that_of_the_true_states(players: int) -> None:
    env = make(players, **kaggle.configure_seed(5, players, discussion=True))
    env.run(["planner"] * players)
    text = TextEnv(
        num_players=players, opponents=[agents.make("planner", seed=0)] * (players - 1), seat=0, discussion=True
    )
    text.reset(seed=5)
    planner = agents.make("planner", seed=0)
    while not text.game.is_over:
        text.step(f"[{planner.choose(text.game.env)}]")
    assert env.os_state.record() == {**text.record(), "seed": None}


@pytest.mark.parametrize("players", [2, 3, 4])
def test_no_observation_depends_on_what_is_hidden_from_its_agent(players: int) -> None:
    game = load(players=players)
    for state in (at_closed_hands(game), *(play_random_moves(game, moves, seed=moves) for moves in (0, 25, 60))):
        env = show_position(state)
        seen = [dict(one.observation) for one in env.state]
        assert observe_again(env) == seen
        assert str(env.os_state) == str(state)
        true = env.os_state.states.copy()
        for seat in range(players):
            change_secrets(game_at(env.os_state.states), seat, np.random.default_rng(seat))
            assert observe_again(env)[seat] == seen[seat]
            env.os_state.states[:] = true
            other = observe_again(show_position(change_hidden(state, seat)))
            assert other[seat] == seen[seat]


def test_an_observation_has_the_view_the_legal_actions_and_no_state() -> None:
    env = show_position(play_random_moves(load(players=2), 20))
    me = env.os_state.current_player()
    seen = env.state[me].observation
    assert seen.observationString == env.os_state.observation_string(me)
    assert seen.informationState == env.os_state.information_state_string(me)
    assert seen.legalActions == env.os_state.legal_actions()
    assert seen.legalActionStrings == [env.os_state.action_to_string(action) for action in seen.legalActions]
    assert "serializedGameAndState" not in seen
    assert env.state[1 - me].observation.legalActions == []


def test_an_illegal_action_loses() -> None:
    final = make(3).run([lambda: {"submission": 47}, "random", "greedy"])[-1]
    assert [one.reward for one in final] == [-1, 1, 1]


def test_unseeded_games_are_dealt_at_random() -> None:
    games = [make(2) for _ in range(2)]
    for env in games:
        env.step([kaggle.NO_ACTION] * 2)
    assert str(games[0].os_state) != str(games[1].os_state)


def test_an_environment_plays_a_second_game() -> None:
    env = make(2)
    games = []
    for _ in range(2):
        final = env.run(["random", "greedy"])[-1]
        assert [one.status for one in final] == ["DONE", "DONE"]
        games.append(str(env.os_state))
    assert games[0] != games[1]
