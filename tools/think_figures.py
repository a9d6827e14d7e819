"""Make the image in docs/evaluation.md that shows how a policy thinks: one real decision, from priors to the choice.

    python -m tools.think_figures     (or: make figures)

writes it to docs/figures. The bars are the policy's probabilities and the lines that each candidate got; only the
lines inside the worlds are drawn as a sketch.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import count, pairwise
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from symphony9_env import agents, symphony9_v0
from symphony9_env.actions import NAMES
from symphony9_env.agents.think import Analysis, ThinkAgent
from symphony9_env.arguments import Parser
from symphony9_env.render.drawing import Circle, Drawing, Line, Polygon, Rectangle, Text
from symphony9_env.render.pixels import to_png
from symphony9_env.render.theme import PALETTE, SHAPES

FIGURES: Final = Path(__file__).parent.parent / "docs" / "figures"
NUM_LINES: Final = 96
INK, FAINT, RULE, ACCENT = (PALETTE[name] for name in ("ink", "faint", "line", "accent"))
STAGES: Final = (PALETTE["low"], PALETTE["medium"], PALETTE["high"])
CANDIDATES: Final = ("#0072b2", "#c04e00", "#007a59")  # of the lines that are sketched in each world
TOP, ROW = 104, 36  # where the rows begin, and their height
DECISION, WORLDS, HALVING = 20, 292, 622  # the left edges of the columns
PRIOR_WIDTH, HALVING_WIDTH = 90, 170


def find_decision() -> tuple[Analysis, NDArray[np.float32], int]:
    """Let the policy play games until thinking would choose a much less likely bid of the last player.

    Return what thinking finds out there, the policy's probabilities, and the round.
    """
    policy, thinker = agents.make("policy", seed=1), ThinkAgent(NUM_LINES, seed=1)
    env = symphony9_v0.raw_env(num_players=4)
    for seed in count(1):
        env.reset(seed=seed)
        while not all(env.terminations.values()):
            if env.decision == "bid" and (env.states["hand"] >= 0).sum() == 3:
                found = thinker.analyze(env.states, 0)
                priors = thinker.policy.for_players(4).evaluate(env.states, np.zeros(1, np.int64))[0][0]
                if len(found.actions) == 8 and 0.02 < priors[found.actions[0]] < 0.25 < priors.max() < 0.75:
                    return found, priors, int(env.states["round_index"][0]) + 1
            env.step(policy.choose(env))
    raise AssertionError("unreachable")


def draw_thinking(found: Analysis, priors: NDArray[np.float32], round_number: int) -> Drawing:
    """Draw a decision: the candidates, their lines in worlds, and the stages that lead to the choice."""
    title = "How think:N decides: candidates of the policy, lines in shared worlds, stages of halving, choice"
    drawing = Drawing(980, TOP + ROW * len(found.actions) + 64, title)
    drawing.add(Rectangle(0, 0, drawing.width, drawing.height, PALETTE["paper"]))
    bottom = TOP + ROW * len(found.actions)
    _add_header(drawing, DECISION, "1  Candidates", "the actions that the policy finds likeliest")
    _add_header(drawing, WORLDS, "2  Lines in worlds", "each candidate in the same worlds")
    _add_header(drawing, HALVING, "3  Stages", "the better half goes on, in new worlds")
    _draw_candidates(drawing, found, priors, round_number)
    _draw_worlds(drawing, bottom)
    _draw_stages(drawing, found)
    for x in (WORLDS - 24, HALVING - 24):
        middle = (TOP + bottom) / 2
        drawing.add(Polygon([(x - 6, middle - 9), (x + 7, middle), (x - 6, middle + 9)], ACCENT))
    return drawing


def _add_header(drawing: Drawing, x: float, heading: str, subtitle: str) -> None:
    drawing.add(Text(x, 38, heading, 20, INK, bold=True))
    drawing.add(Text(x, 62, subtitle, 14, FAINT))


def _draw_candidates(drawing: Drawing, found: Analysis, priors: NDArray[np.float32], round_number: int) -> None:
    """Draw the policy's probability of each candidate, the likeliest first."""
    drawing.add(Text(DECISION, TOP - 12, "action", 13, FAINT))
    drawing.add(Text(DECISION + 110, TOP - 12, "probability", 13, FAINT))
    likeliest = sorted(found.actions.tolist(), key=lambda action: -priors[action])
    for number, action in enumerate(likeliest):
        y = TOP + ROW * number
        width = PRIOR_WIDTH * float(priors[action] / priors[likeliest[0]])
        drawing.add(Text(DECISION, y + 22, NAMES[action], 15, INK, fit=104))
        drawing.add(Rectangle(DECISION + 110, y + 8, max(width, 1), 18, STAGES[1]))
        drawing.add(Text(DECISION + 114 + width, y + 22, f"{100 * priors[action]:.1f} %", 13, FAINT))
    below = TOP + ROW * len(likeliest)
    drawing.add(Text(DECISION, below + 22, f"Round {round_number}: how much to contribute,", 13, FAINT))
    drawing.add(Text(DECISION, below + 42, "while the others' hands are closed.", 13, FAINT))


