"""Compare variants of `think:N`: each plays alone against copies of an opponent, on the same deals.

    python -m evaluation.think_variants --num-players 4 --lines 192 --opponent search:100 --games 100
    python -m evaluation.think_variants --num-players 2 --variants "default;num_rounds=2;lines=96,max_candidates=4"

A variant is `default`, or settings of `ThinkSettings` (and `lines`) with other values, separated by commas; variants
are separated by semicolons. The last columns are the processor time of a variant's decisions, and the same in units of
the opponent's. Choose by deals that the final results are not played on.
"""

from __future__ import annotations

import sys
import time
from dataclasses import fields
from typing import Any, Final

from symphony9_env import agents, symphony9_v0
from symphony9_env.agents.base import Agent, Positions, Rows
from symphony9_env.agents.think import DEFAULT_LINES, ThinkAgent, ThinkSettings
from symphony9_env.arena.console import format_interval, format_percent, positive_int
from symphony9_env.arena.matches import win_rate_against
from symphony9_env.arguments import Parser, add_variant_arguments, read_variant, run
from symphony9_env.options import check_seed

PROG: Final = "python -m evaluation.think_variants"
DEFAULT: Final = "default"
_NUMBERS: Final[dict[str, Any]] = {"lines": int} | {field.name: type(field.default) for field in fields(ThinkSettings)}


class TimedAgent(Agent):
    """Plays as another agent, and measures the processor time of its decisions."""

    def __init__(self, agent: Agent) -> None:
        self.agent = agent
        self.name = agent.name
        self.seed = agent.seed
        self._seconds = 0.0
        self._decisions = 0

    def decide(self, positions: Positions, rows: Rows) -> Rows:
        start = time.process_time()
        actions = self.agent.decide(positions, rows)
        self._seconds += time.process_time() - start
        self._decisions += len(rows)
        return actions

    def milliseconds(self) -> float:
        """Return the mean time of a decision."""
        return 1000 * self._seconds / self._decisions


def make_variant(text: str, lines: int, seed: int) -> ThinkAgent:
    """Return the agent that a variant stands for."""
    changed: dict[str, Any] = {}
    for part in [] if text.strip() == DEFAULT else text.split(","):
        name, _, value = (piece.strip() for piece in part.partition("="))
        try:
            changed[name] = _NUMBERS[name](value)
        except (KeyError, ValueError):
            raise ValueError(
                f"variant {part.strip()!r}; allowed: {DEFAULT}, or NAME=NUMBER, with a name of {', '.join(_NUMBERS)}"
            ) from None
    return ThinkAgent(changed.pop("lines", lines), seed, settings=ThinkSettings(**changed))


def make_parser() -> Parser:
    """Return the parser of the command line."""
    parser = Parser(PROG, __doc__)
    parser.add_argument("--variants", default=DEFAULT, help=f"see above (default: {DEFAULT})")
    parser.add_argument("--lines", type=positive_int, default=DEFAULT_LINES, help=f"N (default: {DEFAULT_LINES})")
    parser.add_argument("--opponent", default="search:100", help="in all other seats (default: search:100)")
    parser.add_argument("--games", type=positive_int, default=100, help="games of each variant (default: 100)")
    parser.add_argument("--seed", type=int, default=5000, help="seed of the deals (default: 5000)")
    add_variant_arguments(parser)
    return parser


def main(arguments: list[str] | None = None) -> None:
    """Run the command."""
    chosen = make_parser().parse_args(arguments)
    seed, variant = check_seed(chosen.seed), read_variant(chosen)
    variants = {text.strip(): make_variant(text, chosen.lines, seed=1) for text in chosen.variants.split(";")}
    env = symphony9_v0.raw_env(num_players=variant.num_players)
    env.reset(seed=0)
    print(f"{'':44} {'wins':>7} {'95 %':>13} {'ms':>7} {'ratio':>6}")
    for text, agent in variants.items():
        pair = TimedAgent(agent), TimedAgent(agents.make(chosen.opponent, seed=2))
        for player in pair:
            player.agent.choose(env)  # compiles what it needs
        won = win_rate_against(*pair, variant, chosen.games, seed)
        own, other = (player.milliseconds() for player in pair)
        interval = format_interval(won.interval(), format_percent)
        print(f"{text:44} {format_percent(won.value):>7} {interval:>13} {own:7.1f} {own / other:6.2f}", flush=True)


if __name__ == "__main__":
    sys.exit(run("think_variants", main))
