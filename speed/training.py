"""Measure the learner's decisions per second in training: a plain vector environment, ours, and an upper bound.

    python -m speed.training
    python -m speed.training --rounds 5 --num-players 2 --out docs/figures

plain   stable-baselines3's DummyVecEnv over single-seat environments, each with its own opponents
ours    `SelfPlayVecEnv`: all games in one batch, and the opponents of all games decide together
bound   ours with games that cost no time: the same opponents decide as often and in the same batches, but on recorded
        positions, and the observations never change

"rollout" counts only the collection of decisions; "whole" includes the updates of the network. All take turns in one
run. Three quarters of the opponents are snapshots (an untrained network of the shipped size), one quarter planners.
"""

from __future__ import annotations

import json
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import torch
from gymnasium import spaces
from sb3_contrib import MaskablePPO
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.logger import Logger
from stable_baselines3.common.vec_env import DummyVecEnv, VecEnv
from threadpoolctl import threadpool_limits

from speed.rounds import Rates, median_rate, median_ratio, pin_to_one_core
from symphony9_env.actions import NUM_ACTIONS_DISCUSSION
from symphony9_env.agents import save_policy
from symphony9_env.agents.base import Positions, Rows, StoredPositions
from symphony9_env.arena.console import positive_int
from symphony9_env.arguments import Parser
from symphony9_env.components import PLAYER_COUNTS
from symphony9_env.envs.opponents import decide_by
from symphony9_env.envs.single import SingleSeatEnv
from symphony9_env.rules.state import States
from training.config import Settings, parse_settings
from training.network import export_weights, make_card
from training.train import make_model
from training.vec_env import SelfPlayVecEnv

PLAIN_ENVS = 8  # more are not faster on one core
STEPS = 16  # of a rollout, in each game
KINDS = ("rollout", "whole")


class FrozenVecEnv(SelfPlayVecEnv):
    """A vector environment without games: opponents decide in recorded positions, and observations never change."""

    def record(self, steps: int) -> None:
        """Play some real steps and record the decisions that the opponents were asked for."""
        pool, decide = self.pool, self.pool.decide
        calls: list[list[tuple[States, Rows]]] = []

        def record_call(positions: Positions, rows: Rows, seats: Rows) -> Rows:
            states = positions.states
            calls[-1].append((states[rows].copy(), pool.member_at[rows, states["player"][rows]].copy()))
            return decide(positions, rows, seats)

        pool.decide = record_call  # type: ignore[method-assign]
        rng = np.random.default_rng(0)
        for _ in range(steps):
            calls.append([])
            masks = self.action_masks()
            self.step_async(np.array([rng.choice(np.flatnonzero(mask)) for mask in masks]))
            super().step_wait()
        pool.decide = decide  # type: ignore[method-assign]
        self._calls = calls
        self._observation = self.vector_env.batch.observation.copy()
        self._infos: list[dict[str, Any]] = [{} for _ in range(self.num_envs)]
        self._number = 0

    def step_wait(self) -> Any:
        """Let the opponents decide as in a recorded step; return what the learner saw in the last real one."""
        for states, deciding in self._calls[self._number % len(self._calls)]:
            decide_by(self.pool.agents, deciding, StoredPositions.of(states), np.arange(len(states)))
        self._number += 1
        return self._observation, np.zeros(self.num_envs, np.float32), np.zeros(self.num_envs, bool), self._infos


