"""OpenEnv: a language model plays on a server, against the agents of the server.

    pip install ".[openenv]"
    python examples/openenv_game.py

Without `--url` the example starts a server of its own. Replace `answer` by a language model.
"""

from __future__ import annotations

import argparse
import contextlib
import random
import re
import threading
import time
from collections.abc import Iterator, Sequence
from typing import Any

import uvicorn

from symphony9_env.integrations.openenv import Symphony9Action, Symphony9Client, make_app


def answer(question: str) -> str:
    """Read a question and pick one of its legal actions: a cube if it can, else anything."""
    names = re.findall(r"\d+ ([a-z][a-z0-9 ]*)", question.rpartition("Legal actions:")[2])
    choice = random.Random(question).choice([name for name in names if name.startswith("take")] or names)
    return f"I have thought about it. [{choice}]"


@contextlib.contextmanager
def serve(**options: Any) -> Iterator[str]:
    """Serve games with these options on this machine, and return the address."""
    server = uvicorn.Server(uvicorn.Config(make_app(**options), port=0, log_level="error"))
    thread = threading.Thread(target=server.run)
    thread.start()
    try:
        while not server.started and thread.is_alive():
            time.sleep(0.01)
        yield f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}"
    finally:
        server.should_exit = True
        thread.join()


def main(argv: Sequence[str] | None = None) -> float:
    parser = argparse.ArgumentParser(description="A game of Symphony No. 9 on an OpenEnv server.")
    parser.add_argument("--url", help="of a server that is running already")
    parser.add_argument("--seed", type=int, default=7)
    args = parser.parse_args(argv)

    with contextlib.ExitStack() as stack:
        url = args.url or stack.enter_context(serve(num_players=2, opponents="planner"))
        client = stack.enter_context(Symphony9Client(url).sync())
        result = client.reset(seed=args.seed)
        total = 0.0
        while not result.done:
            result = client.step(Symphony9Action(reply=answer(result.observation.text)))
            total += result.reward
        state = client.state()
    print(f"player_{state.seat} of {state.num_players}, {state.step_count} decisions: {result.observation.outcome}")
    print(f"score {result.observation.score}, rank {result.observation.rank}, reward {total:+.2f}")
    return total


if __name__ == "__main__":
    main()
