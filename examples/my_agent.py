"""Two agents of your own, as a function and as a class. Copy this file and change it; it needs no registration.

    symphony9 tournament --agents planner,mine=examples/my_agent.py:decide --num-players 2 --out runs/mine
    symphony9 benchmark --task 4p --lite --agent examples/my_agent.py:Miser

The same names work as Gymnasium opponents, in `agents.make`, in training settings and on the web page.
"""

from __future__ import annotations

import numpy as np

from symphony9_env import symphony9_v0
from symphony9_env.actions import NAMES, number
from symphony9_env.agents import Agent, AgentMessage, make
from symphony9_env.agents.base import Positions, Rows
from symphony9_env.views import SeatView, seat_view


def decide(message: AgentMessage) -> int:
    """Take cubes of the musician with the best rank; else choose the first legal action, such as bidding $0."""
    ranks = {musician["name"]: musician["rank"] for musician in message["view"]["position"]["musicians"]}
    takes = [choice for choice in message["view"]["choices"] if choice["kind"] == "take"]
    best = min(takes, key=lambda choice: ranks[choice["musician"] or ""], default=message["view"]["choices"][0])
    return best["action"]


class Miser(Agent):
    """Contribute nothing and keep all furniture; else play at random.

    An agent gets the true states of all games, with everything that is hidden from its seat. It must not read them:
    `seat_view` returns what the deciding seat may know.
    """

    def __init__(self, seed: int) -> None:
        self.seed = seed

    def decide(self, positions: Positions, rows: Rows) -> Rows:
        seats = positions.states["player"]
        return np.array([self._decide(seat_view(positions.states, row, int(seats[row]))) for row in rows.tolist()])

    def _decide(self, view: SeatView) -> int:
        if view.decision == "bid":
            return number("bid 0")
        choices = [action for action in view.legal if not NAMES[action].startswith("sell")]
        # Chance that depends on the seed and the position alone: the same game is always played the same.
        rng = np.random.default_rng([self.seed, view.round, sum(view.boards[0].new_cubes)])
        return int(rng.choice(choices))


def main() -> None:
    """Play a game between the two, and print the scores."""
    env = symphony9_v0.env(num_players=2)
    env.reset(seed=7)
    players = {"player_0": make(f"{__file__}:decide"), "player_1": Miser(seed=1)}
    while not all(env.terminations.values()):
        env.step(players[env.agent_selection].choose(env))
    for name, info in env.infos.items():
        print(f"{name}: {info['score']:g} points, rank {info['rank']}")


if __name__ == "__main__":
    main()
