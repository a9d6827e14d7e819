"""Evaluate an agent on a benchmark task and print its row.

    symphony9 benchmark --task 4p --agent planner
    symphony9 benchmark --task 2p --agent my_policy.safetensors --out runs/bench-mine
    symphony9 benchmark --task 4p --agent path/to/my_agent.py:decide
    symphony9 benchmark --task 3p-discussion --agent "stdio:python my_agent.py" --timeout 30
    symphony9 benchmark --task 4p --agent mine=http://localhost:8000/decide --lite
    symphony9 benchmark --task 4p --agent search:800 --workers 8
    symphony9 benchmark --task 4p --agent search:800 --address HOST:6379
    symphony9 benchmark --verify runs/bench-mine
    symphony9 benchmark --list

The agent has one seat and an opponent all the others, in every seat. The deals follow from a secret salt that each run
draws for itself; it is published in results.json at the end, and `--verify` plays all games again. The score is the
mean of its win rates; a shared win counts its share. docs/agents.md describes the messages that an agent of your own
receives. If it gives no legal action in three answers, times out or dies, it forfeits that game: the game ends and
counts as lost. Ctrl-C stops the evaluation, and the same command continues it if the agent is unchanged.

The games are played by several processes, one for each core, or by those of a Ray cluster (`--address`). Neither their
number nor the loss of some changes the games of a salt. Each has an agent of its own; an agent that is a process or a
web address is used by one worker, unless you say `--workers N`.
"""

from __future__ import annotations

import argparse
import json
import re
import secrets
import sys
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, Final

import numpy as np
from tqdm import tqdm

from symphony9_env import __version__, agents
from symphony9_env.agents import ExternalAgent
from symphony9_env.agents.external import MAX_ANSWERS, TIMEOUT, TIMEOUT_HELP
from symphony9_env.agents.transports import FunctionTransport
from symphony9_env.arena.benchmark_games import GameOutcome, derive_key, plan_game, read_outcomes
from symphony9_env.arena.console import format_interval, format_percent, format_table
from symphony9_env.arena.game_loop import ChunkSizes, WorkerPool
from symphony9_env.arena.game_players import AgentRecipe, BenchmarkPlayer
from symphony9_env.arena.game_run import GameRun
from symphony9_env.arena.ratings import win_rate
from symphony9_env.arena.run_folder import RunFolder, folder_error, read_settings
from symphony9_env.arena.worker_pools import LocalPool, add_worker_arguments, open_pool
from symphony9_env.arguments import Parser
from symphony9_env.components import PLAYER_COUNTS
from symphony9_env.files import write_text
from symphony9_env.options import EnvOptions, make_options
from symphony9_env.suggestions import show

PROTOCOL: Final = "symphony9-benchmark/3"
PROG: Final = "python -m evaluation.benchmark"
OPPONENTS: Final = ("greedy", "planner", "policy")
GAMES: Final = 240  # against each opponent; every seat as often
LITE_GAMES: Final = 24
AGENT_SEED: Final = 0  # of the agent; it tells nothing about the deals
SALT_BYTES: Final = 16
SALT: Final = re.compile("(?:[0-9a-f]{2}){1,64}")
SALT_RULE: Final = "allowed: 1 to 64 bytes, each as two of the digits 0-9 and a-f"
MAX_SILENT_GAMES: Final = 3  # in a row without a legal answer, until the evaluation stops

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


class BenchmarkFolder(RunFolder[GameOutcome]):
    """The folder of one evaluation; its items are the games."""

    user = "benchmark"
    what = "evaluation"
    settings_name = "benchmark.json"
    games_name = "games.jsonl"

    def _parse(self, text: str) -> tuple[list[GameOutcome], bool]:
        return read_outcomes(text, self.games, list_opponents(self.settings["games"])), True

    def _format(self, items: Sequence[GameOutcome]) -> str:
        return "".join(outcome.as_line() for outcome in items)


