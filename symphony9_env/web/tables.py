"""Tables: one game with its seats, agents and logs, and how the host's request becomes one."""

from __future__ import annotations

import json
import os
import secrets
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, Final

from symphony9_env import agents, records
from symphony9_env.agents import Agent, ExternalAgent
from symphony9_env.agents.scripted import ScriptedAgent
from symphony9_env.envs.aec import RawEnv
from symphony9_env.events import Event, EventBuffer, opening_events, see
from symphony9_env.options import VARIANT_FIELDS, VARIANT_NAMES, OptionValues, check_num_players, parse_option
from symphony9_env.replay.player_names import BOT, clean_name, looks_like, number_duplicates
from symphony9_env.replay.theme_json import theme_json
from symphony9_env.rules.chance import MAX_SEED
from symphony9_env.views import seat_view
from symphony9_env.views.game_log import LogLine, log_lines
from symphony9_env.views.seat_json import seat_json
from symphony9_env.web import MAX_PLAYOUTS
from symphony9_env.web.messages import TABLE_FORMAT, TableMessage

TOKEN_BYTES: Final = 24
MAX_COMPONENTS_SIZE: Final = 20_000  # bytes; the shipped component file has 1,776
MAX_POLICY_SIZE: Final = 100_000_000  # bytes; the shipped policies have less than a million


class RequestError(ValueError):
    """A request that is refused; `status` is the HTTP status code."""

    def __init__(self, status: int, reason: str) -> None:
        super().__init__(reason)
        self.status = status


@dataclass(frozen=True)
class Permissions:
    """What the host may name in a request."""

    external_agents: bool = False  # agents that run code from outside this package
    max_playouts: int | None = MAX_PLAYOUTS  # of `search` and `think`, for each decision; None for any number
    # In which component files and saved policies may be; None for any folder.
    folders: tuple[Path, ...] | None = field(default_factory=lambda: (Path.cwd(),))

    def check_agent(self, name: str) -> None:
        """Raise an error if an agent may not be made."""
        if not self.external_agents and agents.is_external(name):
            raise RequestError(
                403,
                f"agent {name!r} runs code from outside this package; a server that other machines can reach "
                "allows that only if it is started with --allow-external-agents",
            )
        for path in agents.find_policy_files(name):
            self.check_file(path, MAX_POLICY_SIZE)

    def check_playouts(self, agent: Agent) -> None:
        """Raise an error if an agent would search for too long, at the cost of the other tables."""
        if self.max_playouts is not None and agent.playouts > self.max_playouts:
            allowed = f"up to {self.max_playouts} playouts a decision (symphony9 play --max-playouts N)"
            raise RequestError(422, f"agent {agent.name!r}; allowed: {allowed}")

    def check_file(self, path: str, max_size: int) -> None:
        """Raise an error if a file may not be read: reading a pipe or a device might never end."""
        try:
            self._check_file(path, Path(os.path.realpath(path)), max_size)
        except (OSError, UnicodeError) as error:
            reason = getattr(error, "strerror", "this is no file name")
            raise RequestError(422, f"{path}: can't be read ({reason})") from None

    def _check_file(self, path: str, found: Path, max_size: int) -> None:
        if self.folders is not None and not any(found.is_relative_to(folder.resolve()) for folder in self.folders):
            allowed = ", ".join(map(str, self.folders))
            raise RequestError(403, f"{path}: files are read only from {allowed} (symphony9 play --files FOLDER)")
        if not found.exists():
            raise RequestError(422, f"{path}: no such file")
        if not found.is_file():
            raise RequestError(422, f"{path}: not a regular file")
        if found.stat().st_size > max_size:
            raise RequestError(422, f"{path}: has {found.stat().st_size:,} bytes; at most {max_size:,} are read")


@dataclass
class Seat:
    """Who plays a seat: a person with a secret token, or an agent."""

    name: str
    agent: str | None  # as `agents.make` takes it, without a label; None for a person
    token: str | None  # the secret part of a person's link

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not all(isinstance(part, str | None) for part in (self.agent, self.token)):
            raise ValueError("a seat has a name, and an agent or a token, all of them strings")