def _draw_worlds(drawing: Drawing, bottom: float) -> None:
    """Sketch lines of three candidates in three worlds: alike after the first action within a world."""
    height = (bottom - TOP) / 3
    rng = np.random.default_rng(5)
    for world in range(3):
        y = TOP + height * world
        drawing.add(Rectangle(WORLDS, y - 6, 290, height - 8, PALETTE["card"], RULE, 1, 8))
        label = f"world {world + 1}: hidden things drawn again" if world < 2 else "world 3 …"
        drawing.add(Text(WORLDS + 10, y + 12, label, 13, FAINT))
        steps = rng.integers(-7, 8, 7)
        steps[-1] = 0
        for number, colour in enumerate(CANDIDATES):
            _draw_line(drawing, y + 30 + (height - 48) * (number + 0.4) / len(CANDIDATES), steps, colour)
    drawing.add(Text(WORLDS, bottom + 22, "In a world, all lines share their random numbers.", 13, FAINT))
    drawing.add(Text(WORLDS, bottom + 42, "The policy's value, a round later, ends a line.", 13, FAINT))


def _draw_line(drawing: Drawing, y: float, steps: NDArray[np.int64], colour: str) -> None:
    """Draw a line of play: the candidate, everybody's moves, and the value."""
    points = [(WORLDS + 22 + 36 * number, y + (step if number else 0)) for number, step in enumerate(steps.tolist())]
    for start, end in pairwise(points):
        drawing.add(Line(start, end, RULE, 2))
    for x, height in points[1:-1]:
        drawing.add(Circle(x, height, 3, FAINT))
    drawing.add(Circle(*points[0], 5, colour))
    x, height = points[-1]
    drawing.add(Polygon([(x + 6 * dx, height + 6 * dy) for dx, dy in SHAPES["diamond"]], colour))


def _draw_stages(drawing: Drawing, found: Analysis) -> None:
    """Draw how many lines each candidate got in each stage, the best one first, and its mean value."""
    right = HALVING + 120 + HALVING_WIDTH
    ends = sorted(set(found.num_lines.tolist()))  # of the stages, in lines of one candidate
    drawing.add(Text(HALVING, TOP - 12, "action", 13, FAINT))
    drawing.add(Text(HALVING + 90, TOP - 12, "lines", 13, FAINT))
    drawing.add(Text(right + 48, TOP - 12, "value", 13, FAINT, "end"))
    drawing.add(Rectangle(HALVING - 8, TOP + 2, right + 60 - HALVING, ROW - 6, PALETTE["glow"], PALETTE["gold"], 1, 6))
    for number, (action, value, lines) in enumerate(
        zip(found.actions.tolist(), found.values.tolist(), found.num_lines.tolist(), strict=True)
    ):
        y = TOP + ROW * number
        drawing.add(Text(HALVING, y + 22, NAMES[action], 15, INK, bold=number == 0, fit=84))
        start = 0
        for stage, end in enumerate(ends):
            if end <= lines:
                scale = HALVING_WIDTH / ends[-1]
                colour = STAGES[stage % len(STAGES)]
                drawing.add(Rectangle(HALVING + 90 + scale * start, y + 8, scale * (end - start) - 2, 18, colour))
                start = end
        drawing.add(Text(HALVING + 94 + HALVING_WIDTH * lines / ends[-1], y + 22, str(lines), 13, FAINT))
        drawing.add(Text(right + 48, y + 22, f"{value:+.2f}".replace("-", "−"), 14, INK, "end"))
    below = TOP + ROW * len(found.actions)
    drawing.add(Text(HALVING, below + 22, "The choice is the best of the last stage: its mean", 13, FAINT))
    drawing.add(Text(HALVING, below + 42, "value, plus a small bonus for a likely action.", 13, FAINT))


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command."""
    Parser(prog="python -m tools.think_figures", description=__doc__).parse_args(arguments)
    (FIGURES / "thinking.png").write_bytes(to_png(draw_thinking(*find_decision())))


if __name__ == "__main__":
    main()
