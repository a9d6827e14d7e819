"""The learner's decisions a second: the plain way, ours, and the bound.

    python -m speed.training
    python -m speed.training --rounds 5 --num-players 2 --out docs/figures

plain   stable-baselines3's DummyVecEnv over single-seat environments, each with its own opponents
ours    `SelfPlayVecEnv`: all games in one batch, opponents decided together
bound   ours with games that cost nothing: the same opponents decide as often and in the same batches, on positions
        that never change, and observations stay as they are

Rollouts are what collecting decisions takes; whole training includes the updates. All take turns in one run. The
opponents are three parts snapshots (an untrained network of the shipped size) and one part planner.
"""

from __future__ import annotations

import argparse
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

from speed.rounds import pin_to_one_core, positive
from symphony9_env.actions import NUM_ACTIONS_DISCUSSION
from symphony9_env.agents import save_policy
from symphony9_env.agents.base import Positions, Rows, StoredPositions
from symphony9_env.envs.single import SingleSeatEnv
from symphony9_env.rules.state import States
from training.config import Settings, parse_settings
from training.network import export_weights, make_card
from training.opponent_pool import OpponentPool
from training.train import make_env, make_model
from training.vec_env import SelfPlayVecEnv

PLAIN_GAMES = 8  # as many as pays with one core
STEPS = 16  # a rollout, in each game


class Frozen(SelfPlayVecEnv):
    """Nothing is played: the last step's opponents decide again, and what the learner sees stays as it is."""

    def record(self, steps: int) -> None:
        """Play some real steps and keep what the opponents were asked."""
        pool, decide = self.pool, self.pool.decide
        steps_calls: list[list[tuple[States, Rows]]] = []

        def record_call(positions: Positions, rows: Rows, seats: Rows) -> Rows:
            states = positions.states
            steps_calls[-1].append((states[rows].copy(), pool.member_at[rows, states["player"][rows]].copy()))
            return decide(positions, rows, seats)

        pool.decide = record_call  # type: ignore[method-assign]
        rng = np.random.default_rng(0)
        for _ in range(steps):
            steps_calls.append([])
            masks = self.action_masks()
            self.step_async(np.array([rng.choice(np.flatnonzero(mask)) for mask in masks]))
            super().step_wait()
        pool.decide = decide  # type: ignore[method-assign]
        self._steps_calls = steps_calls
        self._seen = self.vector_env.batch.observation.copy()
        self._number = 0

    def step_wait(self) -> Any:
        from symphony9_env.envs.opponents import decide_by

        for states, who in self._steps_calls[self._number % len(self._steps_calls)]:
            decide_by(self.pool.agents, who, StoredPositions.of(states), np.arange(len(states)))
        self._number += 1
        nothing = np.zeros(self.num_envs, np.float32)
        return self._seen, nothing, np.zeros(self.num_envs, bool), self._no_infos


