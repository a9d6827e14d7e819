"""The game as text: for one seat against agents, and for all seats."""

from __future__ import annotations

import inspect
import re
from typing import Any

import numpy as np
import pytest

from symphony9_env import TextEnv, TextGame, agents, records, symphony9_v0
from symphony9_env.actions import NAMES
from symphony9_env.envs.single import SingleSeatEnv
from symphony9_env.events import EventBuffer, opening_events, see
from symphony9_env.rules.state import game_at
from symphony9_env.views.questions import format_news
from tests.properties.test_secrets import change_secrets


def play(env: TextEnv, seed: int) -> list[tuple[str, float, bool, dict[str, Any]]]:
    """Play a whole game with the first legal action that the text lists, and return all steps."""
    text = env.reset(seed=seed)
    steps = []
    done = False
    while not done:
        name = re.findall(r"Legal actions: \d+ ([a-z0-9 ]+)", text)[-1]
        steps.append(env.step(f"Hm. [{name}]"))
        text, _, done, info = steps[-1]
        assert info["action"] == name
    return steps


@pytest.mark.parametrize("options", [{"num_players": 2}, {"num_players": 3, "shaping": True, "reward": "margin"}, {}])
def test_it_is_the_game_of_the_environment_for_one_learner(options: dict[str, Any]) -> None:
    env = TextEnv(opponents="greedy", **options)
    single = SingleSeatEnv(opponents="greedy", **options)
    steps = play(env, seed=5)
    _, info = single.reset(seed=5)
    assert env.seat == info["seat"]
    for _, reward, done, told in steps:
        _, expected, ended, _, info = single.step(NAMES.index(told["action"]))
        assert (reward, done) == (expected, ended)
        assert list(told["legal"]) == [action for action, legal in enumerate(info["action_mask"]) if legal]
    assert env.record() == single.record()
    assert {name: told[name] for name in ("score", "rank", "breakdown")} == {
        name: info[name] for name in ("score", "rank", "breakdown")
    }


def test_the_reader_learns_the_rules_the_news_and_its_view() -> None:
    env = TextEnv(num_players=4, opponents="planner", seat=1)
    text = env.reset(seed=3)
    assert "4 patrons sponsor musicians" in text
    assert "You are player_1. Whenever it is your turn" in text
    assert "What has happened since your last decision:\nRound 1" in text
    text, _, _, info = env.step(f"[{next(iter(env.info()['legal']))}]")
    assert "4 patrons sponsor musicians" not in text
    assert "player_1: takes a" in text
    assert info["error"] is None
    assert all(f"{action} {name}" in text for action, name in info["legal"].items())


def test_all_news_together_are_the_log_of_the_game() -> None:
    game = TextGame(num_players=3, max_news=None)
    game.reset(seed=8)
    planner = agents.make("planner", seed=1)
    told: list[str] = []
    while not game.is_over:
        if game.seat == 2:
            news = game.news(2)
            assert all(line in game.question().text for line in news)
            told += news
        game.answer(f"[{planner.choose(game.env)}]")
    told += game.news(2)
    buffer, log = EventBuffer(), []
    for number, env in enumerate(records.replay(game.record())):
        env.event_buffer = buffer
        log += format_news(see(buffer.read() if number else opening_events(env.states), 2), 3)
    assert told == log
    assert any("closes a hand" in line for line in log)


def test_a_question_repeats_a_bounded_number_of_lines() -> None:
    game = TextGame(max_news=3)
    game.reset(seed=0)
    for seat in (game.seat, (game.seat + 1) % 4):
        while game.seat == seat:
            game.play(next(iter(game.question().legal)))
    text = game.question().text
    assert len(game.news(game.seat)) > 3
    assert f"({len(game.news(game.seat)) - 3} earlier lines are left out)" in text
    assert game.news(game.seat)[-1] in text
    assert game.news(game.seat)[0] not in text.split("Symphony No. 9")[0].splitlines()


