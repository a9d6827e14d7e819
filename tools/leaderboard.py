"""Add submissions to the leaderboard, check them, and write the tables of docs/leaderboard.md.

    python -m tools.leaderboard add runs/benchmark-4p-mine --author "Ann Example" --kind learned \\
        --description "PPO with a transformer" --link https://example.org/mine
    python -m tools.leaderboard check                      # all submissions, a random sample of the games of each
    python -m tools.leaderboard check --all 4p-mine        # every game of one submission
    python -m tools.leaderboard write                      # the tables, from the folder leaderboard/
    python -m tools.leaderboard reference                  # evaluate the agents of this package again, and add them

`add` takes folders of `symphony9 benchmark`, plays all their games again and copies what is needed to leaderboard/.
The sample of `check` depends on `--seed`, which is drawn unless it is given: nobody can know before which games it will
contain. `reference` is needed when an opponent has changed, such as the policy that comes with the package.
"""

from __future__ import annotations

import argparse
import secrets
import sys
import tempfile
from collections.abc import Sequence
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from symphony9_env.arena.benchmark import GAMES, OPPONENTS, TASKS, Benchmark
from symphony9_env.arena.console import positive_int
from symphony9_env.arena.submissions import (
    KINDS,
    SAMPLE,
    About,
    Submission,
    add_submission,
    chance_to_miss,
    check_name,
    read_submission,
    read_submissions,
)
from symphony9_env.arguments import Parser, run
from symphony9_env.components import PLAYER_COUNTS
from symphony9_env.files import make_folder, write_text
from tools.benchmark_rows import AGENTS, MAIN_TASKS, format_estimate, format_percentage
from tools.docs_tables import format_rows, replace_table

ROOT: Final = Path(__file__).parent.parent
BOARD: Final = ROOT / "leaderboard"
PAGE: Final = ROOT / "docs" / "leaderboard.md"
LEARNED: Final = ("policy",)  # of the agents of this package; the others are scripted
POINTS: Final = (1, 2, 5, 10)  # of the score that a forger wins, in the table of chances
PLAIN: Final = frozenset(" ,-")  # besides letters and digits; every other character is escaped


def escape(text: str) -> str:
    """Return a text that Markdown and HTML show as it is: nothing in it is markup, a link or the end of a cell.

    >>> escape("a|b <i> [c](d) www.e")
    'a&#124;b &#60;i&#62; &#91;c&#93;&#40;d&#41; www&#46;e'
    """
    return "".join(one if one.isalnum() or one in PLAIN else f"&#{ord(one)};" for one in text)


def format_board(submissions: Sequence[Submission]) -> str:
    """Return a table for each number of players, with the rows of one task together, the best score first."""
    parts = []
    for count in PLAYER_COUNTS:
        own = [one for one in submissions if one.evaluation.options.num_players == count]
        if own:
            parts.append(f"### {count} players\n\n{_format_table(own)}")
    return "\n\n".join(parts) or "There is no submission yet."


def _format_table(submissions: Sequence[Submission]) -> str:
    head = (
        f"| task | agent | kind | score | {' | '.join(OPPONENTS)} | games each | forfeits | seconds | agent known by "
        "| by | date |"
    )
    return format_rows(head, [_format_row(one) for one in sorted(submissions, key=_rank)])


def _rank(submission: Submission) -> tuple[Any, ...]:
    row = submission.evaluation.results
    return list(TASKS).index(row["task"]), -row["games"], -row["score"], submission.name


def _format_row(submission: Submission) -> tuple[str, ...]:
    row, about = submission.evaluation.results, submission.about
    agent = f"[{escape(row['agent'])}](../leaderboard/{submission.name}): {escape(about.description)}"
    author = escape(about.author)
    return (
        f"`{row['task']}`",
        agent,
        about.kind,
        f"**{format_percentage(row['score'])}**",
        *(format_estimate(row["against"][opponent]) for opponent in OPPONENTS),
        str(row["games"]),
        str(row["forfeits"]),
        f"{row['timeout']:g}",
        _format_identity(submission),
        author if about.link is None else f"[{author}]({about.link})",
        about.date,
    )


def _format_identity(submission: Submission) -> str:
    """Return what identifies the agent: its moves, computed again, a hash of its code, or nothing but its name."""
    if submission.is_recomputed:
        return "moves"
    return "hash" if submission.evaluation.results["agent_is_verified"] else "name"


