"""The same game through every framework for language models, and nothing hidden in what it sends to the model."""

from __future__ import annotations

import inspect
import itertools
import warnings
from collections.abc import Callable
from pathlib import Path

import pytest

from symphony9_env import TextEnv
from symphony9_env.actions import is_bid, number
from symphony9_env.agents.base import Positions, Rows
from symphony9_env.agents.scripted import ScriptedAgent
from symphony9_env.views.seat import legal_numbers
from tests.integrations.frameworks import FRAMEWORKS, Framework, PlayedGame, play_text_env
from tests.integrations.scripted import GAME, is_asked_again

MODEL, PLANNER = 0, 1  # their seats
Play = Callable[[], PlayedGame]

pytestmark = pytest.mark.filterwarnings("ignore")  # of the libraries


@pytest.fixture(params=FRAMEWORKS)
def framework(request: pytest.FixtureRequest) -> Framework:
    """Each framework that is installed."""
    chosen = FRAMEWORKS[request.param]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for module in chosen.modules:
            pytest.importorskip(module)
    return chosen


@pytest.fixture
def play(framework: Framework, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Play:
    """Play the game through the framework."""
    needs = {"folder": tmp_path, "monkeypatch": monkeypatch}
    return lambda: framework.play(**{name: needs[name] for name in inspect.signature(framework.play).parameters})


def find_closed_hand(moves: list[int], seats: list[int]) -> int:
    """Return the place of the first hand that `planner` closes while the model is still to bid."""
    closed = [is_bid(action) and is_bid(after) for action, after in itertools.pairwise(moves)]
    return next(place for place, is_closed in enumerate(closed) if is_closed and seats[place] == PLANNER)


def bid_otherwise(place: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let `planner` close another legal hand at this place of the game's moves."""
    decide = ScriptedAgent.decide

    def decide_otherwise(agent: ScriptedAgent, positions: Positions, rows: Rows) -> Rows:
        actions = decide(agent, positions, rows)
        if len(positions.moves(0)) == place:
            actions[:] = [hand for hand in legal_numbers(positions.states, 0) if hand != actions[0]][-1]
        return actions

    monkeypatch.setattr(ScriptedAgent, "decide", decide_otherwise)


def test_the_record_and_the_reward_are_those_of_the_text_environment(framework: Framework, play: Play) -> None:
    expected = play_text_env(TextEnv(**GAME))
    played = play()
    assert played.record == expected.record
    assert played.reward == expected.reward
    decisions = sum(agent == "player_0" for agent, _ in expected.record["actions"])
    again = sum(map(is_asked_again, played.messages))
    assert again == (sum(map(is_asked_again, expected.messages)) if framework.asks_again else 0)
    assert len(played.messages) == decisions + again
    assert (again > 5) == framework.asks_again


def test_no_message_depends_on_what_is_hidden_in_the_state(
    framework: Framework, play: Play, monkeypatch: pytest.MonkeyPatch
) -> None:
    played = play()
    framework.change_hidden(monkeypatch)
    again = play()
    assert again.messages == played.messages
    assert again.record == played.record


def test_no_message_tells_a_closed_hand_before_hands_are_opened(play: Play, monkeypatch: pytest.MonkeyPatch) -> None:
    played = play()
    seats = [int(agent.removeprefix("player_")) for agent, _ in played.record["actions"]]
    place = find_closed_hand([number(name) for _, name in played.record["actions"]], seats)
    bid_otherwise(place, monkeypatch)
    messages = play().messages
    decisions = [number for number, text in enumerate(messages) if not is_asked_again(text)]
    read = decisions[seats[: place + 2].count(MODEL)]  # the last message before it comes at the model's own bid
    assert messages[:read] == played.messages[:read]
    assert messages[read] != played.messages[read]