def test_wrong_answers_are_asked_again_and_then_end_the_game() -> None:
    env = TextEnv(num_players=2, seat=0, max_errors=2)
    env.reset(seed=7)
    before = env.record()
    for _ in range(2):
        text, reward, done, info = env.step("[fly to the moon]")
        assert "Your answer was not understood: 'fly to the moon' is no legal action" in text
        assert (reward, done, info["action"]) == (0.0, False, None)
        assert "is no legal action" in info["error"]
    text, reward, done, info = env.step("")
    assert (text, reward, done) == ("The game is over: player_0 gave no legal action.", -1.0, True)
    assert (info["outcome"], info["legal"]) == ("player_0 gave no legal action", {})
    assert "score" not in info
    assert env.record() == before
    with pytest.raises(ValueError, match=r"the game is over; call reset\(\) first"):
        env.step("[pass]")
    env.reset(seed=7)
    assert env.record() == before


def test_a_seat_that_does_not_answer_can_forfeit() -> None:
    game = TextGame(num_players=3)
    game.reset(seed=7)
    seat = game.seat
    game.forfeit()
    assert game.is_over
    assert game.rewards == [-1.0 if player == seat else 0.0 for player in range(3)]
    assert game.outcome == f"player_{seat} gave no legal action"
    with pytest.raises(ValueError, match="the game is over"):
        game.forfeit()


def test_a_legal_answer_makes_up_for_wrong_ones() -> None:
    game = TextGame(num_players=2, max_errors=1)
    game.reset(seed=7)
    for _ in range(5):
        assert game.answer("what?") is None
        assert game.question().error is not None
        action = next(iter(game.question().legal))
        assert game.answer(str(action)) == action
        assert game.question().error is None
    assert not game.is_over


def test_any_number_of_wrong_answers_may_be_allowed() -> None:
    game = TextGame(num_players=2, max_errors=None)
    game.reset(seed=7)
    for _ in range(50):
        game.answer("what?")
    assert not game.is_over


def test_the_words_of_an_announcement_are_heard_and_thoughts_are_not() -> None:
    game = TextGame(num_players=3, discussion=True)
    game.reset(seed=5)
    planner = agents.make("planner", seed=1)
    while "announce" not in game.question().decision:
        game.play(planner.choose(game.env))
    speaker = game.seat
    game.answer("I will cheat. [announce 4: who joins me?]")
    for seat in range(3):
        news = "\n".join(game.news(seat))
        assert f'player_{speaker}: announces $4 and says: "who joins me?"' in news
        assert "cheat" not in news


@pytest.mark.parametrize("num_players", [2, 3, 4])
def test_texts_do_not_depend_on_hidden_information(num_players: int) -> None:
    game = TextGame(num_players=num_players, discussion=True)
    game.reset(seed=num_players)
    planner, rng = agents.make("planner", seed=1), np.random.default_rng(0)
    while not game.is_over:
        question = game.question()
        kept = game.env.states.copy()
        change_secrets(game_at(game.env.states), game.seat, rng)
        assert game.question() == question
        game.env.states[:] = kept
        game.play(planner.choose(game.env))


def test_wrong_options_are_refused() -> None:
    with pytest.raises(TypeError, match="did you mean 'opponents'"):
        TextEnv(oponents="greedy")  # type: ignore[call-arg]
    with pytest.raises(ValueError, match="max_errors=-1; allowed: a whole number from 0 on, or None"):
        TextEnv(max_errors=-1)
    with pytest.raises(ValueError, match="max_news=0; allowed: a whole number from 1 on, or None"):
        TextGame(max_news=0)


@pytest.mark.parametrize("make", [symphony9_v0.env, symphony9_v0.raw_env, symphony9_v0.parallel_env])
def test_the_module_of_an_environment_explains_the_rules_and_the_actions(make: Any) -> None:
    """PettingZoo's agent for LangChain shows this to the model."""
    module = inspect.getmodule(make().unwrapped)
    assert module is not None
    assert "4 patrons sponsor musicians" in str(module.__doc__)
    assert "With 2 players, everybody contributes" in str(module.__doc__)
    words = " ".join(str(module.__doc__).split())
    assert all(f"{number} {name}" in words for number, name in enumerate(NAMES))
