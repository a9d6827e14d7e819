"""Measure how strong the shipped agents are, and write the tables to docs/policies.md and docs/evaluation.md.

    python -m tools.strength_tables --out runs/strength
    python -m tools.strength_tables --out runs/strength --tables policy,exploit --num-players 2

In every match the first agent plays alone against copies of the second, in every seat, on deals that nothing was
trained or chosen on. Exploitability is that of `python -m evaluation.exploit`. All of it takes some hours on two cores:
run the same command again to continue after a stop. A table is written when all of its matches are played.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Final

from evaluation import exploit
from symphony9_env.agents.levels import LEVELS
from symphony9_env.agents.strategies import STRATEGIES
from symphony9_env.arena.results import MatchResult
from symphony9_env.arena.tournament import Tournament, list_recipes
from symphony9_env.arena.worker_pools import open_pool
from symphony9_env.arguments import Parser, run, split_names
from symphony9_env.components import PLAYER_COUNTS
from symphony9_env.files import write_text
from symphony9_env.options import Variant
from tools.benchmark_rows import format_estimate
from tools.docs_tables import format_rows, replace_table

DOCS: Final = Path(__file__).parent.parent / "docs"
SEED: Final = 260_000_000  # of the deals
EXPLOIT_SEED: Final = 261_000_000
SEARCH: Final = "search:800"
LINES: Final = 350  # of `think` by default, which takes no longer than SEARCH
FEW_LINES: Final = 96
GAMES: Final = {"scripted": 1000, "search": 400, "think": 400}
EXPLOITED: Final = (*STRATEGIES, *LEVELS[:-1], "policy", SEARCH, f"think:{LINES}")  # the highest level is `policy`
EXPLOIT_GAMES: Final = {"trial-games": 80, "games": 400}
FEWER_EXPLOIT_GAMES: Final = {"trial-games": 20, "games": 100}  # against levels, and agents that simulate games

# The rows of each table: the agent that plays alone, and its opponents.
POLICY_MATCHES: Final = (*(("policy", name) for name in STRATEGIES), ("policy", SEARCH))
LINES_MATCHES: Final = tuple((f"think:{count}", "search:200") for count in (LINES // 16, LINES // 4, LINES))
THINK_MATCHES: Final = (
    (f"think:{LINES}", SEARCH),
    (f"think:{LINES}", "planner"),
    (f"think:{LINES}", "policy"),
    (f"think:{FEW_LINES}@policy", "policy"),
)


def count_games(agent: str, opponent: str) -> int:
    """Return how many games a match has: more if they are fast."""
    kinds = [name.partition(":")[0] for name in (agent, opponent)]
    return GAMES["think" if "think" in kinds else "search" if "search" in kinds else "scripted"]


def play_match(agent: str, opponent: str, num_players: int, folder: Path) -> MatchResult:
    """Return the result of an agent alone against copies of another; play what is missing of it."""
    names = [agent, opponent]
    out = folder / f"{num_players}p-{name_folder(agent)}-{name_folder(opponent)}"
    print(f"{num_players} players: {agent} against {opponent}", file=sys.stderr)
    with (
        open_pool(None, None, names) as pool,
        Tournament(
            list_recipes(names, SEED),
            Variant(num_players=num_players),
            str(out),
            seed=SEED,
            kind="first-against-rest",
            pool=pool,
        ) as match,
    ):
        match.play(count_games(agent, opponent))
        return next(row for row in match.results()["one_against_rest"] if row["agent"] == agent)


def name_folder(agent: str) -> str:
    """Return the name of an agent as a part of a folder's name."""
    return re.sub(r"[^a-z0-9]+", "-", agent)


def format_result(result: Any) -> str:
    """Return a win rate in per cent with its interval, and the number of games."""
    return f"{format_estimate(result)}, {result['games']:,} games"


def format_matches(matches: Sequence[tuple[str, str]], counts: Sequence[int], folder: Path) -> str:
    """Play the matches, and return a table with a line for each and a column for each number of players."""
    lines = [
        (
            f"`{agent}` against `{opponent}`",
            *(format_result(play_match(agent, opponent, count, folder)) for count in counts),
        )
        for agent, opponent in matches
    ]
    return format_rows(f"| | {' | '.join(map(format_count, counts))} |", lines)


def format_count(num_players: int) -> str:
    """Return the head of a column."""
    return f"{num_players} players (par {100 / num_players:.3g})"


def format_exploitability(counts: Sequence[int], folder: Path) -> str:
    """Search for the best response to each agent, and return a table of what was found."""
    lines = [
        (f"`{agent}`", *(format_response(find_response(agent, count, folder)) for count in counts))
        for agent in EXPLOITED
    ]
    return format_rows(f"| agent | {' | '.join(map(format_count, counts))} |", lines)


def find_response(agent: str, num_players: int, folder: Path) -> dict[str, Any]:
    """Return the results of `evaluation.exploit` for an agent."""
    out = folder / f"{num_players}p-exploit-{name_folder(agent)}"
    numbers = FEWER_EXPLOIT_GAMES if ":" in agent else EXPLOIT_GAMES
    given = {"agent": agent, "num-players": num_players, **numbers, "seed": EXPLOIT_SEED, "out": out}
    exploit.main([text for name, value in given.items() for text in (f"--{name}", str(value))])
    found: dict[str, Any] = json.loads((out / "results.json").read_text(encoding="utf-8"))
    return found


def format_response(result: dict[str, Any]) -> str:
    """Return the best response, its win rate and the number of games."""
    return f"`{result['response']}`: {format_result(result)}"


TABLES: Final[dict[str, tuple[str, Callable[[Sequence[int], Path], str]]]] = {
    "policy": ("policies.md", partial(format_matches, POLICY_MATCHES)),
    "lines": ("evaluation.md", partial(format_matches, LINES_MATCHES)),
    "think": ("evaluation.md", partial(format_matches, THINK_MATCHES)),
    "exploit": ("evaluation.md", format_exploitability),
}


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command."""
    parser = Parser("python -m tools.strength_tables", __doc__)
    parser.add_argument("--out", required=True, help="folder for the games")
    parser.add_argument("--tables", default=",".join(TABLES), help=f"which ones (default: {','.join(TABLES)})")
    counts_help = "only play with this many players, and write no table"
    parser.add_argument("--num-players", type=int, choices=PLAYER_COUNTS, help=counts_help)
    chosen = parser.parse_args(arguments)
    counts = PLAYER_COUNTS if chosen.num_players is None else (chosen.num_players,)
    for name in split_names(chosen.tables):
        if name not in TABLES:
            raise ValueError(f"--tables {name}; allowed: {', '.join(TABLES)}")
        page, make = TABLES[name]
        table = make(counts, Path(chosen.out))
        print(table)
        if chosen.num_players is None:
            path = DOCS / page
            write_text(path, replace_table(path.read_text(encoding="utf-8"), f"strength {name}", table))


if __name__ == "__main__":
    sys.exit(run("strength", main))
