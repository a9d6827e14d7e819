"""Measure the decisions per second that training learns from, on one worker and on two, and compare with a bound.

    python -m speed.training
    python -m speed.training --rounds 5 --num-players 2
    python -m speed.training ppo.n_envs=1024 ppo.n_steps=32

one seat          sb3-contrib's MaskablePPO with its own rollouts and updates: one learner in each game, 3 epochs
                  with minibatches of 512
1 worker, 3 ep.   `training.train` with these settings: every seat that the learner plays contributes
1 worker          `training.train` with its default settings, or those that are given
2 workers         the same with two workers, on two cores: each has half of the games and of every minibatch
2 workers, 2x     two workers with twice the games and twice the minibatch: each has as many as one worker alone

Each takes its turn in every round, in new processes, with the network and the opponents of the default settings; the
first updates, which compile and warm up, are not counted. The bound is what one core could learn from if it did nothing
but multiply matrices as fast as it can: the measured rate of a large product, divided by the operations that a decision
takes, which are those of its updates and of all networks that decided.
"""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from typing import Any, Final, NamedTuple

import numpy as np
import torch
from gymnasium import spaces
from numpy.typing import NDArray
from sb3_contrib import MaskablePPO
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.logger import Logger

from speed.rounds import Rates, median_rate, median_ratio, pin_to_one_core
from symphony9_env.actions import NUM_ACTIONS_DISCUSSION
from symphony9_env.agents.base import Positions, Rows
from symphony9_env.agents.networks import SHAPES
from symphony9_env.agents.policy import PolicyAgent
from symphony9_env.arena.console import format_table, positive_int
from symphony9_env.arguments import Parser, run
from symphony9_env.components import PLAYER_COUNTS
from symphony9_env.envs.opponents import Opponents, decide_by
from symphony9_env.integrations.sb3 import Symphony9VecEnv
from symphony9_env.rules.state import NUM_MUSICIANS, States
from training.config import Settings, apply_override, parse_settings
from training.group import Group
from training.network import SelfPlayPolicy, export_weights, make_card
from training.opponent_pool import OpponentPool
from training.ppo import SelfPlayPPO
from training.run import LocalRun, RunFolder
from training.stopping import StopSignals
from training.trainer import Trainer
from training.workers import limit_threads, start_workers

ONE_SEAT, SAME_EPOCHS, ONE_WORKER, TWO_WORKERS = "one seat", "1 worker, 3 ep.", "1 worker", "2 workers"
TWICE = "2 workers, 2x"
CASES: Final = (ONE_SEAT, SAME_EPOCHS, ONE_WORKER, TWO_WORKERS, TWICE)
SETTINGS_BEFORE: Final = {"n_epochs": 3, "batch_size": 512}
NUM_SNAPSHOTS: Final = 4
NUM_UPDATES: Final = 8
NUM_WARM_UP: Final = 4  # updates that are not counted: they compile, and take the snapshots
MATRIX_SIZE: Final = 1024


class Measured(NamedTuple):
    """What a process measured."""

    rate: float  # decisions learned from, per second
    forward_passes: float  # of networks, for each decision learned from, before the updates
    peak: float  # operations per second of a large matrix product


def make_settings(num_players: int, case: str, overrides: Sequence[str] = ()) -> Settings:
    """Return the settings of a case, without evaluations and checkpoints on the way.

    They are the defaults with the overrides, which the cases with the settings of before do not take.
    """
    chosen: dict[str, Any] = {"game": {"num_players": num_players}}
    if case in (ONE_SEAT, SAME_EPOCHS):
        chosen["ppo"] = SETTINGS_BEFORE
    else:
        for override in overrides:
            apply_override(chosen, override)
    settings = parse_settings(chosen, "settings")
    times = 2 if case == TWICE else 1
    ppo = settings.ppo.model_dump() | {
        "n_envs": times * settings.ppo.n_envs,
        "batch_size": times * settings.ppo.batch_size,
    }
    decisions = ppo["n_envs"] * ppo["n_steps"]
    given = {
        **settings.model_dump(mode="json"),
        "ppo": ppo,
        "total_steps": NUM_UPDATES * decisions,
        "opponents": {"snapshot_every": decisions, "max_snapshots": NUM_SNAPSHOTS},
        "workers": 2 if case in (TWO_WORKERS, TWICE) else 1,
        "save_every": 1e9,
        "behaviour_cloning": {"agent": None},
        "evaluation": {"every": 10**9, "games": 1, "opponents": ["random"]},
    }
    return parse_settings(given, "settings")


