"""Train policies against a frozen agent, for the programs that ask what such a policy gains."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from symphony9_env.arguments import INTERRUPTED, TERMINATED, Terminated, format_variant, raise_on_termination
from symphony9_env.options import Variant


def train_response(
    agent: str, variant: Variant, out: Path, steps: int, seed: int, workers: int, *, is_coalition: bool = False
) -> str:
    """Train a policy, or continue training it, and return the path of the best one.

    Training runs in a separate process, because this package must not import `training`.

    Args:
        agent: The name of the frozen agent.
        variant: The variant of the game.
        out: The folder of the training run.
        steps: The decisions to train for.
        seed: The seed of the run.
        workers: The processes that train together.
        is_coalition: Whether the policy takes all other seats, which share one goal, instead of one seat.
    """
    print(f"training {'a coalition ' if is_coalition else ''}against {agent}", file=sys.stderr)
    command = [sys.executable, "-m", "training.best_response", "--agent", agent, "--out", str(out)]
    command += ["--steps", str(steps), "--seed", str(seed), "--workers", str(workers)]
    command += ["--coalition"] * is_coalition
    status = run_to_end([*command, *format_variant(variant)])
    if status == INTERRUPTED:
        raise KeyboardInterrupt
    if status == TERMINATED:
        raise Terminated
    if status != 0:
        raise ValueError(f"training against {agent} failed with exit status {status}")
    return str(out / "best.safetensors")


def run_to_end(command: Sequence[str]) -> int:
    """Run a command, and return its exit status; pass Ctrl-C and SIGTERM on to it, and wait until it has ended.

    On POSIX systems it has a session of its own, so that Ctrl-C in the terminal doesn't reach it a second time.
    """
    with subprocess.Popen(command, start_new_session=os.name == "posix") as process, raise_on_termination():
        while True:
            try:
                return process.wait()
            except Terminated:
                process.terminate()
            except KeyboardInterrupt:
                if os.name == "posix":
                    process.send_signal(signal.SIGINT)
