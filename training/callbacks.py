"""What happens between two updates: snapshots, evaluations, saves, schedules, and stopping."""

from __future__ import annotations

import time
from typing import Any

from sb3_contrib import MaskablePPO
from stable_baselines3.common.callbacks import BaseCallback
from tqdm import tqdm

from symphony9_env.agents import Card, save_policy
from symphony9_env.agents.networks import Weights
from training import checkpoints
from training.checkpoints import RunFolder
from training.config import Settings
from training.network import make_card, weights_of
from training.progress import Row, draw_curve, measured, read_progress, told, write_progress
from training.vec_env import SelfPlayVecEnv


class BetweenUpdates(BaseCallback):
    """Everything is done when a rollout begins: then a save holds exactly what the rest of the run depends on."""

    model: MaskablePPO

    def __init__(self, settings: Settings, folder: RunFolder, env: SelfPlayVecEnv, bar: tqdm[Any]) -> None:
        super().__init__()
        self.settings = settings
        self.folder = folder
        self.env = env
        self.bar = bar
        self.rows: list[Row] = []
        self.best = -1.0
        self.next_snapshot = settings.opponents.snapshot_every
        self.next_evaluation = 0
        self.seconds = 0.0  # spent training, over all sessions
        self.saved_steps = 0  # decisions in the last save
        self.stop_asked = False
        self.stopped = False
        self._begun = time.monotonic()
        self._saved = -float("inf")  # the first save comes at once: it also shows that the disk takes it

    def _on_rollout_start(self) -> None:
        self.bar.update(min(self.num_timesteps, self.settings.total_steps) - self.bar.n)
        self._set_schedules()
        if self.num_timesteps >= self.next_snapshot:
            self.next_snapshot += self.settings.opponents.snapshot_every
            self.env.pool.add_snapshot(f"step-{self.num_timesteps}", *self.exported())
        self.env.pool.set_latest(*self.exported())
        if self.num_timesteps >= self.next_evaluation:
            self.next_evaluation += self.settings.evaluation.every
            self.evaluate()
        if self.stop_asked or time.monotonic() - self._saved > self.settings.save_every:
            self.save()
        self.stopped = self.stop_asked

    def _on_step(self) -> bool:
        return not self.stopped

    def _set_schedules(self) -> None:
        done = min(self.num_timesteps / self.settings.total_steps, 1.0)
        ppo, reward = self.settings.ppo, self.settings.reward
        self.model.ent_coef = ppo.entropy + done * (ppo.entropy_end - ppo.entropy)
        left = 1 - done / reward.shaping_until if reward.shaping_until > 0 else 0.0
        self.env.set_shaping(reward.shaping * max(left, 0.0))

    # The learner as a policy.

    def exported(self) -> tuple[Card, Weights]:
        training: dict[str, Any] = {
            "steps": self.num_timesteps,
            "seconds": round(self.spent()),
            "settings": self.settings.model_dump(mode="json"),
        }
        if self.rows:
            training["evaluation"] = self.rows[-1]
        return make_card(self.settings, training), weights_of(self.model.policy)

    def spent(self) -> float:
        return self.seconds + time.monotonic() - self._begun

    def evaluate(self) -> None:
        """Matches against the fixed opponents on deals that are never trained on."""
        names = self.settings.evaluation.opponents
        row: Row = {"steps": float(self.num_timesteps), "seconds": round(self.spent(), 1)}
        row |= measured(self.settings, *self.exported())
        for name in names:
            self.logger.record(f"win_rate/{name}", row[name])
        self.rows.append(row)
        write_progress(self.folder.progress, self.rows)
        self.bar.set_postfix(told(row))
        mean = sum(row[name] for name in names) / len(names)
        if mean > self.best:
            self.best = mean
            save_policy(self.folder.best, *self.exported())

    # Saving and going on.

    def save(self) -> None:
        more = {
            "best": self.best,
            "next_snapshot": self.next_snapshot,
            "next_evaluation": self.next_evaluation,
            "seconds": self.spent(),
        }
        checkpoints.save(self.folder, self.settings, self.model, self.env, more)
        save_policy(self.folder.last, *self.exported())
        self.saved_steps = self.num_timesteps
        self._saved = time.monotonic()

    def restore(self, more: dict[str, Any], num_timesteps: int) -> None:
        self.best = more["best"]
        self.next_snapshot = more["next_snapshot"]
        self.next_evaluation = more["next_evaluation"]
        self.seconds = more["seconds"]
        self.rows = read_progress(self.folder.progress, num_timesteps)

    def finish(self, title: str) -> None:
        """The last evaluation, policies and the curve."""
        if not self.rows or self.rows[-1]["steps"] < self.num_timesteps:
            self.evaluate()
        self.save()
        draw_curve(self.folder.curve, self.rows, 1 / self.settings.game.num_players, title)
