"""An agent of your own as a process, for the benchmark: it reads a message a line and answers a line.

    python -m evaluation.benchmark --task 4p --lite --agent "stdio:python examples/stdio_agent.py"

Any language will do: docs/benchmark.md has the messages. This one takes a cube of whoever has the best reputation.
"""

from __future__ import annotations

import json
import re
import sys
from typing import Any


def decide(message: dict[str, Any]) -> int:
    """The number of a legal action."""
    names = {name: int(number) for number, name in message["legal"].items()}
    # Lines of the table: musician, rank, fame, reputation ...
    ranks = {
        musician: int(rank) for musician, rank in re.findall(r"^(\w+) +(\d) (?:low|medium|high)", message["text"], re.M)
    }
    for verb in ("take", "keep"):
        wanted = [name for name in names if name.startswith(verb)]
        if wanted:
            return names[min(wanted, key=lambda name: ranks[name.split()[1]])]
    for name in ("bid 3", "bid 2", "bid 1", "bid 0", "pass"):
        if name in names:
            return names[name]
    return min(names.values())


def main() -> None:
    for line in sys.stdin:
        print(json.dumps({"action": decide(json.loads(line))}), flush=True)


if __name__ == "__main__":
    main()
