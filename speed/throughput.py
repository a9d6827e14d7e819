"""Steps a second with observation and mask at random legal play: our batched engine, our AEC, and the peers.

    python -m speed.throughput
    python -m speed.throughput --rounds 7 --seconds 1 --out results/throughput

One run, one pinned core, everybody in turn in every round; figures are medians over rounds, and so are the
ratios of each round. Writes throughput.json and throughput.png. Peers that aren't installed are named as missing.
"""

from __future__ import annotations

import argparse
import json
import platform
from collections.abc import Callable
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import numpy as np

from speed import peers
from speed.aec import aec_player
from speed.rounds import Play, Rates, measure, median, pin_to_one_core, positive, ratio
from symphony9_env import BatchedGames, symphony9_v0

BATCHES = (1, 16, 256, 1024, 16384)
PACKAGES = ("symphony9-env", "numba", "pettingzoo", "pgx", "jax", "open_spiel", "rlcard")
OURS = "symphony9 batch 1024"
# Wanted at least this many times as fast as the peer, by the batch of 1024.
WANTED = {
    "pgx connect_four": 1.5,
    "pgx leduc_holdem": 2.0,
    "pgx sparrow_mahjong": 40.0,
    "OpenSpiel maedn, 4 players": 40.0,
    "PettingZoo tictactoe, raw": 40.0,
}


def batch_player(num_games: int) -> Play:
    games = BatchedGames(num_games, num_players=4, seed=0)
    actions = games.sample_actions()
    calls = max(1, 4096 // num_games)

    def play() -> int:
        for _ in range(calls):
            games.sample_actions(out=actions)
            games.step(actions)
        return calls * num_games

    return play


def makers() -> dict[str, Callable[[], Play]]:
    batches = {f"symphony9 batch {n}": lambda n=n: batch_player(n) for n in BATCHES}
    return {
        **batches,
        "symphony9 AEC, raw": lambda: aec_player(symphony9_v0.raw_env(num_players=4)),
        "symphony9 AEC, with checks": lambda: aec_player(symphony9_v0.env(num_players=4)),
        "PettingZoo tictactoe, raw": lambda: peers.pettingzoo_game("tictactoe_v3", checked=False),
        "PettingZoo tictactoe, with checks": lambda: peers.pettingzoo_game("tictactoe_v3", checked=True),
        "PettingZoo connect_four, raw": lambda: peers.pettingzoo_game("connect_four_v3", checked=False),
        "PettingZoo connect_four, with checks": lambda: peers.pettingzoo_game("connect_four_v3", checked=True),
        "RLCard leduc": lambda: peers.rlcard_game("leduc-holdem"),
        "OpenSpiel maedn, 4 players": lambda: peers.open_spiel_game("maedn(players=4)"),
        "OpenSpiel leduc, 4 players": lambda: peers.open_spiel_game("leduc_poker(players=4)"),
        "pgx connect_four": lambda: peers.pgx_game("connect_four"),
        "pgx leduc_holdem": lambda: peers.pgx_game("leduc_holdem"),
        "pgx sparrow_mahjong": lambda: peers.pgx_game("sparrow_mahjong", steps=10),
    }


def prepare() -> tuple[dict[str, Play], dict[str, str]]:
    """Everybody who can play, and who is missing with the reason."""
    ready: dict[str, Play] = {}
    missing: dict[str, str] = {}
    for name, make in makers().items():
        try:
            ready[name] = make()
        except ImportError as error:
            missing[name] = str(error)
    return ready, missing


def table(rates: Rates, missing: dict[str, str]) -> str:
    lines = [f"{'':38} {'steps/s':>12} {'batch 1024 is':>14} {'wanted':>8}"]
    for name in sorted(rates, key=lambda name: -median(rates, name)):
        times = f"{ratio(rates, OURS, name):.2f}x"
        wanted = f"{WANTED[name]:g}x" if name in WANTED else ""
        lines.append(f"{name:38} {median(rates, name):>12,.0f} {times:>14} {wanted:>8}")
    lines += [f"{name:38} {'missing':>12}   ({reason})" for name, reason in missing.items()]
    return "\n".join(lines)


def results(rates: Rates, missing: dict[str, str]) -> dict[str, Any]:
    return {
        "python": platform.python_version(),
        "versions": {
            name: _version(name)
            for name in ("symphony9-env", "numba", "pettingzoo", "pgx", "jax", "open_spiel", "rlcard")
        },
        "steps_per_second": rates,
        "medians": {name: median(rates, name) for name in rates},
        "batch_1024_ratio": {name: ratio(rates, OURS, name) for name in rates},
        "wanted_ratio": WANTED,
        "missing": missing,
    }


def _version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None


def plot(rates: Rates, path: Path) -> None:
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot

    names = sorted(rates, key=lambda name: median(rates, name))
    colours = ["tab:blue" if name.startswith("symphony9") else "tab:gray" for name in names]
    values = [median(rates, name) for name in names]
    spread = np.array([[median(rates, n) - min(rates[n]), max(rates[n]) - median(rates, n)] for n in names]).T
    figure, axes = pyplot.subplots(figsize=(9, 0.36 * len(names) + 1.2))
    axes.barh(names, values, color=colours, xerr=spread, ecolor="black", capsize=2)
    axes.set_xscale("log")
    axes.set_xlabel("steps a second on one core (log scale), observation and mask included")
    for row, value in enumerate(values):
        axes.text(value * 1.25, row, f"{value:,.0f}", va="center", fontsize=8)
    axes.set_xlim(right=max(values) * 6)
    axes.spines[["top", "right"]].set_visible(False)
    figure.tight_layout()
    figure.savefig(path, dpi=130)
    pyplot.close(figure)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=positive, default=5, help="rounds of everybody (5)")
    parser.add_argument("--seconds", type=float, default=1.0, help="for each in a round (1)")
    parser.add_argument("--out", type=Path, default=Path("results/throughput"), help="folder for JSON and plot")
    arguments = parser.parse_args()
    arguments.out.mkdir(parents=True, exist_ok=True)
    pin_to_one_core()
    ready, missing = prepare()
    rates = measure(ready, arguments.rounds, arguments.seconds)
    print(table(rates, missing))
    (arguments.out / "throughput.json").write_text(json.dumps(results(rates, missing), indent=1) + "\n")
    try:
        plot(rates, arguments.out / "throughput.png")
    except ImportError as error:
        print(f"no plot: {error}")
    print(f"written to {arguments.out}")


if __name__ == "__main__":
    main()