class Table:
    """One game, the players at it, and the log of every seat."""

    def __init__(
        self,
        table_id: str,
        env: RawEnv,
        seats: list[Seat],
        seat_agents: dict[int, Agent],
        events: Iterable[list[Event]],
    ) -> None:
        """`events` are those of the game so far: of the deal and of each move. The other seats are people's."""
        self.id = table_id
        self.env = env
        self.seats = seats
        self.agent_problem: str | None = None  # why an agent has not moved, without anything hidden
        self.journal_number = 0  # of its last move in the journal of this run; 0 if there is none
        self.num_saved = 0  # moves in the record on disk
        # By seat: what the person there may see.
        self.logs: dict[int, list[LogLine]] = {number: [] for number, seat in enumerate(seats) if seat.token}
        self._encoded: dict[int, tuple[Any, str]] = {}  # by seat: its last message, and what it depends on
        self._agents = seat_agents
        self._event_buffer = env.event_buffer = EventBuffer()
        for move_events in events:
            self._extend_logs(move_events)

    @property
    def turn(self) -> int:
        """The number of moves made so far."""
        return len(self.env.history)

    @property
    def is_over(self) -> bool:
        """Whether the game is over."""
        return self.env.decision == "over"

    @property
    def agent_to_move(self) -> Agent | None:
        """The agent that is to decide; None if a person is, or if the game is over."""
        return None if self.is_over else self._agents.get(self.env.deciding_seat)

    @property
    def has_only_scripts(self) -> bool:
        """Whether all agents at the table are scripted ones."""
        return all(isinstance(agent, ScriptedAgent) for agent in self._agents.values())

    @property
    def num_external_agents(self) -> int:
        """The number of agents at the table that run code from outside this package."""
        return sum(isinstance(agent, ExternalAgent) for agent in self._agents.values())

    def play(self, action: int) -> None:
        """Play a move of the deciding seat; raise a ValueError and change nothing if it is illegal."""
        self.env.step(action)
        self._extend_logs(self._event_buffer.read())

    def _extend_logs(self, events: list[Event]) -> None:
        for seat, log in self.logs.items():
            log.extend(log_lines(see(events, seat)))

    def play_for_person(self, seat: int, action: Any, turn: Any) -> None:
        """Play a person's move; refuse it if somebody else is to decide or the page shows an older turn."""
        if self.is_over:
            raise RequestError(409, "the game is over")
        if type(turn) is not int or type(action) is not int:
            raise RequestError(400, f"turn={turn!r}, action={action!r}; both must be whole numbers")
        if seat != self.env.deciding_seat:
            raise RequestError(409, f"it is not your turn: {self.seats[self.env.deciding_seat].name} is to decide")
        if turn != self.turn:
            raise RequestError(409, f"the game has moved on: this is turn {self.turn}, not {turn}")
        try:
            self.play(action)
        except ValueError as error:
            raise RequestError(422, str(error)) from None

    def rename(self, seat: int, name: Any) -> None:
        """Change the name of the person at a seat; refuse a name that another seat has."""
        if not isinstance(name, str):
            raise RequestError(400, f"name={name!r}; it must be a string")
        cleaned = clean_name(name, self.seats[seat].name)
        others = [other.name for number, other in enumerate(self.seats) if number != seat]
        if any(looks_like(cleaned, other) for other in (*others, BOT)):
            raise RequestError(409, f"somebody else at the table is called {cleaned}")
        self.seats[seat].name = cleaned

    def message(self, seat: int) -> TableMessage:
        """Return all that a seat's page shows. It is made from the seat's own view and its own log."""
        return {
            "format": TABLE_FORMAT,
            "table": self.id,
            "turn": self.turn,
            "problem": self.agent_problem,
            "players": [{"name": player.name} for player in self.seats],
            "theme": theme_json(),
            "view": seat_json(seat_view(self.env.states, 0, seat)),
            "log": self.logs[seat],
        }

    def encode_message(self, seat: int) -> str:
        """Return a seat's message as JSON. The answer to a move and the windows of a seat share it."""
        key = (self.turn, self.agent_problem, *(player.name for player in self.seats))
        if self._encoded.get(seat, (None, ""))[0] != key:
            text = json.dumps(self.message(seat), ensure_ascii=False, separators=(",", ":"))
            self._encoded[seat] = key, text
        return self._encoded[seat][1]

    def record(self) -> records.Record:
        """Return the game's record, with the players."""
        players = [{"name": seat.name, "agent": seat.agent} for seat in self.seats]
        return records.Record({**self.env.record(), "players": players})

    def close_agents(self) -> None:
        """Close the agents and release them: search trees are large, external agents hold processes."""
        closing, self._agents = self._agents, {}
        _close(closing)


