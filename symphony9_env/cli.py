"""The `symphony9` command: everything that needs no checkout of the project."""

from __future__ import annotations

import argparse
import json
import math
import os
import sys
import time
from collections.abc import Sequence
from contextlib import ExitStack
from typing import Final

import numpy as np

from symphony9_env import BatchedGames, __version__, agents, records, schemas, symphony9_v0
from symphony9_env.actions import NAMES
from symphony9_env.agents.base import derive_agent_seed
from symphony9_env.arguments import (
    GATE_FAILED,
    WRONG_USE,
    Parser,
    add_option_arguments,
    add_variant_arguments,
    import_command,
    read_variant,
    run,
    split_names,
)
from symphony9_env.envs.aec import RawEnv
from symphony9_env.events import Event, see
from symphony9_env.names import agent_name
from symphony9_env.records import Record
from symphony9_env.replay.events import replay_with_events
from symphony9_env.views import describe, seat_view
from symphony9_env.views.game_log import format_line, log_lines
from symphony9_env.web.commands import add_play, add_watch

# Commands of `symphony9_env.arena`, which needs the extra [eval].
_ARENA: Final = {
    "tournament": "play agents against each other on duplicate deals, with ratings and a report",
    "gate": "test whether one agent is better than another, with as few games as possible",
    "benchmark": "evaluate an agent by the benchmark protocol",
}

