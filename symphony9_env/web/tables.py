"""Tables at which games are played: who sits where, what each seat is told, and how a host's wish becomes one."""

from __future__ import annotations

import os
import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from symphony9_env import agents, records
from symphony9_env.agents import Agent
from symphony9_env.envs.aec import RawEnv
from symphony9_env.options import VARIANT_NAMES, OptionValues, check_num_players
from symphony9_env.rules.chance import MAX_SEED
from symphony9_env.rules.state import OVER, States
from symphony9_env.views import seat_view
from symphony9_env.web.player_names import clean_name, told_apart
from symphony9_env.web.scene import Json, choices, own, scene, setting
from symphony9_env.web.story import Event, opening, tell

TOKEN_BYTES: Final = 24


class RequestError(ValueError):
    """A request that can't be granted; `status` is HTTP's number for the reason."""

    def __init__(self, status: int, reason: str) -> None:
        super().__init__(reason)
        self.status = status


@dataclass
class Seat:
    name: str
    agent: str | None  # as `agents.make` takes it; None: a person
    token: str | None  # the secret of a person's link

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not all(isinstance(part, str | None) for part in (self.agent, self.token)):
            raise ValueError("a seat has a name and an agent or a token, as texts")


class Table:
    """One game and who plays it."""

    def __init__(self, number: str, env: RawEnv, seats: list[Seat], log: list[Event] | None = None) -> None:
        if len(seats) != env.options.num_players:
            raise ValueError(f"there are {len(seats)} seats for {env.options.num_players} players")
        self.id = number
        self.env = env
        self.seats = seats
        self.log = opening(env.states) if log is None else log
        self.problem: str | None = None  # that people at the table should know of
        self.players = [None] * len(seats) if self.is_over else _players(seats, env.game_seed or 0)

    @property
    def turn(self) -> int:
        """How many moves were made."""
        return len(self.env.history)

    @property
    def is_over(self) -> bool:
        return bool(self.env.states["phase"][0] == OVER)

    @property
    def agent_to_move(self) -> Agent | None:
        """Who must be asked, unless it is a person's turn or the game is over."""
        return None if self.is_over else self.players[self.env.deciding_seat]

    def play(self, action: int) -> None:
        """Play a move of the deciding seat; a ValueError, and nothing has happened, if it is illegal."""
        before: States = self.env.states.copy()
        self.env.step(action)
        self.log += tell(before, action, self.env.states)
        if self.is_over:
            self.players = [None] * len(self.seats)  # search holds much memory

    def play_for(self, seat: int, action: Any, turn: Any) -> None:
        """A person's move, if it is that person's turn and the page was not behind."""
        if self.is_over:
            raise RequestError(409, "the game is over")
        if type(turn) is not int or type(action) is not int:
            raise RequestError(400, f"turn={turn!r}, action={action!r}; needed: two whole numbers")
        if seat != self.env.deciding_seat:
            raise RequestError(409, f"it is not your turn: {self.seats[self.env.deciding_seat].name} is to decide")
        if turn != self.turn:
            raise RequestError(409, f"the game has moved on: this is turn {self.turn}, not {turn}")
        try:
            self.play(action)
        except ValueError as error:
            raise RequestError(422, str(error)) from None

    def rename(self, seat: int, name: Any) -> None:
        if not isinstance(name, str):
            raise RequestError(400, f"name={name!r}; needed: a text")
        shown = clean_name(name, self.seats[seat].name)
        if any(shown == other.name for number, other in enumerate(self.seats) if number != seat):
            raise RequestError(409, f"somebody else at the table is called {shown}")
        self.seats[seat].name = shown

    def message(self, seat: int) -> Json:
        """All that a seat's page shows. From its own view and the public log: nothing else can be in it."""
        view = seat_view(self.env.states, 0, seat)
        return {
            "table": self.id,
            "turn": self.turn,
            "seat": seat,
            "problem": self.problem,
            "players": [{"name": one.name} for one in self.seats],
            "setting": setting(view),
            "scene": scene(view),
            "own": own(view),
            "choices": choices(view),
            "log": self.log,
        }

    def record(self) -> records.Record:
        players = [{"name": seat.name, "agent": seat.agent} for seat in self.seats]
        return records.Record({**self.env.record(), "players": players})


def make_table(number: str, seed: int, wish: Any) -> Table:
    """A table as the host wishes it; see `docs/playing.md` for the form. `seed` is used if none is wished for.

    It may take long, for files are read and code may be compiled.
    """
    if not isinstance(wish, Mapping) or not isinstance(wish.get("seats"), list):
        raise RequestError(400, "needed: an object with seats and, if you like, options and a seed")
    try:
        env = RawEnv(**_options(wish.get("options", {}), len(wish["seats"])))
        env.reset(seed=seed if wish.get("seed") is None else wish["seed"])
        seats = [_seat(entry, place) for place, entry in enumerate(wish["seats"])]
        for seat, name in zip(seats, told_apart([seat.name for seat in seats]), strict=True):
            seat.name = name
        return Table(number, env, seats)
    except (ValueError, TypeError, OSError, MemoryError) as error:
        raise RequestError(getattr(error, "status", 422), str(error)) from None


def _options(wish: Any, num_seats: int) -> OptionValues:
    if not isinstance(wish, Mapping):
        raise ValueError(f"options={wish!r}; needed: an object")
    if unknown := [name for name in wish if name not in VARIANT_NAMES]:
        raise ValueError(f"unknown option {unknown[0]!r}; allowed: {', '.join(VARIANT_NAMES)}")
    if check_num_players(num_seats) != wish.get("num_players", num_seats):
        raise ValueError(f"num_players={wish['num_players']!r}, but there are {num_seats} seats")
    wished = {**wish, "num_players": num_seats}
    if isinstance(components := wished.get("components"), str):
        wished["components"] = os.path.abspath(components)  # the next start may be elsewhere
    return wished  # type: ignore[return-value]


def _seat(entry: Any, number: int) -> Seat:
    if not isinstance(entry, Mapping):
        raise RequestError(400, f"seat {number + 1}: {entry!r}; needed: an object with name or agent")
    agent, name = entry.get("agent"), entry.get("name", "")
    if not isinstance(name, str):
        raise RequestError(400, f"seat {number + 1}: name={name!r}; needed: a text")
    if agent is None:
        return Seat(clean_name(name, f"Player {number + 1}"), None, secrets.token_urlsafe(TOKEN_BYTES))
    if not isinstance(agent, str) or not agent:
        raise RequestError(400, f"seat {number + 1}: agent={agent!r}; needed: a name or the path of a saved policy")
    shown = clean_name(name, clean_name(Path(agent).name, "agent"))
    return Seat(shown, os.path.abspath(agent) if os.path.isfile(agent) else agent, None)


def _players(seats: list[Seat], seed: int) -> list[Agent | None]:
    """The agents; each has its own seed, so that two of a kind don't play alike."""
    players = [
        None if seat.agent is None else agents.make(seat.agent, seed=(seed + number) % (MAX_SEED + 1))
        for number, seat in enumerate(seats)
    ]
    for player in players:
        if player is not None:
            player.check_players(len(seats))
    return players
