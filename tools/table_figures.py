"""Make the images in docs/environment.md: a game of the shipped policy against itself, in the middle and at the end.

    python -m tools.table_figures     (or: make figures)

writes them to docs/figures.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from symphony9_env import agents, symphony9_v0
from symphony9_env.arguments import Parser
from symphony9_env.render.layout import draw
from symphony9_env.render.pixels import to_png
from symphony9_env.views import seat_view

FIGURES = Path(__file__).parent.parent / "docs" / "figures"


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command."""
    Parser(prog="python -m tools.table_figures", description=__doc__).parse_args(arguments)
    env = symphony9_v0.raw_env(num_players=4, discussion=True)
    env.reset(seed=11)
    agent = agents.make("policy", seed=1)
    while not all(env.terminations.values()):
        env.step(agent.choose(env))
        view = seat_view(env.states, 0, env.deciding_seat)
        closed = sum(board.has_closed_hand for board in view.boards)
        if view.round == 4 and closed == 3:
            (FIGURES / "table.png").write_bytes(to_png(draw(view)))
    (FIGURES / "table_end.png").write_bytes(to_png(draw(seat_view(env.states, 0, 0))))


if __name__ == "__main__":
    main()
