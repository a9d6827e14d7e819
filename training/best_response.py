"""Train a best response: a policy trained against one frozen agent and nobody else.

    python -m training.best_response --agent planner --num-players 4 --steps 1000000 --out runs/response

`evaluation.exploit --train-steps` runs this command. Run it again to go on after a stop.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from symphony9_env import agents
from symphony9_env.agents.policy import PolicyAgent, ShippedPolicy, shipped_path
from symphony9_env.arena.console import Parser, add_variant_arguments, positive_int, read_variant, run
from symphony9_env.options import Variant
from training import checkpoints
from training.checkpoints import RunFolder
from training.config import Settings, parse_settings
from training.train import train


def response_settings(agent: str, variant: Variant, steps: int, seed: int, num_threads: int = 1) -> Settings:
    """Return settings for a run that starts from the agent's own network if it has one, else from cloning `planner`."""
    given: dict[str, Any] = {
        "total_steps": steps,
        "seed": seed,
        "num_threads": num_threads,
        "game": variant.as_json(),
        "opponents": {"latest": 0, "past": 0, "fixed": {agent: 1}},
        "evaluation": {"opponents": [agent], "every": max(steps // 10, 1), "games": 400},
        "temperature": 0,
    }
    made = agents.make(agent, seed=seed)
    card = made.card if isinstance(made, PolicyAgent) else None
    if isinstance(made, ShippedPolicy):
        card = made.for_players(variant.num_players).card
    if card is not None:
        given["network"] = {"kind": card.network, "hidden": list(card.hidden), "activation": card.activation}
        given["game"]["ledger"] = card.ledger
        given["start_from"] = str(shipped_path(variant.num_players)) if isinstance(made, ShippedPolicy) else agent
        given["warm_start"] = {"agent": None}
    else:
        given["warm_start"] = {"games": 5_000}
    return parse_settings(given, "response")


def train_response(agent: str, variant: Variant, out: Path, steps: int, seed: int, num_threads: int = 1) -> Path:
    """Train and return the path of the best policy found; a run that was stopped goes on."""
    folder = RunFolder(out)
    state = checkpoints.read(folder) if folder.checkpoint.exists() else None
    settings = response_settings(agent, variant, steps, seed, num_threads)
    if state is not None and Settings.model_validate_json(state["settings"]) != settings:
        raise ValueError(f"--out {out}: holds another training; choose another folder")
    if train(settings, folder, state).stopped:
        raise KeyboardInterrupt
    return folder.best


def make_parser() -> Parser:
    """Return the parser of the command line."""
    parser = Parser("python -m training.best_response", __doc__)
    parser.add_argument("--agent", required=True, help="the frozen agent")
    parser.add_argument("--steps", type=positive_int, default=1_000_000, help="decisions to train (default: 1000000)")
    parser.add_argument("--out", required=True, help="folder of the run")
    parser.add_argument("--seed", type=int, default=0, help="seed of the run (default: 0)")
    parser.add_argument("--num-threads", type=positive_int, default=1, help="threads for the network (default: 1)")
    add_variant_arguments(parser)
    return parser


def main(arguments: list[str] | None = None) -> None:
    """Run the command."""
    chosen = make_parser().parse_args(arguments)
    variant = read_variant(chosen)
    out = Path(chosen.out)
    print(train_response(chosen.agent, variant, out, chosen.steps, chosen.seed, chosen.num_threads))


if __name__ == "__main__":
    sys.exit(run("best_response", main))