class Wide(SingleSeatEnv):
    """With 49 actions, as the network has them."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.action_space = spaces.Discrete(NUM_ACTIONS_DISCUSSION)

    def action_masks(self) -> Any:
        mask = super().action_masks()
        return np.pad(mask, (0, NUM_ACTIONS_DISCUSSION - len(mask)))


class Nothing(BaseCallback):
    def _on_step(self) -> bool:
        return True


def settings_of(num_players: int, snapshot: Path) -> Settings:
    fixed = {str(snapshot): 0.75, "planner": 0.25}
    given = {
        "num_threads": 1,
        "game": {"num_players": num_players},
        "opponents": {"latest": 0, "past": 0, "fixed": fixed, "same_kind": 0},
        "ppo": {"n_steps": STEPS},
    }
    return parse_settings(given, "benchmark")


def snapshot_file(num_players: int, folder: Path) -> Path:
    """A network of the shipped size, untrained."""
    settings = parse_settings({"game": {"num_players": num_players}}, "benchmark")
    env = make_env(settings, folder)
    path = folder / "snapshot.safetensors"
    save_policy(path, make_card(settings, {}), export_weights(make_model(settings, env).policy))
    return path


def plain_env(settings: Settings, snapshot: Path) -> VecEnv:
    others: Any = [str(snapshot)] * 3 + ["planner"]
    options = settings.game.as_json()

    def maker(number: int) -> Any:
        named = [others[(number + place) % 4] for place in range(settings.game.num_players - 1)]
        return lambda: Wide(opponents=named, **options)

    return DummyVecEnv([maker(number) for number in range(PLAIN_GAMES)])


def prepared(model: MaskablePPO) -> MaskablePPO:
    model.set_logger(Logger(None, []))
    model._setup_learn(10**9, Nothing(), reset_num_timesteps=True)
    return model


def timed(model: MaskablePPO, rollouts: int) -> tuple[float, float]:
    """Decisions a second: of rollouts alone, and with the updates."""
    callback = Nothing()
    callback.init_callback(model)
    assert model.env is not None
    collecting = 0.0
    begun = time.perf_counter()
    for _ in range(rollouts):
        start = time.perf_counter()
        model.collect_rollouts(model.env, callback, model.rollout_buffer, model.n_steps)
        collecting += time.perf_counter() - start
        model.train()
    decisions = rollouts * model.n_steps * model.n_envs
    return decisions / collecting, decisions / (time.perf_counter() - begun)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--num-players", type=int, default=4, choices=(2, 3, 4), help="(4)")
    parser.add_argument("--rounds", type=positive, default=5, help="rounds of turns (5)")
    parser.add_argument("--out", type=Path, help="folder for training.json (none)")
    arguments = parser.parse_args()
    pin_to_one_core()
    threadpool_limits(1, user_api="blas")
    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory() as name:
        figures = measure(arguments.num_players, arguments.rounds, Path(name))
    for kind in ("rollout", "whole"):
        print(f"{kind:8}" + "".join(f"{name:>8} {figures[kind][name]:8,.0f}/s" for name in figures[kind]))
    print(f"rollout: ours is {figures['rollout_to_plain']:.1f} times the plain way (wanted: 5)")
    print(f"whole training: ours is {100 * figures['whole_to_bound']:.0f} % of the bound (wanted: 80)")
    if arguments.out is not None:
        arguments.out.mkdir(parents=True, exist_ok=True)
        (arguments.out / "training.json").write_text(json.dumps(figures, indent=1) + "\n")


def measure(num_players: int, rounds: int, folder: Path) -> dict[str, Any]:
    snapshot = snapshot_file(num_players, folder)
    settings = settings_of(num_players, snapshot)
    ppo = settings.ppo
    ours = make_env(settings, folder)
    pool = OpponentPool(settings.opponents, ppo.n_envs, num_players, folder, settings.seed)
    bound = Frozen(ppo.n_envs, pool, settings.game.options(), settings.seed)
    models = {"ours": prepared(make_model(settings, ours)), "bound": prepared(make_model(settings, bound))}
    bound.record(STEPS)
    small = settings.model_copy(update={"ppo": ppo.model_copy(update={"n_steps": STEPS * 32, "batch_size": 512})})
    models["plain"] = prepared(make_model(small, plain_env(settings, snapshot)))  # type: ignore[arg-type]
    rates: dict[str, dict[str, list[float]]] = {kind: {name: [] for name in models} for kind in ("rollout", "whole")}
    for _ in range(rounds):
        for name, model in models.items():
            for kind, rate in zip(("rollout", "whole"), timed(model, 1), strict=True):
                rates[kind][name].append(rate)
    middle = {kind: {name: float(np.median(found)) for name, found in each.items()} for kind, each in rates.items()}
    ratio = {
        "rollout_to_plain": float(np.median(np.array(rates["rollout"]["ours"]) / rates["rollout"]["plain"])),
        "whole_to_bound": float(np.median(np.array(rates["whole"]["ours"]) / rates["whole"]["bound"])),
    }
    return {"num_players": num_players, **middle, **ratio}


if __name__ == "__main__":
    main()
