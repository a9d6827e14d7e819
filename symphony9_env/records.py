"""Game records: write, read, check and replay games as plain JSON data (`symphony9-record/1`).

A record holds the whole deal, hidden information included. Do not give one to a player: `seat_view` has what a seat
may know.

>>> from symphony9_env import records, symphony9_v0
>>> env = symphony9_v0.raw_env(num_players=2)
>>> env.reset(seed=7)
>>> env.step(0)
>>> record = env.record()
>>> record
<game record: 2 players, seed 7, 1 moves, not over>
>>> [len(step.history) for step in records.replay(record)]
[0, 1]
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final, NotRequired, TypedDict, Unpack

from symphony9_env import actions
from symphony9_env.components import MUSICIANS, PLAYER_COUNTS
from symphony9_env.files import read_bytes, write_text
from symphony9_env.names import agent_name
from symphony9_env.options import OptionValues, check_num_players
from symphony9_env.rules.chance import MAX_SEED
from symphony9_env.rules.state import OVER, States
from symphony9_env.scores import score_sheet
from symphony9_env.setup_format import read_setup

if TYPE_CHECKING:
    from symphony9_env.envs.aec import RawEnv

FORMAT: Final = "symphony9-record/1"
MAX_BYTES: Final = 1_000_000  # of a record file; those of whole games have 10 to 20 kB
_TOLERANCE: Final = 1e-6  # scores may be thirds


class SetupJson(TypedDict):
    """A deal."""

    start_player: int  # the seat that starts round one
    tracks: dict[Annotated[str, MUSICIANS], list[tuple[int, int]]]  # spaces left to right: reputation, cubes
    scoring: dict[Annotated[str, MUSICIANS], str]  # the scoring tile's number and side, such as 4A
    budget: list[int]  # the royal budget tokens, one for each round
    starting_cubes: list[list[Annotated[str, MUSICIANS]]]  # by seat; with two players a third list is the bot's
    bot_tiles: NotRequired[list[tuple[int, int, int]]]  # with two players: one tile for each round


class ResultJson(TypedDict):
    """How a game ended."""

    scores: list[float]  # points by seat
    winners: list[str]  # such as player_1; more than one after a tie


class PlayerJson(TypedDict):
    """Who played a seat."""

    name: str
    agent: str | None  # as `agents.make` takes it; null for a person


class RecordJson(TypedDict):
    """A game record. It holds hidden information and is not meant for players."""

    format: str
    num_players: Annotated[int, PLAYER_COUNTS]
    seed: NotRequired[int | None]  # a note: the set-up decides
    discussion: NotRequired[bool]  # false if it is missing
    setup: SetupJson
    actions: list[tuple[str, str]]  # player and action, such as ["player_2", "take handel"]
    result: NotRequired[ResultJson]  # once the game is over
    players: NotRequired[list[PlayerJson]]  # by seat, if a tournament or the web server wrote the record


class Record(dict[str, Any]):
    """A game record: a dictionary in the form of `RecordJson` that prints as one short line."""

    def __repr__(self) -> str:
        moves = f"{len(self.get('actions', ()))} moves"
        result = f"won by {' and '.join(self['result']['winners'])}" if "result" in self else "not over"
        return f"<game record: {self.get('num_players')} players, seed {self.get('seed')}, {moves}, {result}>"


def make_record(states: States, history: Sequence[tuple[int, int]], seed: int | None, index: int = 0) -> Record:
    """Return the record of game `index`; `history` holds its moves so far as (seat, action)."""
    record = Record(
        {
            "format": FORMAT,
            "num_players": int(states["num_players"][index]),
            "seed": seed,
            "discussion": bool(states["discussion"][index]),
            "setup": read_setup(states, index),
            "actions": [[agent_name(player), actions.NAMES[number]] for player, number in history],
        }
    )
    if states["phase"][index] == OVER:
        sheet = score_sheet(states, index)
        record["result"] = {
            "scores": [line.total for line in sheet.values()],
            "winners": [player for player, line in sheet.items() if line.rank == 1],
        }
    return record


def replay(record: Any, *, render_mode: str | None = None, **options: Unpack[OptionValues]) -> Iterator[RawEnv]:
    """Play a record again: yield one `raw_env`, the same object each time, as dealt and then after each action.

    The record determines the number of players, the discussion and the deal; all other options may be chosen. A record
    that breaks the rules raises a ValueError that names the action and the reason.

    >>> from symphony9_env import symphony9_v0
    >>> env = symphony9_v0.raw_env(num_players=2)
    >>> env.reset(seed=7)
    >>> [len(step.history) for step in replay(env.record())]
    [0]
    """
    from symphony9_env.envs.aec import RawEnv  # the environment writes records: imported late

    checked = _check(record)
    for name in ("num_players", "discussion"):
        if name in options and options[name] != checked[name]:
            raise ValueError(f"{name}={options[name]!r}, but the record has {checked[name]!r}")
    options = {**options, "num_players": checked["num_players"], "discussion": checked["discussion"]}
    env = RawEnv(render_mode=render_mode, **options)
    env.reset(seed=checked["seed"], options={"setup": checked["setup"]})
    return _play(env, checked)


def _play(env: RawEnv, record: Record) -> Iterator[RawEnv]:
    yield env
    for step, (agent, name) in enumerate(record["actions"]):
        where = f"record, action {step}"
        if env.states["phase"][0] == OVER:
            raise ValueError(f"{where}: {name!r} of {agent}, but the game is over")
        if agent != env.agent_selection:
            raise ValueError(f"{where}: {agent!r} acts, but {env.agent_selection} is to decide")
        try:
            env.step(actions.number(name))
        except ValueError as error:
            raise ValueError(f"{where}: {error}") from error
        yield env
    if "result" in record:
        _check_result(record["result"], env)


def _check(record: Any) -> Record:
    """Check the form of every part of a record; whether it follows the rules is checked when it is played."""
    if not isinstance(record, Mapping):
        raise ValueError(f"record: must be a JSON object, not {type(record).__name__}")
    if record.get("format") != FORMAT:
        raise ValueError(f"record: format is {record.get('format')!r}; this version reads {FORMAT!r}")
    if missing := [key for key in ("num_players", "setup", "actions") if key not in record]:
        raise ValueError(f"record: {missing[0]!r} is missing")
    if not isinstance(record["setup"], Mapping):
        raise ValueError("record: setup must be a mapping")
    if not isinstance(record.get("discussion", False), bool):
        raise ValueError(f"record: discussion is {record['discussion']!r}; allowed: true, false")
    moves = record["actions"]
    if not isinstance(moves, list | tuple):
        raise ValueError("record: actions must be a list of [player, action name]")
    for step, move in enumerate(moves):
        if not isinstance(move, list | tuple) or len(move) != 2 or not all(isinstance(part, str) for part in move):
            raise ValueError(f"record, action {step}: {move!r}; must be [player, action name]")
    seed = record.get("seed")
    is_seed = isinstance(seed, int) and not isinstance(seed, bool) and 0 <= seed <= MAX_SEED
    return Record(
        {
            **record,
            "num_players": check_num_players(record["num_players"]),
            "discussion": record.get("discussion", False),
            "seed": seed if is_seed else None,  # a note that nothing depends on
        }
    )


def _check_result(result: Any, env: RawEnv) -> None:
    where = f"record, after action {len(env.history) - 1}"
    if env.states["phase"][0] != OVER:
        raise ValueError(f"{where}: there is a result, but the game is not over")
    right = env.record()["result"]
    if not isinstance(result, Mapping) or set(result) != set(right):
        raise ValueError(f"{where}: result must hold scores and winners, not {result!r}")
    scores = result["scores"]
    if not _same_scores(scores, right["scores"]):
        raise ValueError(f"{where}: result has scores {scores!r}; the game gives {right['scores']}")
    if not isinstance(result["winners"], list | tuple) or list(result["winners"]) != right["winners"]:
        raise ValueError(f"{where}: result has winners {result['winners']!r}; the game gives {right['winners']}")


def _same_scores(scores: Any, right: list[float]) -> bool:
    return (
        isinstance(scores, list | tuple)
        and len(scores) == len(right)
        and all(isinstance(points, int | float) and not isinstance(points, bool) for points in scores)
        # Comparisons, because differences overflow for huge whole numbers.
        and all(other - _TOLERANCE <= one <= other + _TOLERANCE for one, other in zip(scores, right, strict=True))
    )


def dumps(record: Mapping[str, Any]) -> str:
    """Return a record as one line of JSON."""
    return json.dumps(record, separators=(",", ":"))


def save(record: Mapping[str, Any], path: str | os.PathLike[str]) -> None:
    """Write a record to a JSON file, atomically; pipes and devices are written to directly."""
    _check(record)
    target = Path(os.path.realpath(path))
    text = dumps(record) + "\n"
    try:
        if target.exists() and not target.is_file():  # a pipe or a device can't be replaced by renaming
            target.write_text(text, encoding="utf-8")
        else:
            write_text(target, text, is_private="result" not in record)  # a running game has closed hands
    except OSError as error:
        raise ValueError(f"{os.fspath(path)}: can't be written: {error.strerror}") from error


def load(path: str | os.PathLike[str]) -> Record:
    """Read a record file and check its form; `replay` checks that it follows the rules.

    >>> load("missing.json")
    Traceback (most recent call last):
    ValueError: missing.json: can't be read: No such file or directory
    """
    try:
        text = read_bytes(path, MAX_BYTES)
    except OSError as error:
        raise ValueError(f"{os.fspath(path)}: can't be read: {error.strerror}") from error
    with name_in_errors(path):
        try:
            record = json.loads(text.decode())
        except (ValueError, RecursionError) as error:  # also for a number with thousands of digits
            raise ValueError(f"not a JSON file: {error}") from error
        _check(record)
    return Record(record)


@contextmanager
def name_in_errors(path: str | os.PathLike[str]) -> Iterator[None]:
    """Begin every ValueError of the block with the name of the file that it is about."""
    try:
        yield
    except ValueError as error:
        raise ValueError(f"{os.fspath(path)}: {error}") from error
