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

from evaluation.ratings import Estimate, win_rate
from symphony9_env.actions import NAMES
from symphony9_env.agents import Agent
from symphony9_env.engine import MAX_DECISIONS, play_rows
from symphony9_env.envs.opponents import decide_by
from symphony9_env.options import MAX_SEED, Options
from symphony9_env.rules.chance import next_seed
from symphony9_env.rules.deals import pack_box
from symphony9_env.rules.scoring import NUM_SOURCES, score
from symphony9_env.rules.setup import deal
from symphony9_env.rules.state import NONE, NUM_BOARDS, OVER, Games, new_games

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
    final: Games  # an array of one


def play(games: Sequence[Game], agents: Sequence[Agent], options: Options) -> list[Played]:
    """Play games side by side: in each step every agent decides at once for all games in which it is asked."""
    box = pack_box(options)
    states = new_games(len(games))
    for row, game in enumerate(games):
        deal(box, states, row, np.uint64(game.seed))
    at_seat = np.array([game.agents for game in games])
    history = np.zeros((len(games), MAX_DECISIONS), np.uint8)
    length = np.zeros(len(games), np.int64)
    rows = np.arange(len(games))
    while len(rows):
        deciding = at_seat[rows, states["player"][rows]]
        moves = decide_by(agents, deciding, states, rows)
        place = play_rows(states, rows, moves, history, length)
        if place != NONE:
            raise ValueError(_illegal(agents[deciding[place]], int(moves[place]), games[rows[place]]))
        rows = rows[states["step"][rows] != OVER]
    return [
        Played(game, history[row, : length[row]].tobytes(), states[row : row + 1].copy())
        for row, game in enumerate(games)
    ]


def win_shares(played: Sequence[Played], agent: int) -> NDArray[np.float64]:
    """What part of each game's win an agent's seats have."""
    shares = np.zeros(len(played))
    for row, one in enumerate(played):
        num_players = len(one.game.agents)
        sheet = np.zeros((NUM_BOARDS, NUM_SOURCES), np.int64)
        points, ranks = np.zeros(NUM_BOARDS, np.int64), np.zeros(NUM_BOARDS, np.int64)
        score(one.final, 0, sheet, points, ranks)
        first = ranks[:num_players] == 1
        shares[row] = (first & (np.array(one.game.agents) == agent)).sum() / first.sum()
    return shares


def against(agent: Agent, opponent: Agent, options: Options, num_games: int, seed: int) -> Estimate:
    """An agent's win rate alone at a table full of the opponent, on duplicate deals."""
    schedule = Schedule(2, options.num_players, seed, "first-against-rest")
    games = [schedule.game(number) for number in range(schedule.rounded(num_games))]
    played = play(games, [agent, opponent], options)
    return win_rate(win_shares(played, 0), np.array([game.deal for game in games]))


def _illegal(agent: Agent, move: int, game: Game) -> str:
    name = f" ({NAMES[move]!r})" if 0 <= move < len(NAMES) else ""
    return f"agent {agent.name!r} chose {move}{name}, which is illegal, in the game with seed {game.seed}"
