"""Evaluate an agent on a benchmark task and print its row.

    symphony9 benchmark --task 4p --agent planner
    symphony9 benchmark --task 2p --agent my_policy.safetensors --out runs/bench-mine
    symphony9 benchmark --task 4p --agent path/to/my_agent.py:decide
    symphony9 benchmark --task 3p-discussion --agent "stdio:python my_agent.py" --timeout 30
    symphony9 benchmark --task 4p --agent mine=http://localhost:8000/decide --lite
    symphony9 benchmark --list

The agent has one seat and an opponent all the others, in every seat, on deals that the protocol fixes. The score is
the mean of its win rates; a shared win counts its share. docs/agents.md describes the messages that an agent of your
own receives. If it gives no legal action in three answers, times out or dies, it forfeits that game: the game ends and
counts as lost. Ctrl-C stops the evaluation, and the same command continues it if the agent is unchanged.
"""

from __future__ import annotations

import json
import re
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
from tqdm import tqdm

from symphony9_env import __version__, agents
from symphony9_env.agents import ExternalAgent
from symphony9_env.agents.external import MAX_ANSWERS, TIMEOUT, TIMEOUT_HELP
from symphony9_env.arena.console import format_interval, format_percent, format_table
from symphony9_env.arena.matches import PlayedGame, Schedule, ScheduledGame, play
from symphony9_env.arena.ratings import win_rate
from symphony9_env.arena.settings_file import check_settings
from symphony9_env.arguments import Parser
from symphony9_env.components import PLAYER_COUNTS
from symphony9_env.files import make_folder, write_text
from symphony9_env.options import EnvOptions, make_options

PROTOCOL: Final = "symphony9-benchmark/1"
PROG: Final = "python -m evaluation.benchmark"
OPPONENTS: Final = ("greedy", "planner", "policy")
GAMES: Final = 240  # against each opponent: whole rotations with two, three and four players
LITE_GAMES: Final = 24
SEED: Final = 271_828_182  # of the deals; train on others
BATCH_SIZE: Final = 60  # games played side by side; one for agents outside this package, so that each is saved at once

KINDS: Final[dict[str, dict[str, Any]]] = {
    "": {},
    "-first": {"tracks": "historical", "scoring": "A"},
    "-full": {"tracks": "random", "scoring": "random"},
    "-ledger": {"ledger": True},
    "-discussion": {"discussion": True},
}
TASKS: Final[dict[str, EnvOptions]] = {
    f"{count}p{kind}": make_options(num_players=count, **changes)
    for kind, changes in KINDS.items()
    for count in PLAYER_COUNTS
}


@dataclass(frozen=True)
class GameOutcome:
    """The result of one game for the agent."""

    game: int
    opponent: str
    deal: int
    win_share: float
    score: float | None
    forfeit: str | None  # why it forfeited the game, if it did


class Benchmark:
    """The evaluation of one agent on one task, in a folder: its settings, and one line for each game played."""

    def __init__(self, task: str, agent: str, out: Path, *, lite: bool, timeout: float) -> None:
        self.options = TASKS[task]
        self.out = out
        self.num_games = LITE_GAMES if lite else GAMES
        self.opponents = {name: agents.make(name, seed=SEED) for name in OPPONENTS}
        self.agent = agents.make(agent, seed=SEED + 1, timeout=timeout, log=out / "agent.log")
        num_players = self.options.num_players
        self.agent.check_players(num_players)
        self.settings = {
            "protocol": PROTOCOL,
            "task": task,
            "agent": self.agent.name,
            "agent_fingerprint": self.agent.fingerprint(num_players),
            "opponents": {name: opponent.fingerprint(num_players) for name, opponent in self.opponents.items()},
            "games": self.num_games,
            "seed": SEED,
            "max_answers": MAX_ANSWERS,
            "timeout": timeout,
        }
        self._file = self.out / "games.jsonl"
        self.outcomes = self._read_outcomes()

    def _read_outcomes(self) -> list[GameOutcome]:
        """Return the games played so far; raise a ValueError if the folder holds another evaluation."""
        file = make_folder(self.out) / "benchmark.json"
        text = self._file.read_text() if self._file.exists() else ""
        complete = text[: text.rfind("\n") + 1]
        check_settings(file, self.settings, self._file, has_games=bool(complete), what="evaluation")
        if complete != text:  # the program was killed while it wrote the last line
            write_text(self._file, complete)
        return [GameOutcome(**json.loads(line)) for line in complete.splitlines()]

    def games(self) -> list[tuple[str, ScheduledGame]]:
        """Return all games of the task in order, each with its opponent."""
        schedule = Schedule(2, self.options.num_players, SEED, "first-against-rest")
        return [(name, schedule.game(number)) for name in OPPONENTS for number in range(self.num_games)]

    def play(self) -> None:
        """Play the games that are missing, and write every batch of them when it is over."""
        games = self.games()
        with self.agent, tqdm(total=len(games), initial=len(self.outcomes), unit=" games", disable=None) as bar:
            while len(self.outcomes) < len(games):
                outcomes = self._play_batch(games, len(self.outcomes))
                self._add(outcomes)
                bar.update(len(outcomes))

    def _play_batch(self, games: list[tuple[str, ScheduledGame]], first: int) -> list[GameOutcome]:
        """Play the next games against one opponent."""
        opponent = games[first][0]
        size = 1 if isinstance(self.agent, ExternalAgent) else BATCH_SIZE
        batch = [game for name, game in games[first : first + size] if name == opponent]
        pair, options = [self.agent, self.opponents[opponent]], self.options
        played = play(batch, pair, options.variant, ledger=options.ledger, may_forfeit=True)
        return [_make_outcome(number, opponent, one) for number, one in enumerate(played, first)]

    def _add(self, outcomes: list[GameOutcome]) -> None:
        self.outcomes += outcomes
        with self._file.open("a") as file:
            file.writelines(json.dumps(vars(outcome)) + "\n" for outcome in outcomes)
        for outcome in outcomes:
            if outcome.forfeit is not None:
                tqdm.write(f"game {outcome.game}: forfeited: {outcome.forfeit}", file=sys.stderr)

    def results(self) -> dict[str, Any]:
        """Return the row: win rates with intervals by opponent, their mean, and the number of forfeited games."""
        by_opponent = {}
        for name in OPPONENTS:
            own = [outcome for outcome in self.outcomes if outcome.opponent == name]
            estimate = win_rate(np.array([one.win_share for one in own]), np.array([one.deal for one in own]))
            by_opponent[name] = {"win_rate": estimate.value, "win_rate_95": estimate.interval()}
        return {
            **self.settings,
            "package": __version__,
            "par": 1 / self.options.num_players,
            "score": float(np.mean([row["win_rate"] for row in by_opponent.values()])),
            "against": by_opponent,
            "forfeits": sum(outcome.forfeit is not None for outcome in self.outcomes),
        }


