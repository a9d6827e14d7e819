"""Play agents against each other on duplicate deals; compute ratings and intervals, and write a report.

    symphony9 tournament --agents random,greedy,investor,planner --num-players 4 --games 1000 --out runs/all
    symphony9 tournament --agents planner,search:100 --num-players 2 --games 400 --out runs/search
    symphony9 tournament --agents planner,greedy --lineups one-against-rest --games 800 --out runs/one
    symphony9 tournament --agents planner,policy --num-players 2 --control-variate --redraws 3 --out runs/exact
    symphony9 tournament --agents planner,my_policy.safetensors --num-players 3 --out runs/mine
    symphony9 tournament --agents planner,mine=path/to/my_agent.py:decide --num-players 2 --out runs/own
    symphony9 tournament --agents planner --agent "stdio:python agent.py --levels 1,2" --num-players 2 --out runs/levels

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
"""

from __future__ import annotations

import json
import re
import sys
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final, Self

from symphony9_env import __version__, agents, records
from symphony9_env.agents import Agent, AgentFailed, ExternalAgent
from symphony9_env.agents.base import derive_agent_seed
from symphony9_env.agents.external import TIMEOUT, TIMEOUT_HELP
from symphony9_env.arena.console import (
    NO_NOTES,
    format_command,
    format_interval,
    format_percent,
    format_table,
    positive_int,
    show_progress,
)
from symphony9_env.arena.control_variate import ControlVariate
from symphony9_env.arena.games_csv import make_game_record, make_rows
from symphony9_env.arena.matches import LINEUP_KINDS, Schedule, play
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
from symphony9_env.arena.tournament_folder import Folder
from symphony9_env.arguments import Parser, add_variant_arguments, read_variant, split_names
from symphony9_env.files import make_folder, write_text
from symphony9_env.options import Variant, check_seed
from symphony9_env.records import Record
from symphony9_env.replay.html_export import make_page
from symphony9_env.replay.replay_data import read_replays
from symphony9_env.setup_format import hash_box, pack_box

# Returns whether to stop, and what to show beside the progress.
Monitor = Callable[[], tuple[bool, Mapping[str, str]]]

NO_SETTINGS: Final[Mapping[str, Any]] = {}
BATCH_SECONDS: Final = 2.0  # how long a batch should take: what a kill may lose, and how often the bar moves
MAX_BATCH: Final = 4096
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
    parser.add_argument("--num-threads", type=positive_int, default=1, help="threads for search (default: 1)")
    parser.add_argument("--timeout", type=float, default=TIMEOUT, help=TIMEOUT_HELP)
    add_variant_arguments(parser)
    return parser


def _never_stop() -> tuple[bool, Mapping[str, str]]:
    return False, NO_NOTES


def make_agents(
    named: Sequence[str], num_players: int, seed: int, num_threads: int, timeout: float = TIMEOUT
) -> list[Agent]:
    """Return the agents of a list of names, each with a seed of its own."""
    made: list[Agent] = []
    for number, name in enumerate(named):
        agent = agents.make(name, seed=derive_agent_seed(seed, number), num_threads=num_threads, timeout=timeout)
        agent.check_players(num_players)
        if agent.name in [other.name for other in made]:
            raise ValueError(f"agent {agent.name!r} is named twice; label one, as in other={agent.spec}")
        made.append(agent)
    return made