def format_chances() -> str:
    """Return the table of how likely a sample misses forged games."""
    total = len(OPPONENTS) * GAMES
    rows = []
    for points in POINTS:
        forged = -(-points * total // 100)
        rows.append((str(points), str(forged), f"{100 * chance_to_miss(forged, total, SAMPLE):.2g} %"))
    return format_rows("| points of score | games | missed by one sample |", rows)


def regenerate(text: str, submissions: Sequence[Submission]) -> str:
    """Return the page docs/leaderboard.md with its tables generated again."""
    return replace_table(replace_table(text, "rows", format_board(submissions)), "chances", format_chances())


def write_page() -> None:
    """Write the tables of the page from all submissions."""
    write_text(PAGE, regenerate(PAGE.read_text(encoding="utf-8"), read_submissions(BOARD)))
    print(PAGE.relative_to(ROOT))


def check(names: Sequence[str], sample: int, seed: int) -> None:
    """Check submissions by name, or all, and play a sample of the games of each again."""
    for name in names:
        check_name(name)
    submissions = [read_submission(BOARD / name) for name in names] or read_submissions(BOARD)
    for submission in submissions:
        numbers = submission.draw_sample(sample, seed)
        submission.replay(numbers)
        print(f"{submission.name}: correct; {len(numbers)} games were played again (seed {seed})")


def add_reference_rows(folder: Path, day: str) -> None:
    """Evaluate the agents of this package on the main tasks, and replace their rows."""
    for task in MAIN_TASKS:
        for agent in AGENTS:
            out = folder / f"{task}-{agent}"
            print(out, file=sys.stderr)
            with Benchmark(task, agent, out, lite=False, timeout=60) as benchmark:
                benchmark.run()
            kind = "learned" if agent in LEARNED else "scripted"
            about = About("symphony9_env", kind, "an agent of this package", day, None)
            print(f"{add_submission(out, BOARD, about, replace=True)}: added")


def make_parser() -> Parser:
    """Return the parser of the command line."""
    parser = Parser(prog="python -m tools.leaderboard", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True, metavar="command")
    add = commands.add_parser("add", help="add finished evaluations, and write the page")
    add.add_argument("folders", nargs="+", metavar="FOLDER", help="a folder of symphony9 benchmark")
    add.add_argument("--author", required=True, help="who submits it")
    add.add_argument("--kind", required=True, help=f"the kind of the agent: {', '.join(KINDS)}")
    add.add_argument("--description", required=True, help="the agent in a few words")
    add.add_argument("--link", help="https:// address of its code, weights or paper")
    add.add_argument("--name", help="name of the submission, for one folder (default: from the task and the agent)")
    add.add_argument("--replace", action="store_true", help="replace the submission of the same name")
    add_day(add)
    some = commands.add_parser("check", help="check submissions, and play a sample of their games again")
    some.add_argument("names", nargs="*", metavar="NAME", help="a folder in leaderboard/ (default: all)")
    some.add_argument("--sample", type=positive_int, default=SAMPLE, help=f"games of each (default: {SAMPLE})")
    some.add_argument("--all", action="store_true", help="play all games again")
    some.add_argument("--seed", type=int, help="seed of the sample (default: drawn)")
    commands.add_parser("write", help="write the tables of docs/leaderboard.md")
    reference = commands.add_parser("reference", help="evaluate the agents of this package, and replace their rows")
    reference.add_argument("--out", help="folder for the evaluations (default: a temporary one)")
    add_day(reference)
    return parser


def add_day(parser: argparse.ArgumentParser) -> None:
    """Add the argument for the day of an evaluation."""
    parser.add_argument("--date", default=datetime.now(UTC).date().isoformat(), help="its day (default: today)")


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command."""
    chosen = make_parser().parse_args(arguments)
    if chosen.command == "check":
        seed = secrets.randbits(32) if chosen.seed is None else chosen.seed
        check(chosen.names, len(OPPONENTS) * GAMES if chosen.all else chosen.sample, seed)
        return
    make_folder(BOARD, "leaderboard")
    try:
        change_board(chosen)
    except BaseException:
        with suppress(ValueError, OSError):
            write_page()  # with what was added before; what stopped the command is more important
        raise
    write_page()


def change_board(chosen: argparse.Namespace) -> None:
    """Add submissions, or the rows of this package, if that is the command."""
    if chosen.command == "add":
        if chosen.name is not None and len(chosen.folders) > 1:
            raise ValueError(f"--name {chosen.name}: is for one folder, not {len(chosen.folders)}")
        about = About(chosen.author, chosen.kind, chosen.description, chosen.date, chosen.link)
        for folder in chosen.folders:
            print(f"{add_submission(Path(folder), BOARD, about, chosen.name, replace=chosen.replace)}: added")
    elif chosen.command == "reference":
        with tempfile.TemporaryDirectory() as temporary:
            add_reference_rows(Path(chosen.out or temporary), chosen.date)


if __name__ == "__main__":
    sys.exit(run("leaderboard", main))
