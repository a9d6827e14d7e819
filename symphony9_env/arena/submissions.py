"""Submissions to the leaderboard: folders with a finished evaluation of the benchmark, of which nothing is trusted.

A submission is a folder with three files: `results.json` and `games.jsonl` as the benchmark wrote them, and
`submission.json`, which says who made it. The row must be that of the games, every game must have the deal that follows
from the published salt, and a random sample of the games is played again: the opponents must really choose the moves
recorded. The moves of the agent are recomputed if it is one of this package, else taken as they are.
"""

from __future__ import annotations

import json
import math
import os
import re
import tempfile
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, fields
from datetime import date
from functools import partial
from pathlib import Path
from random import Random
from typing import Any, Final

from symphony9_env import agents
from symphony9_env.agents.external import MAX_ANSWERS, MAX_TIMEOUT
from symphony9_env.agents.registry import BUILT_IN, SEARCH, SHIPPED, THINK, find_policy_files, is_external, split_label
from symphony9_env.agents.strategies import STRATEGIES
from symphony9_env.arena import benchmark
from symphony9_env.arena.benchmark import AGENT_SEED, SALT_BYTES
from symphony9_env.arena.benchmark_games import derive_key, schedule_game
from symphony9_env.arena.benchmark_verification import FinishedEvaluation, read_evaluation
from symphony9_env.files import read_bytes, sync_folder, write, write_text
from symphony9_env.suggestions import show

RESULTS: Final = "results.json"
GAMES: Final = "games.jsonl"
ABOUT: Final = "submission.json"
MAX_BYTES: Final = {RESULTS: 1 << 16, GAMES: 4 << 20, ABOUT: 1 << 12}
SAMPLE: Final = 72  # games that are played again: all of a short evaluation, a tenth of a full one
KINDS: Final = ("scripted", "search", "learned", "language model", "other")
RECOMPUTED: Final = (*STRATEGIES, SHIPPED)  # agents of this package whose moves are cheap to compute again

# How the names of this package's agents are written, whether there is such an agent or not.
_OWN: Final = re.compile(rf"{'|'.join(BUILT_IN)}|(?:{SEARCH}|{THINK}|level)[:@+].*", re.S)
_NAME: Final = re.compile(r"[a-z0-9]+(?:[.-][a-z0-9]+)*")
_MAX_NAME: Final = 60
_SALT: Final = re.compile(f"[0-9a-f]{{{2 * SALT_BYTES}}}")
_DATE: Final = re.compile(r"\d{4}-\d{2}-\d{2}")
_LINK: Final = re.compile(r"https://[A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)+(?:/[A-Za-z0-9._~/?#=&%+-]*)?")
_MAX_LINK: Final = 200
# What `read_evaluation` compares with the games; `_check_results` checks the rest.
_COMPARED: Final = frozenset({"protocol", "task", "games", "opponents", "par", "score", "against", "forfeits"})


@dataclass(frozen=True)
class About:
    """The contents of `submission.json`."""

    author: str
    kind: str  # one of KINDS
    description: str
    date: str  # of the evaluation, such as "2026-07-31"
    link: str | None  # to the agent's code, weights or paper


@dataclass(frozen=True)
class Submission:
    """A submission that was read and checked; none of its games was played again yet."""

    name: str
    about: About
    evaluation: FinishedEvaluation

    @property
    def is_recomputed(self) -> bool:
        """Whether the agent's moves are computed again, too."""
        return self.evaluation.results["agent"] in RECOMPUTED

    def replay(self, numbers: Iterable[int]) -> None:
        """Play some of its games again; raise a ValueError if one differs."""
        agent = self.evaluation.results["agent"]
        again = agents.make(agent, seed=AGENT_SEED) if self.is_recomputed else None
        for number in numbers:
            try:
                self.evaluation.verify_game(number, again)
            except ValueError as error:
                raise ValueError(f"{self.name}/{GAMES}: {error}") from None

    def draw_sample(self, size: int, seed: int) -> list[int]:
        """Return the numbers of so many of its games, drawn at random; of all if there are not so many."""
        total = len(self.evaluation.outcomes)
        return sorted(Random(f"{seed} {self.name}").sample(range(total), min(size, total)))


def read_submission(folder: Path) -> Submission:
    """Return a submission after all checks but the replay; raise a ValueError that says what is wrong, and where."""
    check_name(folder.name)
    _check_files(folder)
    about = _read_about(folder / ABOUT)
    _check_results(_read_json(folder / RESULTS), folder / RESULTS)
    evaluation = read_evaluation(folder, MAX_BYTES[GAMES])
    _check_agent(evaluation, folder / RESULTS)
    _check_deals(evaluation, folder / GAMES)
    return Submission(folder.name, about, evaluation)


