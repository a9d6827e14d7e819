"""The `symphony9` command: what needs no checkout."""

from __future__ import annotations

import argparse
import math
import os
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from symphony9_env import BatchedGames, __version__, records, symphony9_v0
from symphony9_env.options import SCORING, TRACKS
from symphony9_env.views import describe, seat_view
from symphony9_env.web.commands import add_play, add_watch

if TYPE_CHECKING:
    from symphony9_env.envs.aec import RawEnv

_EXAMPLES = """examples:
  symphony9 record --seed 7 --num-players 4            # a random game, written to game-4p-7.json
  symphony9 replay game-4p-7.json                      # shown move by move
  symphony9 replay game-4p-7.json --seat 0 | less      # as player_0 saw it
  symphony9 play                                       # in the browser, against agents or other people
  symphony9 watch game-4p-7.json                       # in the browser, with what a policy and search think
  symphony9 watch game-*.json --export games.html      # one file to keep or send
  symphony9 bench --num-games 1024                     # steps a second on this machine
"""


def main(arguments: list[str] | None = None) -> int:
    parser = _parser()
    chosen = parser.parse_args(arguments)
    try:
        chosen.run(chosen)
        sys.stdout.flush()
    except BrokenPipeError:  # the reader has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except (ValueError, OSError) as error:
        print(f"symphony9: {error}", file=sys.stderr)
        return 2
    return 0


def _parser() -> argparse.ArgumentParser:
    def add(name: str, help: str) -> argparse.ArgumentParser:  # noqa: A002
        return commands.add_parser(
            name,
            help=help,
            description=help[0].upper() + help[1:] + ".",
            epilog=_EXAMPLES,
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )

    parser = argparse.ArgumentParser(
        prog="symphony9",
        description="Symphony No. 9 as a reinforcement-learning environment.",
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"symphony9-env {__version__}")
    commands = parser.add_subparsers(required=True, metavar="command")

    record = add("record", "play a game of random legal moves and write its record")
    record.add_argument("--seed", type=int, default=0, help="of the deal and the moves (default: 0)")
    record.add_argument("--num-players", type=int, default=4, help="2, 3 or 4 (default: 4)")
    record.add_argument("--tracks", default="historical", help=f"{' or '.join(TRACKS)} (default: historical)")
    record.add_argument("--scoring", default="random", help=f"{', '.join(SCORING)} (default: random)")
    record.add_argument("--discussion", action="store_true", help="play with the discussion")
    record.add_argument("--components", help="an owner's own component file")
    record.add_argument("--out", help="file to write (default: game-<players>p-<seed>.json; - for standard output)")
    record.set_defaults(run=_record)

    replay = add("replay", "show a recorded game move by move")
    replay.add_argument("file", help="a game record")
    replay.add_argument("--seat", type=int, help="show what this seat saw (default: whoever is to decide)")
    replay.add_argument("--ledger", action="store_true", help="show the others' money and furniture too")
    replay.set_defaults(run=_replay)

    add_play(add)
    add_watch(add)

    bench = add("bench", "measure steps a second of random legal play on this machine")
    bench.add_argument("--num-games", type=int, default=1024, help="games in the batch (default: 1024)")
    bench.add_argument("--num-players", type=int, default=4, help="2, 3 or 4 (default: 4)")
    bench.add_argument("--num-threads", type=int, default=1, help="threads that share the batch (default: 1)")
    bench.add_argument("--seconds", type=float, default=3.0, help="how long to play (default: 3)")
    bench.add_argument("--seed", type=int, default=0, help="of the batch (default: 0)")
    bench.set_defaults(run=_bench)
    return parser


def _record(chosen: argparse.Namespace) -> None:
    env = symphony9_v0.raw_env(
        num_players=chosen.num_players,
        tracks=chosen.tracks,
        scoring=chosen.scoring,
        discussion=chosen.discussion,
        components=chosen.components,
    )
    env.reset(seed=chosen.seed)
    rng = np.random.default_rng(chosen.seed)
    while not all(env.terminations.values()):
        env.step(rng.choice(np.flatnonzero(env.observe(env.agent_selection)["action_mask"])))
    path = chosen.out or f"game-{chosen.num_players}p-{chosen.seed}.json"
    if path == "-":
        print(records.dumps(env.record()))
        return
    records.save(env.record(), path)
    print(f"{path}: {len(env.record()['actions'])} moves, scores {env.record()['result']['scores']}")


def _replay(chosen: argparse.Namespace) -> None:
    record = records.load(Path(chosen.file))
    moves = iter([*record["actions"], None])
    for env in records.replay(record, ledger=chosen.ledger):
        print(_shown(env, chosen.seat))
        if (move := next(moves)) is not None:
            print(f"\n>>> {move[0]}: {move[1]}\n")


def _bench(chosen: argparse.Namespace) -> None:
    if not 0 < chosen.seconds < math.inf:
        raise ValueError(f"seconds={chosen.seconds}; allowed: more than 0")
    games = BatchedGames(
        chosen.num_games, num_players=chosen.num_players, num_threads=chosen.num_threads, seed=chosen.seed
    )
    actions = games.sample_actions()
    games.step(actions)  # compiled now
    calls = ended = 0
    start = time.perf_counter()
    while (passed := time.perf_counter() - start) < chosen.seconds:
        games.sample_actions(out=actions)
        games.step(actions)
        ended += int(games.terminated.sum())
        calls += 1
    rate = calls * games.num_games / passed
    print(
        f"{rate:,.0f} steps/s, {ended / passed:,.0f} games/s (observation and mask included; {games.num_games} games)"
    )


def _shown(env: RawEnv, seat: int | None) -> str:
    return describe(seat_view(env.states, 0, env.deciding_seat if seat is None else seat, env.options.ledger))


if __name__ == "__main__":
    sys.exit(main())
