"""The training loop, which every worker runs: rollouts and updates, and what happens between them."""

from __future__ import annotations

import time
from typing import Any

import torch

from symphony9_env.agents import Card
from symphony9_env.agents.base import derive_agent_seed
from symphony9_env.agents.networks import Weights
from symphony9_env.agents.policy import pack_policy
from training import progress
from training.behaviour_cloning import clone_behaviour
from training.checkpoints import Checkpoint, Counters, collect_state, pack, restore_checkpoint
from training.config import Settings
from training.group import Group
from training.network import export_weights, make_card
from training.ppo import SelfPlayPPO
from training.run import BEST, CHECKPOINT, CURVE, LAST, PREVIOUS, PROGRESS, Run, make_logger
from training.self_play import SelfPlay


class Trainer:
    """One worker of a run. Snapshots, evaluations and checkpoints come between updates, at the same steps everywhere.

    A checkpoint taken then contains everything on which the rest of the run depends. Only worker 0 has a `run`.
    """

    def __init__(self, settings: Settings, group: Group, run: Run | None, device: str = "cpu") -> None:
        self.settings = settings
        self.group = group
        self.run = run
        self.model = SelfPlayPPO(settings, group, device)
        self.model.set_logger(make_logger(run))
        self.games = SelfPlay(settings, group)
        self.rows: list[progress.Row] = []
        self.best_mean_win_rate = -1.0
        self.next_snapshot = settings.opponents.snapshot_every
        self.next_evaluation = 0
        self.saved_steps = 0  # steps at the last checkpoint
        self.stopped = False
        self._start_time = time.monotonic()  # earlier by the time spent before the run was resumed
        self._save_time = -float("inf")  # save before the first update already, which also tests that the disk takes it
        if group.rank > 0:
            torch.manual_seed(derive_agent_seed(settings.seed, group.rank))

    @property
    def num_timesteps(self) -> int:
        """The decisions that the run has learned from so far."""
        return self.model.num_timesteps

    def close(self) -> None:
        """Close the opponents."""
        self.games.close()

    def start(self) -> None:
        """Begin a new run: clone an agent's behaviour, unless that is switched off, and deal the games."""
        if self.settings.start_from is None and self.settings.behaviour_cloning.agent is not None:
            clone_behaviour(self.model, self.settings, self.run)
            self.model.reset_reference()
        self.games.deal()

    def restore(self, checkpoint: Checkpoint) -> None:
        """Continue from a checkpoint; raise an `InvalidCheckpointError` if it doesn't fit."""
        restore_checkpoint(checkpoint, self.model, self.games)
        counters = checkpoint.counters
        self.saved_steps = counters.num_timesteps
        self.next_snapshot = counters.next_snapshot
        self.next_evaluation = counters.next_evaluation
        self.best_mean_win_rate = counters.best_mean_win_rate
        self._start_time -= counters.seconds
        self.rows = list(counters.rows)
        self.group.gather(None)  # all workers have read the file, which worker 0 may now replace

    def train(self) -> None:
        """Train until all steps are done or the user wants to stop."""
        self._write_progress()  # after a stop it may have later evaluations than the checkpoint
        if self.run is not None:
            self.run.begin(self.settings.total_steps, min(self.num_timesteps, self.settings.total_steps), "steps")
        share = self.games.num_games * self.settings.ppo.n_steps
        while self.num_timesteps < self.settings.total_steps:
            self._prepare_update()
            if self.stopped:
                return
            rollout = self.games.collect(self.model.make_actor(), share)
            self.group.average(torch.from_numpy(self.games.pool.ahead_rates))
            self.model.num_timesteps += share * self.group.size
            self.model.update(rollout)
            self.model.logger.dump(self.num_timesteps)
        self._finish()

    def _prepare_update(self) -> None:
        """Do what comes between two updates; every worker is here at the same number of steps."""
        self._show_progress()
        self._update_schedules()
        if self.num_timesteps >= self.next_snapshot:
            self.next_snapshot += self.settings.opponents.snapshot_every
            self.games.pool.add_snapshot(self.num_timesteps, export_weights(self.model.policy))
        if self.num_timesteps >= self.next_evaluation and self.evaluate():
            self.next_evaluation += self.settings.evaluation.every
        stop, is_time = self.group.broadcast(self._read_wishes())
        if stop or is_time:
            self.save()
        self.stopped = stop

    def _read_wishes(self) -> tuple[bool, bool]:
        """Return whether to stop, and whether it is time for a checkpoint; worker 0 decides."""
        is_time = time.monotonic() - self._save_time > self.settings.save_every
        return self.run is not None and self.run.should_stop(), is_time

    def _show_progress(self) -> None:
        if self.run is not None:
            rates = progress.format_win_rates(self.rows[-1]) if self.rows else {}
            steps = min(self.num_timesteps, self.settings.total_steps)
            self.run.show(steps, {**rates, "saved": f"{self.saved_steps:,}"})

    def _update_schedules(self) -> None:
        """Set what changes over the run: the learning rate, the entropy coefficient and the shaping coefficient."""
        done = min(self.num_timesteps / self.settings.total_steps, 1.0)
        ppo, reward = self.settings.ppo, self.settings.reward
        self.model.set_progress(done)
        self.model.ent_coef = ppo.ent_coef + done * (ppo.ent_coef_end - ppo.ent_coef)
        remaining = 1 - done / reward.shaping_fraction if reward.shaping_fraction > 0 else 0.0
        self.games.set_shaping(reward.shaping_coef * max(remaining, 0.0))

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

        Return False if the user wanted to stop meanwhile; the resumed run repeats the evaluation.
        """
        parts = self.group.gather(self._play_evaluation())
        is_complete: bool = self.group.broadcast(None not in parts)
        if is_complete and self.run is not None:
            self._add_row(progress.join_parts(parts, self.num_timesteps, self.elapsed_seconds()), self.run)
        return is_complete

    def _play_evaluation(self) -> progress.Parts | None:
        """Return this worker's share of the games, or None if the user wants to stop."""
        if self.run is None:
            return progress.evaluate(self.settings, *self.export_policy(), self.group)
        try:
            with self.run.interruptible():
                return progress.evaluate(self.settings, *self.export_policy(), self.group)
        except KeyboardInterrupt:
            if not self.run.should_stop():
                raise
            return None

    def _add_row(self, row: progress.Row, run: Run) -> None:
        names = self.settings.evaluation.opponents
        for name in names:
            self.model.logger.record(f"win_rate/{name}", row[name])
        self.model.logger.dump(self.num_timesteps)
        self.rows.append(row)
        self._write_progress()
        run.announce(progress.format_line(row))
        mean = sum(row[name] for name in names) / len(names)
        if mean > self.best_mean_win_rate:
            self.best_mean_win_rate = mean
            run.write(BEST, pack_policy(*self.export_policy()))

    def _write_progress(self) -> None:
        if self.run is not None and self.rows:
            self.run.write(PROGRESS, progress.format_progress(self.rows).encode())
        elif self.run is not None:
            self.run.remove(PROGRESS)

    def _finish(self) -> None:
        """Evaluate and save the final policy, and draw the learning curve."""
        is_evaluated = self.group.broadcast(bool(self.rows) and self.rows[-1]["steps"] >= self.num_timesteps)
        self.stopped = not is_evaluated and not self.evaluate()
        self.save()
        self._show_progress()
        if not self.stopped and self.run is not None:
            num_players = self.settings.game.num_players
            self.run.write(CURVE, progress.draw_curve(self.rows, num_players, f"{num_players} players"))

    # Checkpoints.

    def save(self) -> None:
        """Write the current policy and a checkpoint.

        The policy comes first, because it is refused if training has diverged, and then the last checkpoint is better.
        """
        if self.run is not None:
            self.run.write(LAST, pack_policy(*self.export_policy()))
        state = collect_state(self.settings, self._count(), self.model, self.games)
        if self.run is not None:
            self.run.write(CHECKPOINT, pack(state), PREVIOUS)
        self.saved_steps = self.num_timesteps
        self._save_time = time.monotonic()

    def _count(self) -> Counters:
        return Counters(
            num_timesteps=self.num_timesteps,
            num_updates=self.model._n_updates,
            next_snapshot=self.next_snapshot,
            next_evaluation=self.next_evaluation,
            best_mean_win_rate=self.best_mean_win_rate,
            seconds=self.elapsed_seconds(),
            rows=self.rows,
        )
