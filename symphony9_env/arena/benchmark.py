"""The benchmark: one command that evaluates an agent on a task and prints its row.

    python -m evaluation.benchmark --task 4p --agent planner
    python -m evaluation.benchmark --task 2p --agent my_policy.safetensors --out runs/bench-mine
    python -m evaluation.benchmark --task 3p-discussion --agent "stdio:python my_agent.py" --timeout 30
    python -m evaluation.benchmark --task 4p --agent http://localhost:8000/decide --lite
    python -m evaluation.benchmark --task 4p --agent mypackage.agents:decide
    python -m evaluation.benchmark --list

The agent sits alone at a table full of each opponent, in every seat, on deals that the protocol fixes. The score is
the mean of its win rates, a shared win counting its share. An agent of your own gets messages as docs/benchmark.md
tells. Where it gives no legal answer after being asked again, hangs or dies, it forfeits that game: the game ends and
counts as lost. Ctrl-C stops; the same command goes on.
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
from symphony9_env.agents import Agent
from symphony9_env.agents.external import (
    AgentFailed,
    ExternalAgent,
    is_external,
    make_external,
    message_for,
    read_answer,
)
from symphony9_env.arena.console import Parser, format_percent, format_table
from symphony9_env.arena.matches import Game, Schedule, play
from symphony9_env.arena.ratings import win_rate
from symphony9_env.components import PLAYER_COUNTS
from symphony9_env.envs.aec import RawEnv
from symphony9_env.files import make_folder, write_text
from symphony9_env.options import EnvOptions, make_options
from symphony9_env.scores import ScoreLine, score_sheet

PROTOCOL: Final = "symphony9-benchmark/1"
PROG: Final = "python -m evaluation.benchmark"
OPPONENTS: Final = ("greedy", "planner", "policy")
GAMES: Final = 240  # against each opponent: whole rotations with two, three and four players
LITE_GAMES: Final = 24
SEED: Final = 271_828_182  # of the deals; train on others
BATCH: Final = 60  # games of our own agents side by side
ASKS: Final = 3  # how often an agent is asked for a legal answer
TIMEOUT: Final = 60.0  # seconds for one answer

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
class Outcome:
    """How a game went for the agent."""

    game: int
    opponent: str
    deal: int
    win_share: float
    score: float | None
    forfeit: str | None  # why it lost without playing to the end


class Benchmark:
    """A task for one agent, with its folder: what is played, and an outcome a line."""

    def __init__(self, task: str, agent: str, out: Path, *, lite: bool, timeout: float) -> None:
        self.task = task
        self.agent = agent
        self.options = TASKS[task]
        self.out = out
        self.num_games = LITE_GAMES if lite else GAMES
        self.opponents = {name: agents.make(name, seed=SEED) for name in OPPONENTS}
        self.own: Agent | None = None
        self.external: ExternalAgent | None = None
        if is_external(agent):
            self.external = make_external(agent, timeout, out / "agent.log")
        else:
            self.own = agents.make(agent, seed=SEED + 1)
            self.own.check_players(self.options.num_players)
        self.settings = {
            "protocol": PROTOCOL,
            "task": task,
            "agent": agent,
            "agent_content": None if self.own is None else self.own.fingerprint(self.options.num_players),
            "opponents": {name: one.fingerprint(self.options.num_players) for name, one in self.opponents.items()},
            "games": self.num_games,
            "seed": SEED,
            "asks": ASKS,
            "timeout": timeout,
        }
        self._file = self.out / "games.jsonl"
        self.outcomes = self._read()

    def _read(self) -> list[Outcome]:
        """The games so far, if the folder is of this very evaluation."""
        about = make_folder(self.out) / "benchmark.json"
        if not about.exists():
            write_text(about, json.dumps(self.settings, indent=2) + "\n")
        elif about.read_text() != json.dumps(self.settings, indent=2) + "\n":
            raise ValueError(f"--out {self.out}: holds another evaluation; choose another folder")
        text = self._file.read_text() if self._file.exists() else ""
        whole = text[: text.rfind("\n") + 1]
        if whole != text:
            write_text(self._file, whole)
        return [Outcome(**json.loads(line)) for line in whole.splitlines()]

    def games(self) -> list[tuple[str, Game]]:
        schedule = Schedule(2, self.options.num_players, SEED, "first-against-rest")
        return [(name, schedule.game(number)) for name in OPPONENTS for number in range(self.num_games)]

    def play(self) -> None:
        """Play what is not yet played; every game is written down when it is over."""
        games = self.games()
        try:
            with tqdm(total=len(games), initial=len(self.outcomes), unit=" games", disable=None) as bar:
                while len(self.outcomes) < len(games):
                    first = len(self.outcomes)
                    more = self._play_named(games, first) if self.own else self._play_external(games, first)
                    self._add(more)
                    bar.update(len(self.outcomes) - first)
        finally:
            if self.external is not None:
                self.external.close()

    def _add(self, outcomes: list[Outcome]) -> None:
        self.outcomes += outcomes
        with self._file.open("a") as file:
            file.writelines(json.dumps(vars(outcome)) + "\n" for outcome in outcomes)
        for outcome in outcomes:
            if outcome.forfeit is not None:
                tqdm.write(f"game {outcome.game}: forfeited: {outcome.forfeit}", file=sys.stderr)

    def _play_named(self, games: list[tuple[str, Game]], first: int) -> list[Outcome]:
        """One of our own agents: some games side by side, which is many times as fast."""
        assert self.own is not None
        opponent = games[first][0]
        part = [game for name, game in games[first : first + BATCH] if name == opponent]
        played = play(part, [self.own, self.opponents[opponent]], self.options.variant)
        return [
            _outcome(first + place, opponent, one.game, score_sheet(one.final, 0)) for place, one in enumerate(played)
        ]

    def _play_external(self, games: list[tuple[str, Game]], number: int) -> list[Outcome]:
        """Somebody's own: one game."""
        assert self.external is not None
        opponent, game = games[number]
        env = RawEnv(**self.options.as_keywords())
        env.reset(seed=game.seed)
        seat = game.agents.index(0)
        while not env.terminations[f"player_{seat}"]:
            if env.deciding_seat != seat:
                env.step(self.opponents[opponent].choose(env))
                continue
            try:
                env.step(ask(self.external, message_for(env, self.task, number)))
            except AgentFailed as failure:
                self.external.start_anew()
                return [Outcome(number, opponent, game.deal, 0.0, None, str(failure))]
        return [_outcome(number, opponent, game, score_sheet(env.states, 0))]

    def results(self) -> dict[str, Any]:
        """The row: win rates with intervals by opponent, their mean, and the games that were forfeited."""
        by_opponent = {}
        for name in OPPONENTS:
            own = [outcome for outcome in self.outcomes if outcome.opponent == name]
            estimate = win_rate(np.array([one.win_share for one in own]), np.array([one.deal for one in own]))
            by_opponent[name] = {"win_rate": estimate.value, "win_rate_95": [estimate.low, estimate.high]}
        return {
            **self.settings,
            "package": __version__,
            "par": 1 / self.options.num_players,
            "score": float(np.mean([row["win_rate"] for row in by_opponent.values()])),
            "against": by_opponent,
            "forfeits": sum(outcome.forfeit is not None for outcome in self.outcomes),
        }


