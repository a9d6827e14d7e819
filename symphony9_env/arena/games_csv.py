"""Rows of `games.csv`: one for each seat of each game, made from the events of the game."""

from __future__ import annotations

from typing import Any, Final

from symphony9_env.arena.luck import KINDS
from symphony9_env.arena.matches import PlayedGame
from symphony9_env.components import MUSICIANS, SCORING_TILES
from symphony9_env.events import Event
from symphony9_env.game_replay import deal_again, replay_moves
from symphony9_env.records import Record, make_record
from symphony9_env.rules.scoring import SOURCES
from symphony9_env.rules.state import NUM_ROUNDS
from symphony9_env.scores import ScoreLine, score_sheet

ROUNDS: Final = range(1, NUM_ROUNDS + 1)
TILE_COLUMNS: Final = tuple(f"points_{tile}" for tile in SCORING_TILES)
OTHER_SOURCES: Final = tuple(f"points_{source}" for source in SOURCES[len(MUSICIANS) :])
# With a control variate (`control_variate.py`): the share of the win and the corrections, means over all redraws.
MEAN_SHARE_COLUMN: Final = "mean_win_share"
CORRECTION_COLUMNS: Final = tuple(f"correction_{kind}" for kind in KINDS)
# The columns of games.csv. A scoring tile that was not in the game has no points: its column is empty.
# So are the columns of the control variate in a tournament without one.
COLUMNS: Final = (
    "game",
    "deal",
    "seed",
    "seat",
    "agent",
    "score",
    "rank",
    "win_share",
    "starts",  # 1 for the start player of the first round, else 0
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
    MEAN_SHARE_COLUMN,
    *CORRECTION_COLUMNS,
)
CsvRow = dict[str, Any]  # values by column

_KINDS: Final = frozenset({"cube_taken", "hand_opened", "concert_resolved"})  # the events that the rows need


def make_rows(played: PlayedGame, names: list[str]) -> list[CsvRow]:
    """Return a game's rows, one for each seat."""
    replay = replay_moves(deal_again(played.final, 0), played.moves)
    events = [event for _, _, events in replay for event in events if event.kind in _KINDS]
    sheet = score_sheet(played.final).values()
    return [_make_row(played, names, seat, score, events) for seat, score in enumerate(sheet)]


def _make_row(played: PlayedGame, names: list[str], seat: int, score: ScoreLine, events: list[Event]) -> CsvRow:
    game, final = played.game, played.final
    taken = [event for event in events if event.kind == "cube_taken" and event.player == seat]
    row: CsvRow = dict.fromkeys(COLUMNS, "")
    row |= {
        "game": game.number,
        "deal": game.deal,
        "seed": game.seed,
        "seat": seat,
        "agent": names[game.agents[seat]],
        "score": score.total,
        "rank": score.rank,
        "win_share": score.win_share,
        "starts": int(final["first_start"][0] == seat),
        "compositions": int(final["compositions"][0, seat].sum()),
        "furniture_sold": int((final["furniture"][0, seat] == 0).sum()),
        "cubes_bought": sum(event.amount != 0 for event in taken),  # the amount is the price
        "money": int(final["money"][0, seat]),
        "moves": len(played.moves),
    }
    tiles = dict(zip(MUSICIANS, final["scoring_tile"][0].tolist(), strict=True))
    for source, points in score.breakdown.items():
        row[f"points_{SCORING_TILES[tiles[source]] if source in tiles else source}"] = points
    hands = [event for event in events if event.kind == "hand_opened" and event.board == seat]
    concerts = [event for event in events if event.kind == "concert_resolved"]
    for number, hand, concert in zip(ROUNDS, hands, concerts, strict=True):
        row |= {f"bid_{number}": hand.amount, f"outcome_{number}": concert.outcome, f"total_{number}": concert.amount}
    return row


def make_game_record(played: PlayedGame) -> Record:
    """Return the record of a game, which can be watched and replayed."""
    history = [(player, action) for player, action, _ in replay_moves(deal_again(played.final, 0), played.moves)]
    return make_record(played.final, history, played.game.seed)
