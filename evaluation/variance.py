"""Compare the variance of win rates with and without corrections for luck and redraws, for a pair of agents.

    python -m evaluation.variance policy planner --num-players 2 3 4 --games 2000 --redraws 3
    python -m evaluation.variance think:350 search:800 --num-players 2 --games 200

The first agent plays alone against copies of the second one, on duplicate deals. All rows are about the same games:
`plain` is their win rate, `corrections` corrects it for luck, `redraws` plays each game again with other tokens and bot
tiles, and `both` does both. The effective number of games is the number of independent games with the same variance of
the win rate. `gain` is its ratio to that of the plain win rate, and `cost` the ratio of the CPU times, so that a gain
above the cost is worth more than more games. The time to write games.csv and records is not included.
"""

from __future__ import annotations

import sys
import time
from contextlib import closing
from typing import Any, Final

import numpy as np

from symphony9_env.agents import list_allowed
from symphony9_env.arena.console import format_interval, format_percent, format_table, positive_int, show_progress
from symphony9_env.arena.control_variate import ControlVariate, adjust_win_rate
from symphony9_env.arena.game_players import TournamentPlayer
from symphony9_env.arena.luck import KINDS, Luck
from symphony9_env.arena.matches import PlayedGame, Schedule, play
from symphony9_env.arena.tournament import list_recipes
from symphony9_env.arguments import Parser, run
from symphony9_env.components import PLAYER_COUNTS
from symphony9_env.options import Variant, check_seed
from symphony9_env.scores import score_sheet

PROG: Final = "python -m evaluation.variance"
BATCH_DEALS: Final = 24


class Comparison:
    """Plays the games of one pair with one number of players, and measures the four estimates."""

    def __init__(self, names: list[str], num_players: int, seed: int, redraws: int, num_threads: int) -> None:
        self.variant = Variant(num_players=num_players)
        self.player = TournamentPlayer(list_recipes(names, seed, num_threads), self.variant, num_records=0)
        self.agents = self.player.agents
        self.schedule = Schedule(2, num_players, seed, "first-against-rest")
        self.control = ControlVariate(self.agents, self.variant, redraws)
        self.luck = Luck(self.agents, num_players)
        self.seconds = dict.fromkeys(("plain", "corrections", "redraws", "correct redraws"), 0.0)
        self.shares: list[Any] = []  # (plays,) of each game
        self.corrections: list[Any] = []  # (plays, kinds)
        self.deals: list[int] = []

    def play(self, num_games: int) -> None:
        """Play the games."""
        wanted = self.schedule.round_up_to_cycles(num_games)
        size = BATCH_DEALS * self.variant.num_players
        with show_progress(wanted, 0, label=f"{self.variant.num_players} players") as advance:
            for first in range(0, wanted, size):
                numbers = range(first, min(first + size, wanted))
                self._play_batch(numbers)
                advance(len(numbers))

    def _play_batch(self, numbers: range) -> None:
        games = self._time("plain", lambda: play([self.schedule.game(n) for n in numbers], self.agents, self.variant))
        again = self._time("redraws", lambda: self.control.redraw(games))
        first = self._time("corrections", lambda: self.luck.correct(games))
        other = self._time("correct redraws", lambda: self.luck.correct(again))
        redraws = self.control.redraws
        for number, game in enumerate(games):
            plays = [game, *again[number * redraws :][:redraws]]
            seat = game.game.agents.index(0)
            self.shares.append([_win_share(one, seat) for one in plays])
            mine = other[number * redraws :][:redraws, seat]
            self.corrections.append(np.concatenate([first[number : number + 1, seat], mine]))
            self.deals.append(game.game.deal)

    def _time(self, part: str, work: Any) -> Any:
        begun = time.process_time()
        result = work()
        self.seconds[part] += time.process_time() - begun
        return result

    def rows(self) -> list[list[str]]:
        """Return a row of the table for each estimate."""
        shares, corrections, deals = np.array(self.shares), np.array(self.corrections), np.array(self.deals)
        redraws, none = self.control.redraws, np.zeros((len(shares), len(KINDS)))
        seconds = self.seconds
        estimates = {
            "plain": (adjust_win_rate(shares[:, 0], none, deals), 0.0),
            "corrections": (adjust_win_rate(shares[:, 0], corrections[:, 0], deals), seconds["corrections"]),
        }
        if redraws:
            means = shares.mean(1), corrections.mean(1)
            every = seconds["redraws"] + seconds["corrections"] + seconds["correct redraws"]
            estimates["redraws"] = adjust_win_rate(means[0], none, deals, redraws + 1), seconds["redraws"]
            estimates["both"] = adjust_win_rate(*means, deals, redraws + 1), every
        plain = estimates["plain"][0].effective_games
        return [
            [
                f"{self.variant.num_players} players, {name}",
                format_percent(one.estimate.value),
                format_interval(one.estimate.interval(), format_percent),
                f"{one.effective_games:.0f}",
                f"{one.effective_games / plain:.2f}",
                f"{1 + more / seconds['plain']:.2f}",
            ]
            for name, (one, more) in estimates.items()
        ]


def _win_share(played: PlayedGame, seat: int) -> float:
    return list(score_sheet(played.final).values())[seat].win_share


def main(arguments: list[str] | None = None) -> None:
    """Run the command."""
    parser = Parser(PROG, __doc__)
    parser.add_argument("agent", help=f"the agent that plays alone: {list_allowed()}")
    parser.add_argument("opponent", help="the agent in all other seats")
    parser.add_argument("--num-players", type=int, nargs="+", choices=PLAYER_COUNTS, default=list(PLAYER_COUNTS))
    parser.add_argument("--games", type=positive_int, default=400, help="rounded up to whole deals (default: 400)")
    parser.add_argument("--redraws", type=int, default=0, help="further plays of each game (default: 0)")
    parser.add_argument("--seed", type=int, default=0, help="seed of the deals and the agents (default: 0)")
    parser.add_argument("--num-threads", type=positive_int, default=1, help="threads for search (default: 1)")
    chosen = parser.parse_args(arguments)
    rows = []
    for num_players in chosen.num_players:
        names = [chosen.agent, chosen.opponent]
        made = Comparison(names, num_players, check_seed(chosen.seed), chosen.redraws, chosen.num_threads)
        with closing(made.player):
            made.play(chosen.games)
        rows += made.rows()
    for name, about in made.control.describe().items():
        print(f"actions of {name}: {about}")
    print(format_table(["", "win rate", "95 %", "effective games", "gain", "cost"], rows))


if __name__ == "__main__":
    sys.exit(run("variance", main))