def make_table(table_id: str, seed: int, request: Any, permissions: Permissions) -> Table:
    """Make the table that a `CreateTableRequest` describes; `seed` is used if the request has none.

    This may take seconds, because files are read and functions compiled.
    """
    if not isinstance(request, Mapping) or not isinstance(request.get("seats"), list):
        raise RequestError(400, "the request must be an object with seats and, optionally, options and a seed")
    compile_rules()
    try:
        env = RawEnv(**_read_options(request.get("options", {}), len(request["seats"]), permissions))
        env.reset(seed=seed if request.get("seed") is None else request["seed"])
        seats = [_read_seat(entry, number) for number, entry in enumerate(request["seats"])]
        seat_agents = make_agents(seats, env.game_seed or 0, permissions)
    except (ValueError, TypeError, OSError, MemoryError) as error:
        raise RequestError(getattr(error, "status", 422), str(error)) from None
    for number, agent in seat_agents.items():
        _fill_agent_seat(seats[number], agent)
    for seat, name in zip(seats, number_duplicates([*(seat.name for seat in seats), BOT]), strict=False):
        seat.name = name
    return Table(table_id, env, seats, seat_agents, [opening_events(env.states)])


@cache
def compile_rules() -> None:
    """Play a game between scripts and show it, so that nobody waits for the compiler in the middle of the first one."""
    env = RawEnv(num_players=2)
    env.reset(seed=0)
    agent = ScriptedAgent("planner", seed=0)
    table = Table("", env, [Seat("", None, "token"), Seat("", None, None)], {}, [opening_events(env.states)])
    while not table.is_over:
        table.play(agent.choose(env))
    table.message(0)
    table.record()


def _read_options(options: Any, num_seats: int, permissions: Permissions) -> OptionValues:
    if not isinstance(options, Mapping):
        raise ValueError(f"options={options!r}; they must be an object")
    if unknown := [name for name in options if name not in VARIANT_NAMES]:
        raise ValueError(f"unknown option {unknown[0]!r}; allowed: {', '.join(VARIANT_NAMES)}")
    if check_num_players(num_seats) != options.get("num_players", num_seats):
        raise ValueError(f"num_players={options['num_players']!r}, but there are {num_seats} seats")
    chosen = {
        option.name: parse_option(option, options[option.name]) for option in VARIANT_FIELDS if option.name in options
    }
    chosen["num_players"] = num_seats
    if isinstance(components := chosen.get("components"), str):
        permissions.check_file(components, MAX_COMPONENTS_SIZE)
        chosen["components"] = os.path.abspath(components)  # the server may be restarted from another folder
    return chosen  # type: ignore[return-value]


def _read_seat(entry: Any, number: int) -> Seat:
    if not isinstance(entry, Mapping):
        raise RequestError(400, f"seat {number + 1}: {entry!r}; it must be an object with a name or an agent")
    agent, name = entry.get("agent"), entry.get("name", "")
    if not isinstance(name, str):
        raise RequestError(400, f"seat {number + 1}: name={name!r}; it must be a string")
    if agent is None:
        return Seat(clean_name(name, f"Player {number + 1}"), None, secrets.token_urlsafe(TOKEN_BYTES))
    if not isinstance(agent, str) or not agent:
        raise RequestError(400, f"seat {number + 1}: agent={agent!r}; it must be a name or the path of a saved policy")
    return Seat(clean_name(name, ""), agent, None)


def make_agents(seats: Sequence[Seat], seed: int, permissions: Permissions) -> dict[int, Agent]:
    """Make the agents, by seat. Each gets a seed of its own, so that two agents of one kind play differently."""
    made: dict[int, Agent] = {}
    try:
        for number, seat in enumerate(seats):
            if seat.agent is not None:
                permissions.check_agent(seat.agent)
                made[number] = agents.make(seat.agent, seed=(seed + number) % (MAX_SEED + 1))
        for agent in made.values():
            agent.check_players(len(seats))
            permissions.check_playouts(agent)
    except Exception:
        _close(made)
        raise
    return made


def _fill_agent_seat(seat: Seat, agent: Agent) -> None:
    """Name a seat after its agent unless it has a name, and store by which name the agent is made again."""
    if not seat.name:
        is_file = os.path.isfile(agent.name)
        seat.name = clean_name(os.path.basename(agent.name) if is_file else agent.name, "agent")
    spec = agent.spec or seat.agent
    if spec is not None and os.path.isfile(spec):
        spec = os.path.abspath(spec)  # the server may be restarted from another folder
    seat.agent = spec


def _close(seat_agents: dict[int, Agent]) -> None:
    for agent in seat_agents.values():
        agent.close()
