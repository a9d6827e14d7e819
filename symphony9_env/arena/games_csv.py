"""What happened in a game: its line for every seat in `games.csv`, told from the moves."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import numpy as np

from symphony9_env.actions import is_bid
from symphony9_env.arena.matches import Played
from symphony9_env.components import MUSICIANS, SCORING_TILES
from symphony9_env.options import Variant
from symphony9_env.records import Record, make_record
from symphony9_env.rules.game import play as play_move
from symphony9_env.rules.scoring import SOURCES
from symphony9_env.rules.setup import deal
from symphony9_env.rules.state import (
    BUY_4,
    BUY_8,
    CONTRIBUTE,
    NUM_ROUNDS,
    OUTCOMES,
    States,
    new_states,
)
from symphony9_env.scores import score_sheet
from symphony9_env.setup_format import pack_box

ROUNDS: Final = range(1, NUM_ROUNDS + 1)
TILE_COLUMNS: Final = tuple(f"points_{tile}" for tile in SCORING_TILES)
OTHER_SOURCES: Final = tuple(f"points_{source}" for source in SOURCES[len(MUSICIANS) :])
# One line for each seat of each game. Points by source are empty for a scoring tile that was not in the game.
COLUMNS: Final = (
    "game",
    "deal",
    "seed",
    "seat",
    "agent",
    "score",
    "rank",
    "win_share",
    "starts",  # whether this seat was the first start player
    "compositions",
    "furniture_sold",
    "cubes_bought",
    "money",
    *TILE_COLUMNS,
    *OTHER_SOURCES,
    *(f"bid_{number}" for number in ROUNDS),
    *(f"outcome_{number}" for number in ROUNDS),
    *(f"total_{number}" for number in ROUNDS),
    "moves",
)
Line = dict[str, Any]


def lines_of(played: Played, names: list[str], variant: Variant) -> list[Line]:
    """Return a game's lines, one for each seat."""
    final = played.final
    tiles = dict(zip(MUSICIANS, final["scoring_tile"][0].tolist(), strict=True))
    rounds, bought = _follow(played, variant)
    lines = []
    for seat, score in enumerate(score_sheet(final).values()):
        line: Line = dict.fromkeys(COLUMNS, "")
        line |= {"game": played.game.number, "deal": played.game.deal, "seed": played.game.seed, "seat": seat}
        line |= {"agent": names[played.game.agents[seat]], "score": score.total, "rank": score.rank}
        line |= {"win_share": score.win_share, "moves": len(played.moves)}
        line |= {"starts": int(final["first_start"][0] == seat), "money": int(final["money"][0, seat])}
        line |= {"compositions": int(final["compositions"][0, seat].sum()), "cubes_bought": bought[seat]}
        line["furniture_sold"] = int((final["furniture"][0, seat] == 0).sum())
        for source, points in score.breakdown.items():
            line[f"points_{SCORING_TILES[tiles[source]] if source in tiles else source}"] = points
        for number, (outcome, total, bids) in enumerate(rounds, 1):
            line |= {f"outcome_{number}": outcome, f"total_{number}": total, f"bid_{number}": bids[seat]}
        lines.append(line)
    return lines


def _follow(played: Played, variant: Variant) -> tuple[list[tuple[str, int, list[int]]], list[int]]:
    """Each round's outcome, total and contributions, and how many cubes each player bought."""
    rounds = []
    bought = [0] * variant.num_players
    for step, player, move, state in _walk(played, variant):
        if step in (BUY_4, BUY_8) and move < len(MUSICIANS):
            bought[player] += 1
        if step == CONTRIBUTE and is_bid(move) and state["phase"][0] != CONTRIBUTE:  # all hands are open
            bids = state["contribution"][0, : variant.num_players].tolist()
            rounds.append((OUTCOMES[state["outcome"][0]], int(state["total"][0]), bids))
    return rounds, bought


def record_of(played: Played, variant: Variant) -> Record:
    """The game as a record, to be watched or replayed."""
    history = [(player, move) for _, player, move, _ in _walk(played, variant)]
    return make_record(played.final, history, played.game.seed)


def _walk(played: Played, variant: Variant) -> Iterator[tuple[int, int, int, States]]:
    """Play a game again: each move with the step and the player it was asked in, and the game after it."""
    state = new_states(1)
    deal(pack_box(variant), state, 0, np.uint64(played.game.seed))
    for move in played.moves:
        step, player = int(state["phase"][0]), int(state["player"][0])
        play_move(state, 0, move)
        yield step, player, move, state


__all__ = ["COLUMNS", "Line", "lines_of", "record_of"]
