"""TextArena: a game between players who read text and answer with text.

    pip install ".[textarena]"
    python examples/textarena_game.py --players 3 --discussion

Replace `make_reader` by a language model: any `textarena.Agent`, such as `ta.agents.OpenRouterAgent(model_name=...)`.
"""

from __future__ import annotations

import argparse
import random
import re
from collections.abc import Callable, Sequence

import textarena as ta

from symphony9_env.integrations.textarena import ENV_ID


def make_reader(seed: int) -> Callable[[str], str]:
    """Return a player that reads the list of legal actions and picks one: a cube if it can, and moderate bids."""
    rng = random.Random(seed)

    def answer(observation: str) -> str:
        names = re.findall(r"\d+ ([a-z][a-z0-9 ]*)", observation.rpartition("Legal actions:")[2])
        wanted = [name for name in names if re.fullmatch(r"take .*|keep .*|bid [2-5]|announce [2-5]", name)]
        choice = rng.choice(wanted or names)
        words = ": shall we?" if choice.startswith("announce") else ""
        return f"I have thought about it. [{choice}{words}]"

    return answer


def main(argv: Sequence[str] | None = None) -> dict[int, float]:
    parser = argparse.ArgumentParser(description="A game of Symphony No. 9 between text players.")
    parser.add_argument("--players", type=int, default=3, choices=(2, 3, 4))
    parser.add_argument(
        "--discussion", action="store_true", help="play with announcements and the words said with them"
    )
    parser.add_argument("--seed", type=int, default=7)
    args = parser.parse_args(argv)

    env = ta.make(ENV_ID, discussion=args.discussion)
    env.reset(num_players=args.players, seed=args.seed)
    players = [make_reader(args.seed + seat) for seat in range(args.players)]
    done = False
    while not done:
        seat, observation = env.get_observation()
        done, _ = env.step(players[seat](observation))
    rewards, info = env.close()
    print(observation.rpartition("\n\nSymphony No. 9")[0][-900:])
    print(f"\n{info[0]['reason']}; rewards: {rewards}")
    return dict(rewards)


if __name__ == "__main__":
    main()
