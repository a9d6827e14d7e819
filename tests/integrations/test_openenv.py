"""OpenEnv: a server with one game for each session, and its client."""

from __future__ import annotations

import contextlib
import runpy
from pathlib import Path
from typing import Any

import pytest

from tests.integrations.scripted import GAME, choose, play_directly

pytest.importorskip("openenv")

import yaml
from pydantic import ValidationError

from symphony9_env.integrations import openenv as adapter
from symphony9_env.integrations.openenv import (
    MAX_REPLY,
    Symphony9Action,
    Symphony9Client,
    Symphony9Environment,
    Symphony9Observation,
    make_app,
)

ROOT = Path(__file__).parents[2]
EXAMPLE = runpy.run_path(str(ROOT / "examples" / "openenv_game.py"))

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")  # of FastAPI


def play(env: Any, seed: int) -> tuple[list[Symphony9Observation], list[Any]]:
    """Play a whole game in the environment itself; return the observations and the states."""
    told = [env.reset(seed=seed)]
    states = [env.state]
    while not told[-1].done:
        told.append(env.step(Symphony9Action(reply=f"[{choose(told[-1].text)}]")))
        states.append(env.state)
    return told, states


def test_a_session_plays_the_game_of_the_text_environment() -> None:
    texts, reward, record = play_directly(seed=11)
    with EXAMPLE["serve"](**GAME) as address, Symphony9Client(address).sync() as client:
        for _ in range(2):  # a session can play many games
            result = client.reset(seed=11)
            read, total = [result.observation.text], 0.0
            while not result.done:
                state = client.state()
                assert (state.seat, state.num_players, state.step_count) == (0, 2, len(read) - 1)
                assert state.record is None
                result = client.step(Symphony9Action(reply=f"[{choose(read[-1])}]"))
                read.append(result.observation.text)
                total += result.reward
            assert read == texts
            assert total == reward
            assert client.state().record == record
    assert result.observation.decision == "over"
    assert "win" in str(result.observation.outcome)
    assert result.observation.score is not None


def test_sessions_are_separate_and_their_number_is_bounded() -> None:
    with EXAMPLE["serve"](**GAME, max_sessions=2) as address, contextlib.ExitStack() as stack:
        first, second = (stack.enter_context(Symphony9Client(address).sync()) for _ in range(2))
        start = first.reset(seed=1).observation.text
        assert second.reset(seed=2).observation.text != start
        first.step(Symphony9Action(reply="[0]"))
        assert (first.state().step_count, second.state().step_count) == (1, 0)
        third = stack.enter_context(Symphony9Client(address).sync())
        with pytest.raises(Exception, match=r"(?i)capacity|closed"):
            third.reset(seed=3)


def test_games_without_a_seed_differ() -> None:
    env = Symphony9Environment(**GAME)
    assert len({env.reset().text for _ in range(3)}) > 1


def test_wrong_replies_are_asked_again_and_then_end_the_game() -> None:
    env = Symphony9Environment(**GAME, max_errors=1)
    env.reset(seed=7)
    told = env.step(Symphony9Action(reply="[fly to the moon]"))
    assert (told.action, told.reward, told.done) == (None, 0.0, False)
    assert "is no legal action" in str(told.error)
    told = env.step(Symphony9Action(reply=""))
    assert (told.reward, told.done) == (-1.0, True)
    with pytest.raises(ValueError, match="the game is over"):
        env.step(Symphony9Action(reply="[0]"))


def test_clients_choose_the_seed_and_nothing_else() -> None:
    env = Symphony9Environment(**GAME)
    assert env.state.seat is None
    with pytest.raises(ValueError, match="call reset first, in the same session"):
        env.step(Symphony9Action(reply="[0]"))
    with pytest.raises(ValueError, match="reset takes seed and episode_id only, not opponents"):
        env.reset(seed=1, opponents="stdio:touch /tmp/owned")
    assert env.reset(seed=1, episode_id="mine").decision == "take"
    assert env.state.episode_id == "mine"


def test_long_replies_and_wrong_options_are_refused() -> None:
    with pytest.raises(ValidationError, match="at most"):
        Symphony9Action(reply="x" * (MAX_REPLY + 1))
    with pytest.raises(TypeError, match="did you mean 'opponents'"):
        make_app(oponents="greedy")


def test_a_refused_message_leaves_the_session_open() -> None:
    with EXAMPLE["serve"](**GAME) as address, Symphony9Client(address).sync() as client:
        client.reset(seed=7)
        with pytest.raises(Exception, match="only, not opponents"):
            client.reset(opponents="greedy")
        with pytest.raises(Exception, match="seed"):
            client.reset(seed=-1)
        assert client.step(Symphony9Action(reply="[3]")).observation.action == "take mozart"


def test_the_manifest_names_the_server() -> None:
    manifest = yaml.safe_load((ROOT / "openenv.yaml").read_text())
    module, _, name = manifest["app"].partition(":")
    assert module == adapter.__name__
    assert getattr(adapter, name).title
    with pytest.raises(AttributeError, match="no attribute 'apps'"):
        adapter.apps  # noqa: B018


def test_the_example_plays(capsys: pytest.CaptureFixture[str]) -> None:
    assert EXAMPLE["main"]([]) in (-1.0, 0.0, 1.0)
    assert "decisions: player_" in capsys.readouterr().out