class Benchmark(GameRun[BenchmarkFolder]):
    """The evaluation of one agent on one task, in a folder: its settings, and one line for each game played.

    The folder is locked until `close`. The salt is in no file before the end, because the agent could read it there,
    and in no worker. After a stop, the games that are missing get a new one. The games are played in this process
    unless a pool of workers is given.
    """

    def __init__(
        self,
        task: str,
        agent: str,
        out: Path,
        *,
        lite: bool,
        timeout: float,
        salt: str | None = None,
        pool: WorkerPool | None = None,
    ) -> None:
        self.options = TASKS[task]
        recipe = AgentRecipe(agent, AGENT_SEED, timeout=timeout, log=str(out / "agent.log"), isolate=True)
        player = BenchmarkPlayer([recipe], self.options.variant, self.options.ledger)
        self.agent = player.agents[0]
        self.settings = self._make_settings(task, player.fingerprints[0], lite, timeout, salt)
        super().__init__(player, lambda: BenchmarkFolder(out, self.settings), pool or LocalPool())
        self._opponents = list_opponents(self.settings["games"])
        self._salt = salt or secrets.token_hex(SALT_BYTES)
        self._has_one_salt = salt is not None or not self.outcomes
        self._silent: list[GameOutcome] = []
        self._is_agent_new = True  # it has not played yet, or forfeited the last game and was started again

    def _make_settings(
        self, task: str, fingerprint: str, lite: bool, timeout: float, salt: str | None
    ) -> dict[str, Any]:
        """Return what may not change when an evaluation is continued."""
        return {
            "protocol": PROTOCOL,
            "task": task,
            "agent": self.agent.name,
            "agent_fingerprint": fingerprint,
            "agent_is_verified": is_verified(self.agent),
            "trusted": not is_isolated(self.agent),
            "opponents": fingerprint_opponents(self.options.num_players),
            "games": LITE_GAMES if lite else GAMES,
            "private": salt is None,
            "salt": salt,
            "max_answers": MAX_ANSWERS,
            "timeout": timeout,
        }

    @property
    def outcomes(self) -> list[GameOutcome]:
        """The games in the folder."""
        return self.folder.items

    @property
    def num_played(self) -> int:
        """The number of games in the folder."""
        return len(self.outcomes)

    @property
    def total(self) -> int:
        """The number of games of the evaluation."""
        return len(self._opponents)

    def play(self) -> None:
        """Play the games that are missing, and store each when it is over and those before it are stored.

        Games that the agent forfeits without one legal answer are stored only when it answers again: a program that
        doesn't run says nothing about how it plays. After three of them in a row, raise a ValueError.
        """
        self._silent, self._is_agent_new = [], True
        self.play_up_to(self.total, ChunkSizes())
        self._add(self._silent)

    def plan(self, number: int) -> dict[str, Any]:
        key = derive_key(self._salt, number)
        return asdict(plan_game(number, key, self._opponents[number], self.options.num_players))

    def save(self, first: int, results: list[Any]) -> None:
        for number, result in enumerate(results, first):
            outcome = GameOutcome(**{**result["outcome"], "key": derive_key(self._salt, number)})
            if result["is_unanswered"] and self._is_agent_new:
                self._silent.append(outcome)
                self._check_silence()
            else:
                self._add([*self._silent, outcome])
                self._silent = []
            self._is_agent_new = outcome.forfeit is not None

    def _check_silence(self) -> None:
        if len(self._silent) == MAX_SILENT_GAMES:
            raise ValueError(
                f"agent {self.agent.name!r} {self._silent[-1].forfeit}; stopped, because it gave no legal answer in "
                f"{len(self._silent)} games in a row; these are not stored"
            )

    def _add(self, outcomes: list[GameOutcome]) -> None:
        if outcomes:
            self.folder.add(outcomes)
        for outcome in outcomes:
            if outcome.forfeit is not None:
                tqdm.write(f"game {outcome.game}: forfeited: {outcome.forfeit}", file=sys.stderr)

    def results(self) -> dict[str, Any]:
        """Return the row, with the salt if all games were dealt with the same one."""
        row = summarise(self.outcomes, self.options.num_players)
        return {**self.settings, "package": __version__, **row, "salt": self._salt if self._has_one_salt else None}

    def run(self) -> dict[str, Any]:
        """Play what is missing, write results.json and return the row; if nothing is missing, return the stored row."""
        file = self.folder.path / "results.json"
        if len(self.outcomes) == self.total:
            known = "" if self.settings["agent_is_verified"] else " as far as its name tells; its code was not verified"
            print(
                f"already finished, nothing was played: the agent is unchanged{known}; choose another --out, or "
                f"delete {self.folder.path}, to play again",
                file=sys.stderr,
            )
            if file.exists():
                return self._read_results(file)
        self.play()
        results = self.results()
        write_text(file, json.dumps(results, indent=2) + "\n")
        return results

    def _read_results(self, file: Path) -> dict[str, Any]:
        """Return the stored row of a finished evaluation; raise a ValueError if it is not that of its games."""
        stored = read_settings(file, "evaluation")
        for name, value in self.results().items():
            if name not in ("package", "salt") and stored.get(name) != value:
                reason = f"{file.name}: {name} is {show(stored.get(name))}; expected {show(value)}"
                raise folder_error(self.folder.path, reason)
        return stored


