"""One game of a scripted language model against `planner`, through each of the frameworks for language models.

The deal is that of a game of the benchmark, because Inspect plays no others. The model's answers depend only on the
legal actions, which all frameworks tell it. To some questions its first answer is not legal, so that it is asked again.
"""

from __future__ import annotations

import asyncio
import runpy
import zlib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

from symphony9_env import symphony9_v0
from symphony9_env.actions import NAMES
from symphony9_env.agents import external
from symphony9_env.arena import benchmark
from symphony9_env.arena.benchmark_games import derive_key, schedule_game
from symphony9_env.records import Record
from symphony9_env.rules.state import game_at
from tests.integrations.scripted import GAME, ScrambledEnv, ScrambledGame, is_asked_again, legal_names
from tests.properties.test_secrets import change_secrets

EXAMPLES = Path(__file__).parents[2] / "examples"
# A game of the benchmark: with two games against each opponent, the first one against planner. The salt was searched
# for, because OpenSpiel's parameters, and so Kaggle's seeds, have 32 bits.
SALT, GAME_NUMBER = "003f443e", 2
SEED = schedule_game(GAME_NUMBER, derive_key(SALT, GAME_NUMBER), 2).seed


class PlayedGame(NamedTuple):
    """What the model was sent at each of its decisions, the record, and the model's reward."""

    messages: list[str]
    record: Record
    reward: float


def draw(names: Sequence[str], count: int) -> int:
    """Return a number below `count` that depends on the names of the legal actions."""
    return zlib.crc32(",".join(names).encode()) % count


def choose(names: Sequence[str]) -> str:
    """Return one of the names of the legal actions."""
    return names[draw(names, len(names))]


def reply(text: str) -> str:
    """Return the scripted model's answer to a question."""
    names = legal_names(text)
    if draw(names, 3) == 0 and not is_asked_again(text):
        return "I am not sure. [whatever]"
    return f"I have thought about it. [{choose(names)}]"


def play_text_env(env: Any) -> PlayedGame:
    """Play in a `TextEnv`."""
    text, messages, total, done = env.reset(seed=SEED), [], 0.0, False
    while not done:
        messages.append(text)
        text, reward, done, _ = env.step(reply(text))
        total += reward
    return PlayedGame(messages, env.record(), total)


def play_verifiers() -> PlayedGame:
    from symphony9_env.integrations.verifiers import ENV_ID

    example = runpy.run_path(str(EXAMPLES / "verifiers_game.py"))
    messages: list[str] = []

    def model(conversation: list[dict[str, Any]]) -> str:
        messages.append(str(conversation))
        return reply(str(conversation[-1]["content"]))

    config = {"taskset": {"id": ENV_ID, "first_seed": SEED}, "seats": ["model", "planner"]}
    with example["serve_model"](model) as address:
        (episode,) = asyncio.run(example["play"](address, config, 1))
    (trace,) = episode.traces
    return PlayedGame(messages, trace.info[ENV_ID]["record"], trace.reward)


def play_openenv() -> PlayedGame:
    """Play over HTTP; the messages are the observations and the states that the server sends."""
    from symphony9_env.integrations.openenv import Symphony9Action, Symphony9Client

    serve = runpy.run_path(str(EXAMPLES / "openenv_game.py"))["serve"]
    messages, total = [], 0.0
    with serve(**GAME) as address, Symphony9Client(address).sync() as client:
        result = client.reset(seed=SEED)
        while not result.done:
            state = client.state().model_dump_json(exclude={"episode_id"})
            messages.append(result.observation.model_dump_json() + state)
            result = client.step(Symphony9Action(reply=reply(result.observation.text)))
            total += result.reward
        record = client.state().record
    return PlayedGame(messages, record, total)


def play_trl() -> PlayedGame:
    from symphony9_env.integrations.trl import Symphony9ToolEnv

    env = Symphony9ToolEnv(**GAME)
    text, messages = env.reset(seed=SEED), []
    while "Legal actions:" in text:
        messages.append(text)
        text = env.play(action=reply(text))
    return PlayedGame(messages, env.text_env.record(), env.get_reward())


def play_textarena() -> PlayedGame:
    import textarena

    from symphony9_env.integrations.textarena import ENV_ID

    env = textarena.make(ENV_ID, opponents="planner", seat=0, table_size=2)
    env.reset(num_players=1, seed=SEED)
    messages, done = [], False
    while not done:
        _, text = env.get_observation()
        messages.append(env.env.get_board_str() + text)
        done, _ = env.step(reply(text))
    rewards, _ = env.close()
    return PlayedGame(messages, env.env.record(), rewards[0])


