"""Scenarios for tests: deals and positions by hand, moves by name."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from symphony9_env.actions import NAMES, number
from symphony9_env.components import MUSICIAN_INDEX, PLAYER_COUNT_RULES
from symphony9_env.envs.aec import RawEnv
from symphony9_env.rules.state import CONTRIBUTE, game_at
from symphony9_env.scores import score_sheet
from symphony9_env.setup_format import SetUp
from symphony9_env.views.seat import SeatView, seat_view

Track = list[list[int]]
Policy = Callable[[RawEnv, list[str]], str]


def setup(num_players: int = 4, **changes: Any) -> SetUp:
    """Return a plain deal: player_0 starts, all tracks are alike and never empty, tiles 1A, 2A ... in row order."""
    rules = PLAYER_COUNT_RULES[num_players]
    names = list(rules.musicians)
    start = changes.get("start_player", 0)
    cubes = iter(names)
    chart = [rules.starting_cubes[(seat - start) % num_players] for seat in range(num_players)]
    plain: SetUp = {
        "start_player": 0,
        "tracks": {name: [[3, 0], [4, 19]] for name in names},
        "scoring": {name: f"{row + 1}A" for row, name in enumerate(names)},
        "budget": [2, 2, 2, 2, 0, 0],
        "starting_cubes": [
            [next(cubes) for _ in range(count)] for count in (*chart, *rules.starting_cubes[num_players:])
        ],
    }
    if rules.has_bot:
        plain["bot_tiles"] = [[1, 3, 5]] * 6
    tracks = {**plain["tracks"], **changes.pop("tracks", {})}
    return {**plain, **changes, "tracks": tracks}


def deal(num_players: int = 4, discussion: bool = False, **changes: Any) -> RawEnv:
    """Return an environment with a game dealt by hand: the plain set-up with these parts changed."""
    env = RawEnv(num_players=num_players, discussion=discussion)
    env.reset(options={"setup": setup(num_players, **changes)})
    return env


def set_state(env: RawEnv, **fields: Any) -> None:
    """Write whole fields into the game's state, as if the game had got there."""
    game = game_at(env.states)
    for name, value in fields.items():
        if isinstance(value, list | tuple):
            getattr(game, name)[:] = value
        else:
            setattr(game, name, value)
    env.refresh()


def cubes_of(env: RawEnv, board: int) -> dict[str, int]:
    """Return a board's cubes by musician, both piles together, without the zeros."""
    game = game_at(env.states)
    both = game.earlier_cubes[board] + game.new_cubes[board]
    return {name: int(both[row]) for name, row in MUSICIAN_INDEX.items() if both[row]}


def give(env: RawEnv, board: int, **cubes: int) -> None:
    """Replace a board's earlier cubes."""
    game = game_at(env.states)
    game.new_cubes[board] = 0
    game.earlier_cubes[board] = [cubes.get(name, 0) for name in MUSICIAN_INDEX]
    set_state(env)


def at_concert(num_players: int = 4, cubes: dict[int, dict[str, int]] | None = None, **changes: Any) -> RawEnv:
    """Return a game in which the hands of round one are to be closed, with just these cubes on the boards."""
    env = deal(num_players, **changes)
    set_state(env, phase=CONTRIBUTE, pending=1)
    for board in range(game_at(env.states).num_boards):
        give(env, board, **(cubes or {}).get(board, {}))
    return env


def decision(env: RawEnv) -> tuple[str, str]:
    """Return who is to decide what; the second is `over` at the end."""
    view = see(env, 0)
    return view.to_decide or "", view.decision


def legal(env: RawEnv) -> list[str]:
    """Return the names of the legal actions."""
    return [NAMES[action] for action in np.flatnonzero(env.action_mask)]


def play(env: RawEnv, *names: str) -> None:
    """Play moves by name. A move may name who must be the one to decide: `player_1 bid 3`."""
    for name in names:
        if name.startswith("player_"):
            player, _, name = name.partition(" ")  # noqa: PLW2901
            assert env.agent_selection == player, f"{env.agent_selection} is to decide before {player} {name}"
        env.step(number(name))


def play_until(env: RawEnv, stop: str, policy: Policy | None = None) -> None:
    """Play on, by default quiet moves, until somebody is asked `stop`."""
    while decision(env)[1] not in (stop, "over"):
        names = legal(env)
        play(env, policy(env, names) if policy else quiet(names))
    assert decision(env)[1] == stop


def quiet(names: Iterable[str]) -> str:
    """Return a move that changes little: a pass if possible, else the first that sells nothing."""
    names = list(names)
    return "pass" if "pass" in names else next(name for name in names if not name.startswith("sell"))


def bids(env: RawEnv, *amounts: int | str) -> None:
    """Close everybody's hands, clockwise from the seat to decide."""
    for amount in amounts:
        play(env, f"bid {amount}")


def see(env: RawEnv, seat: int, ledger: bool = False) -> SeatView:
    """Return what a seat may know."""
    return seat_view(env.states, 0, seat, ledger)


def money(env: RawEnv) -> list[int]:
    """Return everybody's money."""
    return [int(amount) for amount in game_at(env.states).money[: env.options.num_players]]


def scores(env: RawEnv) -> list[float]:
    """Return everybody's points if the game ended now."""
    return [line.total for line in score_sheet(env.states, 0).values()]


def random_legal(rng: np.random.Generator) -> Policy:
    """Return a policy that plays uniformly random legal moves."""
    return lambda env, names: names[int(rng.integers(len(names)))]


def finish(env: RawEnv, rng: np.random.Generator) -> None:
    """Play random legal moves to the end."""
    while not all(env.terminations.values()):
        env.step(int(rng.choice(np.flatnonzero(env.action_mask))))
