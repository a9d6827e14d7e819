"""Simulate the sequential test of `symphony9 gate`: its error rates, and how many games it saves.

    python -m evaluation.gate_power --num-players 2
    python -m evaluation.gate_power --num-players 4 --h1 3 --alpha 0.01 --beta 0.1 --matches 5000
    python -m evaluation.gate_power --num-players 3 --luck 2       # deals that favour some seats strongly
    python -m evaluation.gate_power --num-players 4 --affinity 1   # deals that suit one of the agents

Matches are simulated for several true margins, and each is decided by the code that decides real ones. In a simulated
game the winner is drawn by the Plackett-Luce model: the new agent has a strength, and each seat of a deal has some luck
of its own, the same in all games of the deal, as in duplicate deals. With `--affinity`, a deal also suits one of the
agents more than the other. The strength is chosen so that the mean margin is the one that is named. The fixed number of
games is what a test with the same error rates needs whose number of games is fixed in advance.
"""

from __future__ import annotations

import sys
from typing import Final

import numpy as np

from symphony9_env.arena.console import format_percent, format_table, positive_int
from symphony9_env.arena.gate import add_test_arguments, read_test
from symphony9_env.arena.sequential import BETTER, MAX_MARGIN, UNDECIDED, WORSE, Floats, SequentialTest
from symphony9_env.arguments import Parser, add_option_arguments, run

PROG: Final = "python -m evaluation.gate_power"
BLOCK_DEALS: Final = 200_000  # deals that are simulated in one call
CALIBRATION_DEALS: Final = 200_000


class Model:
    """Draws the margins of deals that two agents play."""

    def __init__(self, num_players: int, luck: float, affinity: float = 0.0) -> None:
        self.num_players = num_players
        self.luck = luck
        self.affinity = affinity

    def _win_rates(self, seats: Floats, strength: Floats) -> Floats:
        """Return how often an agent of this strength wins alone in each seat, against agents of strength 0."""
        own = np.exp(seats + strength)
        others = np.exp(seats).sum(-1, keepdims=True) - np.exp(seats)
        rates: Floats = own / (own + others)
        return rates

    def draw_margins(self, rng: np.random.Generator, num_deals: int, strength: float) -> Floats:
        """Return the margins of deals in which the new agent has this strength."""
        seats, affinities = self._draw_deals(rng, num_deals)
        alone = rng.random(seats.shape) < self._win_rates(seats, strength + affinities)
        if self.num_players == 2:
            return np.asarray(alone.mean(1) - 1 / 2)
        against = rng.random(seats.shape) < self._win_rates(seats, -strength - affinities)
        return np.asarray((alone.mean(1) - against.mean(1)) / 2)

    def _draw_deals(self, rng: np.random.Generator, num_deals: int) -> tuple[Floats, Floats]:
        """Return the luck of each seat, and by how much each deal suits the new agent, as a column."""
        seats = self.luck * rng.standard_normal((num_deals, self.num_players))
        return seats, self.affinity * rng.standard_normal((num_deals, 1))

    def find_strength(self, margin: float) -> float:
        """Return the strength at which the mean margin is this one."""
        seats, affinities = self._draw_deals(np.random.default_rng(0), CALIBRATION_DEALS)
        affinities -= affinities.mean()
        low, high = -20.0, 20.0
        for _ in range(50):
            middle = (low + high) / 2
            strength = middle + affinities
            mean = (self._win_rates(seats, strength).mean() - self._win_rates(seats, -strength).mean()) / 2
            low, high = (middle, high) if mean < margin else (low, middle)
        return (low + high) / 2


def simulate_matches(
    test: SequentialTest, model: Model, margin: float, num_matches: int, max_deals: int, seed: int
) -> tuple[Floats, float]:
    """Decide simulated matches; return the share of each verdict, and the mean number of deals."""
    rng, strength = np.random.default_rng(seed), model.find_strength(margin)
    block = max(1, BLOCK_DEALS // max_deals)
    verdicts, num_deals = [], []
    for first in range(0, num_matches, block):
        size = min(block, num_matches - first)
        margins = model.draw_margins(rng, size * max_deals, strength).reshape(size, max_deals)
        decided, lengths = test.decide(margins)
        verdicts.append(decided)
        num_deals.append(lengths)
    counts = np.bincount(np.concatenate(verdicts), minlength=UNDECIDED + 1)
    return counts / num_matches, float(np.concatenate(num_deals).mean())


def main(arguments: list[str] | None = None) -> None:
    """Run the command."""
    parser = Parser(PROG, __doc__)
    add_test_arguments(parser)
    parser.add_argument("--matches", type=positive_int, default=2000, help="matches per margin (default: 2000)")
    parser.add_argument(
        "--luck", type=float, default=0.5, help="spread of the seats' strengths in a deal (default: 0.5)"
    )
    parser.add_argument(
        "--affinity", type=float, default=0.0, help="spread of how much a deal suits an agent (default: 0)"
    )
    parser.add_argument("--seed", type=int, default=0, help="seed of the simulation (default: 0)")
    add_option_arguments(parser, ["num_players"])
    chosen = parser.parse_args(arguments)
    test, model = read_test(chosen), Model(chosen.num_players, chosen.luck, chosen.affinity)
    max_deals = -(-chosen.max_games // test.cycle_size)
    step = (test.h1 - test.h0) / 2
    rows = []
    margins = (test.h0 - 2 * step, test.h0, test.h0 + step, test.h1, test.h1 + 2 * step)
    for margin in [margin for margin in margins if abs(margin) < MAX_MARGIN]:
        shares, num_deals = simulate_matches(test, model, margin, chosen.matches, max_deals, chosen.seed)
        drawn = model.draw_margins(np.random.default_rng(chosen.seed), CALIBRATION_DEALS, model.find_strength(margin))
        fixed = test.fixed_size(float(drawn.var()))
        names = [format_percent(shares[verdict]) for verdict in (BETTER, WORSE, UNDECIDED)]
        games = [f"{test.cycle_size * number:,.0f}" for number in (num_deals, fixed)]
        rows.append([format_percent(margin), *names, *games, f"{num_deals / fixed:.2f}"])
    head = ["true margin", "better", "worse", "undecided", "mean games", "fixed number", "ratio"]
    print(format_table(head, rows))
    print(f"\nH0: {format_percent(test.h0)}, H1: {format_percent(test.h1)}, alpha {test.alpha}, beta {test.beta}")


if __name__ == "__main__":
    sys.exit(run("gate_power", main))
