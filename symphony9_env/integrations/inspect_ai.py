"""Inspect: the benchmark as an evaluation task for language models.

    inspect eval symphony9_env/symphony9_benchmark --model openai/gpt-5 -T task=2p
    python -m symphony9_env.integrations.inspect_ai logs/….eval --out runs/bench-model

A sample is a game of the benchmark, which is played, scored and summarized by `symphony9_env.arena`. The second command
prints the row of a finished log; with `--out` it writes the folder that `symphony9 benchmark --verify` checks.

Whenever the model is to decide, it reads the rules and the question as in `symphony9_env.envs.text`, in a conversation
of its own, and answers with an action in square brackets. Three answers in a row that are not legal forfeit the game.
An error of the model's provider is an error of the sample and no forfeit.
"""

from __future__ import annotations

import argparse
import json
import secrets
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, Final

from anyio import CapacityLimiter, from_thread, to_thread
from inspect_ai import Task
from inspect_ai import task as inspect_task
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.log import EvalLog, read_eval_log
from inspect_ai.model import ChatMessageSystem, ChatMessageUser, Model, ModelOutput, get_model
from inspect_ai.scorer import Score, Scorer, Target, grouped, mean, scorer
from inspect_ai.solver import Generate, Solver, TaskState, solver

from symphony9_env import __version__
from symphony9_env.agents import ExternalAgent
from symphony9_env.agents.external import MAX_ANSWERS
from symphony9_env.agents.message import AgentMessage
from symphony9_env.arena import benchmark
from symphony9_env.arena.benchmark_games import GameOutcome, derive_key, make_outcome, play_game
from symphony9_env.files import make_folder, write_text
from symphony9_env.options import EnvOptions
from symphony9_env.views.questions import format_error, make_prompt

OUTCOME: Final = "symphony9_outcome"  # where a sample's store has the outcome of its game


@inspect_task
def symphony9_benchmark(task: str = "2p", lite: bool = True, salt: str | None = None) -> Task:
    """Evaluate a model on a task of the benchmark, alone against each of its opponents.

    Args:
        task: a task of the benchmark, as `symphony9 benchmark --list` lists them.
        lite: play 24 games against each opponent and not 240.
        salt: the hexadecimal salt of the deals, to play those of another run; drawn at random if None.
    """
    options = benchmark.find_task(task)
    benchmark.check_salt(salt)
    num_games = benchmark.LITE_GAMES if lite else benchmark.GAMES
    settings = {
        "protocol": benchmark.PROTOCOL,
        "task": task,
        "opponents": benchmark.fingerprint_opponents(options.num_players),
        "games": num_games,
        "private": salt is None,
        "salt": salt,
        "max_answers": MAX_ANSWERS,
        "package": __version__,
    }
    chosen = salt or secrets.token_hex(benchmark.SALT_BYTES)
    samples = [
        Sample(
            id=number,
            input=f"Game {number} of {task}, against {opponent}",
            metadata={"opponent": opponent, "key": derive_key(chosen, number)},
        )
        for number, opponent in enumerate(benchmark.list_opponents(num_games))
    ]
    return Task(
        dataset=MemoryDataset(samples, name=f"symphony9-{task}"),
        solver=play_benchmark_game(task),
        scorer=win_share(),
        metadata=settings,
    )


@solver
def play_benchmark_game(task: str) -> Solver:
    """Play the game of a sample with the model that is evaluated."""
    options = benchmark.find_task(task)

    async def solve(state: TaskState, generate: Generate) -> TaskState:
        opponent, key = state.metadata["opponent"], state.metadata["key"]
        transport = ModelTransport(get_model(), options)
        agent = ExternalAgent(transport, str(state.model))
        # The game loop is not asynchronous: it has a thread, which waits while the model answers.
        played = await to_thread.run_sync(
            play_game, int(state.sample_id), key, agent, opponent, options, limiter=CapacityLimiter(1)
        )
        state.store.set(OUTCOME, asdict(make_outcome(opponent, key, played)))
        if transport.output is not None:
            state.output = transport.output
        return state

    return solve


