"""What happened in a game: its line for every seat in `games.csv`, told from the moves."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import numpy as np

from evaluation.matches import Played
from symphony9_env.actions import is_bid
from symphony9_env.components import MUSICIANS, SCORING_TILES
from symphony9_env.options import Options
from symphony9_env.records import Record, make_record
from symphony9_env.rules.deals import pack_box
from symphony9_env.rules.game import play as play_move
from symphony9_env.rules.scoring import NUM_SOURCES, SOURCES, score
from symphony9_env.rules.setup import deal
from symphony9_env.rules.state import (
    BUY_4,
    BUY_8,
    CONTRIBUTE,
    NUM_BOARDS,
    NUM_ROUNDS,
    OUTCOMES,
    SIXTHS,
    Games,
    new_games,
)

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


def lines_of(played: Played, names: list[str], options: Options) -> list[Line]:
    """A game's lines, one for each seat."""
    final = played.final
    num_players = options.num_players
    sheet = np.zeros((NUM_BOARDS, NUM_SOURCES), np.int64)
    points, ranks = np.zeros(NUM_BOARDS, np.int64), np.zeros(NUM_BOARDS, np.int64)
    score(final, 0, sheet, points, ranks)
    winners = int((ranks[:num_players] == 1).sum())
    tiles = [SCORING_TILES[tile] for tile in final["scoring_tile"][0][: final["num_musicians"][0]]]
    rounds, bought = _follow(played, options)
    lines = []
    for seat in range(num_players):
        line: Line = dict.fromkeys(COLUMNS, "")
        line |= {"game": played.game.number, "deal": played.game.deal, "seed": played.game.seed, "seat": seat}
        line |= {"agent": names[played.game.agents[seat]], "score": points[seat] / SIXTHS, "rank": int(ranks[seat])}
        line |= {"win_share": 1 / winners if ranks[seat] == 1 else 0.0, "moves": len(played.moves)}
        line |= {"starts": int(final["first_start"][0] == seat), "money": int(final["money"][0, seat])}
        line |= {"compositions": int(final["compositions"][0, seat].sum()), "cubes_bought": int(bought[seat])}
        line["furniture_sold"] = int((final["furniture"][0, seat] == 0).sum())
        line |= {f"points_{tile}": sheet[seat, musician] / SIXTHS for musician, tile in enumerate(tiles)}
        for place, column in enumerate(OTHER_SOURCES, len(MUSICIANS)):
            line[column] = sheet[seat, place] / SIXTHS
        for number, (outcome, total, bids) in enumerate(rounds, 1):
            line |= {f"outcome_{number}": outcome, f"total_{number}": total, f"bid_{number}": bids[seat]}
        lines.append(line)
    return lines


def _follow(played: Played, options: Options) -> tuple[list[tuple[str, int, list[int]]], list[int]]:
    """Each round's outcome, total and contributions, and how many cubes each player bought."""
    rounds = []
    bought = [0] * options.num_players
    for step, player, move, state in _walk(played, options):
        if step in (BUY_4, BUY_8) and move < len(MUSICIANS):
            bought[player] += 1
        if step == CONTRIBUTE and is_bid(move) and state["step"][0] != CONTRIBUTE:  # all hands are open
            bids = state["contribution"][0, : options.num_players].tolist()
            rounds.append((OUTCOMES[state["outcome"][0]], int(state["total"][0]), bids))
    return rounds, bought


def record_of(played: Played, options: Options) -> Record:
    """The game as a record, to be watched or replayed."""
    history = [(player, move) for _, player, move, _ in _walk(played, options)]
    return make_record(played.final, history, played.game.seed)


def _walk(played: Played, options: Options) -> Iterator[tuple[int, int, int, Games]]:
    """Play a game again: each move with the step and the player it was asked in, and the game after it."""
    state = new_games(1)
    deal(pack_box(options), state, 0, np.uint64(played.game.seed))
    for move in played.moves:
        step, player = int(state["step"][0]), int(state["player"][0])
        play_move(state, 0, move)
        yield step, player, move, state


__all__ = ["COLUMNS", "Line", "lines_of", "record_of"]
