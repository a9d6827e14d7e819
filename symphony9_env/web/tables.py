"""Tables at which games are played: who sits where, what each seat is told, and the files they are kept in.

A table is two files: `ID.json`, the game's record, for `symphony9 watch` and everybody; and `ID.seats.json`, who
sits where with which secret, for the owner of the folder alone. Both are written after every move of a person, so
that a server that is stopped or killed finds its games again.
"""

from __future__ import annotations

import json
import os
import re
import secrets
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np

from symphony9_env import agents, files, records
from symphony9_env.agents import Agent
from symphony9_env.envs.aec import RawEnv
from symphony9_env.options import SEED_BITS, OptionValues, check_num_players, check_seed
from symphony9_env.rules.state import OVER, Games
from symphony9_env.views import seat_view
from symphony9_env.web.names import clean_name, told_apart
from symphony9_env.web.scene import Json, choices, own, scene, setting
from symphony9_env.web.story import Event, opening, tell

MAX_TABLES: Final = 1000
SEATS_FORMAT: Final = "symphony9-seats/1"
OPTIONS: Final = ("num_players", "tracks", "scoring", "discussion", "components")
_TOKEN_BYTES: Final = 24


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


class Table:
    """One game and who plays it."""

    def __init__(self, number: str, env: RawEnv, seats: list[Seat], players: list[Agent | None]) -> None:
        self.id = number
        self.env = env
        self.seats = seats
        self.players = players  # an agent for each seat; None for people
        self.log: list[Event] = opening(env.game)

    @property
    def turn(self) -> int:
        """How many moves were made."""
        return len(self.env.moves)

    @property
    def is_over(self) -> bool:
        return bool(self.env.game["step"][0] == OVER)

    @property
    def agent_to_move(self) -> Agent | None:
        """Who must be asked, unless it is a person's turn or the game is over."""
        return None if self.is_over else self.players[self.env.deciding_seat]

    def play(self, action: int) -> None:
        """Play a move of the deciding seat; a ValueError, and nothing has happened, if it is illegal."""
        before: Games = self.env.game.copy()
        self.env.step(action)
        self.log += tell(before, action, self.env.game)

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

    def message(self, seat: int) -> Json:
        """All that a seat's page shows. From its own view and the public log: nothing else can be in it."""
        view = seat_view(self.env.game, 0, seat)
        return {
            "table": self.id,
            "turn": self.turn,
            "seat": seat,
            "players": [{"name": one.name, "is_agent": one.agent is not None} for one in self.seats],
            "setting": setting(view),
            "scene": scene(view),
            "own": own(view),
            "choices": choices(view),
            "log": self.log,
        }

    def record(self) -> records.Record:
        return {**self.env.record(), "players": [seat.agent or seat.name for seat in self.seats]}