def read_submissions(board: Path) -> list[Submission]:
    """Return all submissions in a folder, by name; raise a ValueError if one is wrong, or two have the same games."""
    found = [read_submission(path) for path in _list_folders(board)]
    for number, submission in enumerate(found):
        _check_salt(submission, board, [other.name for other in found[:number]])
    return found


def _list_folders(board: Path) -> list[Path]:
    return [path for path in sorted(board.iterdir()) if not path.name.startswith(".")]


def _check_salt(submission: Submission, board: Path, others: Sequence[str]) -> None:
    """Raise a ValueError if a submission has the same deals as another one, which may itself be out of date."""
    for other in others:
        if _read_json(board / other / RESULTS).get("salt") == submission.evaluation.results["salt"]:
            raise ValueError(f"{board / submission.name}: has the salt of {other}; allowed: deals of its own")


def add_submission(run: Path, board: Path, about: About, name: str | None = None, *, replace: bool = False) -> str:
    """Copy a finished evaluation to the leaderboard after playing all its games again; return the submission's name.

    It appears with all its files or not at all.
    """
    contents = {file: read_bytes(run / file, MAX_BYTES[file]) for file in (RESULTS, GAMES)}
    name = name or make_name(_read_json(run / RESULTS))
    check_name(name)
    target = board / name
    if target.exists() and not replace:
        raise ValueError(f"{target}: is there already; choose another name, or replace it")
    with tempfile.TemporaryDirectory(dir=board, prefix=".") as temporary:
        folder = Path(temporary, name)
        folder.mkdir()
        for file, content in contents.items():
            write(folder / file, partial(Path.write_bytes, data=content))
        write_text(folder / ABOUT, json.dumps(asdict(about), indent=2, ensure_ascii=False) + "\n")
        submission = read_submission(folder)
        _check_salt(submission, board, [path.name for path in _list_folders(board) if path != target])
        submission.replay(range(len(submission.evaluation.outcomes)))
        _move(folder, target, Path(temporary, "replaced"))
        sync_folder(board)
    return name


def _move(folder: Path, target: Path, replaced: Path) -> None:
    """Move a folder to `target`, and what was there to `replaced`; or leave everything as it was."""
    was_there = target.exists()
    if was_there:
        os.replace(target, replaced)
    try:
        os.replace(folder, target)
    except OSError:
        if was_there:
            os.replace(replaced, target)
        raise


def make_name(results: dict[str, Any]) -> str:
    """Return the name of a submission from its task and agent, and whether it is a short evaluation.

    >>> make_name({"task": "4p", "agent": "stdio:python My_agent.py"})
    '4p-stdio-python-my-agent-py'
    """
    length = "lite" if results.get("games") == benchmark.LITE_GAMES else ""
    words = re.findall("[a-z0-9]+", f"{results.get('task')} {length} {results.get('agent')}".lower())
    return "-".join(words)[:_MAX_NAME].strip("-")


def check_name(name: str) -> None:
    """Raise a ValueError if a submission can't have this name: it is that of a folder."""
    if len(name) > _MAX_NAME or not _NAME.fullmatch(name):
        allowed = f"a-z and 0-9, in words with - or . between them, at most {_MAX_NAME} characters"
        raise ValueError(f"the name of a submission is {show(name)}; allowed: {allowed}")


def _check_files(folder: Path) -> None:
    """Raise a ValueError if a folder has other files than those of a submission, links, or files that are too large."""
    if folder.is_symlink() or not folder.is_dir():
        raise ValueError(f"{folder}: is not a folder; a submission is a folder with {', '.join(MAX_BYTES)}")
    names = {path.name for path in folder.iterdir()}
    for name in sorted(names ^ MAX_BYTES.keys()):
        problem = "is missing" if name in MAX_BYTES else "is not part of a submission"
        raise ValueError(f"{folder}: {show(name)} {problem}; allowed: {', '.join(MAX_BYTES)}")
    for name, max_bytes in MAX_BYTES.items():
        if (folder / name).is_symlink():
            raise ValueError(f"{folder / name}: is a link; allowed: a regular file")
        read_bytes(folder / name, max_bytes)


def _read_json(file: Path) -> dict[str, Any]:
    try:
        found = json.loads(read_bytes(file, MAX_BYTES[file.name]))
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{file}: can't be read ({error})") from None
    if not isinstance(found, dict):
        raise ValueError(f"{file}: is {show(found)}; allowed: a JSON object")
    return found


def _read_about(file: Path) -> About:
    found = _read_json(file)
    _check_keys(found, [field.name for field in fields(About)], file)
    _check_text(found, "author", 80, file)
    _check_text(found, "description", 200, file)
    if found["kind"] not in KINDS:
        raise _make_error(file, found, "kind", ", ".join(KINDS))
    if not _is_date(found["date"]):
        raise _make_error(file, found, "date", "a day such as 2026-07-31")
    link = found["link"]
    if link is not None and not (isinstance(link, str) and len(link) <= _MAX_LINK and _LINK.fullmatch(link)):
        raise _make_error(file, found, "link", f"null, or an https:// address of at most {_MAX_LINK} plain characters")
    return About(**found)


