"""Who meets whom on which deal, and playing it all in batches.

A *table* is a group of agents, one for each seat. It plays on a deal of its own in every rotation, so that everybody
has every seat with the same cards. A *round* of the tournament is every table once, with all its rotations.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations, combinations_with_replacement
from typing import Final

import numpy as np
from numpy.typing import NDArray

from symphony9_env.actions import NAMES
from symphony9_env.agents import Agent
from symphony9_env.agents.base import StoredPositions
from symphony9_env.arena.ratings import Estimate, win_rate
from symphony9_env.engine import play_rows
from symphony9_env.envs.opponents import decide_by
from symphony9_env.options import Variant
from symphony9_env.rules.chance import MAX_SEED, next_seed
from symphony9_env.rules.setup import deal
from symphony9_env.rules.state import NONE, OVER, States, new_states
from symphony9_env.scores import score_sheet
from symphony9_env.setup_format import pack_box

TABLES: Final = ("all", "one-against-rest", "first-against-rest")

Table = tuple[int, ...]  # an agent's number for each seat


@dataclass(frozen=True)
class Game:
    """One game of a tournament."""

    number: int
    deal: int  # games with the same number have the same cards
    seed: int
    agents: Table  # by seat


def tables(num_agents: int, num_players: int, kind: str = "all") -> list[Table]:
    """All groups that meet: of different agents if there are enough, else with every agent at least once.

    `one-against-rest`: each agent alone against a table full of each other one; `first-against-rest`: only the
    first agent alone.
    """
    if kind != "all":
        alone = range(num_agents if kind == "one-against-rest" else 1)
        pairs = [(one, other) for one in alone for other in range(num_agents) if one != other]
        return [(one, *[other] * (num_players - 1)) for one, other in pairs]
    if num_agents >= num_players:
        return list(combinations(range(num_agents), num_players))
    every = combinations_with_replacement(range(num_agents), num_players)
    return [group for group in every if len(set(group)) == num_agents]


class Schedule:
    """The games of a tournament by number. It depends on the seed and the tables alone: longer ones begin alike."""

    def __init__(self, num_agents: int, num_players: int, seed: int, kind: str = "all") -> None:
        self.tables = tables(num_agents, num_players, kind)
        if not self.tables:
            raise ValueError(f"{kind} needs two agents or more")
        self.num_players = num_players
        self.round_size = len(self.tables) * num_players
        self._seed = seed

    def rounded(self, num_games: int) -> int:
        """The number of games, rounded up to whole rounds."""
        return -(-num_games // self.round_size) * self.round_size

    def game(self, number: int) -> Game:
        block, rotation = divmod(number, self.num_players)
        round_number, table = divmod(block, len(self.tables))
        order = np.random.default_rng([self._seed, round_number, table]).permutation(self.num_players)
        seats = [self.tables[table][place] for place in order]
        period = next(step for step in range(1, len(seats) + 1) if seats[step:] + seats[:step] == seats)
        deal = block * self.num_players + rotation // period
        turn = rotation % period
        return Game(number, deal, self._seed_of(deal), tuple(seats[turn:] + seats[:turn]))

    def _seed_of(self, deal: int) -> int:
        return next_seed((next_seed(self._seed) + deal) & MAX_SEED)


@dataclass(frozen=True)
class Played:
    """How a game went: its moves, from which everything else can be told."""

    game: Game
    moves: bytes
    final: States  # an array of one


def play(games: Sequence[Game], agents: Sequence[Agent], variant: Variant) -> list[Played]:
    """Play games side by side: in each step every agent decides at once for all games in which it is asked."""
    positions = _deal(games, variant)
    seated = np.array([game.agents for game in games])
    rows = np.arange(len(games))
    while len(rows):
        deciding = seated[rows, positions.states["player"][rows]]
        moves = decide_by(agents, deciding, positions, rows)
        index = play_rows(positions.states, rows, moves, positions.history, positions.length)
        if index != NONE:
            raise ValueError(_explain_illegal(agents[deciding[index]], int(moves[index]), games[rows[index]]))
        rows = rows[positions.states["phase"][rows] != OVER]
    return [
        Played(game, bytes(positions.moves(row)), positions.states[row : row + 1].copy())
        for row, game in enumerate(games)
    ]


def _deal(games: Sequence[Game], variant: Variant) -> StoredPositions:
    box = pack_box(variant)
    states = new_states(len(games))
    for row, game in enumerate(games):
        deal(box, states, row, np.uint64(game.seed))
    return StoredPositions.of(states)


def win_shares(played: Sequence[Played], agent: int) -> NDArray[np.float64]:
    """Return what part of each game's win an agent's seats have."""
    shares = np.zeros(len(played))
    for row, one in enumerate(played):
        sheet = score_sheet(one.final).values()
        shares[row] = sum(line.win_share for line, who in zip(sheet, one.game.agents, strict=True) if who == agent)
    return shares


def against(agent: Agent, opponent: Agent, variant: Variant, num_games: int, seed: int) -> Estimate:
    """An agent's win rate alone at a table full of the opponent, on duplicate deals."""
    schedule = Schedule(2, variant.num_players, seed, "first-against-rest")
    games = [schedule.game(number) for number in range(schedule.rounded(num_games))]
    played = play(games, [agent, opponent], variant)
    return win_rate(win_shares(played, 0), np.array([game.deal for game in games]))


def _explain_illegal(agent: Agent, move: int, game: Game) -> str:
    name = f" ({NAMES[move]!r})" if 0 <= move < len(NAMES) else ""
    return f"agent {agent.name!r} chose {move}{name}, which is illegal, in the game with seed {game.seed}"
