"""Agents against each other on duplicate deals, with ratings, intervals and a report.

    python -m evaluation.tournament --agents random,greedy,investor,planner --num-players 4 --games 1000 --out runs/all
    python -m evaluation.tournament --agents planner,search:100 --num-players 2 --games 400 --out runs/search
    python -m evaluation.tournament --agents planner,greedy --tables one-against-rest --games 800 --out runs/one
    python -m evaluation.tournament --agents planner,my_policy.safetensors --num-players 3 --out runs/mine

Fewer agents than seats: all compositions of a table are played; more: all tables. Each table has its own deal and plays
it in every rotation. `--games` is rounded up to whole rounds of this. Run the same command again to go on after a
stop, or with more games to make it longer.
"""

from __future__ import annotations

import hashlib
import json
import shlex
import sys
import time
from pathlib import Path
from typing import Any, Final

from tqdm import tqdm

from symphony9_env import __version__, agents, records
from symphony9_env.agents import Agent
from symphony9_env.arena.console import (
    Parser,
    add_variant_arguments,
    format_interval,
    format_matches,
    format_percent,
    format_table,
    positive_int,
    read_variant,
)
from symphony9_env.arena.games_csv import lines_of, record_of
from symphony9_env.arena.matches import TABLES, Schedule, play
from symphony9_env.arena.report import write_report
from symphony9_env.arena.results import Games, Results, summarise
from symphony9_env.arena.tournament_folder import Folder
from symphony9_env.options import Variant, check_seed
from symphony9_env.records import Record
from symphony9_env.replay.html_export import make_page
from symphony9_env.replay.replay_data import read_replays
from symphony9_env.rules.chance import next_seed
from symphony9_env.setup_format import pack_box

BATCH_SECONDS: Final = 2.0  # how long a batch should take: so much is lost by a kill, so often the bar moves
MAX_BATCH: Final = 4096
PROG: Final = "python -m evaluation.tournament"


def make_parser(prog: str) -> Parser:
    made = Parser(prog, __doc__)
    names = f"{', '.join(agents.names())}, search:N, or paths of saved policies"
    made.add_argument("--agents", required=True, help=f"who plays, separated by commas: {names}")
    made.add_argument(
        "--games", type=positive_int, default=400, help="how many, rounded up to whole rounds (default: 400)"
    )
    made.add_argument("--out", required=True, help="folder for results.json, games.csv, report.html and records")
    made.add_argument("--tables", choices=TABLES, default="all", help="who sits with whom (default: all)")
    made.add_argument("--seed", type=int, default=0, help="of the deals and the agents (default: 0)")
    made.add_argument("--records", type=int, default=12, help="games kept as records for watching (default: 12)")
    made.add_argument("--num-threads", type=positive_int, default=1, help="threads for search (default: 1)")
    add_variant_arguments(made)
    return made


def make_agents(named: str, num_players: int, seed: int, num_threads: int) -> list[Agent]:
    """The agents of a list of names, each with a seed of its own."""
    names = [name.strip() for name in named.split(",")]
    made: list[Agent] = []
    for number, name in enumerate(names):
        agent = agents.make(name, seed=next_seed(next_seed(seed) ^ (number + 1)), num_threads=num_threads)
        agent.check_players(num_players)
        if agent.name in [other.name for other in made]:
            raise ValueError(f"--agents: {agent.name!r} is named twice")
        made.append(agent)
    return made


