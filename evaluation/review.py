"""Test the game review: count the moves of a weak and of a strong player with which search disagrees.

    python -m evaluation.review --weak greedy --strong search:400 --games 50
    python -m evaluation.review --weak random --strong policy --seed 1000

The two play the same deals twice, once in each seat, and search reviews every game as `symphony9 watch` does.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass, fields
from typing import Final

from symphony9_env import agents, symphony9_v0
from symphony9_env.arena.console import format_table, positive_int
from symphony9_env.arguments import Parser, run
from symphony9_env.options import check_seed
from symphony9_env.records import Record
from symphony9_env.replay.commentators import DEFAULT_PLAYOUTS, Commentators
from symphony9_env.replay.replay_data import ReplayJson, make_replay

NUM_SEATS: Final = 2


@dataclass
class Counts:
    """The decisions of one player that search reviewed, by what it would have done."""

    reviewed: int = 0
    different: int = 0  # search would have made another move
    disagreements: int = 0  # that move is clearly better

    def add(self, other: Counts) -> None:
        """Add the counts of another game."""
        for field in fields(self):
            setattr(self, field.name, getattr(self, field.name) + getattr(other, field.name))


def review_game(names: list[str], seed: int, playouts: int) -> list[Counts]:
    """Play one game, let search review it, and return the counts by seat."""
    record = _play_game(names, seed)
    return count_disagreements(make_replay(record, "", Commentators(record, None, playouts)), len(names))


def _play_game(names: list[str], seed: int) -> Record:
    env = symphony9_v0.raw_env(num_players=len(names))
    env.reset(seed=seed)
    players = [agents.make(name, seed=seed + 1) for name in names]  # not the reviewer's seed, which is 0
    while not all(env.terminations.values()):
        env.step(players[env.deciding_seat].choose(env))
    return env.record()


def count_disagreements(replay: ReplayJson, num_seats: int) -> list[Counts]:
    """Return the counts of a reviewed game, by seat."""
    counts = [Counts() for _ in range(num_seats)]
    for frame in replay["frames"]:
        move, search = frame["move"], frame["comment"] and frame["comment"]["search"]
        if move and search:
            is_different = search["choice"] != move["name"]
            counts[move["seat"]].add(Counts(1, is_different, search["is_disagreement"]))
    return counts


def review_games(weak: str, strong: str, num_games: int, playouts: int, first_seed: int) -> str:
    """Review games with the weak player in each seat, on deals of consecutive seeds; return a table."""
    rows: list[list[str]] = []
    for weak_seat in range(NUM_SEATS):
        names = [weak if seat == weak_seat else strong for seat in range(NUM_SEATS)]
        totals = [Counts() for _ in names]
        for seed in range(first_seed, first_seed + num_games):
            for total, counts in zip(totals, review_game(names, seed, playouts), strict=True):
                total.add(counts)
        for seat, (name, total) in enumerate(zip(names, totals, strict=True)):
            means = [f"{getattr(total, field.name) / num_games:.1f}" for field in fields(total)]
            rows.append([name, str(seat), *means])
    return format_table(["a game's means", "seat", *(field.name for field in fields(Counts))], rows)


def main(arguments: list[str] | None = None) -> None:
    """Run the command."""
    parser = Parser(prog="python -m evaluation.review", description=__doc__)
    parser.add_argument("--weak", default="greedy", help="the weaker agent (default: greedy)")
    parser.add_argument("--strong", default="search:400", help="the stronger agent (default: search:400)")
    parser.add_argument("--games", type=positive_int, default=50, help="deals, each played twice (default: 50)")
    parser.add_argument(
        "--playouts", type=positive_int, default=DEFAULT_PLAYOUTS, help=f"of search (default: {DEFAULT_PLAYOUTS})"
    )
    parser.add_argument("--seed", type=int, default=0, help="of the first deal; the next ones follow it (default: 0)")
    chosen = parser.parse_args(arguments)
    check_seed(chosen.seed)
    check_seed(chosen.seed + chosen.games)  # an agent's seed is that of its deal plus 1
    print(review_games(chosen.weak, chosen.strong, chosen.games, chosen.playouts, chosen.seed))


if __name__ == "__main__":
    sys.exit(run("review", main))
