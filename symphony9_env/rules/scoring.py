# kernel: compiled by Numba; a change here changes the key of the compile cache
# mypy: disable-error-code="no-any-return"
"""Points: what each source gives each player if the game ended now, and who wins.

Rulebook pp. 14-17. Points are counted in sixths, exactly (R11).
"""

from __future__ import annotations

from typing import Any, Final

from symphony9_env.compilation import entry, rule
from symphony9_env.components import FURNITURE_POINTS, MUSICIANS, SCORING_METHODS
from symphony9_env.rules.boards import num_cubes
from symphony9_env.rules.state import NUM_FURNITURE, NUM_LEVELS, NUM_MUSICIANS, SIXTHS, Game

# A score sheet's columns: each musician's scoring tile, then the rest.
SOURCES: Final[tuple[str, ...]] = (*MUSICIANS, "furniture", "money", "last_works")
NUM_SOURCES: Final = len(SOURCES)
FURNITURE, MONEY, LAST_WORKS = range(NUM_MUSICIANS, NUM_SOURCES)

MONEY_PER_POINT = 3

OWN_TILES: Final = SCORING_METHODS.index("compositions of this colour")
SUCCESSES: Final = SCORING_METHODS.index("successful concerts")
PERFORMERS: Final = SCORING_METHODS.index("performers over the game")
DEAD_MUSICIANS: Final = SCORING_METHODS.index("dead musicians")
CUBES_LEFT: Final = SCORING_METHODS.index("own cubes left, all colours")
FURNITURE_SOLD: Final = SCORING_METHODS.index("own furniture sold")
RANK: Final = SCORING_METHODS.index("place in compositions of this colour, 1st/2nd/3rd")
COLOURS: Final = SCORING_METHODS.index("different colours of own compositions")
PAIRS: Final = SCORING_METHODS.index("pairs of one colour among own compositions")
OTHER_TILES: Final = SCORING_METHODS.index("own compositions of other colours")


@rule
def num_tiles(game: Game, board: int) -> int:
    """Return how many composition tiles a board has."""
    tiles = 0
    for musician in range(game.num_musicians):
        tiles += game.compositions[board, musician]
    return tiles


@rule
def num_colours(game: Game, player: int) -> int:
    """Return how many colours a player's compositions have."""
    colours = 0
    for musician in range(game.num_musicians):
        colours += game.compositions[player, musician] > 0
    return colours


@rule
def num_pairs(game: Game, player: int) -> int:
    """Return how many pairs of one colour a player's compositions make."""
    pairs = 0
    for musician in range(game.num_musicians):
        pairs += game.compositions[player, musician] // 2
    return pairs


@rule
def count_for_tile(game: Game, player: int, musician: int) -> int:
    """Return, for one player, the number of what the tile on this musician's track counts."""
    method = game.scoring_method[musician]
    if method == OWN_TILES:
        return game.compositions[player, musician]
    if method == SUCCESSES:
        return game.num_successes
    if method == PERFORMERS:
        return game.num_performers
    if method == DEAD_MUSICIANS:
        return game.dead.sum()
    if method == CUBES_LEFT:
        return num_cubes(game, player)
    if method == FURNITURE_SOLD:
        return NUM_FURNITURE - game.furniture[player].sum()  # what was paid into a concert counts as sold (R14)
    if method == COLOURS:
        return num_colours(game, player)
    if method == PAIRS:
        return num_pairs(game, player)
    return num_tiles(game, player) - game.compositions[player, musician]  # OTHER_TILES


@rule
def rank_points(game: Game, player: int, musician: int) -> int:
    """Return the points of tile 4B, the mean over the places that a tie takes up. The bot is ranked too (R9)."""
    own = game.compositions[player, musician]
    above, tied = 0, 0
    for board in range(game.num_boards):
        above += game.compositions[board, musician] > own
        tied += game.compositions[board, musician] == own
    points = 0
    for place in range(above, above + tied):
        if place < NUM_LEVELS:
            points += game.scoring_points[musician, place]
    return points // tied


@rule
def tile_points(game: Game, player: int, musician: int) -> int:
    """Return the points of the scoring tile on a musician's track, in sixths; 0 without a composition of his."""
    own = game.compositions[player, musician]
    if own == 0:
        return 0
    if game.scoring_method[musician] == RANK:
        return rank_points(game, player, musician)
    level = min(own, NUM_LEVELS) - 1
    return count_for_tile(game, player, musician) * game.scoring_points[musician, level]


@rule
def furniture_points(game: Game, player: int) -> int:
    """Return the points of a player's unsold furniture."""
    points = 0
    for token in range(NUM_FURNITURE):
        points += FURNITURE_POINTS[token] * game.furniture[player, token]
    return points


@rule
def num_last_works(game: Game, player: int) -> int:
    """Return how many compositions of dead musicians a player has."""
    works = 0
    for musician in range(game.num_musicians):
        if game.dead[musician]:
            works += game.compositions[player, musician]
    return works


@rule
def points_from(game: Game, player: int, source: int) -> int:
    """Return what one source would give a player if the game ended now, in sixths."""
    if source == FURNITURE:
        return SIXTHS * int(furniture_points(game, player))
    if source == MONEY:
        return SIXTHS * int(game.money[player] // MONEY_PER_POINT)
    if source == LAST_WORKS:
        return SIXTHS * int(num_last_works(game, player))
    return tile_points(game, player, source) if source < game.num_musicians else 0


@rule
def total_points(game: Game, player: int) -> int:
    """Return a player's points if the game ended now, in sixths."""
    points = 0
    for source in range(NUM_SOURCES):
        points += points_from(game, player, source)
    return points


@rule
def beats(game: Game, points: Any, one: int, other: int) -> bool:
    """Return whether one player beats another: by more points, or by as many and more composition tiles."""
    if points[one] != points[other]:
        return points[one] > points[other]
    return num_tiles(game, one) > num_tiles(game, other)


@rule
def rank_players(game: Game, points: Any, ranks: Any) -> None:
    """Fill in the ranks: 1 for the winners; ties share a rank, and the ranks below are left out (1, 1, 3)."""
    for one in range(game.num_players):
        ranks[one] = 1
        for other in range(game.num_players):
            ranks[one] += beats(game, points, other, one)


@rule
def win_share(ranks: Any, num_players: int, player: int) -> float:
    """Return a player's share of the win: 1 divided by the number of winners, 0 for a player who did not win."""
    if ranks[player] != 1:
        return 0.0
    winners = 0
    for other in range(num_players):
        winners += ranks[other] == 1
    return 1 / winners


@entry
def score(states: Any, index: int, sheet: Any, points: Any, ranks: Any, shares: Any) -> None:
    """Fill a score sheet of game `index` (players, sources; int64, in sixths), its sums, the ranks and win shares."""
    game = states[index]
    for player in range(game.num_players):
        for source in range(NUM_SOURCES):
            sheet[player, source] = points_from(game, player, source)
        points[player] = total_points(game, player)
    rank_players(game, points, ranks)
    for player in range(game.num_players):
        shares[player] = win_share(ranks, game.num_players, player)