class WideSingleSeatEnv(SingleSeatEnv):
    """The single-seat environment with all 49 actions, as the network has them."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.action_space = spaces.Discrete(NUM_ACTIONS_DISCUSSION)

    def action_masks(self) -> Any:
        """Return the mask of all 49 actions."""
        mask = super().action_masks()
        return np.pad(mask, (0, NUM_ACTIONS_DISCUSSION - len(mask)))


class IdleCallback(BaseCallback):
    """A callback that does nothing."""

    def _on_step(self) -> bool:
        return True


def make_settings(num_players: int, snapshot: Path) -> Settings:
    """Return the settings of a training against snapshots and planners."""
    fixed = {str(snapshot): 0.75, "planner": 0.25}
    given = {
        "num_threads": 1,
        "game": {"num_players": num_players},
        "opponents": {"latest": 0, "past": 0, "fixed": fixed, "same_kind": 0},
        "ppo": {"n_steps": STEPS},
    }
    return parse_settings(given, "speed.training")


def save_snapshot(num_players: int, folder: Path) -> Path:
    """Save an untrained policy of the shipped size and return its path."""
    settings = parse_settings({"game": {"num_players": num_players}}, "speed.training")
    model = make_model(settings, SelfPlayVecEnv(settings, folder))
    path = folder / "snapshot.safetensors"
    save_policy(path, make_card(settings, {}), export_weights(model.policy))
    return path


def make_plain_env(settings: Settings, snapshot: Path) -> VecEnv:
    """Return a vector environment of single-seat environments."""
    opponents: Any = [str(snapshot)] * 3 + ["planner"]
    options = settings.game.as_json()

    def make_maker(number: int) -> Any:
        names = [opponents[(number + index) % 4] for index in range(settings.game.num_players - 1)]
        return lambda: WideSingleSeatEnv(opponents=names, **options)

    return DummyVecEnv([make_maker(number) for number in range(PLAIN_ENVS)])


def prepare(model: MaskablePPO) -> MaskablePPO:
    """Set a model up for learning without output."""
    model.set_logger(Logger(None, []))
    model._setup_learn(10**9, IdleCallback(), reset_num_timesteps=True)
    return model


def measure_rollout(model: MaskablePPO) -> tuple[float, float]:
    """Collect one rollout and update the network; return decisions per second of the rollout and of the whole."""
    callback = IdleCallback()
    callback.init_callback(model)
    assert model.env is not None
    start = time.perf_counter()
    model.collect_rollouts(model.env, callback, model.rollout_buffer, model.n_steps)
    collected = time.perf_counter()
    model.train()
    decisions = model.n_steps * model.n_envs
    return decisions / (collected - start), decisions / (time.perf_counter() - start)


def make_models(num_players: int, folder: Path) -> dict[str, MaskablePPO]:
    """Return the learners to compare."""
    snapshot = save_snapshot(num_players, folder)
    settings = make_settings(num_players, snapshot)
    ppo = settings.ppo
    ours, bound = SelfPlayVecEnv(settings, folder), FrozenVecEnv(settings, folder)
    models = {"ours": prepare(make_model(settings, ours)), "bound": prepare(make_model(settings, bound))}
    bound.record(STEPS)
    small = settings.model_copy(update={"ppo": ppo.model_copy(update={"n_steps": STEPS * 32, "batch_size": 512})})
    models["plain"] = prepare(make_model(small, make_plain_env(settings, snapshot)))  # type: ignore[arg-type]
    return models


def measure(num_players: int, rounds: int, folder: Path) -> dict[str, Any]:
    """Return the medians over rounds of the decisions per second, and of their ratios."""
    models = make_models(num_players, folder)
    rates: dict[str, Rates] = {kind: {name: [] for name in models} for kind in KINDS}
    for _ in range(rounds):
        for name, model in models.items():
            for kind, rate in zip(KINDS, measure_rollout(model), strict=True):
                rates[kind][name].append(rate)
    return {
        "num_players": num_players,
        **{kind: {name: median_rate(rates[kind], name) for name in models} for kind in KINDS},
        "rollout_to_plain": median_ratio(rates["rollout"], "ours", "plain"),
        "whole_to_bound": median_ratio(rates["whole"], "ours", "bound"),
    }


def main() -> None:
    """Run the command."""
    parser = Parser("python -m speed.training", __doc__)
    parser.add_argument("--num-players", type=int, default=4, choices=PLAYER_COUNTS, help="players (default: 4)")
    parser.add_argument("--rounds", type=positive_int, default=5, help="number of rounds (default: 5)")
    parser.add_argument("--out", type=Path, help="folder for training.json (default: write no file)")
    arguments = parser.parse_args()
    pin_to_one_core()
    threadpool_limits(1, user_api="blas")
    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory() as name:
        figures = measure(arguments.num_players, arguments.rounds, Path(name))
    for kind in KINDS:
        print(f"{kind:8}" + "".join(f"{name:>8} {figures[kind][name]:8,.0f}/s" for name in figures[kind]))
    print(f"rollout: ours is {figures['rollout_to_plain']:.1f} times as fast as plain (target: 5)")
    print(f"whole training: ours reaches {100 * figures['whole_to_bound']:.0f} % of the bound (target: 80 %)")
    if arguments.out is not None:
        arguments.out.mkdir(parents=True, exist_ok=True)
        (arguments.out / "training.json").write_text(json.dumps(figures, indent=1) + "\n")


if __name__ == "__main__":
    main()
