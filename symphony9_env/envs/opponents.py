"""What the environments with one learner share: the opponents, the learner's seat, and illegal actions."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from symphony9_env import agents
from symphony9_env.agents import Agent
from symphony9_env.agents.base import Positions, Rows
from symphony9_env.agents.registry import Factory
from symphony9_env.rules.chance import next_seed

ILLEGAL: Final = ("end", "random")
ILLEGAL_REWARD: Final = -1.0  # for the learner, if an illegal action ends the game

Opponent = str | os.PathLike[str] | Agent | Factory


class Opponents:
    """One agent for each of the other seats, clockwise from the learner's.

    Agents are given as to `agents.make`: one for all seats, or a list of num_players - 1. Their seeds are fixed, so
    what they do depends on the game alone.
    """

    def __init__(self, named: Opponent | Sequence[Opponent], num_players: int) -> None:
        needed = num_players - 1
        each = list(named) if isinstance(named, Sequence) and not isinstance(named, str) else [named] * needed
        if len(each) != needed:
            raise ValueError(f"opponents={named!r}: {len(each)} of them; needed: one for all, or a list of {needed}")
        self.num_players = num_players
        self.agents: list[Agent] = [agents.make(name, seed=number) for number, name in enumerate(each)]
        for agent in self.agents:
            agent.check_players(num_players)

    def decide(self, positions: Positions, rows: Rows, seats: Rows) -> Rows:
        """Return their actions on these rows, where none of the learners (in `seats`, one for each row) decides."""
        numbers = (positions.states["player"][rows] - seats - 1) % self.num_players
        return decide_by(self.agents, numbers, positions, rows)

    def begin(self, rows: Rows, seats: Rows, seeds: Rows) -> None:
        """React to games dealt with these seeds on these rows; for opponents that change from game to game."""

    def end(self, rows: Rows, seats: Rows, ranks: NDArray[np.float64]) -> None:
        """React to games that ended with these ranks, (rows, players); for opponents that keep statistics."""

    def close(self) -> None:
        """Release the resources of all agents."""
        for agent in self.agents:
            agent.close()


def decide_by(agents: Sequence[Agent], numbers: Rows, positions: Positions, rows: Rows) -> Rows:
    """Return each row's action by the agent whose number is in `numbers`; an agent decides all its rows in one call."""
    actions = np.empty(len(rows), np.int64)
    for number in np.unique(numbers).tolist():
        theirs = numbers == number
        actions[theirs] = agents[number].decide(positions, rows[theirs])
    return actions


def check_seat(seat: Any, num_players: int) -> int | None:
    """Return a fixed seat, or None for a random one."""
    if isinstance(seat, str) and seat == "random":
        return None
    if isinstance(seat, int | np.integer) and not isinstance(seat, bool) and 0 <= seat < num_players:
        return int(seat)
    raise ValueError(f"seat={seat!r}; allowed: 0 to {num_players - 1}, or 'random'")


def check_illegal(illegal: Any) -> str:
    """Return what an illegal action of the learner does, or raise a ValueError."""
    if not isinstance(illegal, str) or illegal not in ILLEGAL:
        raise ValueError(f"illegal={illegal!r}; allowed: {', '.join(map(repr, ILLEGAL))}")
    return illegal


def random_seat(seed: int, num_players: int) -> int:
    """Return the learner's seat in the game with this seed, when the seat is random."""
    return next_seed(seed) % num_players
