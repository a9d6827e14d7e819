"""Playouts a second: our compiled search beside OpenSpiel's Python ISMCTS on games of its own in C++.

    python -m speed.search
    python -m speed.search --rounds 9 --seconds 2

All in one run on one core, in turns. Everybody searches the first decision of a fresh game, over and over: the whole
game lies ahead. OpenSpiel's playouts are random moves; in ours every player thinks (the planner's or the greedy
player's move). The rows with `rivals` say what a rival's thinking costs: there all rivals play that strategy, while the
seat itself still follows the planner past its tree. `hearts` is nearest in length and players, `leduc_poker` is short.
"""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np

from speed.rounds import Play, measure, median, pin_to_one_core, positive, ratio
from symphony9_env import agents, symphony9_v0
from symphony9_env.agents.search import SearchAgent
from symphony9_env.agents.strategies import STRATEGIES

PLAYOUTS = 100
OURS = "symphony9 search"
PEERS = {"OpenSpiel ISMCTS, hearts": "hearts", "OpenSpiel ISMCTS, leduc, 4 players": "leduc_poker(players=4)"}


def ours(num_players: int, rivals: str = "") -> Play:
    env = symphony9_v0.raw_env(num_players=num_players)
    agent = agents.make(f"search:{PLAYOUTS}{rivals}", seed=0)
    assert isinstance(agent, SearchAgent)
    seeds = iter(range(10**9))

    def play() -> int:
        env.reset(seed=next(seeds))
        agent.choose(env)
        return PLAYOUTS

    return play


def openspiel(name: str) -> Play:
    import pyspiel
    from open_spiel.python.algorithms import ismcts, mcts

    game = pyspiel.load_game(name)
    rng = np.random.RandomState(0)
    bot = ismcts.ISMCTSBot(
        game, mcts.RandomRolloutEvaluator(1, rng), uct_c=1.0, max_simulations=PLAYOUTS, random_state=rng
    )

    def play() -> int:
        bot.step(dealt(game, rng))
        return PLAYOUTS

    return play


def dealt(game: Any, rng: Any) -> Any:
    """A fresh game past its chance nodes."""
    state = game.new_initial_state()
    while state.is_chance_node():
        outcomes, odds = zip(*state.chance_outcomes(), strict=True)
        state.apply_action(int(rng.choice(outcomes, p=odds)))
    return state


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--num-players", type=int, default=4, choices=(2, 3, 4), help="in our game (4)")
    parser.add_argument("--rounds", type=positive, default=7, help="rounds of turns (7)")
    parser.add_argument("--seconds", type=float, default=1.0, help="a turn (1)")
    arguments = parser.parse_args()
    pin_to_one_core()
    contestants = {OURS: ours(arguments.num_players)}
    contestants |= {f"{OURS}, rivals {name}": ours(arguments.num_players, f"@{name}") for name in STRATEGIES}
    contestants |= {title: openspiel(name) for title, name in PEERS.items()}
    rates = measure(contestants, arguments.rounds, arguments.seconds)
    for name in contestants:
        print(f"{name:36} {median(rates, name):10,.0f} playouts/s   ours is {ratio(rates, OURS, name):5.1f} times it")


if __name__ == "__main__":
    main()