def count_operations(settings: Settings) -> int:
    """Return the floating-point operations of one forward pass of the network for one position."""
    shapes = SHAPES[settings.network.kind](settings.network.hidden, settings.game.ledger)
    per_musician = ("first.weight", "second.weight", "choice.weight")
    return sum(
        2 * int(np.prod(shape)) * (NUM_MUSICIANS if name in per_musician else 1)
        for name, shape in shapes.items()
        if len(shape) == 2 and name != "first.place"
    )


def measure_peak() -> float:
    """Return the operations per second of a product of large matrices, on one thread."""
    one, other = torch.rand(MATRIX_SIZE, MATRIX_SIZE), torch.rand(MATRIX_SIZE, MATRIX_SIZE)
    seconds = []
    for _ in range(10):
        start = time.perf_counter()
        one @ other
        seconds.append(time.perf_counter() - start)
    return 2 * MATRIX_SIZE**3 / min(seconds)


# The new loop.


class TimedTrainer(Trainer):
    """Notes when updates begin, and counts the decisions of networks."""

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.times: list[float] = []
        self.num_passes = 0

    def _prepare_update(self) -> None:
        super()._prepare_update()
        self.times.append(time.perf_counter())

    def count(self) -> None:
        """Count the forward passes of all networks from now on."""
        make_actor, decide, pool = self.model.make_actor, self.games.pool.decide, self.games.pool

        def make_counting_actor() -> Any:
            actor = make_actor()
            act = actor.act

            def count_act(states: States) -> Any:
                self.num_passes += len(states)
                return act(states)

            actor.act = count_act  # type: ignore[method-assign]
            return actor

        def count_decisions(positions: Positions, rows: Rows) -> Rows:
            members = pool.member_at[rows, positions.states["player"][rows]]
            self.num_passes += int((members > len(pool.settings.fixed)).sum())
            return decide(positions, rows)

        self.model.make_actor = make_counting_actor  # type: ignore[method-assign]
        pool.decide = count_decisions  # type: ignore[method-assign]


def measure_workers(settings: Settings) -> Measured:
    """Train for some updates, and time the last of them."""
    with tempfile.TemporaryDirectory() as name, StopSignals() as signals, start_workers(settings, None) as group:
        local = LocalRun(settings, RunFolder(name), signals)
        trainer = TimedTrainer(settings, group, local)
        trainer.count()
        trainer.start()
        trainer.train()
        local.close()
    durations = np.diff(trainer.times)[NUM_WARM_UP:]
    decisions = trainer.games.num_games * settings.ppo.n_steps
    passes = trainer.num_passes / (NUM_UPDATES * decisions)
    return Measured(decisions * (settings.workers or 1) / statistics.median(durations), passes, measure_peak())


# One learner in each game, with MaskablePPO's own loop.


class PoolOpponents(Opponents):
    """The pool of a training run, in which the learner's other seats are played by its current policy."""

    def __init__(self, settings: Settings, model: SelfPlayPPO) -> None:
        self.pool = OpponentPool(settings, settings.ppo.n_envs)
        weights = export_weights(model.policy)
        for number in range(NUM_SNAPSHOTS):
            self.pool.add_snapshot(number, weights)
        latest = PolicyAgent("latest", make_card(settings, {}), weights, seed=0)
        self.agents = [latest, *self.pool.opponents()]

    def decide(self, positions: Positions, rows: Rows, seats: Rows) -> Rows:
        return decide_by(self.agents, self.pool.member_at[rows, positions.states["player"][rows]], positions, rows)

    def begin(self, rows: Rows, seats: Rows, seeds: Rows) -> None:
        self.pool.begin(rows, seeds)


class OneSeatVecEnv(Symphony9VecEnv):
    """The environment of stable-baselines3 with all 49 actions, as the network has them."""

    def __init__(self, settings: Settings, opponents: Opponents) -> None:
        super().__init__(settings.ppo.n_envs, opponents=opponents, **settings.game.options().as_keywords())
        self.action_space = spaces.Discrete(NUM_ACTIONS_DISCUSSION)

    def action_masks(self) -> NDArray[np.int8]:
        mask = super().action_masks()
        return np.pad(mask, ((0, 0), (0, NUM_ACTIONS_DISCUSSION - mask.shape[1])))


class TimedCallback(BaseCallback):
    """Notes when rollouts begin."""

    def __init__(self) -> None:
        super().__init__()
        self.times: list[float] = []

    def _on_rollout_start(self) -> None:
        self.times.append(time.perf_counter())

    def _on_step(self) -> bool:
        return True


