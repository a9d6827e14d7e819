"""What the tests of adapters for language models share: a scripted model, games, and changed secrets."""

from __future__ import annotations

import re
import zlib
from collections.abc import Callable
from typing import Any

import numpy as np

from symphony9_env import TextEnv, TextGame
from symphony9_env.envs.text import Question
from symphony9_env.records import Record
from symphony9_env.rules.state import game_at
from tests.properties.test_secrets import change_secrets

GAME: dict[str, Any] = {"num_players": 2, "opponents": "planner", "seat": 0}


def legal_names(text: str) -> list[str]:
    """Return the names of the legal actions of the last question in a text; an error after it repeats them."""
    return list(dict.fromkeys(re.findall(r"\d+ ([a-z][a-z0-9 ]*)", text.rpartition("Legal actions:")[2])))


def is_asked_again(text: str) -> bool:
    """Return whether the last question in a text follows an answer that was refused."""
    return "Your answer was not understood" in text.rpartition("Legal actions:")[2]


def choose(text: str) -> str:
    """Return the name of a legal action of a question, which depends on every character of it."""
    names = legal_names(text)
    return names[zlib.crc32(text.encode()) % len(names)]


def choose_last(text: str) -> str:
    """Return the name of the last legal action of a question, whatever surrounds the question."""
    return legal_names(text)[-1]


def play_directly(seed: int, script: Callable[[str], str] = choose, **options: Any) -> tuple[list[str], float, Record]:
    """Play a game of the scripted model in a `TextEnv`; return what it read, its reward and the record."""
    env = TextEnv(**{**GAME, **options})
    prompt = env.reset(seed=seed)
    texts, total, done = [prompt], 0.0, False
    while not done:
        text, reward, done, _ = env.step(f"[{script(texts[-1])}]")
        texts.append(text)
        total += reward
    return texts, total, env.record()


class ScrambledEnv(TextEnv):
    """A `TextEnv` in which everything hidden from the reader is changed whenever it reads."""

    _kept: Any = None

    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> str:
        self._kept, self._rng = None, np.random.default_rng(0)
        return super().reset(seed, options)

    def step(self, reply: str) -> tuple[str, float, bool, dict[str, Any]]:
        if self._kept is not None:
            self.game.env.states[:] = self._kept
        return super().step(reply)

    def _play_others(self) -> float:
        reward = super()._play_others()
        self._kept = self.game.env.states.copy()
        if not self.game.is_over:
            change_secrets(game_at(self.game.env.states), self.seat, self._rng)
        return reward


class ScrambledGame(TextGame):
    """A `TextGame` in which everything hidden from the deciding seat is changed while it is asked."""

    def question(self) -> Question:
        kept = self.env.states.copy()
        change_secrets(game_at(self.env.states), self.seat, np.random.default_rng(len(self.record()["actions"])))
        try:
            return super().question()
        finally:
            self.env.states[:] = kept
