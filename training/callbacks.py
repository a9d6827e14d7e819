"""The callback of a run: schedules, snapshots, evaluations, checkpoints and stopping, between two updates."""

from __future__ import annotations

import time
from typing import Any

from sb3_contrib import MaskablePPO
from stable_baselines3.common.callbacks import BaseCallback

from symphony9_env.agents import Card, save_policy
from symphony9_env.agents.networks import Weights
from symphony9_env.arena.console import Advance
from training import progress
from training.checkpoints import Counters, RunFolder, save_checkpoint
from training.config import Settings
from training.network import export_weights, make_card
from training.stopping import StopSignals
from training.vec_env import SelfPlayVecEnv


class TrainingCallback(BaseCallback):
    """Does all its work at the start of a rollout, when no rollout or update is in progress.

    A checkpoint taken then contains everything on which the rest of the run depends.
    """

    model: MaskablePPO

    def __init__(self, settings: Settings, folder: RunFolder, env: SelfPlayVecEnv, signals: StopSignals) -> None:
        super().__init__()
        self.settings = settings
        self.folder = folder
        self.env = env
        self.signals = signals
        self.advance: Advance | None = None  # shows the progress
        self.rows: list[progress.Row] = []
        self.best_mean_win_rate = -1.0
        self.next_snapshot = settings.opponents.snapshot_every
        self.next_evaluation = 0
        self.saved_steps = 0  # steps at the last checkpoint
        self.stopped = False
        self._shown_steps = 0
        self._start_time = time.monotonic()  # earlier by the time spent before the run was resumed
        self._save_time = -float("inf")  # save at the first rollout already, which also tests that the disk accepts it

    def _on_rollout_start(self) -> None:
        self._show_progress()
        self._update_schedules()
        if self.num_timesteps >= self.next_snapshot:
            self.next_snapshot += self.settings.opponents.snapshot_every
            self.env.pool.add_snapshot(f"step-{self.num_timesteps}", *self.export_policy())
        self.env.pool.set_latest(*self.export_policy())
        if self.num_timesteps >= self.next_evaluation and self.evaluate():
            self.next_evaluation += self.settings.evaluation.every
        stop = self.signals.received is not None  # read once: it can change at any moment, and a stop follows a save
        if stop or time.monotonic() - self._save_time > self.settings.save_every:
            self.save()
        self.stopped = stop

    def _on_step(self) -> bool:
        return not self.stopped

    def _show_progress(self) -> None:
        steps = min(self.num_timesteps, self.settings.total_steps)
        if self.advance is not None:
            rates = progress.format_win_rates(self.rows[-1]) if self.rows else {}
            self.advance(steps - self._shown_steps, {**rates, "saved": f"{self.saved_steps:,}"})
        self._shown_steps = steps

    def _update_schedules(self) -> None:
        """Set the entropy and the shaping coefficient; stable-baselines3 itself schedules the learning rate only."""
        done = min(self.num_timesteps / self.settings.total_steps, 1.0)
        ppo, reward = self.settings.ppo, self.settings.reward
        self.model.ent_coef = ppo.ent_coef + done * (ppo.ent_coef_end - ppo.ent_coef)
        remaining = 1 - done / reward.shaping_fraction if reward.shaping_fraction > 0 else 0.0
        self.env.set_shaping(reward.shaping_coef * max(remaining, 0.0))

    # Evaluation.

    def export_policy(self) -> tuple[Card, Weights]:
        """Return the current policy as a policy file contains it."""
        training: dict[str, Any] = {
            "steps": self.num_timesteps,
            "seconds": round(self.elapsed_seconds()),
            "settings": self.settings.model_dump(mode="json"),
        }
        if self.rows:
            training["evaluation"] = self.rows[-1]
        return make_card(self.settings, training), export_weights(self.model.policy)

    def elapsed_seconds(self) -> float:
        """Return the duration of the run, the time before it was resumed included."""
        return time.monotonic() - self._start_time

    def evaluate(self) -> bool:
        """Evaluate the current policy; save it as the best one if its mean win rate is the highest so far.

        Return False if a signal stopped the evaluation; the resumed run repeats it.
        """
        names = self.settings.evaluation.opponents
        policy = self.export_policy()
        try:
            with self.signals.interruptible():
                row = progress.evaluate(self.settings, self.num_timesteps, self.elapsed_seconds(), *policy)
        except KeyboardInterrupt:
            if self.signals.received is None:
                raise
            return False
        for name in names:
            self.logger.record(f"win_rate/{name}", row[name])
        self.rows.append(row)
        progress.write_progress(self.folder.progress, self.rows)
        mean = sum(row[name] for name in names) / len(names)
        if mean > self.best_mean_win_rate:
            self.best_mean_win_rate = mean
            save_policy(self.folder.best, *self.export_policy())
        return True

    def finish(self) -> None:
        """Evaluate and save the final policy, and draw the learning curve."""
        self.stopped = (not self.rows or self.rows[-1]["steps"] < self.num_timesteps) and not self.evaluate()
        self.save()
        self._show_progress()
        if not self.stopped:
            progress.draw_curve(self.folder.curve, self.rows, self.settings.game.num_players)

    # Checkpoints.

    def save(self) -> None:
        """Write the current policy and a checkpoint.

        The policy comes first, because it is refused if training has diverged, and then the last checkpoint is better.
        """
        save_policy(self.folder.last, *self.export_policy())
        save_checkpoint(self.folder, self.settings, self.model, self.env, self.counters())
        self.saved_steps = self.num_timesteps
        self._save_time = time.monotonic()

    def counters(self) -> Counters:
        """Return what the callback and the model count, for a checkpoint."""
        return Counters(
            num_timesteps=self.num_timesteps,
            num_updates=self.model._n_updates,
            next_snapshot=self.next_snapshot,
            next_evaluation=self.next_evaluation,
            best_mean_win_rate=self.best_mean_win_rate,
            seconds=self.elapsed_seconds(),
            rows=self.rows,
        )

    def restore(self, counters: Counters) -> None:
        """Restore the callback's state from a checkpoint, and progress.csv, which may have later evaluations."""
        self.num_timesteps = self._shown_steps = self.saved_steps = counters.num_timesteps
        self.next_snapshot = counters.next_snapshot
        self.next_evaluation = counters.next_evaluation
        self.best_mean_win_rate = counters.best_mean_win_rate
        self._start_time -= counters.seconds
        self.rows = list(counters.rows)
        progress.write_progress(self.folder.progress, self.rows)
