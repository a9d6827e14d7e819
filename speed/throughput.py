"""Measure steps per second of random legal play with observation and mask: our batches, our AEC, other libraries.

    python -m speed.throughput
    python -m speed.throughput --rounds 7 --seconds 1 --out results/throughput

All take turns in every round of one run on one pinned core. The figures are medians over rounds; so are the ratios.
Writes throughput.json and throughput.png. Libraries that are not installed are listed as missing.
"""

from __future__ import annotations

import json
import platform
from collections.abc import Callable
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import numpy as np

from speed import peers
from speed.aec import make_aec_workload
from speed.rounds import Rates, Workload, make_parser, measure_rates, median_rate, median_ratio, pin_to_one_core
from symphony9_env import BatchedGames, symphony9_v0

BATCHES = (1, 16, 256, 1024, 16384)
PACKAGES = ("symphony9-env", "numba", "pettingzoo", "pgx", "jax", "open_spiel", "rlcard")
OURS = "symphony9 batch 1024"
# The ratios of the batch of 1024 to other libraries that the project aims for.
TARGET_RATIOS = {
    "pgx connect_four": 1.5,
    "pgx leduc_holdem": 2.0,
    "pgx sparrow_mahjong": 40.0,
    "OpenSpiel maedn, 4 players": 40.0,
    "PettingZoo tictactoe, raw": 40.0,
}


def make_batch_workload(num_games: int) -> Workload:
    """Return a workload of a batch of games."""
    games = BatchedGames(num_games, num_players=4, seed=0)
    actions = games.sample_actions()
    calls = max(1, 4096 // num_games)

    def play() -> int:
        for _ in range(calls):
            games.sample_actions(out=actions)
            games.step(actions)
        return calls * num_games

    return play


def list_makers() -> dict[str, Callable[[], Workload]]:
    """Return a function for each workload that makes it."""
    batches = {f"symphony9 batch {n}": lambda n=n: make_batch_workload(n) for n in BATCHES}
    return {
        **batches,
        "symphony9 AEC, raw": lambda: make_aec_workload(symphony9_v0.raw_env(num_players=4)),
        "symphony9 AEC, with checks": lambda: make_aec_workload(symphony9_v0.env(num_players=4)),
        "PettingZoo tictactoe, raw": lambda: peers.make_pettingzoo_workload("tictactoe_v3", checked=False),
        "PettingZoo tictactoe, with checks": lambda: peers.make_pettingzoo_workload("tictactoe_v3", checked=True),
        "PettingZoo connect_four, raw": lambda: peers.make_pettingzoo_workload("connect_four_v3", checked=False),
        "PettingZoo connect_four, with checks": lambda: peers.make_pettingzoo_workload("connect_four_v3", checked=True),
        "RLCard leduc": lambda: peers.make_rlcard_workload("leduc-holdem"),
        "OpenSpiel maedn, 4 players": lambda: peers.make_openspiel_workload("maedn(players=4)"),
        "OpenSpiel leduc, 4 players": lambda: peers.make_openspiel_workload("leduc_poker(players=4)"),
        "pgx connect_four": lambda: peers.make_pgx_workload("connect_four"),
        "pgx leduc_holdem": lambda: peers.make_pgx_workload("leduc_holdem"),
        "pgx sparrow_mahjong": lambda: peers.make_pgx_workload("sparrow_mahjong", steps=10),
    }


def make_workloads() -> tuple[dict[str, Workload], dict[str, str]]:
    """Return the workloads, and the reason for each that is missing."""
    workloads: dict[str, Workload] = {}
    missing: dict[str, str] = {}
    for name, make in list_makers().items():
        try:
            workloads[name] = make()
        except ImportError as error:
            missing[name] = str(error)
    return workloads, missing


def format_rates(rates: Rates, missing: dict[str, str]) -> str:
    """Return the rates as a text table, with the ratio of our batch of 1024 to each."""
    lines = [f"{'':38} {'steps/s':>12} {'batch 1024 is':>14} {'target':>8}"]
    for name in sorted(rates, key=lambda name: -median_rate(rates, name)):
        ratio = f"{median_ratio(rates, OURS, name):.2f}x"
        target = f"{TARGET_RATIOS[name]:g}x" if name in TARGET_RATIOS else ""
        lines.append(f"{name:38} {median_rate(rates, name):>12,.0f} {ratio:>14} {target:>8}")
    lines += [f"{name:38} {'missing':>12}   ({reason})" for name, reason in missing.items()]
    return "\n".join(lines)


def make_results(rates: Rates, missing: dict[str, str]) -> dict[str, Any]:
    """Return the contents of throughput.json."""
    return {
        "python": platform.python_version(),
        "versions": {name: _find_version(name) for name in PACKAGES},
        "steps_per_second": rates,
        "medians": {name: median_rate(rates, name) for name in rates},
        "batch_1024_ratio": {name: median_ratio(rates, OURS, name) for name in rates},
        "wanted_ratio": TARGET_RATIOS,
        "missing": missing,
    }


def _find_version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None


def draw_plot(rates: Rates, path: Path) -> None:
    """Draw the rates as bars with their range over rounds, and save the plot."""
    from matplotlib.figure import Figure

    names = sorted(rates, key=lambda name: median_rate(rates, name))
    colours = ["tab:blue" if name.startswith("symphony9") else "tab:gray" for name in names]
    values = [median_rate(rates, name) for name in names]
    spread = np.array([[median_rate(rates, n) - min(rates[n]), max(rates[n]) - median_rate(rates, n)] for n in names]).T
    figure = Figure(figsize=(9, 0.36 * len(names) + 1.2))
    axes = figure.subplots()
    axes.barh(names, values, color=colours, xerr=spread, ecolor="black", capsize=2)
    axes.set_xscale("log")
    axes.set_xlabel("steps per second on one core (log scale), observation and mask included")
    for row, value in enumerate(values):
        axes.text(value * 1.25, row, f"{value:,.0f}", va="center", fontsize=8)
    axes.set_xlim(right=max(values) * 6)
    axes.spines[["top", "right"]].set_visible(False)
    figure.tight_layout()
    figure.savefig(path, dpi=130)


def main() -> None:
    """Run the command."""
    parser = make_parser("python -m speed.throughput", __doc__, rounds=5)
    out = Path("results/throughput")
    parser.add_argument("--out", type=Path, default=out, help=f"folder for the JSON file and the plot (default: {out})")
    arguments = parser.parse_args()
    arguments.out.mkdir(parents=True, exist_ok=True)
    pin_to_one_core()
    workloads, missing = make_workloads()
    rates = measure_rates(workloads, arguments.rounds, arguments.seconds)
    print(format_rates(rates, missing))
    (arguments.out / "throughput.json").write_text(json.dumps(make_results(rates, missing), indent=1) + "\n")
    try:
        draw_plot(rates, arguments.out / "throughput.png")
    except ImportError as error:
        print(f"no plot: {error}")
    print(f"written to {arguments.out}")


if __name__ == "__main__":
    main()
