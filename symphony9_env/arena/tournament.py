"""Play agents against each other on duplicate deals; compute ratings and intervals, and write a report.

    symphony9 tournament --agents random,greedy,investor,planner --num-players 4 --games 1000 --out runs/all
    symphony9 tournament --agents planner,search:100 --num-players 2 --games 400 --out runs/search
    symphony9 tournament --agents planner,greedy --lineups one-against-rest --games 800 --out runs/one
    symphony9 tournament --agents planner,my_policy.safetensors --num-players 3 --out runs/mine
    symphony9 tournament --agents planner,mine=path/to/my_agent.py:decide --num-players 2 --out runs/own
    symphony9 tournament --agents planner --agent "stdio:python agent.py --levels 1,2" --num-players 2 --out runs/levels
    symphony9 tournament --agents planner,search:800 --num-players 3 --workers 8 --out runs/eight
    symphony9 tournament --agents planner,search:800 --num-players 3 --address HOST:6379 --out runs/wide

With fewer agents than seats, all line-ups that include every agent are played; with more, all groups of that many
agents. Each line-up has its own deal and plays it in every rotation. `--games` is rounded up to whole cycles: every
line-up once, in all its rotations. Run the same command again to continue after a stop, or with more games to extend
the tournament.

In `--agents`, put a name that contains a comma in double quotes, as in a CSV file, or use `--agent`, which takes one
name as it is and can be repeated. If an agent of your own gives no legal action, the tournament stops and names it;
finished games are kept, and the same command continues if the agents are unchanged.

The games are played by several processes, one for each core, or by those of a Ray cluster (`--address`). Neither their
number nor the loss of some changes the results. Each has agents of its own; an agent that is a process or a web address
is used by one worker, unless you say `--workers N`.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any, Final

from symphony9_env import __version__, agents, records
from symphony9_env.agents import AgentFailed
from symphony9_env.agents.base import derive_agent_seed
from symphony9_env.agents.external import TIMEOUT, TIMEOUT_HELP
from symphony9_env.arena.console import format_command, format_interval, format_percent, format_table, positive_int
from symphony9_env.arena.game_loop import MAX_CHUNK, ChunkSizes, WorkerPool
from symphony9_env.arena.game_players import AgentRecipe, TournamentPlayer
from symphony9_env.arena.game_run import GameRun
from symphony9_env.arena.matches import LINEUP_KINDS, Schedule
from symphony9_env.arena.report import make_report
from symphony9_env.arena.results import GameData, MatchResult, Results, summarise
from symphony9_env.arena.tournament_folder import TournamentFolder
from symphony9_env.arena.worker_pools import THREADS_HELP, LocalPool, add_worker_arguments, open_pool
from symphony9_env.arguments import Parser, add_variant_arguments, read_variant, split_names
from symphony9_env.files import make_folder, write_text
from symphony9_env.options import Variant, check_seed
from symphony9_env.records import Record
from symphony9_env.replay.html_export import make_page
from symphony9_env.replay.replay_data import read_replays
from symphony9_env.setup_format import hash_box, pack_box

PROG: Final = "python -m evaluation.tournament"
_RECORD_NAME: Final = re.compile(r"game-[0-9]{1,9}\.json")


def make_parser(prog: str) -> Parser:
    """Return the parser of the command line."""
    parser = Parser(prog, (__doc__ or "").replace("symphony9 tournament", prog))
    parser.add_argument("--agents", help=f"agents, separated by commas: {agents.list_allowed()}")
    parser.add_argument("--agent", action="append", default=[], help="one more agent; can be repeated")
    parser.add_argument(
        "--games", type=positive_int, default=400, help="number of games, rounded up to whole cycles (default: 400)"
    )
    parser.add_argument("--out", required=True, help="folder for results.json, games.csv, report.html and records")
    parser.add_argument("--lineups", choices=LINEUP_KINDS, default="all", help="who plays with whom (default: all)")
    parser.add_argument("--seed", type=int, default=0, help="seed of the deals and the agents (default: 0)")
    parser.add_argument("--records", type=int, default=12, help="number of games kept as records (default: 12)")
    parser.add_argument("--num-threads", type=positive_int, default=1, help=THREADS_HELP)
    add_worker_arguments(parser)
    parser.add_argument("--timeout", type=float, default=TIMEOUT, help=TIMEOUT_HELP)
    add_variant_arguments(parser)
    return parser


def list_recipes(named: Sequence[str], seed: int, num_threads: int = 1, timeout: float = TIMEOUT) -> list[AgentRecipe]:
    """Return how the agents of a list of names are made, each with a seed of its own."""
    return [
        AgentRecipe(name, derive_agent_seed(seed, number), num_threads, timeout) for number, name in enumerate(named)
    ]


class Tournament(GameRun[TournamentFolder]):
    """A tournament in a folder: plays the games that are missing, and summarises those that are there.

    The folder is locked until `close`. The games are played in this process unless a pool of workers is given.
    """

    def __init__(
        self,
        recipes: Sequence[AgentRecipe],
        variant: Variant,
        out: str,
        *,
        seed: int,
        kind: str = "all",
        num_records: int = 12,
        pool: WorkerPool | None = None,
    ) -> None:
        player = TournamentPlayer(recipes, variant, num_records)
        self.names = player.names
        self.variant = variant
        self.schedule = Schedule(len(recipes), variant.num_players, check_seed(seed), kind)
        settings = {
            "version": __version__,
            "agents": self.names,
            "fingerprints": player.fingerprints,
            **variant.as_json(),
            "box": hash_box(pack_box(variant)),
            "lineups": kind,
            "seed": seed,
        }
        super().__init__(player, lambda: TournamentFolder(out, settings), pool or LocalPool())

    @property
    def num_played(self) -> int:
        """The number of games in the folder."""
        return len(self.folder.items) // self.variant.num_players

    def play(self, num_games: int) -> None:
        """Play up to this many games, in chunks of about two seconds that are saved as soon as it is their turn."""
        wanted = self.schedule.round_up_to_cycles(num_games)
        is_slow = self.player.is_external
        try:
            self.play_up_to(wanted, ChunkSizes() if is_slow else ChunkSizes(self.variant.num_players, MAX_CHUNK))
        except AgentFailed as failure:
            kept = f"{self.describe_kept(wanted)} if the agents are unchanged"
            raise ValueError(f"{failure}; {kept if self.num_played else 'no game was finished'}") from failure

    def plan(self, number: int) -> dict[str, Any]:
        return asdict(self.schedule.game(number))

    def save(self, first: int, results: list[Any]) -> None:
        for number, result in enumerate(results, first):
            if result["record"] is not None:
                folder = make_folder(self.folder.path / "records")
                write_text(folder / f"game-{number}.json", records.dumps(Record(result["record"])) + "\n")
        self.folder.add([row for result in results for row in result["rows"]])

    def games(self) -> GameData:
        """Return the games played so far, without agents that have not played yet (after a stop)."""
        played = {row["agent"] for row in self.folder.items}
        return GameData(self.folder.items, [name for name in self.names if name in played], self.variant.num_players)

    def results(self) -> Results:
        """Return the results of the games played so far."""
        return summarise(self.games(), self.folder.settings)

    def finish(self, command: str) -> Results:
        """Write results.json, report.html and, if there are records, watch.html; return the results."""
        results: Results = {**self.results(), "command": command}
        path = self.folder.path
        write_text(path / "results.json", json.dumps(results, indent=1) + "\n")
        found = [file for file in (path / "records").glob("*.json") if _RECORD_NAME.fullmatch(file.name)]
        kept = sorted(found, key=lambda file: int(file.stem.removeprefix("game-")))
        if kept:
            write_text(path / "watch.html", make_page(read_replays(kept, policy=agents.SHIPPED, search=0)))
        write_text(path / "report.html", make_report(results, self.games(), [file.name for file in kept]))
        return results


def format_matches(title: str, matches: Sequence[MatchResult]) -> str:
    """Return the win rates of agents alone against opponents who are all the same agent, as a text table."""
    rows = [
        [
            f"{match['agent']} against {match['against']}",
            format_percent(match["win_rate"]),
            format_interval(match["win_rate_95"], format_percent),
            match["games"],
        ]
        for match in matches
    ]
    return format_table([title, "win rate", "95 %", "games"], rows)


def format_results(results: Results) -> str:
    """Return the ratings and win rates as text."""
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
    text = format_table(["agent", "rating", "95 %", "win rate", "95 %", "points", "games"], rows)
    text += f"\npar, the win rate among equals: {format_percent(results['par'])}"
    if alone := results["one_against_rest"]:
        text += "\n\n" + format_matches("one against the rest", alone)
    return text


def main(arguments: list[str] | None = None, prog: str = PROG) -> None:
    """Run the command."""
    chosen = make_parser(prog).parse_args(arguments)
    variant = read_variant(chosen)
    named = [*(split_names(chosen.agents) if chosen.agents is not None else []), *chosen.agent]
    if not named:
        raise ValueError(f"--agents or --agent is needed: {agents.list_allowed()}")
    recipes = list_recipes(named, check_seed(chosen.seed), chosen.num_threads, chosen.timeout)
    given = {"seed": chosen.seed, "kind": chosen.lineups, "num_records": chosen.records}
    with (
        open_pool(chosen.workers, chosen.address, named, chosen.num_threads) as pool,
        Tournament(recipes, variant, chosen.out, **given, pool=pool) as tournament,
    ):
        stopped = _play(tournament, chosen.games)
        print(format_results(tournament.finish(format_command(prog, arguments))))
    path = tournament.folder.path
    files = [name for name in ("results.json", "games.csv", "records/", "watch.html") if (path / name).exists()]
    print(f"\n{path / 'report.html'} (open it in a browser); beside it: {', '.join(files)}")
    if stopped is not None:
        raise stopped


def _play(tournament: Tournament, num_games: int) -> KeyboardInterrupt | None:
    """Play, and return how it was stopped, if it was; raise that if no game was finished."""
    wanted = tournament.schedule.round_up_to_cycles(num_games)
    lineups, seats = len(tournament.schedule.lineups), tournament.variant.num_players
    print(f"{wanted} games: cycles of {lineups} line-ups × {seats} rotations; {tournament.num_played} already played")
    try:
        tournament.play(num_games)
    except KeyboardInterrupt as stopped:
        print(f"\nstopped: {tournament.describe_kept(wanted)}", file=sys.stderr)
        if tournament.num_played == 0:
            raise
        return stopped
    return None
