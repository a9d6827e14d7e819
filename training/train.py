"""Train a policy by self-play.

    python -m training.train --config configs/quick.yaml
    python -m training.train --config configs/standard.yaml --out runs/two game.num_players=2 seed=3
    python -m training.train --resume runs/two
    python -m training.train --list

Settings are those of `training/config.py` (`--list` shows them all); the file names what it changes, and
`section.name=value` on the command line changes it again. Ctrl-C saves, and so does the run itself now and then:
`--resume FOLDER` goes on from there as if nothing had happened. In the folder: best.safetensors and last.safetensors
(policies), progress.csv, curve.png, and TensorBoard's events.
"""

from __future__ import annotations

import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

import torch
from sb3_contrib import MaskablePPO
from stable_baselines3.common.logger import configure
from threadpoolctl import threadpool_limits
from tqdm import tqdm

from symphony9_env import files
from symphony9_env.arena.console import Parser, format_percent, format_table, run
from training import checkpoints
from training.behaviour_cloning import warm_up
from training.callbacks import BetweenUpdates
from training.checkpoints import RunFolder
from training.config import Section, Settings, load_settings
from training.network import begin_from, policy_class
from training.opponent_pool import Pool
from training.vec_env import SelfPlayVecEnv


def make_env(settings: Settings, folder: Path) -> SelfPlayVecEnv:
    """Hundreds of games with the learner in a random seat, and the pool in the others."""
    num_games, num_players = settings.ppo.num_games, settings.game.num_players
    pool = Pool(settings.opponents, num_games, num_players, folder, settings.seed)
    return SelfPlayVecEnv(num_games, pool, settings.game.options(), settings.seed)


def make_model(settings: Settings, env: SelfPlayVecEnv) -> MaskablePPO:
    ppo = settings.ppo
    fall = ppo.learning_rate - ppo.learning_rate_end
    policy, policy_kwargs = policy_class(settings)
    model = MaskablePPO(
        policy,
        env,
        learning_rate=lambda left: ppo.learning_rate_end + fall * left,
        n_steps=ppo.num_steps,
        batch_size=ppo.batch_size,
        n_epochs=ppo.num_epochs,
        gamma=ppo.gamma,
        gae_lambda=ppo.gae_lambda,
        clip_range=ppo.clip_range,
        ent_coef=ppo.entropy,
        vf_coef=ppo.value_weight,
        max_grad_norm=ppo.max_grad_norm,
        target_kl=ppo.target_kl,
        policy_kwargs=policy_kwargs,
        seed=settings.seed % 2**32,
        device="cpu",
    )
    begin_from(model.policy, settings)
    return model


def train(settings: Settings, folder: RunFolder, state: dict[str, Any] | None = None) -> BetweenUpdates:
    """Train from the start, or from a save; returns when all is done or Ctrl-C asked to stop."""
    threadpool_limits(
        1, user_api="blas"
    )  # opponents decide in small batches: more threads only get in each other's way
    torch.set_num_threads(settings.num_threads)
    env = make_env(settings, folder.pool)
    model = make_model(settings, env)
    model.set_logger(configure(str(folder.path / "tensorboard"), ["tensorboard"]))
    with tqdm(total=settings.total_steps, unit=" steps", unit_scale=True, disable=None, smoothing=0.05) as bar:
        between = BetweenUpdates(settings, folder, env, bar)
        between.init_callback(model)
        if state is None:
            if settings.start_from is None and settings.warm_start.agent is not None:
                begin_with_agent(model, settings)
            env.pool.set_latest(*between.exported())
        else:
            between.restore(checkpoints.restore(state, model, env), model.num_timesteps)
        with stop_on_interrupt(between):
            left = settings.total_steps - model.num_timesteps
            if left > 0:
                model.learn(left, callback=between, reset_num_timesteps=state is None)
            if not between.stopped:
                between.num_timesteps = model.num_timesteps
                between.finish(f"{folder.path.name}: {settings.game.num_players} players")
    return between


