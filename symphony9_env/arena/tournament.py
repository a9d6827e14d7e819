"""Play agents against each other on duplicate deals; compute ratings and intervals, and write a report.

    symphony9 tournament --agents random,greedy,investor,planner --num-players 4 --games 1000 --out runs/all
    symphony9 tournament --agents planner,search:100 --num-players 2 --games 400 --out runs/search
    symphony9 tournament --agents planner,greedy --lineups one-against-rest --games 800 --out runs/one
    symphony9 tournament --agents planner,policy --num-players 2 --control-variate --redraws 3 --out runs/exact
    symphony9 tournament --agents planner,my_policy.safetensors --num-players 3 --out runs/mine
    symphony9 tournament --agents planner,mine=path/to/my_agent.py:decide --num-players 2 --out runs/own
    symphony9 tournament --agents planner --agent "stdio:python agent.py --levels 1,2" --num-players 2 --out runs/levels
    symphony9 tournament --agents planner,search:800 --num-players 3 --workers 8 --out runs/eight
    symphony9 tournament --agents planner,search:800 --num-players 3 --address HOST:6379 --out runs/wide

With fewer agents than seats, all line-ups that include every agent are played; with more, all groups of that many
agents. Each line-up has its own deal and plays it in every rotation. `--games` is rounded up to whole cycles: every
line-up once, in all its rotations. Run the same command again to continue after a stop, or with more games to extend
the tournament.

`--control-variate` adds win rates that are corrected for the luck of tokens, bot tiles and known random actions, and
`--redraws N` plays each game N more times, which are not recorded, with other tokens and bot tiles. Both estimates are
unbiased. The effective number of games says how many independent games would be as exact; see docs/evaluation.md.

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
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from typing import Any, Final

from symphony9_env import __version__, agents, records
from symphony9_env.agents import AgentFailed
from symphony9_env.agents.base import derive_agent_seed
from symphony9_env.agents.external import TIMEOUT, TIMEOUT_HELP
from symphony9_env.arena.console import format_command, format_interval, format_percent, format_table, positive_int
from symphony9_env.arena.game_loop import MAX_CHUNK, ChunkSizes, WorkerPool
from symphony9_env.arena.game_players import AgentRecipe, TournamentPlayer
from symphony9_env.arena.game_run import GameRun, Monitor
from symphony9_env.arena.matches import LINEUP_KINDS, DealSchedule, Schedule
from symphony9_env.arena.report import make_report
from symphony9_env.arena.results import (
    ControlVariateResult,
    GameData,
    GateResult,
    MatchResult,
    Results,
    WinResult,
    summarise,
)
from symphony9_env.arena.tournament_folder import TournamentFolder
from symphony9_env.arena.worker_pools import THREADS_HELP, LocalPool, add_worker_arguments, open_pool
from symphony9_env.arguments import Parser, add_variant_arguments, read_variant, split_names
from symphony9_env.files import make_folder, write_text
from symphony9_env.options import Variant, check_seed
from symphony9_env.records import Record
from symphony9_env.replay.html_export import make_page
from symphony9_env.replay.replay_data import read_replays
from symphony9_env.setup_format import hash_box, pack_box

NO_SETTINGS: Final[Mapping[str, Any]] = {}
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
    parser.add_argument(
        "--control-variate", action="store_true", help="also estimate win rates of lower variance, corrected for luck"
    )
    parser.add_argument(
        "--redraws",
        type=int,
        metavar="N",
        help="for the control variate, play each game N more times with other tokens and bot tiles (default: 0)",
    )
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
        redraws: int | None = None,
        more_settings: Mapping[str, Any] = NO_SETTINGS,
        pool: WorkerPool | None = None,
        schedule: DealSchedule | None = None,
    ) -> None:
        """`redraws` is how often each game is played again for a control variate; None for no control variate.

        The `schedule` is by default that of the `kind` of line-ups; one of your own needs a kind of its own.
        `more_settings` are kept with the tournament's own, and may not change when it is continued either.
        """
        player = TournamentPlayer(recipes, variant, num_records, redraws)
        self.control = player.control
        self.names = player.names
        self.variant = variant
        self.schedule = schedule or Schedule(len(recipes), variant.num_players, check_seed(seed), kind)
        settings = {
            "version": __version__,
            "agents": self.names,
            "fingerprints": player.fingerprints,
            **variant.as_json(),
            "box": hash_box(pack_box(variant)),
            "lineups": kind,
            "seed": seed,
            "control_variate": redraws,
            **more_settings,
        }
        super().__init__(player, lambda: TournamentFolder(out, settings), pool or LocalPool())

    @property
    def num_played(self) -> int:
        """The number of games in the folder."""
        return len(self.folder.items) // self.variant.num_players

    def play(self, num_games: int, monitor: Monitor | None = None) -> None:
        """Play up to this many games, in chunks of about two seconds that are saved as soon as it is their turn.

        `monitor` is asked after each chunk whether to stop, and what to show beside the progress.
        """
        wanted = self.schedule.round_up_to_cycles(num_games)
        is_slow = self.player.is_external
        try:
            sizes = ChunkSizes() if is_slow else ChunkSizes(self.variant.num_players, MAX_CHUNK)
            self.play_up_to(wanted, sizes, monitor)
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
        redraws = self.control.redraws if self.control and not self._find_obstacle() else None
        names = [name for name in self.names if name in played]
        return GameData(self.folder.items, names, self.variant.num_players, redraws)

    def _find_obstacle(self) -> str | None:
        """Return why the win rates of the games so far are not adjusted, if there is a reason."""
        deals = {row["deal"] for row in self.folder.items}
        return self.control.find_obstacle(len(deals)) if self.control else None

    def results(self) -> Results:
        """Return the results of the games played so far."""
        results = summarise(self.games(), self.folder.settings)
        if self.control:
            results["control_variate"] = {"redraws": self.control.redraws, "actions": self.control.describe()}
            if obstacle := self._find_obstacle():
                results["control_variate"]["disabled"] = obstacle
        return results

    def finish(self, command: str, gate: GateResult | None = None) -> Results:
        """Write results.json, report.html and, if there are records, watch.html; return the results.

        `gate` is the result of a sequential test of these games.
        """
        results: Results = {**self.results(), "command": command}
        if gate:
            results["gate"] = gate
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
            f"{match['effective_games']:.0f}",
            *_format_adjusted(match),
        ]
        for match in matches
    ]
    head = [title, "win rate", "95 %", "games", "effective"]
    return format_table([*head, *_adjusted_head(matches)], rows)


def _format_adjusted(wins: WinResult) -> list[str]:
    """Return the cells of an adjusted win rate; none without one."""
    if "adjusted" not in wins:
        return []
    one = wins["adjusted"]
    interval = format_interval(one["win_rate_95"], format_percent)
    return [format_percent(one["win_rate"]), interval, f"{one['effective_games']:.0f}"]


def _adjusted_head(wins: Iterable[WinResult]) -> list[str]:
    return ["adjusted", "95 %", "effective"] if any("adjusted" in one for one in wins) else []


def _format_control_variate(control: ControlVariateResult) -> str:
    """Return what the adjusted win rates are corrected for, or why there are none."""
    if "disabled" in control:
        return f"win rates are not adjusted: {control['disabled']}"
    parts = [f"actions of {name}: {about}" for name, about in control["actions"].items()]
    return "\n".join(
        [f"adjusted for the luck of tokens and bot tiles; redraws of each game: {control['redraws']}", *parts]
    )


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
            f"{one['effective_games']:.0f}",
            *_format_adjusted(one),
        ]
        for name, one in sorted(results["agents"].items(), key=lambda item: -item[1]["rating"])
    ]
    head = ["agent", "rating", "95 %", "win rate", "95 %", "points", "games", "effective"]
    text = format_table([*head, *_adjusted_head(results["agents"].values())], rows)
    text += f"\npar, the win rate among equals: {format_percent(results['par'])}"
    if "control_variate" in results:
        text += "\n" + _format_control_variate(results["control_variate"])
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
    redraws = chosen.redraws or 0 if chosen.control_variate or chosen.redraws else None
    given = {"seed": chosen.seed, "kind": chosen.lineups, "num_records": chosen.records, "redraws": redraws}
    with (
        open_pool(chosen.workers, chosen.address, named, chosen.num_threads) as pool,
        Tournament(recipes, variant, chosen.out, **given, pool=pool) as tournament,
    ):
        stopped = play_until_stopped(tournament, chosen.games)
        print(format_results(tournament.finish(format_command(prog, arguments))))
    path = tournament.folder.path
    files = [name for name in ("results.json", "games.csv", "records/", "watch.html") if (path / name).exists()]
    print(f"\n{path / 'report.html'} (open it in a browser); beside it: {', '.join(files)}")
    if stopped is not None:
        raise stopped


def play_until_stopped(tournament: Tournament, num_games: int) -> KeyboardInterrupt | None:
    """Play, and return how it was stopped, if it was; raise that if no game was finished."""
    wanted = tournament.schedule.round_up_to_cycles(num_games)
    print(f"{wanted} games: cycles of {tournament.schedule.describe_cycle()}; {tournament.num_played} already played")
    try:
        tournament.play(num_games)
    except KeyboardInterrupt as stopped:
        print(f"\nstopped: {tournament.describe_kept(wanted)}", file=sys.stderr)
        if tournament.num_played == 0:
            raise
        return stopped
    return None
