# kernel: compiled by Numba; a change here changes the key of the compile cache
# mypy: disable-error-code="no-any-return"
"""Player boards: cubes of this round and of earlier ones, compositions, furniture.

Rulebook pp. 9 and 13.
"""

from __future__ import annotations

from typing import Any

from symphony9_env.compilation import rule
from symphony9_env.components import FURNITURE_VALUES
from symphony9_env.rules.events import COMPOSITION_AWARDED, FURNITURE_SOLD, emit
from symphony9_env.rules.state import NONE, NUM_FURNITURE, Game


@rule
def cubes(game: Game, board: int, musician: int) -> int:
    """Return a board's cubes of one colour, both piles together."""
    return game.earlier_cubes[board, musician] + game.new_cubes[board, musician]


@rule
def num_cubes(game: Game, board: int) -> int:
    """Return a board's cubes of all colours."""
    total = 0
    for musician in range(game.num_musicians):
        total += cubes(game, board, musician)
    return total


@rule
def give_up_cube(game: Game, board: int, musician: int) -> None:
    """Return a cube to the supply, from the earlier cubes first (R15)."""
    if game.earlier_cubes[board, musician] > 0:
        game.earlier_cubes[board, musician] -= 1
    else:
        game.new_cubes[board, musician] -= 1


@rule
def merge_piles(game: Game) -> None:
    """Let this round's cubes join the earlier ones, at cleanup (R15)."""
    for board in range(game.num_boards):
        for musician in range(game.num_musicians):
            game.earlier_cubes[board, musician] += game.new_cubes[board, musician]
            game.new_cubes[board, musician] = 0


@rule
def award_compositions(game: Game, events: Any) -> None:
    """Award a tile of every musician alive before this round to his major patron, who gives up half his cubes."""
    for musician in range(game.num_musicians):
        if game.dead[musician]:
            continue
        patron = major_patron(game, musician)
        if patron != NONE:
            game.compositions[patron, musician] += 1
            returned = cubes(game, patron, musician) // 2
            for _ in range(returned):
                give_up_cube(game, patron, musician)
            emit(events, game, COMPOSITION_AWARDED, patron, musician, returned, NONE)


@rule
def seat_at(game: Game, seat: int, offset: int) -> int:
    """Return the player's seat at an offset from a seat, clockwise."""
    found = int(seat) + offset  # no remainder: a division would cost more than the rest of a simple move
    return found if found < game.num_players else found - int(game.num_players)


@rule
def offset_of(game: Game, seat: int, player: int) -> int:
    """Return how far clockwise from a seat a player sits."""
    offset = int(player) - int(seat)
    return offset if offset >= 0 else offset + int(game.num_players)


@rule
def major_patron(game: Game, musician: int) -> int:
    """Return who has most cubes; in a tie the bot, else whoever is nearest to the start player clockwise."""
    patron, most = NONE, 0
    for turn in range(game.num_players):
        player = seat_at(game, game.start, turn)
        if cubes(game, player, musician) > most:
            patron, most = player, cubes(game, player, musician)
    if game.has_bot and cubes(game, game.num_players, musician) >= max(most, 1):
        patron = int(game.num_players)
    return patron


@rule
def has_furniture(game: Game, player: int) -> bool:
    """Return whether a player has furniture left."""
    for token in range(NUM_FURNITURE):
        if game.furniture[player, token]:
            return True
    return False


@rule
def sell_furniture(game: Game, player: int, token: int, events: Any) -> None:
    """Exchange a furniture token for its value in money."""
    game.furniture[player, token] = 0
    game.sales[player, token] = 1
    game.money[player] += FURNITURE_VALUES[token]
    emit(events, game, FURNITURE_SOLD, player, NONE, FURNITURE_VALUES[token], token)
