"""Recorded games as data for the replay page: every position, the log, and the comments on every decision."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final, TypedDict

from symphony9_env import records
from symphony9_env.actions import NAMES
from symphony9_env.envs.aec import RawEnv
from symphony9_env.events import Event, see
from symphony9_env.replay.commentators import Commentators, CommentJson, read_players
from symphony9_env.replay.events import replay_with_events
from symphony9_env.replay.player_names import number_duplicates
from symphony9_env.rules.state import States
from symphony9_env.views import SeatView, seat_view
from symphony9_env.views.game_log import LogLine, log_lines
from symphony9_env.views.seat_json import GameJson, OwnJson, PositionJson, game_json, own_json, position_json

FORMAT: Final = "symphony9-replay/1"


class NameJson(TypedDict):
    """A player as pages name him."""

    name: str


class MoveJson(TypedDict):
    """A move: the seat and the name of the action."""

    seat: int
    name: str


class FrameJson(TypedDict):
    """A position, the log lines of the move that led to it, the move made in it and the comments on that decision.

    `position` is public; `own` holds what each seat knows besides, made from that seat's view.
    """

    position: PositionJson
    own: list[OwnJson]
    log: list[LogLine]
    move: MoveJson | None
    comment: CommentJson | None


class ReplayJson(TypedDict):
    """A recorded game."""

    format: str
    title: str
    players: list[NameJson]
    game: GameJson
    frames: list[FrameJson]


def make_replay(record: Mapping[str, Any], title: str, commentators: Commentators) -> ReplayJson:
    """Return everything that the page shows of one game."""
    frames: list[FrameJson] = []
    positions: list[States] = []
    for env, events in replay_with_events(record):
        frames.append(_make_frame(env, events))
        positions.append(env.states.copy())
    for frame, states, (seat, action) in zip(frames, positions, env.history, strict=False):
        frame["move"] = {"seat": seat, "name": NAMES[action]}
        frame["comment"] = commentators.comment_on(states, action)
    if env.decision != "over":
        frames[-1]["comment"] = commentators.comment_on(env.states, None)
    return {
        "format": FORMAT,
        "title": title,
        "players": [{"name": name} for name in number_duplicates([player["name"] for player in read_players(record)])],
        "game": game_json(seat_view(env.states, 0, 0)),
        "frames": frames,
    }


def _make_frame(env: RawEnv, events: list[Event]) -> FrameJson:
    """Return a position as a frame, without the move made in it and the comments."""
    views = [seat_view(env.states, 0, seat) for seat in range(env.options.num_players)]
    return {
        "position": _public_position(views[0]),
        "own": [own_json(view) for view in views],
        "log": log_lines(see(events, None)),
        "move": None,
        "comment": None,
    }


def _public_position(view: SeatView) -> PositionJson:
    """Return what all seats see: this seat's position without its own money and furniture, until the game is over."""
    position = position_json(view)
    if position["score_sheet"] is None:
        position["boards"][view.seat]["money"] = position["boards"][view.seat]["furniture"] = None
    return position


def read_replays(paths: Sequence[str | os.PathLike[str]], policy: str | None, search: int) -> list[ReplayJson]:
    """Return the games in these record files, commented on by a policy and by search (see `Commentators`).

    `search` is the number of playouts. On a terminal, print the progress.
    """
    if search < 0:
        raise ValueError(f"--search {search}; allowed: 0 (none) or a number of playouts")
    replays = []
    for number, path in enumerate(paths, 1):
        if sys.stderr.isatty():
            print(f"\rreading game {number} of {len(paths)} ", end="\n" * (number == len(paths)), file=sys.stderr)
        record = records.load(path)
        with records.name_in_errors(path):
            replays.append(make_replay(record, Path(path).name, Commentators(record, policy, search)))
    return replays
