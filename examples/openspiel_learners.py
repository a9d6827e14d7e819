"""OpenSpiel: train A2C by self-play, then let ISMCTS play a game against the trained agents.

    pip install ".[openspiel]" torch
    python examples/openspiel_learners.py --episodes 6000 --simulations 10

Both algorithms are OpenSpiel's own Python code, unchanged. A2C learns from the observation, which is much smaller than
the information state with every move of the game. ISMCTS samples hidden information with `resample_from_infostate`.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import Any

import numpy as np
import pyspiel
import torch
from open_spiel.python import rl_environment
from open_spiel.python.algorithms import ismcts, mcts
from open_spiel.python.pytorch.policy_gradient import PolicyGradient

import symphony9_env.integrations.openspiel  # noqa: F401 (registers the game)


def learn(game: Any, episodes: int, seed: int) -> tuple[Any, list[Any]]:
    """Train a learner for every seat by self-play; return the environment and the learners."""
    env = rl_environment.Environment(
        game,
        observation_type=rl_environment.ObservationType.OBSERVATION,
        chance_event_sampler=rl_environment.ChanceEventSampler(seed=seed),
    )
    learners = [
        PolicyGradient(
            seat,
            env.observation_spec()["info_state"][0],
            env.action_spec()["num_actions"],
            loss_str="a2c",
            hidden_layers_sizes=[64],
            batch_size=128,
            optimizer_str="adam",
            critic_learning_rate=1e-3,
            pi_learning_rate=1e-3,
            num_critic_before_pi=2,
        )
        for seat in range(game.num_players())
    ]
    for _ in range(episodes):
        step = env.reset()
        while not step.last():
            step = env.step([learners[step.current_player()].step(step).action])
        for learner in learners:
            learner.step(step)
    return env, learners


def evaluate(env: Any, learners: list[Any], games: int, seed: int) -> float:
    """Return how often a learner, each in turn, is ahead of random agents at the end; a shared win counts its share."""
    rng = np.random.default_rng(seed)
    won = 0.0
    for number in range(games):
        seat = number % len(learners)
        step = env.reset()
        while not step.last():
            player = step.current_player()
            if player == seat:
                action = learners[seat].step(step, is_evaluation=True).action
            else:
                action = rng.choice(step.observations["legal_actions"][player])
            step = env.step([action])
        best = np.flatnonzero(np.array(step.rewards) == max(step.rewards))
        won += (seat in best) / len(best)
    return won / games


def play(env: Any, learners: list[Any], bot: Any, seat: int) -> tuple[list[float], int]:
    """Play a game with the bot in one seat and learners in the others; return the returns and the bot's decisions."""
    step, num_decisions = env.reset(), 0
    while not step.last():
        player = step.current_player()
        num_decisions += player == seat
        if player == seat:
            action = bot.step(env.get_state)
        else:
            action = learners[player].step(step, is_evaluation=True).action
        step = env.step([action])
    return list(step.rewards), num_decisions


def main(argv: Sequence[str] | None = None) -> list[float]:
    parser = argparse.ArgumentParser(description="OpenSpiel's A2C and ISMCTS on Symphony No. 9.")
    parser.add_argument("--players", type=int, default=2, choices=(2, 3, 4))
    parser.add_argument("--episodes", type=int, default=6000, help="games to learn from (default: %(default)s)")
    parser.add_argument("--games", type=int, default=1000, help="games to evaluate on (default: %(default)s)")
    parser.add_argument(
        "--simulations", type=int, default=10, help="simulations of ISMCTS for each decision (default: %(default)s)"
    )
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args(argv)

    torch.set_num_threads(1)
    game = pyspiel.load_game("python_symphony9", {"players": args.players, "deals": 1000})
    env, learners = learn(game, args.episodes, args.seed)
    win_rate = evaluate(env, learners, args.games, args.seed)
    print(f"learned from {args.episodes} games")
    print(f"wins against random: {win_rate:.0%} of {args.games} games; par {1 / args.players:.0%}")
    rng = np.random.RandomState(args.seed)
    bot = ismcts.ISMCTSBot(game, mcts.RandomRolloutEvaluator(1, rng), 2.0, args.simulations, random_state=rng)
    returns, num_decisions = play(env, learners, bot, seat=0)
    print(f"ISMCTS with {args.simulations} simulations, {num_decisions} decisions; returns: {returns}")
    return returns


if __name__ == "__main__":
    main()