class ModelTransport:
    """Asks a model of Inspect for an action; to be used in a thread that anyio's event loop has started."""

    def __init__(self, model: Model, options: EnvOptions) -> None:
        self._model = model
        self._discussion = options.variant.discussion
        self.output: ModelOutput | None = None  # the last one

    def ask(self, message: AgentMessage) -> str:
        prompt = make_prompt(message["seat"], message["num_players"], self._discussion, can_talk=False)
        question = message["text"]
        if "error" in message:
            question += f"\n\n{format_error(message['error'])}"
        chat = [ChatMessageSystem(content=prompt), ChatMessageUser(content=question)]
        self.output = output = from_thread.run(self._model.generate, chat)
        return str(output.completion)

    def fingerprint(self) -> str:
        return ""

    def close(self) -> None:
        """Do nothing: Inspect closes its models."""


@scorer(metrics=[grouped(mean(), "opponent", all="groups", all_label="score")])
def win_share() -> Scorer:
    """Score a game by the model's share of the win: 1, 0, or a part of 1 if the win is shared."""

    async def score(state: TaskState, target: Target) -> Score:
        outcome = state.store.get(OUTCOME)
        if outcome is None:
            return Score(value=0.0, explanation="the game was not finished: a limit of the evaluation was reached")
        ended = f"forfeited: {outcome['forfeit']}" if outcome["forfeit"] else f"{outcome['score']} points"
        return Score(value=outcome["win_share"], explanation=ended, metadata=outcome)

    return score


def list_outcomes(log: EvalLog) -> list[GameOutcome]:
    """Return all games of a log in their order; raise a ValueError unless each was finished, once."""
    if not log.eval.metadata or log.eval.metadata.get("protocol") != benchmark.PROTOCOL:
        raise ValueError(f"the log is not of {benchmark.PROTOCOL}")
    scores = [(sample.scores or {}).get("win_share") for sample in log.samples or []]
    found = [GameOutcome(**score.metadata) for score in scores if score is not None and score.metadata]
    found.sort(key=lambda outcome: outcome.game)
    total = log.eval.metadata["games"] * len(benchmark.OPPONENTS)
    if [outcome.game for outcome in found] != list(range(total)):
        raise ValueError(f"the log has {len(found)} finished games; a row needs each of {total} games once")
    return found


def read_results(log: EvalLog) -> dict[str, Any]:
    """Return the row of the benchmark from the log of a finished evaluation."""
    outcomes = list_outcomes(log)
    settings = log.eval.metadata or {}
    num_players = benchmark.find_task(settings["task"]).num_players
    return {**settings, "agent": str(log.eval.model), **benchmark.summarise(outcomes, num_players)}


def write_folder(log: EvalLog, out: Path) -> None:
    """Write the row and the games into a new folder, for `symphony9 benchmark --verify`."""
    if (out / "results.json").exists() or (out / "games.jsonl").exists():
        raise ValueError(f"{out}: holds results already; choose another folder")
    results = read_results(log)
    make_folder(out)
    write_text(out / "games.jsonl", "".join(outcome.as_line() for outcome in list_outcomes(log)))
    write_text(out / "results.json", json.dumps(results, indent=2) + "\n")


def main(argv: Sequence[str] | None = None) -> None:
    """Print the row of a log."""
    parser = argparse.ArgumentParser(description="Print the benchmark row of a finished log of Inspect.")
    parser.add_argument("log", help="a log that `inspect eval` wrote")
    parser.add_argument("--out", type=Path, help="write the games and results there, for symphony9 benchmark --verify")
    chosen = parser.parse_args(argv)
    log = read_eval_log(chosen.log)
    try:
        print(benchmark.format_results(read_results(log)))
        if chosen.out is not None:
            write_folder(log, chosen.out)
    except ValueError as error:
        parser.error(str(error))


if __name__ == "__main__":
    main()
