"""An agent of your own as a process: it reads a message a line and answers a line.

    symphony9 benchmark --task 4p --lite --agent "stdio:python examples/stdio_agent.py"
    symphony9 tournament --agents "planner,mine=stdio:python examples/stdio_agent.py" --num-players 2 --out runs/mine

Any language will do: docs/agents.md describes the messages. This agent needs nothing but the standard library. It
takes cubes of the musician with the best reputation and contributes up to $3.
"""

from __future__ import annotations

import json
import sys
from typing import Any

MOST = 3  # dollars it contributes to a concert


def decide(message: dict[str, Any]) -> int:
    """Return the number of a legal action."""
    view = message["view"]
    ranks = {musician["name"]: musician["rank"] for musician in view["position"]["musicians"]}
    cubes = [choice for choice in view["choices"] if choice["kind"] in ("take", "keep")]
    if cubes:
        return int(min(cubes, key=lambda choice: ranks[choice["musician"]])["action"])
    coins = [choice for choice in view["choices"] if choice["kind"] == "bid" and choice["furniture"] is None]
    if bids := [bid for bid in coins if bid["amount"] <= MOST]:
        return int(max(bids, key=lambda bid: bid["amount"])["action"])
    passes = [choice for choice in view["choices"] if choice["kind"] == "pass"]
    return int((passes or view["choices"])[0]["action"])


def main() -> None:
    """Answer every line of standard input."""
    for line in sys.stdin:
        print(json.dumps({"action": decide(json.loads(line))}), flush=True)


if __name__ == "__main__":
    main()