class Tables:
    """All tables of a server, in a folder."""

    def __init__(self, folder: str | os.PathLike[str], seed: int | None = None) -> None:
        """`seed`: of the games' own seeds, where the host gives none; else they are drawn by chance."""
        self.folder = files.make_folder(folder)
        self._seeds = None if seed is None else np.random.default_rng(check_seed(seed))
        self.by_id: dict[str, Table] = {}
        self._by_token: dict[str, tuple[Table, int]] = {}
        self.damaged: list[str] = []  # what could not be read again, and why
        self.host_token = self._host_token()
        for path in sorted(self.folder.glob("*.seats.json")):
            try:
                self._add(self._load(path))
            except (ValueError, KeyError, TypeError) as error:
                self.damaged.append(f"{path.name}: {error}")

    def seat_of(self, token: Any) -> tuple[Table, int]:
        """Whose link it is."""
        found = self._by_token.get(token) if isinstance(token, str) else None
        if found is None:
            raise RequestError(403, "this link is not known here")
        return found

    def create(self, wish: Any) -> Table:
        """Set up a game as the host wishes; see `docs/playing.md` for the form."""
        if len(self.by_id) >= MAX_TABLES:
            raise RequestError(429, f"there are {MAX_TABLES} games already; move finished ones out of {self.folder}")
        if not isinstance(wish, Mapping) or not isinstance(wish.get("seats"), list):
            raise RequestError(400, "needed: an object with seats and, if you like, options and a seed")
        try:
            options = _options(wish.get("options", {}), len(wish["seats"]))
            env = RawEnv(**options)
            env.reset(seed=self._new_seed() if wish.get("seed") is None else wish["seed"])
            seats = [_seat(entry, number) for number, entry in enumerate(wish["seats"])]
            for seat, name in zip(seats, told_apart([seat.name for seat in seats]), strict=True):
                seat.name = name
            table = Table(self._new_id(), env, seats, _players(seats, env))
        except (ValueError, TypeError) as error:
            raise RequestError(getattr(error, "status", 422), str(error)) from None
        self.save(table)
        self._add(table)
        return table

    def save(self, table: Table) -> None:
        about = {
            "format": SEATS_FORMAT,
            "seats": [asdict(seat) for seat in table.seats],
            "components": table.env.options.components,
        }
        records.save(table.record(), self.folder / f"{table.id}.json")
        _write_secret(self.folder / f"{table.id}.seats.json", json.dumps(about))

    def _add(self, table: Table) -> None:
        self.by_id[table.id] = table
        for number, seat in enumerate(table.seats):
            if seat.token:
                self._by_token[seat.token] = (table, number)

    def _new_seed(self) -> int:
        return secrets.randbits(SEED_BITS) if self._seeds is None else int(self._seeds.integers(2**SEED_BITS))

    def _new_id(self) -> str:
        number = max((int(name) for name in self.by_id), default=0) + 1
        while (self.folder / f"{number:04d}.json").exists():
            number += 1
        return f"{number:04d}"

    def _load(self, path: Path) -> Table:
        about = json.loads(path.read_text(encoding="utf-8"))
        if about["format"] != SEATS_FORMAT:
            raise ValueError(f"format is {about['format']!r}; this version reads {SEATS_FORMAT!r}")
        number = path.name.removesuffix(".seats.json")
        if not re.fullmatch(r"\d{4,}", number):
            raise ValueError("its name is no number")
        record = records.load(path.with_name(f"{number}.json"))
        env, log = _played_again(record, about["components"])
        seats = [Seat(**entry) for entry in about["seats"]]
        table = Table(number, env, seats, _players(seats, env))
        table.log = log
        return table

    def _host_token(self) -> str:
        path = self.folder / "host.json"
        if path.exists():
            try:
                token = json.loads(path.read_text(encoding="utf-8"))["token"]
            except (ValueError, KeyError, TypeError):
                raise ValueError(f"{path}: is damaged; remove it to get a new link for the host") from None
            return str(token)
        token = secrets.token_urlsafe(_TOKEN_BYTES)
        _write_secret(path, json.dumps({"token": token}))
        return token


def _played_again(record: records.Record, components: str | None) -> tuple[RawEnv, list[Event]]:
    """A record's game, moved to where it stopped, and its log."""
    steps = records.replay(record, components=components)
    env = next(steps)
    log = opening(env.game)
    before = env.game.copy()
    for env in steps:
        log += tell(before, env.moves[-1][1], env.game)
        before = env.game.copy()
    return env, log


def _options(wish: Any, num_seats: int) -> OptionValues:
    if not isinstance(wish, Mapping):
        raise ValueError(f"options={wish!r}; needed: an object")
    if unknown := [name for name in wish if name not in OPTIONS]:
        raise ValueError(f"unknown option {unknown[0]!r}; allowed: {', '.join(OPTIONS)}")
    if check_num_players(num_seats) != wish.get("num_players", num_seats):
        raise ValueError(f"num_players={wish['num_players']!r}, but there are {num_seats} seats")
    return {**wish, "num_players": num_seats}  # type: ignore[typeddict-item]


def _seat(entry: Any, number: int) -> Seat:
    if not isinstance(entry, Mapping):
        raise RequestError(400, f"seat {number}: {entry!r}; needed: an object with name or agent")
    agent, name = entry.get("agent"), entry.get("name", "")
    if not isinstance(name, str):
        raise RequestError(400, f"seat {number}: name={name!r}; needed: a text")
    if agent is None:
        name = clean_name(name, f"Player {number + 1}")
        return Seat(name, None, secrets.token_urlsafe(_TOKEN_BYTES))
    if not isinstance(agent, str) or not agent:
        raise RequestError(400, f"seat {number}: agent={agent!r}; needed: a name or the path of a saved policy")
    return Seat(clean_name(name, clean_name(Path(agent).name, "agent")), agent, None)


def _players(seats: list[Seat], env: RawEnv) -> list[Agent | None]:
    """The agents; each has its own seed, so that two of a kind don't play alike."""
    seed = env.record()["seed"] or 0
    players = [
        None if seat.agent is None else agents.make(seat.agent, seed=(seed + number) % 2**SEED_BITS)
        for number, seat in enumerate(seats)
    ]
    for player in players:
        if player is not None:
            player.check_players(len(seats))
    return players


def _write_secret(path: Path, text: str) -> None:
    """For the owner of the folder alone."""

    def fill(draft: Path) -> None:
        draft.touch(mode=0o600)
        draft.write_text(text, encoding="utf-8")

    files.write(path, fill)
