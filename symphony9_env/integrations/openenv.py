"""OpenEnv: the game as text behind a server, and a client for it. Each session plays its own games, in one seat.

    uvicorn symphony9_env.integrations.openenv:app --port 8000

    with Symphony9Client("http://127.0.0.1:8000").sync() as client:
        result = client.reset(seed=7)
        while not result.done:
            result = client.step(Symphony9Action(reply=model(result.observation.text)))

The operator of the server chooses the game and the opponents (`make_app`); a client chooses the seed only. What the
seat reads is that of `envs/text.py`.
"""

from __future__ import annotations

import functools
from typing import Any, Final
from uuid import uuid4

from fastapi import FastAPI
from openenv.core.client_types import StepResult
from openenv.core.env_client import EnvClient
from openenv.core.env_server.http_server import create_fastapi_app
from openenv.core.env_server.interfaces import Environment
from openenv.core.env_server.types import Action, ConcurrencyConfig, EnvironmentMetadata, Observation, State
from pydantic import Field

import symphony9_env
from symphony9_env.envs.text import TextEnv

MAX_REPLY: Final = 20_000  # characters
MAX_SESSIONS: Final = 64
SESSION_SECONDS: Final = 3600.0  # without a message, after which a session is closed


class Symphony9Action(Action):
    """What the model says."""

    reply: str = Field(max_length=MAX_REPLY, description="An answer with a legal action in square brackets")


class Symphony9Observation(Observation):
    """What the model reads, and the same as data."""

    text: str = Field(description="What has happened, the view of the seat and the legal actions")
    decision: str = Field(description="What is to be decided, or 'over'")
    legal: dict[int, str] = Field(description="The legal actions: their names by number")
    action: str | None = Field(default=None, description="The action that was played")
    error: str | None = Field(default=None, description="Why the reply was refused")
    outcome: str | None = Field(default=None, description="At the end: who won")
    score: float | None = Field(default=None, description="At the end: the seat's points")
    rank: int | None = Field(default=None, description="At the end: the seat's place, from 1 on")
    breakdown: dict[str, float] | None = Field(default=None, description="At the end: points by source")


class Symphony9State(State):
    """Where the session's game stands; the record is secret until the game is over."""

    num_players: int
    seat: int | None = None
    record: dict[str, Any] | None = None


class Symphony9Environment(Environment[Symphony9Action, Symphony9Observation, Symphony9State]):
    """One seat of a game, with the options of `TextEnv`."""

    SUPPORTS_CONCURRENT_SESSIONS = True

    def __init__(self, **options: Any) -> None:
        super().__init__()
        self.text_env = TextEnv(**options)
        self._episode_id: str | None = None
        self._steps = 0

    def reset(self, seed: int | None = None, episode_id: str | None = None, **kwargs: Any) -> Symphony9Observation:
        """Deal a game and return the rules and the first question."""
        if kwargs:
            raise ValueError(f"reset takes seed and episode_id only, not {', '.join(sorted(kwargs))}")
        text = self.text_env.reset(seed)
        self._episode_id, self._steps = episode_id or uuid4().hex, 0
        return Symphony9Observation(text=text, **self.text_env.info())

    def step(self, action: Symphony9Action, timeout_s: float | None = None, **kwargs: Any) -> Symphony9Observation:
        """Play the action that the reply means, or ask again."""
        if self._episode_id is None:
            raise ValueError("call reset first, in the same session: a session is a connection to /ws")
        text, reward, done, info = self.text_env.step(action.reply)
        self._steps += 1
        return Symphony9Observation(text=text, reward=reward, done=done, **info)

    @property
    def state(self) -> Symphony9State:
        """Where the game stands, without anything that is hidden from the seat."""
        game = self.text_env.game
        if self._episode_id is None:
            return Symphony9State(num_players=game.num_players)
        return Symphony9State(
            num_players=game.num_players,
            episode_id=self._episode_id,
            step_count=self._steps,
            seat=self.text_env.seat,
            record=dict(game.record()) if game.is_over else None,
        )

    def get_metadata(self) -> EnvironmentMetadata:
        """Return the name and the version that the server shows."""
        about = "Symphony No. 9, a board game of hidden money and blind bidding, as text"
        return EnvironmentMetadata(name="symphony9", description=about, version=symphony9_env.__version__)

    def close(self) -> None:
        """Release the opponents' resources."""
        self.text_env.close()


def make_app(max_sessions: int = MAX_SESSIONS, session_seconds: float = SESSION_SECONDS, **options: Any) -> FastAPI:
    """Return a server of games with these options of `TextEnv`; more sessions than `max_sessions` are refused."""
    Symphony9Environment(**options).close()  # so that wrong options are refused here and not in a session
    return create_fastapi_app(
        functools.partial(Symphony9Environment, **options),
        Symphony9Action,
        Symphony9Observation,
        concurrency_config=ConcurrencyConfig(max_concurrent_envs=max_sessions, session_timeout=session_seconds),
        env_name="symphony9",
        state_cls=Symphony9State,
    )


class Symphony9Client(EnvClient[Symphony9Action, Symphony9Observation, Symphony9State]):
    """A session on a server."""

    def _step_payload(self, action: Symphony9Action) -> dict[str, Any]:
        return {"reply": action.reply}

    def _parse_result(self, payload: dict[str, Any]) -> StepResult[Symphony9Observation]:
        told = {"reward": payload.get("reward"), "done": payload.get("done", False)}
        return StepResult(observation=Symphony9Observation(**payload["observation"], **told), **told)

    def _parse_state(self, payload: dict[str, Any]) -> Symphony9State:
        return Symphony9State(**payload)


def __getattr__(name: str) -> Any:
    if name == "app":  # for uvicorn; a client does not need one
        return make_app()
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