class Tournament:
    """A tournament in a folder: plays the games that are missing, and summarises those that are there.

    The folder is locked until `close`.
    """

    def __init__(
        self,
        players: list[Agent],
        variant: Variant,
        out: str,
        *,
        seed: int,
        kind: str = "all",
        num_records: int = 12,
        redraws: int | None = None,
        more_settings: Mapping[str, Any] = NO_SETTINGS,
    ) -> None:
        """`redraws` is how often each game is played again for a control variate; None for no control variate.

        `more_settings` are kept with the tournament's own, and may not change when it is continued either.
        """
        self.control = None if redraws is None else ControlVariate(players, variant, redraws)
        self.players = players
        self.names = [agent.name for agent in players]
        self.variant = variant
        self.schedule = Schedule(len(players), variant.num_players, check_seed(seed), kind)
        self.num_records = num_records
        own_settings = self._settings(seed, kind)
        self.folder = Folder(out, {**own_settings, "control_variate": redraws, **more_settings})

    def _settings(self, seed: int, kind: str) -> dict[str, Any]:
        """Return what may not change when a tournament is continued."""
        return {
            "version": __version__,
            "agents": self.names,
            "fingerprints": [agent.fingerprint(self.variant.num_players) for agent in self.players],
            **self.variant.as_json(),
            "box": hash_box(pack_box(self.variant)),
            "lineups": kind,
            "seed": seed,
        }

    @property
    def num_played(self) -> int:
        """The number of games in the folder."""
        return len(self.folder.rows) // self.variant.num_players

    def play(self, num_games: int, monitor: Monitor | None = None) -> None:
        """Play up to this many games, in batches of about two seconds that are saved as soon as they are over.

        `monitor` is asked after each batch whether to stop, and what to show beside the progress.
        """
        wanted = self.schedule.round_up_to_cycles(num_games)
        try:
            self._play_batches(wanted, monitor or _never_stop)
        except AgentFailed as failure:
            kept = f"{self.num_played} of {wanted} games are kept, and the same command continues"
            rest = f"{kept} if the agents are unchanged" if self.num_played else "no game was finished"
            raise ValueError(f"{failure}; {rest}") from failure
        finally:
            self._close_agents()

    def _close_agents(self) -> None:
        for agent in self.players:
            agent.close()

    def close(self) -> None:
        """End the agents and unlock the folder."""
        self._close_agents()
        self.folder.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def _play_batches(self, wanted: int, monitor: Monitor) -> None:
        # Games with agents outside this package may take long: each is saved as soon as it is over.
        is_external = any(isinstance(agent, ExternalAgent) for agent in self.players)
        smallest, largest = (1, 1) if is_external else (self.variant.num_players, MAX_BATCH)
        batch = smallest
        with show_progress(wanted, self.num_played) as advance:
            while self.num_played < wanted and not monitor()[0]:
                begun = time.perf_counter()
                numbers = range(self.num_played, min(self.num_played + batch, wanted))
                self._play_batch(numbers)
                advance(len(numbers), monitor()[1])
                passed = time.perf_counter() - begun
                batch = max(smallest, min(2 * batch, largest, int(batch * BATCH_SECONDS / passed)))

    def _play_batch(self, numbers: range) -> None:
        played = play([self.schedule.game(number) for number in numbers], self.players, self.variant)
        for one in played:
            if one.game.number < self.num_records:
                folder = make_folder(self.folder.path / "records")
                seated = [self.players[agent] for agent in one.game.agents]
                players = [{"name": agent.name, "agent": agent.spec or agent.name} for agent in seated]
                record = Record({**make_game_record(one), "players": players})
                write_text(folder / f"game-{one.game.number}.json", records.dumps(record) + "\n")
        rows = [row for one in played for row in make_rows(one, self.names)]
        if self.control:
            self.control.extend_rows(played, rows)
        self.folder.add(rows)

    def games(self) -> GameData:
        """Return the games played so far, without agents that have not played yet (after a stop)."""
        played = {line["agent"] for line in self.folder.rows}
        redraws = self.control.redraws if self.control and not self._find_obstacle() else None
        names = [name for name in self.names if name in played]
        return GameData(self.folder.rows, names, self.variant.num_players, redraws)

    def _find_obstacle(self) -> str | None:
        """Return why the win rates of the games so far are not adjusted, if there is a reason."""
        deals = {row["deal"] for row in self.folder.rows}
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
    players = make_agents(named, variant.num_players, check_seed(chosen.seed), chosen.num_threads, chosen.timeout)
    redraws = chosen.redraws or 0 if chosen.control_variate or chosen.redraws else None
    given = {"seed": chosen.seed, "kind": chosen.lineups, "num_records": chosen.records, "redraws": redraws}
    made = Tournament(players, variant, chosen.out, **given)
    with made as tournament:
        stopped = _play(tournament, chosen.games)
        print(format_results(tournament.finish(format_command(prog, arguments))))
    path = tournament.folder.path
    files = [name for name in ("results.json", "games.csv", "records/", "watch.html") if (path / name).exists()]
    print(f"\n{path / 'report.html'} (open it in a browser); beside it: {', '.join(files)}")
    if stopped:
        raise KeyboardInterrupt


def _play(tournament: Tournament, num_games: int) -> bool:
    """Play, and return whether Ctrl-C stopped it; raise KeyboardInterrupt if no game was finished."""
    wanted = tournament.schedule.round_up_to_cycles(num_games)
    lineups, seats = len(tournament.schedule.lineups), tournament.variant.num_players
    print(f"{wanted} games: cycles of {lineups} line-ups × {seats} rotations; {tournament.num_played} already played")
    try:
        tournament.play(num_games)
    except KeyboardInterrupt:
        kept = f"{tournament.num_played} of {wanted} games are kept"
        print(f"\nstopped: {kept}, and the same command continues", file=sys.stderr)
        if tournament.num_played == 0:
            raise
        return True
    return False
