"""What plays the games of a run: its agents and the variant, in this process or as a copy in each worker.

A worker makes its copy from a description, which is plain JSON data, as are games and their results. The description
contains the agents' fingerprints, so that a copy plays only if its agents are the same.
"""

from __future__ import annotations

import os
import platform
from abc import ABC, abstractmethod
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, ClassVar, Self

from symphony9_env import agents
from symphony9_env.agents import Agent, ExternalAgent
from symphony9_env.agents.external import TIMEOUT
from symphony9_env.arena.benchmark_games import GamePlan, make_outcome, play_plan
from symphony9_env.arena.control_variate import ControlVariate
from symphony9_env.arena.games_csv import make_game_record, make_rows
from symphony9_env.arena.matches import PlayedGame, ScheduledGame, play
from symphony9_env.game_replay import deal_again, replay_moves
from symphony9_env.options import Variant

Description = dict[str, Any]  # JSON


@dataclass(frozen=True)
class AgentRecipe:
    """How any process makes an agent: the arguments of `agents.make`."""

    name: str
    seed: int
    num_threads: int = 1
    timeout: float = TIMEOUT
    log: str | None = None
    isolate: bool = False

    def make(self) -> Agent:
        """Make the agent."""
        log = None if self.log is None else Path(self.log)
        return agents.make(
            self.name,
            seed=self.seed,
            num_threads=self.num_threads,
            timeout=self.timeout,
            log=log,
            isolate=self.isolate,
        )

    def find_name(self) -> str:
        """Return the name under which the agent appears in results."""
        with self.make() as agent:
            return agent.name


class GamePlayer(ABC):
    """Plays games of one run. Games and results are plain JSON data; which, the subclass says."""

    kind: ClassVar[str]

    def __init__(self, recipes: Sequence[AgentRecipe], variant: Variant) -> None:
        self.recipes = tuple(recipes)
        self.variant = variant
        self.agents = [recipe.make() for recipe in recipes]
        for agent in self.agents:
            agent.check_players(variant.num_players)
        self.fingerprints = [agent.fingerprint(variant.num_players) for agent in self.agents]

    @abstractmethod
    def play(self, games: Sequence[Any]) -> list[Any]:
        """Play games side by side and return their results."""

    @classmethod
    @abstractmethod
    def from_description(cls, recipes: Sequence[AgentRecipe], description: Description) -> Self:
        """Make a copy of the player that was described."""

    @property
    def is_external(self) -> bool:
        """Whether an agent is outside this package: it may be slow, so each game is saved as soon as it is over."""
        return any(isinstance(agent, ExternalAgent) for agent in self.agents)

    def describe(self) -> Description:
        """Return the description from which a worker makes a copy."""
        return {
            "kind": self.kind,
            "recipes": [asdict(recipe) for recipe in self.recipes],
            "fingerprints": self.fingerprints,
            "variant": self.variant.as_json(),
            "folder": os.getcwd(),  # to which relative paths refer
        }

    def close(self) -> None:
        """Release what the agents hold, such as processes; they are started again when they are needed."""
        for agent in self.agents:
            agent.close()


class TournamentPlayer(GamePlayer):
    """Plays games of a tournament.

    A game is the fields of a `ScheduledGame`; its result has its rows of `games.csv`, and its record if it is one of
    the first `num_records` games.
    """

    kind = "tournament"

    def __init__(
        self, recipes: Sequence[AgentRecipe], variant: Variant, num_records: int, redraws: int | None = None
    ) -> None:
        """`redraws` is how often each game is played again for a control variate; None for no control variate."""
        super().__init__(recipes, variant)
        self.num_records = num_records
        self.control = None if redraws is None else ControlVariate(self.agents, variant, redraws)
        self.names = [agent.name for agent in self.agents]
        for number, agent in enumerate(self.agents):
            if agent.name in self.names[:number]:
                raise ValueError(f"agent {agent.name!r} is named twice; label one, as in other={agent.spec}")

    def describe(self) -> Description:
        redraws = None if self.control is None else self.control.redraws
        return {**super().describe(), "num_records": self.num_records, "redraws": redraws}

    @classmethod
    def from_description(cls, recipes: Sequence[AgentRecipe], description: Description) -> Self:
        variant = Variant(**description["variant"])
        return cls(recipes, variant, description["num_records"], description["redraws"])

    def play(self, games: Sequence[Any]) -> list[Any]:
        scheduled = [ScheduledGame.from_json(game) for game in games]
        games_played = play(scheduled, self.agents, self.variant)
        rows = [make_rows(played, self.names) for played in games_played]
        if self.control:
            self.control.extend_rows(games_played, [row for of_game in rows for row in of_game])
        return [
            {"rows": of_game, "record": self._make_record(played)}
            for of_game, played in zip(rows, games_played, strict=True)
        ]

    def _make_record(self, played: PlayedGame) -> dict[str, Any] | None:
        if played.game.number >= self.num_records:
            return None
        seated = [self.agents[agent] for agent in played.game.agents]
        players = [{"name": agent.name, "agent": agent.spec or agent.name} for agent in seated]
        return {**make_game_record(played), "players": players}


class BenchmarkPlayer(GamePlayer):
    """Plays games of the benchmark, one after the other.

    A game is the fields of a `GamePlan`, which has neither the salt nor a key. The result has the fields of a
    `GameOutcome`, with an empty key, and whether the agent gave no answer at all.
    """

    kind = "benchmark"

    def __init__(self, recipes: Sequence[AgentRecipe], variant: Variant, ledger: bool) -> None:
        super().__init__(recipes, variant)
        self.ledger = ledger

    def describe(self) -> Description:
        return {**super().describe(), "ledger": self.ledger}

    @classmethod
    def from_description(cls, recipes: Sequence[AgentRecipe], description: Description) -> Self:
        return cls(recipes, Variant(**description["variant"]), description["ledger"])

    def play(self, games: Sequence[Any]) -> list[Any]:
        return [self._play_plan(GamePlan(**{**plan, "game": ScheduledGame.from_json(plan["game"])})) for plan in games]

    def _play_plan(self, plan: GamePlan) -> dict[str, Any]:
        played = play_plan(plan, self.agents[0], self.variant, ledger=self.ledger)
        return {
            "outcome": asdict(make_outcome(plan.opponent, "", played)),
            "is_unanswered": _is_unanswered(played),
        }


def _is_unanswered(played: PlayedGame) -> bool:
    """Return whether the agent forfeited a game because it gave no answer, before it had made a move in it."""
    if played.forfeit is None or not played.forfeit.is_unanswered:
        return False
    seat = played.game.agents.index(0)
    return all(player != seat for player, _, _ in replay_moves(deal_again(played.final, 0), played.moves))


def make_player(description: Description) -> GamePlayer:
    """Make a copy of a player in a worker; raise a ValueError if an agent can't be made, or is not the same there."""
    with suppress(OSError):  # on another machine the folder may be missing, and agents of this package need none
        os.chdir(description["folder"])
    kind = next(one for one in (TournamentPlayer, BenchmarkPlayer) if one.kind == description["kind"])
    try:
        player = kind.from_description([AgentRecipe(**recipe) for recipe in description["recipes"]], description)
    except ValueError as error:  # though it could be made where the run was started
        raise ValueError(f"a worker on {platform.node()}: {error}") from error
    for agent, own, expected in zip(player.agents, player.fingerprints, description["fingerprints"], strict=True):
        if own != expected:
            player.close()
            reason = f"was changed, or is another one there: its fingerprint is {own}, not {expected}"
            raise ValueError(f"a worker on {platform.node()}: agent {agent.name!r} {reason}")
    return player
