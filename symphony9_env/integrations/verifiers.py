"""verifiers: games between language models, and against agents; every model's seat has a trace and a reward.

    import symphony9_env.integrations.verifiers  # registers the environment symphony9
    env = vf.load_environment(vf.resolve_env_config({"taskset": {"id": "symphony9"}, "seats": ["model", "planner"]}))

The task set contains one game for each seed. How seats read and answer is that of `envs/text.py`. A seat whose run ends
before the game does (a limit of turns or tokens, or an error) forfeits.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Iterator
from contextlib import AsyncExitStack
from itertools import count
from typing import Any, Final

import httpx
import verifiers.v1 as vf
from pydantic import Field, field_validator
from verifiers.v1.dialects.chat import message_to_wire

from symphony9_env.agents import Agent
from symphony9_env.agents import make as make_agent
from symphony9_env.envs.text import MAX_ERRORS, TextGame
from symphony9_env.names import agent_name

ENV_ID: Final = "symphony9"
MODEL: Final = "model"  # in `seats`: a language model

__all__ = ["ChatHarness", "Symphony9Env", "Symphony9Taskset"]  # verifiers looks for one class of each kind


class ChatHarness(vf.Harness[vf.HarnessConfig]):
    """Ask the model once in each turn, in this process and without tools; verifiers' own starts a process each time."""

    APPENDS_SYSTEM_PROMPT = True
    SUPPORTS_RESUME = True
    EXECUTES_CODE = False
    NEEDS_CONTAINER = False

    async def launch(
        self,
        ctx: vf.ModelContext,
        trace: vf.Trace,
        runtime: vf.Runtime,
        endpoint: str,
        secret: str,
        mcp_urls: dict[str, str],
        data: vf.TaskData,
    ) -> vf.ProgramResult:
        """Send the conversation to the model through verifiers, which keeps the answer in the trace."""
        system, prompt = self.resolve_prompt(data)
        said = [vf.UserMessage(content=prompt)] if isinstance(prompt, str) else list(prompt or [])
        messages = [vf.SystemMessage(content=system), *said] if system else said
        body = {"model": ctx.model, "messages": [message_to_wire(message) for message in messages]}
        async with httpx.AsyncClient(timeout=None, headers={"Authorization": f"Bearer {secret}"}) as client:
            response = await client.post(f"{endpoint}/chat/completions", json=body)
        return vf.ProgramResult(int(response.is_error), "", response.text if response.is_error else "")


class Symphony9Data(vf.TaskData):
    """A game of the task set."""

    seed: int


class Symphony9Task(vf.Task[Symphony9Data]):
    """A task is to play the game of its seed."""


class Symphony9TasksetConfig(vf.TasksetConfig):
    """Which games are played."""

    first_seed: int = Field(0, ge=0)


class Symphony9Taskset(vf.Taskset[Symphony9Task, Symphony9TasksetConfig]):
    """One game for each seed, from `first_seed` on."""

    INFINITE = True

    def load(self) -> Iterator[Symphony9Task]:
        """Yield the games."""
        for number, seed in enumerate(count(self.config.first_seed)):
            yield Symphony9Task(Symphony9Data(idx=number, name=f"seed {seed}", seed=seed))


class Symphony9EnvConfig(vf.EnvConfig):
    """Who plays which game. Models in seats without settings of their own are the run's."""

    player_0: vf.AgentConfig = vf.AgentConfig(runtime=vf.SubprocessConfig())
    player_1: vf.AgentConfig = vf.AgentConfig(runtime=vf.SubprocessConfig())
    player_2: vf.AgentConfig = vf.AgentConfig(runtime=vf.SubprocessConfig())
    player_3: vf.AgentConfig = vf.AgentConfig(runtime=vf.SubprocessConfig())
    seats: list[str] = Field(default=[MODEL, MODEL])
    """Who plays each seat: "model", or an agent as `agents.make` takes it, such as "planner"."""
    max_errors: int | None = MAX_ERRORS
    """How many answers in a row may be wrong before the next one ends the game; None for any number."""
    options: dict[str, Any] = Field(default_factory=dict)
    """Options of the game, such as `discussion`."""

    @field_validator("seats")
    @classmethod
    def _check_seats(cls, seats: list[str]) -> list[str]:
        if MODEL not in seats:
            raise ValueError(f"seats={seats!r}; needed: at least one {MODEL!r}")
        return seats


class Symphony9Env(vf.Env[Symphony9EnvConfig]):
    """A game for each task, with one conversation for each model's seat."""

    def __init__(self, config: Symphony9EnvConfig) -> None:
        super().__init__(config)
        self._make_game()  # so that wrong options are refused here and not in an episode
        for agent in self._make_agents().values():
            agent.close()

    async def run(self, task: Symphony9Task, agents: vf.Agents) -> None:
        """Play the game of a task; record each model's sum of rewards, its final score and the game."""
        game, scripted = self._make_game(), self._make_agents()
        game.reset(task.data.seed)
        totals = [0.0] * game.num_players
        try:
            async with AsyncExitStack() as stack:
                talks: dict[int, Any] = {}
                for seat in sorted(set(range(game.num_players)) - set(scripted)):
                    told = vf.Task(vf.TaskData(idx=task.data.idx, system_prompt=game.prompt(seat)))
                    player = getattr(agents, agent_name(seat))
                    talks[seat] = await stack.enter_async_context(player.interaction(told))
                while not game.is_over:
                    if game.seat in scripted:
                        game.play(await asyncio.to_thread(scripted[game.seat].choose, game.env))
                    elif not await _ask(game, talks[game.seat]):
                        continue  # the same question again
                    totals = [total + reward for total, reward in zip(totals, game.rewards, strict=True)]
        finally:
            for agent in scripted.values():
                agent.close()
        for seat, talk in talks.items():
            talk.trace.record_reward("game", totals[seat])
            talk.trace.record_metric("forfeit", game.forfeited_by == seat)
            ended = {"seat": seat, "outcome": game.outcome, **game.final_info(seat)}
            talk.trace.info[ENV_ID] = {**ended, "record": dict(game.record())}

    def _make_game(self) -> TextGame:
        own = {"num_players": len(self.config.seats), "max_errors": self.config.max_errors}
        return TextGame(**{**self.config.options, **own})

    def _make_agents(self) -> dict[int, Agent]:
        """Return the agents by seat; their seeds are those in `TextEnv` for the first model."""
        first, size = self.config.seats.index(MODEL), len(self.config.seats)
        named = {seat: name for seat, name in enumerate(self.config.seats) if name != MODEL}
        made = {seat: make_agent(name, seed=(seat - first - 1) % size) for seat, name in named.items()}
        for agent in made.values():
            agent.check_players(size)
        return made


async def _ask(game: TextGame, talk: vf.Interaction) -> bool:
    """Ask the deciding seat once; return whether the game went on or ended."""
    segment = await talk.turn(game.question().text)
    if segment.terminated:
        game.forfeit()
    else:
        game.answer(segment.last_reply)
    return game.error is None or game.is_over


# verifiers finds environments by the name of a module at the top level.
sys.modules.setdefault(ENV_ID, sys.modules[__name__])
