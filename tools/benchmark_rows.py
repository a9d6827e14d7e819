"""Evaluate the reference agents by the benchmark protocol, and write their tables to docs/benchmark.md.

    python -m tools.benchmark_rows --out runs/reference

Every row can be made again: they all have the same salt, which the page names. Run the same command again to continue
after a stop.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from symphony9_env.arena.benchmark import OPPONENTS, TASKS, Benchmark
from symphony9_env.arguments import Parser, run
from symphony9_env.files import write_text
from tools.docs_tables import format_rows, replace_table

PAGE: Final = Path(__file__).parent.parent / "docs" / "benchmark.md"
SALT: Final = "2718281828459045"
AGENTS: Final = ("random", "greedy", "investor", "planner", "policy")
SEARCH: Final = "search:200"
MAIN_TASKS: Final = ("2p", "3p", "4p")  # those with a row for each agent, search included
OTHER_TASKS: Final = tuple(task for task in TASKS if task not in MAIN_TASKS)

Row = dict[str, Any]


def evaluate(task: str, agent: str, folder: Path) -> Row:
    """Return the row of an agent; play what is missing of it."""
    out = folder / f"{task}-{re.sub(r'[^a-z0-9]+', '-', agent)}"
    print(f"{task} {agent}", file=sys.stderr)
    with Benchmark(task, agent, out, lite=False, timeout=60, salt=SALT) as benchmark:
        return benchmark.run()


def format_main_table(rows: Sequence[Row]) -> str:
    """Return the table of the main tasks: a line for each row, with intervals."""
    head = f"| task | par | agent | score | {' | '.join(OPPONENTS)} |"
    return format_rows(
        head,
        [
            (
                f"`{row['task']}`",
                format_percentage(row["par"]),
                row["agent"],
                f"**{format_percentage(row['score'])}**",
                *(format_estimate(row["against"][opponent]) for opponent in OPPONENTS),
            )
            for row in rows
        ],
    )


def format_other_table(rows: Sequence[Row]) -> str:
    """Return the table of the other tasks: a line for each task, with the scores of all agents."""
    scores = {(row["task"], row["agent"]): format_percentage(row["score"]) for row in rows}
    lines = [(f"`{task}`", *(scores[task, agent] for agent in AGENTS)) for task in OTHER_TASKS]
    return format_rows(f"| task | {' | '.join(AGENTS)} |", lines)


def format_estimate(estimate: dict[str, Any]) -> str:
    """Return a win rate with its interval, in per cent."""
    low, high = estimate["win_rate_95"]
    return f"{format_percentage(estimate['win_rate'])} ({format_percentage(low)}–{format_percentage(high)})"


def format_percentage(share: float) -> str:
    """Return a share in per cent, with one decimal."""
    return f"{100 * share:.1f}"


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command."""
    parser = Parser(prog="python -m tools.benchmark_rows", description=__doc__)
    parser.add_argument("--out", required=True, help="folder for the evaluations")
    folder = Path(parser.parse_args(arguments).out)
    others = [evaluate(task, agent, folder) for task in OTHER_TASKS for agent in AGENTS]
    rows = [evaluate(task, agent, folder) for task in MAIN_TASKS for agent in (*AGENTS, SEARCH)]
    text = PAGE.read_text(encoding="utf-8")
    text = replace_table(text, "rows", format_main_table(rows))
    write_text(PAGE, replace_table(text, "scores", format_other_table(others)))


if __name__ == "__main__":
    sys.exit(run("benchmark_rows", main))