_EXAMPLES: Final = {
    "record": """
  symphony9 record --seed 7 --num-players 4              # random legal moves, written to game-4p-7.json
  symphony9 record --agents planner --out planners.json  # the same agent in every seat
  symphony9 record --agents policy,greedy --num-players 2 --out -""",
    "replay": """
  symphony9 replay game-4p-7.json                        # every position as the deciding seat saw it
  symphony9 replay game-4p-7.json --seat 0 | less        # as player_0 saw it""",
    "play": """
  symphony9 play                                         # in the browser, against agents or other people
  symphony9 play --host 0.0.0.0 --no-browser             # on a server, for people on other machines""",
    "watch": """
  symphony9 watch game-4p-7.json                         # with what a policy and search would do
  symphony9 watch game-*.json --export games.html        # one file to keep or send""",
    "tournament": """
  symphony9 tournament --agents planner,greedy,policy --games 400 --out runs/tournament""",
    "gate": """
  symphony9 gate my_policy.safetensors policy            # exit status 0: better, 1: worse, 2: undecided""",
    "benchmark": """
  symphony9 benchmark --task 4p --agent planner
  symphony9 benchmark --list                             # the tasks""",
    "schema": """
  symphony9 schema                                       # the names of all formats
  symphony9 schema symphony9-record/1 > record.schema.json""",
    "bench": """
  symphony9 bench --num-games 1024                       # steps per second on this machine""",
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command; return its exit status."""
    given = sys.argv[1:] if arguments is None else list(arguments)
    error_status = GATE_FAILED if given[:1] == ["gate"] else WRONG_USE
    return run("symphony9", lambda: _run_command(given), error_status)


def _run_command(given: list[str]) -> int | None:
    status: int | None = None
    try:
        if given and given[0] in _ARENA:
            command = import_command(f"symphony9_env.arena.{given[0]}", "eval")
            status = command.main(given[1:], prog=f"symphony9 {given[0]}")
        else:
            chosen = _make_parser().parse_args(given)
            chosen.run(chosen)
        sys.stdout.flush()
    except BrokenPipeError:  # the reader of the output has closed it, as `head` does
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return status


def _make_parser() -> Parser:
    parser = Parser(
        prog="symphony9",
        description="Symphony No. 9 as a reinforcement-learning environment.",
        epilog="examples:" + "".join(_EXAMPLES.values()),
    )
    parser.add_argument("--version", action="version", version=f"symphony9-env {__version__}")
    commands = parser.add_subparsers(required=True, metavar="command")

    def add(name: str, about: str) -> argparse.ArgumentParser:
        description = f"{about[0].upper()}{about[1:]}."
        return commands.add_parser(name, help=about, description=description, epilog=f"examples:{_EXAMPLES[name]}")

    _add_record(add("record", "play a game and write its record"))
    _add_replay(add("replay", "print a recorded game move by move"))
    add_play(add)
    add_watch(add)
    for name, about in _ARENA.items():  # for the list of commands; `main` runs them without this parser
        add(name, about)
    _add_schema(add("schema", "print the JSON Schema of a format, or the names of all formats"))
    _add_bench(add("bench", "measure the steps per second of random legal play on this machine"))
    return parser


# symphony9 record


def _add_record(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--seed", type=int, default=0, help="seed of the deal and of the moves (default: 0)")
    parser.add_argument(
        "--agents",
        help=f"one agent for all seats, or one for each seat, separated by commas: {agents.list_allowed()} "
        "(default: random legal moves)",
    )
    parser.add_argument("--out", help="file to write (default: game-<players>p-<seed>.json; - for standard output)")
    add_variant_arguments(parser)
    parser.set_defaults(run=_record)


def _record(chosen: argparse.Namespace) -> None:
    variant = read_variant(chosen)
    env = symphony9_v0.raw_env(**vars(variant))
    env.reset(seed=chosen.seed)
    if chosen.agents is None:
        record = _play_at_random(env, chosen.seed)
    else:
        record = _play_agents(env, _read_names(chosen.agents, variant.num_players), chosen.seed)
    path = chosen.out or f"game-{variant.num_players}p-{chosen.seed}.json"
    if path == "-":
        print(records.dumps(record))
    else:
        records.save(record, path)
        print(f"{path}: {len(record['actions'])} moves, scores {record['result']['scores']}")


def _play_at_random(env: RawEnv, seed: int) -> Record:
    rng = np.random.default_rng(seed)
    while not all(env.terminations.values()):
        env.step(rng.choice(np.flatnonzero(env.action_mask)))
    return env.record()


def _read_names(text: str, num_players: int) -> list[str]:
    """Return the name of an agent for each seat."""
    names = split_names(text)
    if len(names) not in (1, num_players):
        raise ValueError(f"--agents: {len(names)} agents; allowed: one for all seats, or {num_players}")
    return names * num_players if len(names) == 1 else names


def _play_agents(env: RawEnv, names: list[str], seed: int) -> Record:
    """Let agents play the game, each with a seed of its own; the record names them."""
    with ExitStack() as stack:  # closes the agents, some of which are processes
        players = [
            stack.enter_context(agents.make(name, seed=derive_agent_seed(seed, seat)))
            for seat, name in enumerate(names)
        ]
        for player in players:
            player.check_players(len(names))
        while not all(env.terminations.values()):
            env.step(players[env.deciding_seat].choose(env))
    seats = [{"name": player.name, "agent": player.spec or player.name} for player in players]
    return Record({**env.record(), "players": seats})


# symphony9 replay


def _add_replay(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", help="a game record")
    parser.add_argument(
        "--seat",
        type=int,
        help="the seat whose views are printed, with what it saw of each move (default: the deciding seat's views, "
        "with all moves)",
    )
    add_option_arguments(parser, ["ledger"], "the view")
    parser.set_defaults(run=_replay)


def _replay(chosen: argparse.Namespace) -> None:
    record = records.load(chosen.file)
    with records.name_in_errors(chosen.file):
        for index, (env, events) in enumerate(replay_with_events(record, ledger=chosen.ledger)):
            seat = env.deciding_seat if chosen.seat is None else chosen.seat
            if index > 0:
                print(f"\n{_describe_move(env, events, chosen.seat)}\n")
            print(describe(seat_view(env.states, 0, seat, chosen.ledger)))


def _describe_move(env: RawEnv, events: list[Event], seat: int | None) -> str:
    """Return the last move, or the lines of the log that a seat may see of it: closed bids are hidden from others."""
    if seat is None:
        player, action = env.history[-1]
        return f">>> {agent_name(player)}: {NAMES[action]}"
    return "\n".join(f">>> {format_line(line, env.options.num_players)}" for line in log_lines(see(events, seat)))


# symphony9 schema


def _add_schema(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("name", nargs="?", help=f"one of {', '.join(schemas.names())}")
    parser.set_defaults(run=_schema)


def _schema(chosen: argparse.Namespace) -> None:
    print("\n".join(schemas.names()) if chosen.name is None else json.dumps(schemas.load(chosen.name), indent=2))


# symphony9 bench


def _add_bench(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--num-games", type=int, default=1024, help="games in the batch (default: 1024)")
    parser.add_argument("--num-threads", type=int, default=1, help="threads that share the batch (default: 1)")
    parser.add_argument("--seconds", type=float, default=3.0, help="how long to play (default: 3)")
    parser.add_argument("--seed", type=int, default=0, help="seed of the batch (default: 0)")
    add_option_arguments(parser, ["num_players"])
    parser.set_defaults(run=_bench)


def _bench(chosen: argparse.Namespace) -> None:
    if not 0 < chosen.seconds < math.inf:
        raise ValueError(f"seconds={chosen.seconds}; allowed: more than 0")
    games = BatchedGames(
        chosen.num_games, num_players=chosen.num_players, num_threads=chosen.num_threads, seed=chosen.seed
    )
    actions = games.sample_actions()
    games.step(actions)  # so that compiling is not measured
    calls = ended = 0
    start = time.perf_counter()
    while (passed := time.perf_counter() - start) < chosen.seconds:
        games.sample_actions(out=actions)
        games.step(actions)
        ended += int(games.terminated.sum())
        calls += 1
    print(
        f"{calls * games.num_games / passed:,.0f} steps/s, {ended / passed:,.0f} games/s "
        f"(observation and mask included; {games.num_games} games)"
    )


if __name__ == "__main__":
    sys.exit(main())