def begin_with_agent(model: MaskablePPO, settings: Settings) -> None:
    try:
        warm_up(model, settings)
    except KeyboardInterrupt:
        print("\nstopped in the head start: nothing is saved yet; the same command begins again", file=sys.stderr)
        raise


@contextmanager
def stop_on_interrupt(between: BetweenUpdates) -> Iterator[None]:
    """The first Ctrl-C stops after the present update, a second one at once."""

    def ask(_number: int, _frame: FrameType | None) -> None:
        if between.stop_asked:
            raise KeyboardInterrupt
        between.stop_asked = True
        print("\nstopping after this update (Ctrl-C again: at once, going back to the last save)", file=sys.stderr)

    before = signal.signal(signal.SIGINT, ask)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def parser() -> Parser:
    made = Parser("python -m training.train", __doc__)
    what = made.add_mutually_exclusive_group(required=True)
    what.add_argument("--config", help="a YAML file with settings, such as configs/quick.yaml")
    what.add_argument("--resume", metavar="FOLDER", help="go on with the run in this folder")
    what.add_argument("--list", action="store_true", help="show all settings with their defaults")
    made.add_argument("--out", help="folder for the run (default: runs/ and the name of the config)")
    made.add_argument("--seed", help="the same as seed=…")
    made.add_argument("changes", nargs="*", metavar="name=value", help="settings to change, such as seed=3")
    return made


def main(arguments: list[str] | None = None) -> None:
    chosen = parser().parse_args(arguments)
    if chosen.list:
        print(listed(Settings()))
        return
    if chosen.resume is not None:
        if chosen.changes or chosen.out or chosen.seed:
            raise ValueError("--resume takes no settings and no --out: the run goes on as it began")
        if not Path(chosen.resume).is_dir():
            raise ValueError(f"--resume {chosen.resume}: no such folder")
        folder = RunFolder(chosen.resume)
        state = checkpoints.read(folder)
        settings = Settings.model_validate_json(state["settings"])
        between = train(settings, folder, state)
    else:
        seed = [] if chosen.seed is None else [f"seed={chosen.seed}"]
        settings = load_settings(chosen.config, [*chosen.changes, *seed])
        folder = RunFolder(chosen.out or Path("runs") / Path(chosen.config).stem)
        if folder.checkpoint.exists():
            raise ValueError(f"--out {folder.path}: holds a run; --resume {folder.path} goes on with it")
        files.write_text(folder.config, settings.model_dump_json(indent=1) + "\n")
        between = train(settings, folder)
    if between.stopped:
        again = f"python -m training.train --resume {folder.path}"
        print(f"saved after {between.saved_steps:,} decisions; go on with: {again}")
        raise KeyboardInterrupt
    print(shown(between))
    print(f"\npolicies: {folder.best}, {folder.last}\nlearning curve: {folder.curve}; its figures: {folder.progress}")


def shown(between: BetweenUpdates) -> str:
    """The last evaluation."""
    row = between.rows[-1]
    names = between.settings.evaluation.opponents
    rows = [
        [
            name,
            format_percent(row[name]),
            f"{format_percent(row[f'{name}_low'])} … {format_percent(row[f'{name}_high'])}",
        ]
        for name in names
    ]
    text = f"after {between.num_timesteps:,} decisions in {between.spent() / 60:.1f} minutes\n"
    return text + format_table(["alone against a table of", "wins", "95 %"], rows)


def listed(section: Section, prefix: str = "") -> str:
    """All settings with their defaults and what they mean."""
    lines = []
    for name, field in type(section).model_fields.items():
        value = getattr(section, name)
        if isinstance(value, Section):
            lines += [f"\n{prefix}{name}: {(value.__doc__ or '').strip()}", listed(value, f"{prefix}{name}.")]
        else:
            lines.append(f"  {prefix}{name}={value}" + (f"   {field.description}" if field.description else ""))
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(run("train", main))
