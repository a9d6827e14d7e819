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
def seat_of_turn(game: Game, turn: int) -> int:
    """Return the seat whose turn it is, counted clockwise from this round's start player."""
    seat = int(game.start) + turn  # no remainder: a division would cost more than the rest of a simple move
    return seat if seat < game.num_players else seat - int(game.num_players)


@rule
def major_patron(game: Game, musician: int) -> int:
    """Return who has most cubes; in a tie the bot, else whoever is nearest to the start player clockwise."""
    patron, most = NONE, 0
    if game.has_bot:
        bot = game.num_players
        if cubes(game, bot, musician) > most:
            patron, most = bot, cubes(game, bot, musician)
    for turn in range(game.num_players):
        player = seat_of_turn(game, turn)
        if cubes(game, player, musician) > most:
            patron, most = player, cubes(game, player, musician)
    return patron


@rule
def has_furniture(game: Game, player: int) -> bool:
    """Return whether a player has furniture left."""
    return game.furniture[player].any()


@rule
def num_furniture_sold(game: Game, player: int) -> int:
    """Return how many tokens a player has sold; one paid into a concert counts as sold (R14)."""
    return NUM_FURNITURE - game.furniture[player].sum()


@rule
def sell_furniture(game: Game, player: int, token: int, events: Any) -> None:
    """Exchange a furniture token for its value in money."""
    game.furniture[player, token] = 0
    game.sales[player, token] = 1
    game.money[player] += FURNITURE_VALUES[token]
    emit(events, game, FURNITURE_SOLD, player, NONE, FURNITURE_VALUES[token], token)
