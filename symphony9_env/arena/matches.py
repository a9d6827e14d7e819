"""The schedule of a tournament, and playing its games in batches.

A *lineup* is a group of agents, one for each seat. It has a deal of its own and plays it in every rotation, so that
each agent has every seat with the same cards. A *cycle* of the tournament is every lineup once, in all its rotations.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations, combinations_with_replacement
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from symphony9_env.actions import NAMES
from symphony9_env.agents import Agent, AgentFailed
from symphony9_env.agents.base import Rows, StoredPositions
from symphony9_env.agents.external import AgentNotStarted
from symphony9_env.arena.ratings import Estimate, win_rate
from symphony9_env.engine import play_rows
from symphony9_env.envs.opponents import decide_by
from symphony9_env.names import agent_name
from symphony9_env.options import Variant
from symphony9_env.rules.chance import MAX_SEED, next_seed
from symphony9_env.rules.setup import deal
from symphony9_env.rules.state import NONE, OVER, States, new_states
from symphony9_env.scores import ScoreLine, score_sheet
from symphony9_env.setup_format import pack_box

LINEUP_KINDS: Final = ("all", "one-against-rest", "first-against-rest")
PAIRED: Final = "paired"  # the kind of line-ups of a sequential test (`gate.py`)

Lineup = tuple[int, ...]  # an agent's number for each seat


@dataclass(frozen=True)
class ScheduledGame:
    """One game of a tournament."""

    number: int
    deal: int  # games with the same number have the same cards
    seed: int
    agents: Lineup  # by seat

    @classmethod
    def from_json(cls, fields: dict[str, Any]) -> ScheduledGame:
        """Return a game from its fields as plain JSON data."""
        return cls(**{**fields, "agents": tuple(fields["agents"])})


def list_lineups(num_agents: int, num_players: int, kind: str = "all") -> list[Lineup]:
    """Return all groups that meet: of different agents if there are enough, else with every agent at least once.

    `one-against-rest`: each agent in one seat and each other agent in all the rest; `first-against-rest`: only the
    first agent has the one seat. `paired`: as `one-against-rest`, but with two players only once for each pair, because
    the rotations of one line-up are those of the other.
    """
    if kind != "all":
        is_both = kind == "one-against-rest" or (kind == PAIRED and num_players > 2)
        alone = range(num_agents if is_both else 1)
        pairs = [(one, other) for one in alone for other in range(num_agents) if one != other]
        return [(one, *[other] * (num_players - 1)) for one, other in pairs]
    if num_agents >= num_players:
        return list(combinations(range(num_agents), num_players))
    every = combinations_with_replacement(range(num_agents), num_players)
    return [group for group in every if len(set(group)) == num_agents]


class DealSchedule(ABC):
    """Games by number, in cycles of the same size; a longer run begins with the games of a shorter one."""

    def __init__(self, num_players: int, cycle_size: int, seed: int) -> None:
        self.num_players = num_players
        self.cycle_size = cycle_size
        self._seed = seed

    def round_up_to_cycles(self, num_games: int) -> int:
        """Return a number of games, rounded up to whole cycles."""
        return -(-num_games // self.cycle_size) * self.cycle_size

    def seed_of_deal(self, deal: int) -> int:
        """Return the seed of a deal by its number."""
        return next_seed((next_seed(self._seed) + deal) & MAX_SEED)

    @abstractmethod
    def game(self, number: int) -> ScheduledGame:
        """Return a game by its number, from 0."""

    @abstractmethod
    def describe_cycle(self) -> str:
        """Return in words what a cycle consists of."""


class Schedule(DealSchedule):
    """The games of a tournament by number. A game depends on the seed and the lineups alone."""

    def __init__(self, num_agents: int, num_players: int, seed: int, kind: str = "all") -> None:
        self.lineups = list_lineups(num_agents, num_players, kind)
        if not self.lineups:
            raise ValueError(f"{kind} needs two agents or more")
        super().__init__(num_players, len(self.lineups) * num_players, seed)
        self._shares_deals = kind == PAIRED  # by all line-ups of a cycle

    def describe_cycle(self) -> str:
        return f"{len(self.lineups)} line-ups × {self.num_players} rotations"

    def game(self, number: int) -> ScheduledGame:
        block, rotation = divmod(number, self.num_players)
        cycle, lineup = divmod(block, len(self.lineups))
        order = np.random.default_rng([self._seed, cycle, lineup]).permutation(self.num_players)
        seats = [self.lineups[lineup][index] for index in order]
        # Where a rotation seats the same agents again, a new deal is played instead of the same game twice.
        period = next(shift for shift in range(1, len(seats) + 1) if seats[shift:] + seats[:shift] == seats)
        deal = (cycle if self._shares_deals else block) * self.num_players + rotation // period
        shift = rotation % period
        return ScheduledGame(number, deal, self.seed_of_deal(deal), tuple(seats[shift:] + seats[:shift]))


@dataclass(frozen=True)
class PlayedGame:
    """A game that was played: its moves, from which all else follows, and its final state."""

    game: ScheduledGame
    moves: bytes
    final: States  # an array of one
    forfeit: AgentFailed | None = None  # that an agent gave no legal action, if the game ended for that

    def score_line(self, agent: int) -> ScoreLine:
        """Return the line of the score sheet for an agent that has one seat."""
        return score_sheet(self.final)[agent_name(self.game.agents.index(agent))]


def play(
    games: Sequence[ScheduledGame],
    agents: Sequence[Agent],
    variant: Variant,
    *,
    ledger: bool = False,
    may_forfeit: bool = False,
    states: States | None = None,
) -> list[PlayedGame]:
    """Play games side by side: each agent decides in one call for all games in which it is to decide.

    `ledger` shows agents outside this package everybody's money and furniture. With `may_forfeit`, a game in which an
    agent gives no legal action ends there; without it, `AgentFailed` is raised, as it is for a program that can't be
    started. `states` are deals to play from instead of those of the games' seeds.
    """
    positions = StoredPositions.of(deal_games(games, variant) if states is None else states, ledger)
    seated = np.array([game.agents for game in games])
    rows = np.arange(len(games))
    forfeits: dict[int, AgentFailed] = {}
    while len(rows):
        try:
            _play_decisions(games, agents, seated, positions, rows)
        except AgentFailed as failure:
            if not may_forfeit or isinstance(failure, AgentNotStarted):
                raise
            forfeits[failure.row] = failure
            rows = rows[rows != failure.row]  # the others are asked again: no agent has a memory
        else:
            rows = rows[positions.states["phase"][rows] != OVER]
    return [
        PlayedGame(game, bytes(positions.moves(row)), positions.states[row : row + 1].copy(), forfeits.get(row))
        for row, game in enumerate(games)
    ]


def deal_games(games: Sequence[ScheduledGame], variant: Variant) -> States:
    """Return the games as they are dealt."""
    box = pack_box(variant)
    states = new_states(len(games))
    for row, game in enumerate(games):
        deal(box, states, row, np.uint64(game.seed))
    return states


def _play_decisions(
    games: Sequence[ScheduledGame], agents: Sequence[Agent], seated: Rows, positions: StoredPositions, rows: Rows
) -> None:
    """Play one decision on each of these rows; raise `AgentFailed`, with nothing played, if one is not legal."""
    deciding = seated[rows, positions.states["player"][rows]]
    moves = decide_by(agents, deciding, positions, rows)
    index = play_rows(positions.states, rows, moves, positions.history, positions.length)
    if index != NONE:
        move, row = int(moves[index]), int(rows[index])
        name = f" ({NAMES[move]!r})" if 0 <= move < len(NAMES) else ""
        reason = f"chose {move}{name}, which is illegal, in the game with seed {games[row].seed}"
        raise AgentFailed(agents[deciding[index]].name, reason, row)


def win_rate_against(agent: Agent, opponent: Agent, variant: Variant, num_games: int, seed: int) -> Estimate:
    """Return an agent's win rate in one seat with the opponent in all the others, on duplicate deals."""
    return win_rate(*play_against(agent, opponent, variant, num_games, seed))


def play_against(
    agent: Agent, opponent: Agent, variant: Variant, num_games: int, seed: int, part: int = 0, parts: int = 1
) -> tuple[NDArray[np.float64], Rows]:
    """Play the games of `win_rate_against`, or one of several parts of them; return the agent's share of each win, and
    the games' deals.
    """
    schedule = Schedule(2, variant.num_players, seed, "first-against-rest")
    numbers = np.arange(schedule.round_up_to_cycles(num_games)).reshape(-1, schedule.cycle_size)[part::parts]
    games = [schedule.game(number) for number in numbers.ravel().tolist()]
    shares = [played.score_line(0).win_share for played in play(games, [agent, opponent], variant)]
    return np.array(shares, np.float64), np.array([game.deal for game in games], np.int64)