def _is_date(value: object) -> bool:
    try:
        return isinstance(value, str) and bool(_DATE.fullmatch(value)) and bool(date.fromisoformat(value))
    except ValueError:
        return False


def _check_results(results: dict[str, Any], file: Path) -> None:
    """Raise a ValueError if something in the results, apart from what is compared with the games, is not allowed."""
    timeout = results.get("timeout")
    is_time = isinstance(timeout, int | float) and timeout is not True and 0 < timeout <= MAX_TIMEOUT
    salt = results.get("salt")
    checks = {
        "private": (results.get("private") is True, "true: deals that nobody could know before the run"),
        "salt": (
            isinstance(salt, str) and bool(_SALT.fullmatch(salt)),
            f"the {SALT_BYTES} bytes that the run drew; null means that it was stopped: play it again without a stop",
        ),
        "max_answers": (results.get("max_answers") == MAX_ANSWERS, str(MAX_ANSWERS)),
        "timeout": (is_time, f"more than 0, at most {MAX_TIMEOUT:g}"),
        "agent_is_verified": (isinstance(results.get("agent_is_verified"), bool), "true, false"),
        "trusted": (isinstance(results.get("trusted"), bool), "true, false"),
    }
    texts = {"agent": 120, "agent_fingerprint": 500, "package": 40}
    _check_keys(results, [*_COMPARED, *checks, *texts], file)
    for name, (is_allowed, allowed) in checks.items():
        if not is_allowed:
            raise _make_error(file, results, name, allowed)
    for name, length in texts.items():
        _check_text(results, name, length, file)


def _check_keys(found: dict[str, Any], expected: Sequence[str], file: Path) -> None:
    for name in sorted(found.keys() ^ set(expected)):
        problem = "is missing" if name in expected else "is unknown"
        raise ValueError(f"{file}: {show(name)} {problem}; allowed: {', '.join(sorted(expected))}")


def _check_text(found: dict[str, Any], name: str, length: int, file: Path) -> None:
    text = found[name]
    is_text = isinstance(text, str) and 0 < len(text) <= length and text.isprintable() and text == text.strip()
    if not is_text or "<" in text or ">" in text:
        raise _make_error(file, found, name, f"1 to {length} printable characters on one line, without < and >")


def _make_error(file: Path, found: dict[str, Any], name: str, allowed: str) -> ValueError:
    return ValueError(f"{file}: {name} is {show(found.get(name))}; allowed: {allowed}")


def _check_agent(evaluation: FinishedEvaluation, file: Path) -> None:
    """Raise a ValueError if an agent has the name of one of this package but is another one.

    Names that differ only in capital letters, or in forms of the same letters, count as the same. What takes more than
    this package, such as a file to think with, is not opened: it may be anything.
    """
    results = evaluation.results
    name = split_label(results["agent"])[1]
    plain = unicodedata.normalize("NFKC", name).casefold()
    if not _OWN.fullmatch(plain):
        return
    if name != plain:
        raise _make_error(
            file, results, "agent", f"a name that can't be taken for {show(plain)}, which is another agent"
        )
    if is_external(name) or find_policy_files(name):
        allowed = "names of this package for agents of this package alone; label one that needs a file or a program"
        raise _make_error(file, results, "agent", allowed)
    try:
        own = agents.make(results["agent"], seed=AGENT_SEED).fingerprint(evaluation.options.num_players)
    except ValueError as error:
        raise ValueError(f"{file}: {error}") from None
    if results["agent_fingerprint"] != own:
        raise _make_error(file, results, "agent_fingerprint", f"{own!r} for an agent of this name; label another")


def _check_deals(evaluation: FinishedEvaluation, file: Path) -> None:
    """Raise a ValueError if a game has another deal or another seat than the protocol demands."""
    salt, num_players = evaluation.results["salt"], evaluation.options.num_players
    for outcome in evaluation.outcomes:
        key = derive_key(salt, outcome.game)
        seat = schedule_game(outcome.game, key, num_players).agents.index(0)
        for name, value in (("key", key), ("seat", seat)):
            if getattr(outcome, name) != value:
                found = show(getattr(outcome, name))
                raise ValueError(f"{file}: game {outcome.game}: {name} is {found}; expected {value!r} by the salt")


def chance_to_miss(num_forged: int, num_games: int, sample: int) -> float:
    """Return how likely a sample of the games contains none of those that were forged.

    >>> chance_to_miss(1, 720, 72)
    0.9
    """
    return math.comb(num_games - num_forged, sample) / math.comb(num_games, sample)