def play_inspect(folder: Path, monkeypatch: pytest.MonkeyPatch) -> PlayedGame:
    """Play a game of the benchmark; its moves are played again for the record."""
    import inspect_ai
    from inspect_ai.model import ModelOutput, ModelUsage, get_model

    from symphony9_env.integrations.inspect_ai import symphony9_benchmark

    messages: list[str] = []

    def generate(conversation: Any, *_: Any) -> ModelOutput:
        messages.append("\n\n".join(message.text for message in conversation))
        output = ModelOutput.from_content("mockllm/model", reply(messages[-1]))
        output.usage = ModelUsage(output_tokens=1, total_tokens=1)  # otherwise Inspect downloads a tokenizer to count
        return output

    monkeypatch.setattr(benchmark, "LITE_GAMES", 2)
    monkeypatch.setattr(benchmark, "OPPONENTS", ("random", "planner"))
    model = get_model("mockllm/model", custom_outputs=generate, memoize=False)
    (log,) = inspect_ai.eval(
        symphony9_benchmark("2p", salt=SALT), model=model, sample_id=GAME_NUMBER, log_dir=str(folder), display="none"
    )
    outcome = log.samples[0].scores["win_share"].metadata
    env = symphony9_v0.raw_env(num_players=2)
    env.reset(seed=SEED)
    for action in outcome["moves"]:
        env.step(action)
    return PlayedGame(messages, env.record(), 2 * outcome["win_share"] - 1)


def play_kaggle() -> PlayedGame:
    """Play in Kaggle's environment, whose record has no seed: the deal is a list of chance outcomes."""
    import kaggle_environments

    from symphony9_env.integrations import kaggle

    messages: list[str] = []

    def act(observation: Any) -> dict[str, int]:
        legal = observation.get("legalActions")
        if not legal:
            return kaggle.NO_ACTION
        messages.append(str({name: value for name, value in observation.items() if name != "remainingOverageTime"}))
        return {"submission": NAMES.index(choose([NAMES[action] for action in legal]))}

    env = kaggle_environments.make(kaggle.environment_name(2), configuration=kaggle.configure_seed(SEED, 2))
    final = env.run([act, "planner"])[-1]
    record = env.os_state.record()
    record["seed"] = SEED
    return PlayedGame(messages, record, final[0].reward)


def change_text_env(adapter: str) -> Callable[[pytest.MonkeyPatch], None]:
    return lambda monkeypatch: monkeypatch.setattr(f"symphony9_env.integrations.{adapter}.TextEnv", ScrambledEnv)


def change_text_game(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("symphony9_env.integrations.verifiers.TextGame", ScrambledGame)


def change_agent_messages(monkeypatch: pytest.MonkeyPatch) -> None:
    """Change everything hidden from an external agent in what its messages are made from."""
    for name in ("seat_view", "observe"):
        original = getattr(external, name)

        def read(states: Any, row: int, seat: int, *more: Any, original: Any = original) -> Any:
            other = states.copy()
            change_secrets(game_at(other, row), seat, np.random.default_rng(row))
            return original(other, row, seat, *more)

        monkeypatch.setattr(external, name, read)


def change_openspiel_states(monkeypatch: pytest.MonkeyPatch) -> None:
    """Show each player another state, with everything different that the player can't know."""
    from symphony9_env.integrations.openspiel import Symphony9State
    from tests.integrations.openspiel_games import change_hidden

    changing = False  # `change_hidden` reads the true state

    def patch(name: str) -> None:
        original = getattr(Symphony9State, name)

        def read(state: Any, player: int) -> Any:
            nonlocal changing
            if changing or state.is_chance_node():
                return original(state, player)
            changing = True
            other = change_hidden(state, player)
            changing = False
            return original(other, player)

        monkeypatch.setattr(Symphony9State, name, read)

    for name in ("information_state_string", "observation_string"):
        patch(name)


class Framework(NamedTuple):
    """How to play the game through a framework, and how to change what is hidden from its model."""

    modules: tuple[str, ...]
    play: Callable[..., PlayedGame]
    change_hidden: Callable[[pytest.MonkeyPatch], None]
    asks_again: bool = True  # after an answer that is not legal


FRAMEWORKS = {
    "verifiers": Framework(("verifiers.v1",), play_verifiers, change_text_game),
    "openenv": Framework(("openenv",), play_openenv, change_text_env("openenv")),
    "trl": Framework(("trl", "datasets"), play_trl, change_text_env("trl")),
    "textarena": Framework(("textarena",), play_textarena, change_text_env("textarena")),
    "inspect": Framework(("inspect_ai",), play_inspect, change_agent_messages),
    "kaggle": Framework(("kaggle_environments", "pyspiel"), play_kaggle, change_openspiel_states, asks_again=False),
}
