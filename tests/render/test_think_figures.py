"""The figure of a decision of `think:N` shows what was found out, legibly."""

from __future__ import annotations

from itertools import combinations

import numpy as np

from symphony9_env.actions import BID, NUM_ACTIONS_DISCUSSION
from symphony9_env.agents.think import Analysis
from symphony9_env.render.drawing import Text
from tests.render.bounds import bounds
from tools.think_figures import draw_thinking

ACTIONS = BID + np.array([3, 2, 4, 1, 5, 0, 6, 12])
PRIORS = np.array([0.25, 0.3, 0.2, 0.1, 0.08, 0.05, 0.019, 0.001])


def test_texts_show_the_candidates_and_do_not_overlap() -> None:
    probabilities = np.zeros(NUM_ACTIONS_DISCUSSION, np.float32)
    probabilities[ACTIONS] = PRIORS
    lines = np.array([28, 28, 12, 12, 4, 4, 4, 4])
    found = Analysis(ACTIONS, np.linspace(0.5, -0.25, 8), lines, probabilities.astype(np.float64), 0.3)
    drawing = draw_thinking(found, probabilities, 3)
    labels = [shape for shape in drawing.primitives if isinstance(shape, Text)]
    texts = [label.text for label in labels]
    assert {"bid 3", "25.0 %", "0.1 %", "28", "+0.50", "−0.25"} <= set(texts)
    assert texts.index("bid 2") < texts.index("bid 3")  # the likeliest candidate comes first, then the choice
    for one, other in combinations([bounds(label) for label in labels], 2):
        assert one[2] <= other[0] or other[2] <= one[0] or one[3] <= other[1] or other[3] <= one[1]
    for shape in drawing.primitives:
        left, top, right, bottom = bounds(shape)
        assert 0 <= left < right <= drawing.width, shape
        assert 0 <= top < bottom <= drawing.height, shape