def _make_outcome(number: int, opponent: str, played: PlayedGame) -> GameOutcome:
    if played.forfeit is not None:
        return GameOutcome(number, opponent, played.game.deal, 0.0, None, played.forfeit)
    line = played.score_line(0)
    return GameOutcome(number, opponent, played.game.deal, line.win_share, line.total, None)


def format_results(results: dict[str, Any]) -> str:
    """Return the row as text: win rates by opponent, and a Markdown table of one row."""
    rows = [
        [name, format_percent(row["win_rate"]), format_interval(row["win_rate_95"], format_percent)]
        for name, row in results["against"].items()
    ]
    cells = [results["task"], results["agent"], format_percent(results["score"])]
    cells += [format_percent(row["win_rate"]) for row in results["against"].values()]
    cells += [str(results["games"]), str(results["forfeits"])]
    head = ["task", "agent", "score", *results["against"], "games each", "forfeits"]
    markdown = [head, ["---"] * len(head), cells]
    return (
        f"{results['protocol']}, task {results['task']}, {results['games']} games against each, "
        f"par {format_percent(results['par'])}\n{format_table(['alone against', 'win rate', '95 %'], rows)}\n\n"
        f"score {format_percent(results['score'])}, forfeited games {results['forfeits']}\n\n"
        + "\n".join(f"| {' | '.join(row)} |" for row in markdown)
    )


def make_parser(prog: str) -> Parser:
    """Return the parser of the command line."""
    parser = Parser(prog, (__doc__ or "").replace("symphony9 benchmark", prog))
    parser.add_argument("--task", help=f"one of {', '.join(TASKS)}")
    parser.add_argument("--agent", help=f"the agent to evaluate: {agents.list_allowed()}")
    parser.add_argument(
        "--lite", action="store_true", help=f"{LITE_GAMES} games against each, not {GAMES}; a row of its own"
    )
    parser.add_argument("--timeout", type=float, default=TIMEOUT, help=TIMEOUT_HELP)
    parser.add_argument("--out", help="folder for the settings, games and results (default: runs/benchmark-…)")
    parser.add_argument("--list", action="store_true", help="list the tasks")
    return parser


def main(arguments: list[str] | None = None, prog: str = PROG) -> None:
    """Run the command."""
    chosen = make_parser(prog).parse_args(arguments)
    if chosen.list:
        print(list_tasks())
        return
    if not chosen.agent or not chosen.task:
        raise ValueError("--agent and --task are needed; --list lists the tasks")
    if chosen.task not in TASKS:
        raise ValueError(f"--task {chosen.task}; allowed: {', '.join(TASKS)}")
    label = re.sub(r"[^A-Za-z0-9.]+", "-", chosen.agent).strip("-")[-60:]
    out = Path(chosen.out or f"runs/benchmark-{chosen.task}-{label}{'-lite' if chosen.lite else ''}")
    benchmark = Benchmark(chosen.task, chosen.agent, out, lite=chosen.lite, timeout=chosen.timeout)
    try:
        benchmark.play()
    except KeyboardInterrupt:
        print(
            f"stopped after {len(benchmark.outcomes)} games; the same command continues if the agent is unchanged",
            file=sys.stderr,
        )
        raise
    results = benchmark.results()
    write_text(out / "results.json", json.dumps(results, indent=2) + "\n")
    print(format_results(results))
    print(f"\n{out / 'results.json'}; every game: {out / 'games.jsonl'}")


def list_tasks() -> str:
    """Return the tasks as a text table."""
    rows = [
        [
            name,
            options.num_players,
            options.variant.tracks,
            options.variant.scoring,
            "yes" if options.ledger else "no",
            "yes" if options.variant.discussion else "no",
        ]
        for name, options in TASKS.items()
    ]
    return format_table(["task", "players", "tracks", "scoring sides", "ledger", "discussion"], rows)