def _outcome(number: int, opponent: str, game: Game, sheet: dict[str, ScoreLine]) -> Outcome:
    own = sheet[f"player_{game.agents.index(0)}"]
    return Outcome(number, opponent, game.deal, own.win_share, own.total, None)


def ask(external: ExternalAgent, message: dict[str, Any]) -> int:
    """A legal action; AgentFailed if there is none after being asked again."""
    legal = [int(action) for action in message["legal"]]
    for _ in range(ASKS):
        try:
            return read_answer(external.ask(message), legal)
        except ValueError as error:
            message = {**message, "error": str(error)}
    raise AgentFailed(f"gave no legal action in {ASKS} answers; the last: {message['error']}")


def format_results(results: dict[str, Any]) -> str:
    """The row, as a table and as a line for a Markdown table."""
    rows = [
        [
            name,
            format_percent(row["win_rate"]),
            f"{format_percent(row['win_rate_95'][0])} … {format_percent(row['win_rate_95'][1])}",
        ]
        for name, row in results["against"].items()
    ]
    cells = [results["task"], results["agent"], format_percent(results["score"])]
    cells += [format_percent(row["win_rate"]) for row in results["against"].values()]
    cells += [str(results["games"]), str(results["forfeits"])]
    return (
        f"{results['protocol']}, task {results['task']}, {results['games']} games against each, "
        f"par {format_percent(results['par'])}\n{format_table(['alone against a table of', 'wins', '95 %'], rows)}\n\n"
        f"score {format_percent(results['score'])}, forfeited games {results['forfeits']}\n\n| {' | '.join(cells)} |"
    )


def make_parser(prog: str) -> Parser:
    made = Parser(prog, __doc__)
    made.add_argument("--task", help=f"one of {', '.join(TASKS)}")
    made.add_argument("--agent", help="a name, a saved policy's path, module:function, stdio:COMMAND, or a web address")
    made.add_argument(
        "--lite", action="store_true", help=f"{LITE_GAMES} games against each, not {GAMES}; a row of its own"
    )
    made.add_argument(
        "--timeout", type=float, default=TIMEOUT, help=f"seconds for an answer of your agent (default: {TIMEOUT:g})"
    )
    made.add_argument("--out", help="folder for benchmark.json, games.jsonl, results.json (default: runs/benchmark-…)")
    made.add_argument("--list", action="store_true", help="show the tasks")
    return made


def main(arguments: list[str] | None = None, prog: str = PROG) -> None:
    """Run the command."""
    chosen = make_parser(prog).parse_args(arguments)
    if chosen.list:
        print(list_tasks())
        return
    if not chosen.agent or not chosen.task:
        raise ValueError("--agent and --task are needed; --list shows the tasks")
    if chosen.task not in TASKS:
        raise ValueError(f"--task {chosen.task}; allowed: {', '.join(TASKS)}")
    if not chosen.timeout > 0:
        raise ValueError(f"--timeout {chosen.timeout:g}; allowed: more than 0")
    label = re.sub(r"[^A-Za-z0-9.]+", "-", chosen.agent).strip("-")[-60:]
    out = Path(chosen.out or f"runs/benchmark-{chosen.task}-{label}{'-lite' if chosen.lite else ''}")
    benchmark = Benchmark(chosen.task, chosen.agent, out, lite=chosen.lite, timeout=chosen.timeout)
    try:
        benchmark.play()
    except KeyboardInterrupt:
        print(f"stopped after {len(benchmark.outcomes)} games; the same command goes on", file=sys.stderr)
        raise
    results = benchmark.results()
    write_text(out / "results.json", json.dumps(results, indent=2) + "\n")
    print(format_results(results))
    print(f"\n{out / 'results.json'}; every game: {out / 'games.jsonl'}")


def list_tasks() -> str:
    rows = [
        [
            name,
            options.num_players,
            options.variant.tracks,
            options.variant.scoring,
            "shown" if options.ledger else "no",
            "yes" if options.variant.discussion else "no",
        ]
        for name, options in TASKS.items()
    ]
    return format_table(["task", "players", "tracks", "scoring sides", "ledger", "discussion"], rows)