class Tournament:
    """Plays what is missing in a folder, and makes the figures of what is there."""

    def __init__(
        self, players: list[Agent], variant: Variant, out: str, *, seed: int, kind: str = "all", num_records: int = 12
    ) -> None:
        self.players = players
        self.names = [agent.name for agent in players]
        self.variant = variant
        self.schedule = Schedule(len(players), variant.num_players, check_seed(seed), kind)
        self.num_records = num_records
        self.folder = Folder(out, self._settings(seed, kind))

    def _settings(self, seed: int, kind: str) -> dict[str, Any]:
        """What may not change when a tournament goes on."""
        return {
            "version": __version__,
            "agents": self.names,
            "fingerprints": [agent.fingerprint(self.variant.num_players) for agent in self.players],
            **self.variant.as_json(),
            "box": hashlib.sha256(pack_box(self.variant).tobytes()).hexdigest()[:16],  # what games are dealt from
            "tables": kind,
            "seed": seed,
        }

    @property
    def num_played(self) -> int:
        return len(self.folder.lines) // self.variant.num_players

    def play(self, num_games: int) -> None:
        """Play up to so many games, in batches of about two seconds; each is kept as soon as it is over."""
        wanted = self.schedule.rounded(num_games)
        batch = self.variant.num_players
        with tqdm(total=wanted, initial=self.num_played, unit=" games", disable=None, smoothing=0.1) as bar:
            while self.num_played < wanted:
                begun = time.perf_counter()
                numbers = range(self.num_played, min(self.num_played + batch, wanted))
                self._play_batch(numbers)
                bar.update(len(numbers))
                passed = time.perf_counter() - begun
                batch = max(self.variant.num_players, min(2 * batch, MAX_BATCH, int(batch * BATCH_SECONDS / passed)))

    def _play_batch(self, numbers: range) -> None:
        played = play([self.schedule.game(number) for number in numbers], self.players, self.variant)
        for one in played:
            if one.game.number < self.num_records:
                folder = self.folder.path / "records"
                folder.mkdir(exist_ok=True)
                players = [{"name": self.names[agent], "agent": self.names[agent]} for agent in one.game.agents]
                record = Record({**record_of(one, self.variant), "players": players})
                records.save(record, folder / f"game-{one.game.number}.json")
        self.folder.add([line for one in played for line in lines_of(one, self.names, self.variant)])

    def games(self) -> Games:
        """What was played so far; whoever has not played yet (after a stop) is left out."""
        played = {line["agent"] for line in self.folder.lines}
        return Games(self.folder.lines, [name for name in self.names if name in played], self.variant.num_players)

    def results(self) -> Results:
        return summarise(self.games(), self.folder.settings)

    def finish(self, command: str) -> tuple[Results, Path]:
        """Write results.json, report.html and, if there are records, watch.html."""
        results = {**self.results(), "command": command}
        self.folder.write("results.json", json.dumps(results, indent=1) + "\n")
        kept = sorted((self.folder.path / "records").glob("*.json"), key=lambda file: int(file.stem.split("-")[1]))
        if kept:
            self.folder.write("watch.html", make_page(read_replays(kept, policy=agents.SHIPPED, search=0)))
        return results, write_report(self.folder, results, self.games(), [file.name for file in kept])


def format_results(results: Results) -> str:
    """The table that a person wants to see first."""
    rows = [
        [
            name,
            f"{one['rating']:.0f}",
            format_interval(one["rating_95"], lambda number: f"{number:.0f}"),
            format_percent(one["win_rate"]),
            format_interval(one["win_rate_95"], format_percent),
            f"{one['mean_score']:.1f}",
            one["games"],
        ]
        for name, one in sorted(results["agents"].items(), key=lambda item: -item[1]["rating"])
    ]
    text = format_table(["agent", "rating", "95 %", "wins a seat", "95 %", "points", "games"], rows)
    text += f"\npar: {format_percent(results['par'])} of the games for every seat"
    if alone := results["one_against_rest"]:
        text += "\n\n" + format_matches("one against a table of another", alone)
    return text


def main(arguments: list[str] | None = None, prog: str = PROG) -> None:
    """Run the command."""
    chosen = make_parser(prog).parse_args(arguments)
    variant = read_variant(chosen)
    players = make_agents(chosen.agents, variant.num_players, check_seed(chosen.seed), chosen.num_threads)
    tournament = Tournament(
        players, variant, chosen.out, seed=chosen.seed, kind=chosen.tables, num_records=chosen.records
    )
    wanted = tournament.schedule.rounded(chosen.games)
    tables, seats = len(tournament.schedule.tables), variant.num_players
    print(f"{wanted} games: rounds of {tables} tables × {seats} rotations; {tournament.num_played} played before")
    stopped = False
    try:
        tournament.play(chosen.games)
    except KeyboardInterrupt:
        stopped = True
        print(
            f"\nstopped: {tournament.num_played} of {wanted} games are kept; the same command goes on", file=sys.stderr
        )
    if tournament.num_played == 0:
        raise KeyboardInterrupt
    command = f"{prog} " + shlex.join(arguments if arguments is not None else sys.argv[1:])
    results, report = tournament.finish(command)
    print(format_results(results))
    print(f"\n{report} (open it in a browser); beside it: results.json, games.csv, records/ and watch.html")
    if stopped:
        raise KeyboardInterrupt
