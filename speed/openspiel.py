"""Measure the OpenSpiel game against OpenSpiel's own games in one run: moves, clones and strings per second.

    python -m speed.openspiel
    python -m speed.openspiel --rounds 10 --seconds 1

All games play random legal moves and read every observation and mask. Clones and strings are made of the states in the
middle of random games. Workloads take turns of about a second, for several rounds, on one pinned core. The figures are
medians over rounds; so are the ratios.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

from speed.peers import make_openspiel_workload
from speed.rounds import Rates, Workload, make_parser, measure_rates, median_rate, median_ratio, pin_to_one_core

GAMES = {  # our game first; peers written in Python and in C++
    "python_symphony9(players=4)": "symphony9, 4 players",
    "python_liars_poker": "liar's poker, Python",
    "python_block_dominoes": "block dominoes, Python",
    "leduc_poker(players=4)": "leduc poker, 4 players, C++",
}


def sample_states(name: str, games: int = 50) -> list[Any]:
    """Return one state of each of several random games, from a random point at which a player decides."""
    import pyspiel

    game = pyspiel.load_game(name)
    states = []
    for _ in range(games):
        state = game.new_initial_state()
        decisions = []
        while not state.is_terminal():
            if not state.is_chance_node():
                decisions.append(state.clone())
            state.apply_action(random.choice(state.legal_actions()))
        states.append(random.choice(decisions))
    return states


def make_state_workload(name: str, use: Callable[[Any], object]) -> Workload:
    """Return a workload that uses every sampled state once."""
    states = sample_states(name)

    def use_all() -> int:
        for state in states:
            use(state)
        return len(states)

    return use_all


def resample(state: Any) -> object:
    """Return a state that the player to decide can't tell from this one."""
    return state.resample_from_infostate(state.current_player(), random.random)


def make_workloads() -> dict[str, Workload]:
    """Return the workloads of all games, named "what, game"."""
    import open_spiel.python.games  # noqa: F401 (registers the peers that are written in Python)

    import symphony9_env.integrations.openspiel  # noqa: F401 (registers the game)

    workloads = {f"move, {title}": make_openspiel_workload(name) for name, title in GAMES.items()}
    for name, title in GAMES.items():
        workloads[f"clone, {title}"] = make_state_workload(name, lambda state: state.clone())
    for name, title in GAMES.items():
        workloads[f"information state string, {title}"] = make_state_workload(
            name, lambda state: state.information_state_string(state.current_player())
        )
    ours = next(iter(GAMES))
    workloads[f"resampled state, {GAMES[ours]}"] = make_state_workload(ours, resample)
    return workloads


def format_rates(rates: Rates) -> str:
    """Return the rates as a text table, each with the ratio of our game's rate to it."""
    lines = [f"{'':52} {'per second':>10}   our rate / this"]
    for name in rates:
        ours = f"{name.split(', ')[0]}, {next(iter(GAMES.values()))}"
        lines.append(f"{name:52} {median_rate(rates, name):>10,.0f}   {median_ratio(rates, ours, name):.2f}")
    return "\n".join(lines)


def main() -> None:
    """Run the command."""
    arguments = make_parser("python -m speed.openspiel", __doc__, rounds=5).parse_args()
    pin_to_one_core()
    random.seed(0)
    try:
        workloads = make_workloads()
    except ImportError as error:
        raise SystemExit(f"OpenSpiel can't be imported ({error}); run `make install`") from error
    print(format_rates(measure_rates(workloads, arguments.rounds, arguments.seconds)))


if __name__ == "__main__":
    main()
