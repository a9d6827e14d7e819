"""Test whether one agent is better than another, with as few games as possible; the exit status tells the verdict.

    symphony9 gate runs/new/best.safetensors policy --num-players 2
    symphony9 gate planner greedy --num-players 4 --h1 3 --alpha 0.01
    symphony9 gate think:400 search:800 --num-players 3 --max-games 600 --out runs/gate-think
    symphony9 gate new=./new.safetensors old=./old.safetensors --unit rating --h0 -10 --h1 10
    symphony9 gate NEW OLD && echo "publish NEW"

NEW plays alone against copies of OLD in every seat of a deal and, with more than two players, OLD alone against copies
of NEW on the same deal. The margin is half of the difference between the two win rates: 0 among equals, and with two
players NEW's win rate above par. A sequential probability ratio test of whole deals ends as soon as it can tell a
margin of H0 or less from one of H1 or more.

  exit status 0, better:     H1 is accepted; if the margin is H0 or less, this happens with a probability of up to ALPHA
  exit status 1, worse:      H0 is accepted; if the margin is H1 or more, this happens with a probability of up to BETA
  exit status 2, undecided:  MAX_GAMES were played without a verdict
  exit status 3:             an error, such as an unknown agent; 130 after Ctrl-C

"worse" means: not better by enough. Choose a negative H0 and H1 = 0 to ask for an agent that is not much worse. Fix all
numbers before the first game. After a stop, the same command continues; more MAX_GAMES continue an undecided test.
"""

from __future__ import annotations

import argparse
import math
import os
import re
import sys
import traceback
from collections.abc import Mapping
from typing import Any, Final

import numpy as np

from symphony9_env import agents
from symphony9_env.agents.external import TIMEOUT, TIMEOUT_HELP
from symphony9_env.arena.console import format_command, format_interval, positive_int
from symphony9_env.arena.matches import PAIRED
from symphony9_env.arena.results import GameData, GateResult
from symphony9_env.arena.sequential import (
    BETTER,
    UNDECIDED,
    VERDICTS,
    WORSE,
    Floats,
    SequentialTest,
    margin_of_rating,
)
from symphony9_env.arena.tournament import Tournament, list_recipes
from symphony9_env.arena.worker_pools import THREADS_HELP, add_worker_arguments, open_pool
from symphony9_env.arguments import GATE_FAILED, Parser, add_variant_arguments, read_variant
from symphony9_env.options import check_seed

PROG: Final = "python -m evaluation.gate"
UNITS: Final = ("win-rate", "rating")
_STATUS_TEXTS: Final = {
    BETTER: "H1 is accepted",
    WORSE: "H0 is accepted: not better by enough",
    UNDECIDED: "more games are needed; the same command with a larger --max-games continues",
}


