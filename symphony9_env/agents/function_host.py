"""Runs a Python function as an agent in a process of its own: `python -m symphony9_env.agents.function_host NAME`.

`FunctionProcess` starts it. The first line that it writes says what the name stands for. After that, each message that
it reads is answered with one line: the answer of the function, or why there is none. It imports the function here, so
that no code of the function runs in the process that holds the games.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from typing import IO

from symphony9_env.agents.external import ExternalAgent
from symphony9_env.agents.registry import make
from symphony9_env.agents.transports import NoAnswer


def main(name: str) -> None:
    """Serve the function with this name until there are no more messages."""
    with _take_standard_output() as output:

        def write(reply: dict[str, str]) -> None:
            print(json.dumps(reply), file=output, flush=True)

        try:
            agent = make(name, seed=0)
        except ValueError as error:
            write({"error": str(error)})
            return
        if not isinstance(agent, ExternalAgent):
            write({"kind": "agent"})
            return
        write({"kind": "function", "fingerprint": agent.transport.fingerprint()})
        _serve(agent, write)


def _take_standard_output() -> IO[str]:
    """Return the standard output for the answers; what the function prints goes to standard error instead."""
    output = os.fdopen(os.dup(sys.stdout.fileno()), "w", encoding="utf-8")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    return output


def _serve(agent: ExternalAgent, write: Callable[[dict[str, str]], None]) -> None:
    for line in sys.stdin.buffer:
        try:
            reply = {"answer": agent.transport.ask(json.loads(line))}
        except NoAnswer as error:
            reply = {"failure": str(error)}
        write(reply)


if __name__ == "__main__":
    main(sys.argv[1])
