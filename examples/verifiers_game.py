"""verifiers: games of a language model against an agent, or of models against each other.

    pip install ".[verifiers]"
    python examples/verifiers_game.py --seats model,planner --games 2

Replace the address of the scripted model by that of any server with OpenAI's interface.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import random
import re
import threading
from collections.abc import Callable, Iterator, Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import islice
from typing import Any

import verifiers.v1 as vf

from symphony9_env.integrations.verifiers import ENV_ID


def answer(messages: list[dict[str, Any]]) -> str:
    """Read the last question of a conversation and pick one of its legal actions: a cube if it can, else anything."""
    question = messages[-1]["content"]
    names = re.findall(r"\d+ ([a-z][a-z0-9 ]*)", question.rpartition("Legal actions:")[2])
    choice = random.Random(question).choice([name for name in names if name.startswith("take")] or names)
    return f"I have thought about it. [{choice}]"


@contextlib.contextmanager
def serve_model(model: Callable[[list[dict[str, Any]]], str]) -> Iterator[str]:
    """Serve a function as a language model on this machine, and return the address."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            message = {"role": "assistant", "content": model(asked["messages"])}
            choices = [{"index": 0, "finish_reason": "stop", "message": message}]
            usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
            completion = {"id": "0", "object": "chat.completion", "created": 0, "model": asked["model"]}
            body = json.dumps({**completion, "choices": choices, "usage": usage}).encode()
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
            """Print nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/v1"
        server.shutdown()


async def play(address: str, config: dict[str, Any], games: int) -> list[Any]:
    """Play the first games of the task set with the model at an address, and return their episodes."""
    env = vf.load_environment(vf.resolve_env_config(config))
    context = vf.ModelContext("scripted", vf.EvalClientConfig(base_url=address, api_key_var="MODEL_API_KEY"))
    async with env.serving():
        return [await env.run_episode(task, context) for task in islice(env.taskset, games)]


def main(argv: Sequence[str] | None = None) -> list[dict[str, float]]:
    parser = argparse.ArgumentParser(description="Games of Symphony No. 9 with verifiers.")
    parser.add_argument("--seats", default="model,planner", help='who plays: "model" or the names of agents')
    parser.add_argument("--games", type=int, default=2)
    parser.add_argument("--seed", type=int, default=7, help="of the first game")
    args = parser.parse_args(argv)

    config = {"taskset": {"id": ENV_ID, "first_seed": args.seed}, "seats": args.seats.split(",")}
    with serve_model(answer) as address:
        episodes = asyncio.run(play(address, config, args.games))
    for episode in episodes:
        for trace in episode.traces:
            told = trace.info[ENV_ID]
            print(f"{episode.task.data.name}, {trace.agent.name}: {told['outcome']}; reward {trace.reward:+.2f}")
    return [{trace.agent.name: trace.reward for trace in episode.traces} for episode in episodes]


if __name__ == "__main__":
    main()
