"""The games of the benchmark: how they are dealt, played and verified.

Each game has a *key*, from which its deal and its opponents' seed follow. The keys follow from the salt of the run by a
one-way function, so that no game tells anything about another. No two games have the same deal: an agent that
remembered the first would know what is hidden in the second.
"""

from __future__ import annotations

import hmac
import json
import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final

import numpy as np

from symphony9_env import agents
from symphony9_env.agents import Agent, AgentFailed
from symphony9_env.agents.base import Positions, Rows
from symphony9_env.arena.matches import PlayedGame, ScheduledGame, play
from symphony9_env.options import EnvOptions, Variant
from symphony9_env.rules.chance import MAX_SEED

KEY_LENGTH: Final = 32  # hexadecimal digits


@dataclass(frozen=True)
class GameOutcome:
    """One game of the agent: what is needed to play it again, and its result."""

    game: int
    opponent: str
    key: str
    seat: int  # of the agent
    moves: list[int]  # of all seats
    win_share: float
    score: float | None
    forfeit: str | None  # why the agent forfeited the game, if it did

    def as_line(self) -> str:
        """Return a line of games.jsonl."""
        return json.dumps(asdict(self)) + "\n"


def derive_key(salt: str, number: int) -> str:
    """Return the key of a game."""
    return _hash(salt, f"game {number}").hex()[:KEY_LENGTH]


def _derive_seed(key: str, purpose: str) -> int:
    return int.from_bytes(_hash(key, purpose)[:8]) & MAX_SEED


def _hash(secret: str, text: str) -> bytes:
    return hmac.digest(bytes.fromhex(secret), text.encode(), "sha256")


def schedule_game(number: int, key: str, num_players: int) -> ScheduledGame:
    """Return a game: agent 0 has one seat, in turn, and agent 1, the opponent, all the others."""
    seats = tuple(int(seat != number % num_players) for seat in range(num_players))
    return ScheduledGame(number, number, _derive_seed(key, "deal"), seats)


@dataclass(frozen=True)
class GamePlan:
    """What is needed to play one game, and nothing that tells anything about another: no salt and no key."""

    game: ScheduledGame
    opponent: str
    opponent_seed: int


def plan_game(number: int, key: str, opponent: str, num_players: int) -> GamePlan:
    """Return the plan of a game: its deal and its opponent's seed follow from its key."""
    return GamePlan(schedule_game(number, key, num_players), opponent, _derive_seed(key, "opponent"))


def play_plan(plan: GamePlan, agent: Agent, variant: Variant, *, ledger: bool) -> PlayedGame:
    """Play one game; if the agent gives no legal action, the game ends there."""
    pair = [agent, agents.make(plan.opponent, seed=plan.opponent_seed)]
    return play([plan.game], pair, variant, ledger=ledger, may_forfeit=True)[0]


def play_game(number: int, key: str, agent: Agent, opponent: str, options: EnvOptions) -> PlayedGame:
    """Play one game by its key."""
    plan = plan_game(number, key, opponent, options.num_players)
    return play_plan(plan, agent, options.variant, ledger=options.ledger)


def make_outcome(opponent: str, key: str, played: PlayedGame) -> GameOutcome:
    """Return what is stored of a game."""
    game, moves = played.game, list(played.moves)
    seat = game.agents.index(0)
    if played.forfeit is not None:
        return GameOutcome(game.number, opponent, key, seat, moves, 0.0, None, played.forfeit.reason)
    line = played.score_line(0)
    return GameOutcome(game.number, opponent, key, seat, moves, line.win_share, line.total, None)


def read_outcomes(text: str, file: Path, opponents: Sequence[str]) -> list[GameOutcome]:
    """Return the games of the text of a file games.jsonl; raise a ValueError if it holds something else.

    `opponents` has the opponent of each game of the evaluation.
    """
    outcomes: list[GameOutcome] = []
    for number, line in enumerate(text.splitlines()):
        try:
            outcomes.append(_check(GameOutcome(**json.loads(line)), number, opponents[number]))
        except (TypeError, ValueError, RecursionError, IndexError):
            raise ValueError(f"{file}: line {number + 1} is not game {number} of an evaluation") from None
    return outcomes


def _check(outcome: GameOutcome, number: int, opponent: str) -> GameOutcome:
    """Return a game that was read; raise a ValueError or TypeError if it can't be one."""
    bytes(outcome.moves if isinstance(outcome.moves, list) else "no list")  # accepts numbers from 0 to 255 only
    is_share = isinstance(outcome.win_share, float) and 0 <= outcome.win_share <= 1
    is_score = outcome.score is None or (isinstance(outcome.score, float) and math.isfinite(outcome.score))
    is_right = (outcome.game, outcome.opponent) == (number, opponent)
    if outcome.forfeit is None:
        is_result = outcome.score is not None
    else:
        is_result = isinstance(outcome.forfeit, str) and (outcome.win_share, outcome.score) == (0, None)
    is_key = len(bytes.fromhex(outcome.key)) == KEY_LENGTH // 2
    if not (is_right and is_key and is_share and is_score and is_result):
        raise ValueError
    return outcome


class _RecordedAgent(Agent):
    """Plays the recorded moves of one game, and forfeits it where the agent did."""

    def __init__(self, outcome: GameOutcome) -> None:
        self._outcome = outcome

    def decide(self, positions: Positions, rows: Rows) -> Rows:
        number = len(positions.moves(0))
        if number >= len(self._outcome.moves):
            raise AgentFailed(self.name, self._outcome.forfeit or "has no more moves", 0)
        return np.array([self._outcome.moves[number]])


def verify_game(outcome: GameOutcome, options: EnvOptions, salt: str | None, agent: Agent | None = None) -> None:
    """Play a game again from its key; raise a ValueError if anything differs.

    The agent's moves are those recorded, unless the agent itself is given.
    """
    number, opponent = outcome.game, outcome.opponent
    key = outcome.key if salt is None else derive_key(salt, number)
    played = play_game(number, key, agent or _RecordedAgent(outcome), opponent, options)
    again = asdict(make_outcome(opponent, key, played))
    for name, value in asdict(outcome).items():
        if value != again[name]:
            raise ValueError(f"game {number}: its {name} is {_shorten(value)}; played again, {_shorten(again[name])}")


def _shorten(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 80 else f"{text[:79]}…"