def add_test_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments that define a sequential test."""
    parser.add_argument("--h0", type=float, default=0.0, help="margin that is not enough (default: 0)")
    parser.add_argument("--h1", type=float, default=5.0, help="margin that is enough (default: 5)")
    parser.add_argument(
        "--unit",
        choices=UNITS,
        default=UNITS[0],
        help="unit of H0 and H1: win-rate, in per cent of the games above par, or rating, in rating points of which "
        "400 are odds of ten to one (default: win-rate)",
    )
    parser.add_argument("--alpha", type=float, default=0.05, help="probability of a wrong 'better' (default: 0.05)")
    parser.add_argument("--beta", type=float, default=0.05, help="probability of a wrong 'worse' (default: 0.05)")
    parser.add_argument(
        "--max-games", type=positive_int, default=20_000, help="undecided after so many games (default: 20000)"
    )


def read_test(chosen: argparse.Namespace) -> SequentialTest:
    """Return the test that was chosen."""
    margins = [chosen.h0, chosen.h1]
    for name, margin in zip(("--h0", "--h1"), margins, strict=True):
        if not math.isfinite(margin):
            raise ValueError(f"{name} {margin}; allowed: a number")
    if chosen.unit == "rating":
        h0, h1 = (margin_of_rating(max(-4000.0, min(margin, 4000.0)), chosen.num_players) for margin in margins)
    else:
        h0, h1 = (margin / 100 for margin in margins)
    return SequentialTest(chosen.num_players, h0, h1, chosen.alpha, chosen.beta)


def make_parser(prog: str) -> Parser:
    """Return the parser of the command line."""
    parser = Parser(prog, (__doc__ or "").replace("symphony9 gate", prog), error_status=GATE_FAILED)
    parser.add_argument("new", metavar="NEW", help=f"the agent that may be better: {agents.list_allowed()}")
    parser.add_argument("old", metavar="OLD", help="the agent that it is compared with")
    add_test_arguments(parser)
    parser.add_argument("--out", help="folder for the games (default: runs/gate-NEW-OLD-PLAYERSp)")
    parser.add_argument("--seed", type=int, default=0, help="seed of the deals and the agents (default: 0)")
    parser.add_argument("--num-threads", type=positive_int, default=1, help=THREADS_HELP)
    add_worker_arguments(parser)
    parser.add_argument("--timeout", type=float, default=TIMEOUT, help=TIMEOUT_HELP)
    add_variant_arguments(parser)
    return parser


def compute_margins(games: GameData, new: str, cycle_size: int) -> Floats:
    """Return the margin of each deal of which all `cycle_size` games were played, in the order of the deals."""
    num_players = games.num_players
    own, shares = games.seats[new], games.column("win_share")
    is_alone = own.sum(1) == 1
    wins_alone = np.where(is_alone, (shares * own).sum(1), 0)
    wins_against = np.where(is_alone, 0, (shares * ~own).sum(1))
    if num_players == 2:
        wins_against = 1 - wins_alone
    complete = np.bincount(games.deals) == cycle_size
    difference = np.bincount(games.deals, wins_alone - wins_against) / num_players
    margins: Floats = difference[complete] / 2
    return margins


class Gate:
    """A sequential test of two agents in the folder of a tournament, which plays its games."""

    def __init__(self, tournament: Tournament, test: SequentialTest) -> None:
        self.tournament = tournament
        self.test = test

    def margins(self) -> Floats:
        """Return the margins of all complete deals in the folder."""
        if not self.tournament.num_played:
            return np.zeros(0)
        names, rows = self.tournament.names, self.tournament.folder.items
        data = GameData(rows, names, self.tournament.variant.num_players)
        return compute_margins(data, names[0], self.test.cycle_size)

    def result(self) -> GateResult:
        """Return the verdict so far, from the deals up to the one that decided."""
        margins = self.margins()
        verdict, num_deals = self.test.decide(margins) if len(margins) else (UNDECIDED, 0)
        used = margins[: int(num_deals)]
        ratio = float(self.test.log_likelihood_ratios(used)[-1]) if len(used) else 0.0
        estimate = self.test.estimate(used)
        return {
            "verdict": VERDICTS[int(verdict)],
            "log_likelihood_ratio": ratio,
            "bounds": list(self.test.bounds),
            "deals": len(used),
            "games": len(used) * self.test.cycle_size,
            "margin": estimate.value,
            "margin_95": estimate.interval(),
            "h0": self.test.h0,
            "h1": self.test.h1,
            "alpha": self.test.alpha,
            "beta": self.test.beta,
        }

    def monitor(self) -> tuple[bool, Mapping[str, str]]:
        """Return whether there is a verdict, and the state of the test in words."""
        result = self.result()
        low, high = result["bounds"]
        notes = {
            "LLR": f"{result['log_likelihood_ratio']:.2f} ({low:.2f} … {high:.2f})",
            "margin": _format_margin(result["margin"]),
        }
        return result["verdict"] != VERDICTS[UNDECIDED], notes

    def play(self, max_games: int) -> None:
        """Play until there is a verdict or so many games were played."""
        self.tournament.play(max_games, self.monitor)


def _format_margin(margin: float) -> str:
    return f"{100 * margin:+.1f} %"


def format_result(result: GateResult, new: str, old: str) -> str:
    """Return the verdict and its figures as text."""
    low, high = result["bounds"]
    verdict = VERDICTS.index(result["verdict"])
    hypotheses = f"H0: {_format_margin(result['h0'])} or less, H1: {_format_margin(result['h1'])} or more"
    return "\n".join(
        [
            f"{result['verdict']}: {new} against {old} ({_STATUS_TEXTS[verdict]})",
            f"margin {_format_margin(result['margin'])} (95 %: {format_interval(result['margin_95'], _format_margin)}) "
            f"after {result['games']} games on {result['deals']} deals",
            f"log-likelihood ratio {result['log_likelihood_ratio']:.2f}, bounds {low:.2f} and {high:.2f}; {hypotheses}",
        ]
    )


def main(arguments: list[str] | None = None, prog: str = PROG) -> int:
    """Run the command and return its exit status."""
    chosen = make_parser(prog).parse_args(arguments)
    try:
        return _run(chosen, format_command(prog, arguments))
    except (ValueError, OSError):
        raise
    except Exception:  # Python's own exit status would be 1, which is a verdict
        traceback.print_exc()
        return GATE_FAILED


def _run(chosen: argparse.Namespace, command: str) -> int:
    variant, test = read_variant(chosen), read_test(chosen)
    named = [chosen.new, chosen.old]
    recipes = list_recipes(named, check_seed(chosen.seed), chosen.num_threads, chosen.timeout)
    new, old = (recipe.find_name() for recipe in recipes)
    out = chosen.out or f"runs/gate-{_slug(new)}-{_slug(old)}-{variant.num_players}p"
    settings: dict[str, Any] = {"h0": test.h0, "h1": test.h1, "alpha": test.alpha, "beta": test.beta}
    given = {"seed": chosen.seed, "kind": PAIRED, "num_records": 0, "more_settings": settings}
    with (
        open_pool(chosen.workers, chosen.address, named, chosen.num_threads) as pool,
        Tournament(recipes, variant, out, **given, pool=pool) as tournament,
    ):
        gate = Gate(tournament, test)
        stopped = _play(gate, chosen.max_games)
        result = gate.result()
        if not stopped:
            tournament.finish(command, result)
    _print(format_result(result, new, old) + f"\n{tournament.folder.path}: the games")
    if stopped:
        raise KeyboardInterrupt
    return VERDICTS.index(result["verdict"])


def _play(gate: Gate, max_games: int) -> bool:
    """Play, and return whether Ctrl-C stopped it; raise KeyboardInterrupt if no game was finished."""
    tournament = gate.tournament
    wanted = tournament.schedule.round_up_to_cycles(max_games)
    _print(f"at most {wanted} games, {gate.test.cycle_size} on each deal; {tournament.num_played} played")
    try:
        gate.play(max_games)
    except KeyboardInterrupt:
        kept = f"{tournament.num_played} games are kept"
        print(f"\nstopped: {kept}, and the same command continues", file=sys.stderr)
        if tournament.num_played == 0:
            raise
        return True
    return False


def _print(text: str) -> None:
    """Print text; the exit status is the result, so that it does not matter if nobody reads the text any more."""
    try:
        print(text, flush=True)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _slug(name: str) -> str:
    return re.sub(r"\W+", "-", name).strip("-")[:60]
