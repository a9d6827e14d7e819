"""Inspect: evaluate a language model on the benchmark and print its row.

    pip install ".[inspect]"
    python examples/inspect_benchmark.py                             # a scripted model that needs no provider
    python examples/inspect_benchmark.py --model openai/gpt-5 --task 3p

`inspect eval symphony9_env/symphony9_benchmark --model … -T task=2p` does the same on the command line, with all of
Inspect's options; `python -m symphony9_env.integrations.inspect_ai LOG` then prints the row.
"""

from __future__ import annotations

import argparse
import random
import re
from collections.abc import Sequence
from typing import Any

from inspect_ai import eval as evaluate
from inspect_ai.model import Model, ModelOutput, ModelUsage, get_model

from symphony9_env.arena.benchmark import TASKS, format_results
from symphony9_env.integrations.inspect_ai import read_results, symphony9_benchmark


def make_reader(seed: int) -> Model:
    """Return a scripted model that reads the list of legal actions and picks one: a cube if it can, moderate bids."""

    def answer(messages: Any, *_: Any) -> ModelOutput:
        question = messages[-1].text
        names = re.findall(r"\d+ ([a-z][a-z0-9 ]*)", question.rpartition("Legal actions:")[2])
        wanted = [name for name in names if re.fullmatch(r"take .*|keep .*|bid [2-5]|announce [2-5]", name)]
        choice = random.Random(f"{seed} {question}").choice(wanted or names)
        output = ModelOutput.from_content("mockllm/model", f"I have thought about it. [{choice}]")
        output.usage = ModelUsage()  # otherwise Inspect downloads a tokenizer to count
        return output

    return get_model("mockllm/model", custom_outputs=answer)


def main(argv: Sequence[str] | None = None) -> dict[str, Any]:
    parser = argparse.ArgumentParser(description="Evaluate a model on the benchmark with Inspect.")
    parser.add_argument("--model", help="a model as Inspect names it (default: a scripted one)")
    parser.add_argument("--task", default="2p", choices=TASKS)
    parser.add_argument("--full", action="store_true", help="240 games against each opponent, not 24")
    parser.add_argument("--logs", default="runs/inspect", help="folder for Inspect's log")
    args = parser.parse_args(argv)

    model = make_reader(seed=0) if args.model is None else args.model
    (log,) = evaluate(
        symphony9_benchmark(args.task, lite=not args.full), model=model, log_dir=args.logs, display="plain"
    )
    row = read_results(log)
    print(format_results(row))
    print(f"\n{log.location}")
    return row


if __name__ == "__main__":
    main()
