"""Train a best response: a policy trained against one frozen agent only.

    python -m training.best_response --agent planner --num-players 4 --steps 1000000 --out runs/response
    python -m training.best_response --agent planner --num-players 4 --coalition --out runs/coalition

The policy has one seat, and copies of the agent have the others. `--coalition` trains it to play in all seats but one
against a single copy of the agent: its seats add up their rewards, so that their common goal is that the agent does not
win. What it observes does not tell it which seat is the agent's. `evaluation.exploit --train-steps` and
`evaluation.coalition --trained` run this command. Run the same command again to continue after a stop.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any, Final

from symphony9_env import agents
from symphony9_env.agents.policy import PolicyAgent, ShippedPolicy, shipped_path
from symphony9_env.arena.console import positive_int
from symphony9_env.arguments import Parser, add_variant_arguments, read_variant, run
from symphony9_env.options import Variant
from training.checkpoints import read_checkpoint, resume
from training.config import Settings, parse_settings
from training.run import Outcome, RunFolder
from training.stopping import StopSignals
from training.train import train

CLONING_GAMES: Final = 5_000
NUM_EVALUATIONS: Final = 10


def response_settings(
    agent: str, variant: Variant, steps: int, seed: int, workers: int = 1, coalition: bool = False
) -> Settings:
    """Return the settings of the run.

    If the agent is a saved policy, training starts from its weights; otherwise from cloning the default agent.
    """
    given: dict[str, Any] = {
        "total_steps": steps,
        "seed": seed,
        "workers": workers,
        "game": variant.as_json(),
        "opponents": {"latest": 0, "past": 0, "fixed": {agent: 1}, "coalition": coalition},
        "evaluation": {"opponents": [agent], "every": max(steps // NUM_EVALUATIONS, 1), "games": 400},
        "behaviour_cloning": {"games": CLONING_GAMES},
        "temperature": 0,
    }
    policy = agents.make(agent, seed=seed)
    path = policy.spec
    if isinstance(policy, ShippedPolicy):
        policy, path = policy.for_players(variant.num_players), str(shipped_path(variant.num_players))
    if isinstance(policy, PolicyAgent):
        card = policy.card
        given["network"] = {"kind": card.network, "hidden": list(card.hidden), "activation": card.activation}
        given["game"]["ledger"] = card.ledger
        given["start_from"] = path
        given["behaviour_cloning"] = {"agent": None}
    return parse_settings(given, "best response")


def train_response(
    agent: str, variant: Variant, out: Path, steps: int, seed: int, workers: int = 1, coalition: bool = False
) -> Path:
    """Train, or continue training, and return the path of the best policy."""
    settings = response_settings(agent, variant, steps, seed, workers, coalition)
    folder, signals = RunFolder(out), StopSignals()

    def continue_from(path: Path, problem: str) -> Outcome:
        checkpoint = read_checkpoint(path)
        if checkpoint.settings != settings:
            raise ValueError(f"--out {out}: contains a run with other settings; choose another folder")
        return train(settings, folder, checkpoint, problem, signals)

    with folder.lock():
        is_new = not folder.checkpoint.exists() and not folder.previous.exists()
        paths = folder.checkpoint, folder.previous
        outcome = train(settings, folder, signals=signals) if is_new else resume(*paths, continue_from)
    if outcome.stopped:
        signals.stop()
    return folder.best


def make_parser() -> Parser:
    """Return the parser of the command line."""
    parser = Parser("python -m training.best_response", __doc__)
    parser.add_argument("--agent", required=True, help="the frozen agent, as agents.make accepts it")
    parser.add_argument("--steps", type=positive_int, default=1_000_000, help="steps to train for (default: 1000000)")
    parser.add_argument("--out", type=Path, required=True, help="folder of the run")
    parser.add_argument("--seed", type=int, default=0, help="seed of the run (default: 0)")
    parser.add_argument("--coalition", action="store_true", help="train a coalition against a single copy of the agent")
    parser.add_argument("--workers", type=positive_int, default=1, help="processes that train together (default: 1)")
    add_variant_arguments(parser)
    return parser


def main(arguments: list[str] | None = None) -> None:
    """Run the command."""
    chosen = make_parser().parse_args(arguments)
    variant = read_variant(chosen)
    given = chosen.agent, variant, chosen.out, chosen.steps, chosen.seed, chosen.workers, chosen.coalition
    print(train_response(*given))


if __name__ == "__main__":
    sys.exit(run("best_response", main))