def measure_one_seat(settings: Settings) -> Measured:
    """Train with MaskablePPO's own rollouts and updates, and time the last updates."""
    ppo = settings.ppo
    env = OneSeatVecEnv(settings, PoolOpponents(settings, SelfPlayPPO(settings, Group())))
    model = MaskablePPO(
        SelfPlayPolicy,
        env,
        n_steps=ppo.n_steps,
        batch_size=ppo.batch_size,
        n_epochs=ppo.n_epochs,
        policy_kwargs={"network": settings.network, "ledger": settings.game.ledger},
        device="cpu",
    )
    model.set_logger(Logger(None, []))
    callback = TimedCallback()
    decisions = ppo.n_envs * ppo.n_steps
    model.learn(NUM_UPDATES * decisions, callback)
    return Measured(decisions / statistics.median(np.diff(callback.times)[NUM_WARM_UP:]), 0.0, measure_peak())


# All of them.


def measure_in_process(case: str, num_players: int, overrides: Sequence[str]) -> Measured:
    """Measure a case in a new process."""
    command = [sys.executable, "-m", "speed.training", "--case", case, "--num-players", str(num_players), *overrides]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, check=True)
    return Measured(*json.loads(done.stdout.splitlines()[-1]))


def run_case(case: str, num_players: int, overrides: Sequence[str]) -> None:
    """Measure a case in this process and print the result."""
    if case not in (TWO_WORKERS, TWICE):
        pin_to_one_core()
    settings = make_settings(num_players, case, overrides)
    limit_threads(settings)
    print(json.dumps(measure_one_seat(settings) if case == ONE_SEAT else measure_workers(settings)))


def report(measured: dict[str, list[Measured]], settings: Settings) -> str:
    """Return the medians over rounds, and the ratios; the settings are those of one worker."""
    rates: Rates = {case: [one.rate for one in rounds] for case, rounds in measured.items()}
    one = measured[ONE_WORKER]
    passes = statistics.median(each.forward_passes for each in one) + 3 * settings.ppo.n_epochs
    peak = statistics.median(each.peak for each in one)
    operations = count_operations(settings) * passes
    bound = peak / operations
    shares = [each.rate * operations / each.peak for each in one]
    rows = [(case, f"{median_rate(rates, case):,.0f}") for case in rates]
    return "\n".join(
        [
            format_table(("", "decisions/s"), [*rows, ("bound of one core", f"{bound:,.0f}")]),
            "",
            f"1 worker / one seat: {median_ratio(rates, ONE_WORKER, ONE_SEAT):.2f}"
            f" (with the same settings: {median_ratio(rates, SAME_EPOCHS, ONE_SEAT):.2f})",
            f"2 workers / one seat: {median_ratio(rates, TWO_WORKERS, ONE_SEAT):.2f} (wanted: 2.5)",
            f"2 workers / 1 worker: {median_ratio(rates, TWO_WORKERS, ONE_WORKER):.2f} (wanted: 1.8)"
            f" (with twice the games and minibatch: {median_ratio(rates, TWICE, ONE_WORKER):.2f})",
            f"1 worker / bound: {100 * statistics.median(shares):.0f} % (wanted: 50 %)",
            f"bound: {peak / 1e9:.0f} GFLOP/s / {operations / 1e6:.2f} MFLOP per decision"
            f" ({passes:.1f} forward passes of {count_operations(settings) / 1e6:.2f} MFLOP)",
        ]
    )


def main() -> None:
    """Run the command."""
    parser = Parser("python -m speed.training", __doc__)
    parser.add_argument("--num-players", type=int, default=4, choices=PLAYER_COUNTS, help="players (default: 4)")
    parser.add_argument("--rounds", type=positive_int, default=5, help="number of rounds (default: 5)")
    parser.add_argument("--case", choices=CASES, help="measure only this, in this process")
    parser.add_argument("overrides", nargs="*", metavar="name=value", help="settings of PPO and of the network")
    arguments = parser.parse_args()
    num_players, overrides = arguments.num_players, arguments.overrides
    settings = make_settings(num_players, ONE_WORKER, overrides)  # which checks the overrides, too
    if arguments.case is not None:
        run_case(arguments.case, num_players, overrides)
        return
    measured: dict[str, list[Measured]] = {case: [] for case in CASES}
    for number in range(arguments.rounds):
        for case in CASES:
            measured[case].append(measure_in_process(case, num_players, overrides))
        print(f"round {number + 1} of {arguments.rounds} done", file=sys.stderr, flush=True)
    print(report(measured, settings))


if __name__ == "__main__":
    sys.exit(run("speed.training", main))
