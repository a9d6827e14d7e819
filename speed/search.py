"""Measure playouts per second of our compiled search and of OpenSpiel's Python ISMCTS on its own games in C++.

    python -m speed.search
    python -m speed.search --rounds 9 --seconds 2

All searches take turns in one run on one core. Each searches the first decision of a new game again and again, so that
playouts have the full length of a game. OpenSpiel's playouts consist of random moves; in ours all players follow a
strategy (the planner's or the greedy one's). The rows with `rivals` show what the rivals' strategy costs: there all
rivals follow the named one, and the seat itself still follows the planner beyond its tree. Of OpenSpiel's games,
`hearts` is closest in length and number of players; `leduc_poker` is short.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from speed.rounds import Workload, make_parser, measure_rates, median_rate, median_ratio, pin_to_one_core
from symphony9_env import agents, symphony9_v0
from symphony9_env.agents.strategies import STRATEGIES
from symphony9_env.components import PLAYER_COUNTS

PLAYOUTS = 100
OURS = "symphony9 search"
PEERS = {"OpenSpiel ISMCTS, hearts": "hearts", "OpenSpiel ISMCTS, leduc, 4 players": "leduc_poker(players=4)"}


def make_search_workload(num_players: int, rivals: str = "") -> Workload:
    """Return a workload of our search; `rivals` may be `@` and a strategy."""
    env = symphony9_v0.raw_env(num_players=num_players)
    agent = agents.make(f"search:{PLAYOUTS}{rivals}", seed=0)
    seeds = iter(range(10**9))

    def play() -> int:
        env.reset(seed=next(seeds))
        agent.choose(env)
        return PLAYOUTS

    return play


def make_openspiel_workload(name: str) -> Workload:
    """Return a workload of OpenSpiel's ISMCTS."""
    import pyspiel
    from open_spiel.python.algorithms import ismcts, mcts

    game = pyspiel.load_game(name)
    rng = np.random.RandomState(0)
    bot = ismcts.ISMCTSBot(
        game, mcts.RandomRolloutEvaluator(1, rng), uct_c=1.0, max_simulations=PLAYOUTS, random_state=rng
    )

    def play() -> int:
        bot.step(deal(game, rng))
        return PLAYOUTS

    return play


def deal(game: Any, rng: Any) -> Any:
    """Return a new state with the initial chance events played."""
    state = game.new_initial_state()
    while state.is_chance_node():
        outcomes, probabilities = zip(*state.chance_outcomes(), strict=True)
        state.apply_action(int(rng.choice(outcomes, p=probabilities)))
    return state


def main() -> None:
    """Run the command."""
    parser = make_parser("python -m speed.search", __doc__, rounds=7)
    parser.add_argument("--num-players", type=int, default=4, choices=PLAYER_COUNTS, help="in our game (default: 4)")
    arguments = parser.parse_args()
    pin_to_one_core()
    count = arguments.num_players
    workloads = {OURS: make_search_workload(count)}
    workloads |= {f"{OURS}, rivals {name}": make_search_workload(count, f"@{name}") for name in STRATEGIES}
    workloads |= {title: make_openspiel_workload(name) for title, name in PEERS.items()}
    rates = measure_rates(workloads, arguments.rounds, arguments.seconds)
    print(f"{'':36} {'playouts/s':>10}   {OURS} in units of it")
    for name in workloads:
        print(f"{name:36} {median_rate(rates, name):10,.0f}   {median_ratio(rates, OURS, name):.1f}")


if __name__ == "__main__":
    main()