def find_task(name: str) -> EnvOptions:
    """Return the options of a task; raise a ValueError if there is none of this name."""
    if name not in TASKS:
        raise ValueError(f"--task {name}; allowed: {', '.join(TASKS)}")
    return TASKS[name]


def check_salt(salt: str | None) -> None:
    """Raise a ValueError if a salt is given that is none."""
    if salt is not None and not (isinstance(salt, str) and SALT.fullmatch(salt)):
        raise ValueError(f"--salt {salt}; {SALT_RULE}")


def is_isolated(agent: agents.Agent) -> bool:
    """Return whether an agent runs outside this program, so that it can't read the games in its memory."""
    return isinstance(agent, ExternalAgent) and not isinstance(agent.transport, FunctionTransport)


def is_verified(agent: agents.Agent) -> bool:
    """Return whether an agent's fingerprint changes with its code; not so for an address or a command without files."""
    return not isinstance(agent, ExternalAgent) or bool(agent.transport.fingerprint())


def list_opponents(num_games: int) -> list[str]:
    """Return the opponent of each game of an evaluation, with so many games against each."""
    return [name for name in OPPONENTS for _ in range(num_games)]


def fingerprint_opponents(num_players: int) -> dict[str, str]:
    """Return what identifies the behaviour of each opponent."""
    return {name: agents.make(name, seed=0).fingerprint(num_players) for name in OPPONENTS}


def summarise(outcomes: list[GameOutcome], num_players: int) -> dict[str, Any]:
    """Return the row: win rates with intervals by opponent, their mean, and the number of forfeited games."""
    by_opponent = {}
    for name in OPPONENTS:
        own = [outcome for outcome in outcomes if outcome.opponent == name]
        estimate = win_rate(np.array([one.win_share for one in own]), np.array([one.game for one in own]))
        by_opponent[name] = {"win_rate": estimate.value, "win_rate_95": estimate.interval()}
    return {
        "par": 1 / num_players,
        "score": float(np.mean([row["win_rate"] for row in by_opponent.values()])),
        "against": by_opponent,
        "forfeits": sum(outcome.forfeit is not None for outcome in outcomes),
    }


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
    add_worker_arguments(parser)
    parser.add_argument("--timeout", type=float, default=TIMEOUT, help=TIMEOUT_HELP)
    parser.add_argument("--out", help="folder for the settings, games and results (default: runs/benchmark-…)")
    parser.add_argument("--salt", help="hexadecimal salt of the deals, to play those of another run; marked in the row")
    parser.add_argument("--verify", metavar="FOLDER", help="play the games of a finished evaluation again and compare")
    parser.add_argument("--list", action="store_true", help="list the tasks")
    return parser


def main(arguments: list[str] | None = None, prog: str = PROG) -> None:
    """Run the command."""
    chosen = make_parser(prog).parse_args(arguments)
    if chosen.list:
        print(list_tasks())
    elif chosen.verify is not None:
        from symphony9_env.arena.benchmark_verification import verify  # late: it imports this module

        print(verify(Path(chosen.verify)))
    else:
        _evaluate(chosen)


def _evaluate(chosen: argparse.Namespace) -> None:
    if not chosen.agent or not chosen.task:
        raise ValueError("--agent and --task are needed; --list lists the tasks")
    find_task(chosen.task)
    check_salt(chosen.salt)
    label = re.sub(r"[^A-Za-z0-9.]+", "-", chosen.agent).strip("-")[-60:]
    out = Path(chosen.out or f"runs/benchmark-{chosen.task}-{label}{'-lite' if chosen.lite else ''}")
    given = {"lite": chosen.lite, "timeout": chosen.timeout, "salt": chosen.salt}
    with (
        open_pool(chosen.workers, chosen.address, [chosen.agent]) as pool,
        Benchmark(chosen.task, chosen.agent, out, **given, pool=pool) as benchmark,
    ):
        try:
            results = benchmark.run()
        except KeyboardInterrupt:
            kept = f"{benchmark.describe_kept(benchmark.total)} if the agent is unchanged"
            print(f"\nstopped: {kept}", file=sys.stderr)
            raise
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
