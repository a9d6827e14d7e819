"""Score sheets: every player's points by source, rank and share of the win, if the game ended now.

A score sheet reveals everybody's money, so it is for results and tools; a seat may see it once the game is over.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from symphony9_env.components import PLAYER_COUNT_RULES
from symphony9_env.names import agent_name
from symphony9_env.rules.scoring import NUM_SOURCES, SOURCES, score
from symphony9_env.rules.state import NUM_BOARDS, NUM_MUSICIANS, SIXTHS, States


@dataclass(frozen=True)
class Points:
    """One player's points, in all and by source."""

    total: float
    breakdown: dict[str, float]


@dataclass(frozen=True)
class ScoreLine(Points):
    """One player's line of the score sheet."""

    rank: int  # 1 for the winners
    win_share: float  # 1 divided by the number of winners; 0 for a player who did not win


def winners(sheet: Mapping[str, ScoreLine]) -> list[str]:
    """Return who wins by a score sheet: one player, or several after a tie."""
    return [player for player, line in sheet.items() if line.rank == 1]


def score_sheet(states: States, index: int = 0) -> dict[str, ScoreLine]:
    """Return every player's line if game `index` ended now, by agent name."""
    sheet = np.zeros((NUM_BOARDS, NUM_SOURCES), np.int64)
    points, ranks, shares = np.zeros(NUM_BOARDS, np.int64), np.zeros(NUM_BOARDS, np.int64), np.zeros(NUM_BOARDS)
    score(states, index, sheet, points, ranks, shares)
    num_players = int(states["num_players"][index])
    sources = (*PLAYER_COUNT_RULES[num_players].musicians, *SOURCES[NUM_MUSICIANS:])
    return {
        agent_name(player): ScoreLine(
            total=float(points[player] / SIXTHS),
            breakdown={source: float(sheet[player, SOURCES.index(source)] / SIXTHS) for source in sources},
            rank=int(ranks[player]),
            win_share=float(shares[player]),
        )
        for player in range(num_players)
    }
