"""A best response: training against one frozen agent and nobody else. `evaluation.exploit` asks for it."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from symphony9_env import agents
from symphony9_env.agents.policy import PolicyAgent, ShippedPolicy, shipped_path
from symphony9_env.options import Options
from training import saves
from training.config import Settings, parse_settings
from training.saves import RunFolder
from training.train import train


def response_settings(agent: str, options: Options, steps: int, seed: int, num_threads: int = 1) -> Settings:
    """It begins as the agent's own network if that is a policy, else as a copy of the planner."""
    game = {name: getattr(options, name) for name in ("num_players", "tracks", "scoring", "discussion")}
    given: dict[str, Any] = {
        "total_steps": steps,
        "seed": seed,
        "num_threads": num_threads,
        "game": {**game, "components": None if options.components is None else os.fspath(options.components)},
        "opponents": {"latest": 0, "past": 0, "fixed": {agent: 1}},
        "evaluation": {"opponents": [agent], "every": max(steps // 10, 1), "games": 400},
        "temperature": 0,
    }
    made = agents.make(agent, seed=seed)
    card = made.card if isinstance(made, PolicyAgent) else None
    if isinstance(made, ShippedPolicy):
        card = made.for_players(options.num_players).card
    if card is not None:
        given["network"] = {"kind": card.network, "hidden": list(card.hidden), "activation": card.activation}
        given["game"]["ledger"] = card.ledger
        given["start_from"] = str(shipped_path(options.num_players)) if isinstance(made, ShippedPolicy) else agent
        given["warm_start"] = {"agent": None}
    else:
        given["warm_start"] = {"games": 5_000}
    return parse_settings(given, "response")


def train_response(agent: str, options: Options, out: Path, steps: int, seed: int, num_threads: int = 1) -> Path:
    """The path of the best policy found; a run that was stopped goes on."""
    folder = RunFolder(out)
    state = saves.read(folder) if folder.checkpoint.exists() else None
    settings = response_settings(agent, options, steps, seed, num_threads)
    if state is not None and Settings.model_validate_json(state["settings"]) != settings:
        raise ValueError(f"--out {out}: holds another training; choose another folder")
    if train(settings, folder, state).stopped:
        raise KeyboardInterrupt
    return folder.best
