"""Measure how long a policy that thinks takes per decision, compared with search, and where the time goes.

    python -m speed.think
    python -m speed.think --num-players 2 --lines 100,200,400 --rounds 9

All agents decide in the same positions, which the shipped policy has played to, and take turns in one run on one core:
compare them by the ratio. The second table times the parts of a simulated decision in compiled loops of their own, over
the same positions, in nanoseconds. The last part is the NumPy network on a batch of all positions.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from typing import Any

import numba
import numpy as np

from speed.rounds import Workload, make_parser, measure_rates, median_rate, median_ratio, pin_to_one_core
from symphony9_env import BatchedGames, agents
from symphony9_env.agents.inference import LIST_SIZE, compute_logits, compute_value, new_workspace, observe_game
from symphony9_env.agents.packing import pack_network
from symphony9_env.agents.policy import PolicyAgent, ShippedPolicy
from symphony9_env.agents.strategies import PLANNER, scripted_move
from symphony9_env.components import PLAYER_COUNTS
from symphony9_env.rules.game import apply, legal_set
from symphony9_env.views.vector import encode

compile_loop = numba.njit(error_model="numpy", nogil=True)
REFERENCE = "search:800"
NUM_POSITIONS = 256
DECISIONS_PER_TURN = 8
MAX_MOVES = 80
ENCODE, OBSERVE, LOGITS, VALUE, PLAN, APPLY = range(6)
PARTS = (
    "observation",
    "observation, layers that logits and value share",
    "logits of the legal actions",
    "value",
    "move of the planner",
    "rules: legal actions and a move",
)


def make_positions(num_players: int, policy: PolicyAgent) -> BatchedGames:
    """Return games that the policy has played to different moments."""
    games = BatchedGames(NUM_POSITIONS, num_players=num_players, seed=1)
    for number in range(MAX_MOVES):
        rows = np.arange(NUM_POSITIONS * number // MAX_MOVES, NUM_POSITIONS)
        games.step(policy.decide(games, rows), rows)
    return games


def make_workload(name: str, games: BatchedGames) -> Workload:
    """Return a workload of decisions in some of the positions, other ones each time."""
    agent = agents.make(name, seed=0)
    order = np.random.default_rng(0).permutation(NUM_POSITIONS)
    turn = 0

    def decide() -> int:
        nonlocal turn
        rows = order.take(np.arange(turn, turn + DECISIONS_PER_TURN), mode="wrap")
        turn += DECISIONS_PER_TURN
        agent.decide(games, rows)
        return DECISIONS_PER_TURN

    return decide


@compile_loop
def run_part(part: int, states: Any, copies: Any, network: Any, workspace: Any, observation: Any) -> float:
    """Run one part of a simulated decision in every position."""
    total = 0.0
    for row in range(len(states)):
        game = states[row]
        if part == ENCODE:
            encode(game, int(game.player), observation)
        elif part == OBSERVE:
            observe_game(network, workspace, game, int(game.player))
        elif part == LOGITS:
            compute_logits(network, workspace, legal_set(game))
        elif part == VALUE:
            total += compute_value(network, workspace)
        elif part == PLAN:
            total += scripted_move(PLANNER, game, np.uint64(0))
        else:
            copies[row] = game
            legal = legal_set(game)
            action = 0
            while not legal >> action & 1:
                action += 1
            apply(copies[row], action, None)
    return total


def time_parts(games: BatchedGames, policy: PolicyAgent, rounds: int) -> dict[str, float]:
    """Return the median nanoseconds of each part for one position."""
    network = pack_network(policy.card, policy.weights)
    workspace = new_workspace(int(network[0][LIST_SIZE]))
    observation = np.zeros(games.observation.shape[1], np.float32)
    calls: dict[str, Callable[[], Any]] = {}
    for number, name in enumerate(PARTS):
        arguments = (number, games.states, games.states.copy(), network, workspace, observation)
        calls[name] = lambda arguments=arguments: run_part(*arguments)  # type: ignore[misc]
    calls["decision of the policy in a batch"] = lambda: policy.decide(games, np.arange(NUM_POSITIONS))
    times: dict[str, list[float]] = {name: [] for name in calls}
    for number in range(20 * rounds + 2):
        for name, call in calls.items():
            start = time.perf_counter()
            call()
            if number >= 2:  # the first ones compile and fill the caches
                times[name].append(time.perf_counter() - start)
    return {name: 1e9 * statistics.median(each) / NUM_POSITIONS for name, each in times.items()}


def main() -> None:
    """Run the command."""
    parser = make_parser("python -m speed.think", __doc__, rounds=7)
    parser.add_argument("--num-players", type=int, default=4, choices=PLAYER_COUNTS, help="in the game (default: 4)")
    parser.add_argument(
        "--lines", default="21,87,350", help="lines per decision, separated by commas (default: 21,87,350)"
    )
    arguments = parser.parse_args()
    pin_to_one_core()
    policy = ShippedPolicy(0).for_players(arguments.num_players)
    games = make_positions(arguments.num_players, policy)
    names = [REFERENCE, *(f"think:{count}" for count in arguments.lines.split(","))]
    workloads = {name: make_workload(name, games) for name in names}
    rates = measure_rates(workloads, arguments.rounds, arguments.seconds)
    print(f"{'':50} {'ms/decision':>11}   in units of {REFERENCE}'s time")
    for name in names:
        print(f"{name:50} {1000 / median_rate(rates, name):11.2f}   {median_ratio(rates, REFERENCE, name):.2f}")
    print(f"\n{'part of a simulated decision':50} {'ns':>11}")
    for name, nanoseconds in time_parts(games, policy, arguments.rounds).items():
        print(f"{name:50} {nanoseconds:11,.0f}")


if __name__ == "__main__":
    main()
