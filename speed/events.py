"""Compare batched stepping in this checkout with another one: does the optional event buffer cost time when absent?

    python -m speed.events --baseline ../symphony9-before-events
    python -m speed.events --baseline PATH --rounds 30 --seconds 2

Each measurement runs in a new process, with the checkout's folder first on the import path: two processes with the
same code may differ by 15 %, depending on where their memory lies. The processes play the same batch of random games,
one after the other on one pinned core; the order changes from round to round. The result is the median over rounds of
the ratio of their speeds. Another process of this checkout in each round shows the noise: its ratio should be 1.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
from pathlib import Path

from speed.rounds import Rates, make_parser, median_rate, pin_to_one_core
from symphony9_env.arguments import run

CURRENT, BASELINE, CONTROL = "this checkout", "baseline", "this checkout, again"
PROG = "python -m speed.events"
# Uses only names that both checkouts have. It prints the steps per second and where the package was imported from.
WORKER = """
import sys, time
import symphony9_env
games = symphony9_env.BatchedGames(num_games=1024, num_players=4, seed=0)

def measure(seconds):
    steps, start = 0, time.perf_counter()
    while (passed := time.perf_counter() - start) < seconds:
        games.step(games.sample_actions())
        steps += 1024
    return steps / passed

measure(0.5)  # compile and warm up
print(measure(float(sys.argv[1])), symphony9_env.__file__)
"""


def measure(checkout: Path, seconds: float) -> float:
    """Return the steps per second of the batched games of a checkout, measured in a new process."""
    done = subprocess.run(
        [sys.executable, "-c", WORKER, str(seconds)],
        cwd=checkout,
        env={**os.environ, "PYTHONPATH": str(checkout)},
        stdout=subprocess.PIPE,
        text=True,
        check=False,
    )
    rate, _, imported = done.stdout.strip().partition(" ")
    if not Path(imported).is_relative_to(checkout):
        reason = f"symphony9_env is imported from {imported}" if imported else "its games can't be played"
        raise ValueError(f"{checkout}: can't be measured: {reason}")
    return float(rate)


def compare(baseline: Path, rounds: int, seconds: float) -> Rates:
    """Return the steps per second of both checkouts, and of this one once more, in each round."""
    current = Path(__file__).resolve().parent.parent
    checkouts = {CURRENT: current, BASELINE: baseline.resolve(), CONTROL: current}
    rates: Rates = {name: [] for name in checkouts}
    for number in range(rounds):
        for name in list(checkouts) if number % 2 == 0 else list(checkouts)[::-1]:
            rates[name].append(measure(checkouts[name], seconds))
    return rates


def format_ratio(rates: Rates, name: str, reference: str) -> str:
    """Return the median of the ratio of two rates over rounds, with its quartiles if there are several rounds."""
    ratios = [own / other for own, other in zip(rates[name], rates[reference], strict=True)]
    text = f"{name} / {reference}: {statistics.median(ratios):.4f}"
    if len(ratios) == 1:
        return text
    low, _, high = statistics.quantiles(ratios, n=4, method="inclusive")
    return f"{text} (middle half of {len(ratios)} rounds: {low:.4f} … {high:.4f})"


def main() -> None:
    """Run the command."""
    parser = make_parser(PROG, __doc__, rounds=20)
    parser.add_argument("--baseline", type=Path, required=True, help="folder of the checkout to compare with")
    arguments = parser.parse_args()
    if not (arguments.baseline / "symphony9_env").is_dir():
        raise ValueError(f"--baseline {arguments.baseline}: is not a checkout with a folder symphony9_env")
    pin_to_one_core()
    rates = compare(arguments.baseline, arguments.rounds, arguments.seconds)
    for name in rates:
        print(f"{name:22} {median_rate(rates, name):12,.0f} steps/s")
    print(format_ratio(rates, CURRENT, BASELINE))
    print(format_ratio(rates, CONTROL, CURRENT))


if __name__ == "__main__":
    sys.exit(run(PROG, main))
