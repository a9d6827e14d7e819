# kernel: compiled by Numba; a change here changes the key of the compile cache
# mypy: disable-error-code="no-any-return"
"""`planner`: weighs compositions, concerts, deaths and money together, all in points at the end of the game.

A cube is worth the better chance of this round's composition, what the concerts may pay for it, and a part of what
a rival loses by it. `prospects` says what a composition is worth, `bidding` what to contribute; `trading` does the
rest.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from symphony9_env.agents.bidding import best_bid
from symphony9_env.agents.choices import contribute, trade
from symphony9_env.agents.valuation import expected_dead, points_at, points_of_next_tile, rounds_after
from symphony9_env.compilation import rule
from symphony9_env.rules.boards import cubes, major_patron
from symphony9_env.rules.scoring import CUBES_LEFT, MONEY_PER_POINT
from symphony9_env.rules.state import (
    BUY_8,
    CONTRIBUTE,
    DISCUSS,
    NONE,
    NUM_BOARDS,
    NUM_MUSICIANS,
    TAKE_FOR_BOT,
    Game,
)
from symphony9_env.rules.tracks import fame

EARLY_MONEY: Final = 0.1  # a coin is worth more by this part of itself for each round to come: it buys cubes
LEAD: Final = 2.5  # how sharply a lead in cubes decides who gets the composition
DENIAL: Final = 0.3  # how much of a rival's loss is one's own gain
CONCERT_ODDS: Final = (0.35, 0.25, 0.15)  # that this round's concert will be of low, medium, high class
LATER_PAY: Final = 1.5  # of one concert's pay, for all the concerts after this one


@rule
def planner_move(game: Game) -> int:
    tiles = np.zeros((NUM_BOARDS, NUM_MUSICIANS))
    if game.phase <= BUY_8:
        appraise_tiles(game, tiles)
    return plan(game, tiles)


@rule
def appraise_tiles(game: Game, tiles: Any) -> None:
    """What a further composition of each musician is worth to each player, in points."""
    dead = expected_dead(game)
    for player in range(game.num_players):
        for musician in range(game.num_musicians):
            tiles[player, musician] = points_of_next_tile(game, player, musician, dead)


@rule
def plan(game: Game, tiles: Any) -> int:
    """The move, with compositions appraised."""
    player, coin = int(game.player), worth_of_coin(game)
    lasting = _worth_of_lasting(game, player)
    worth = np.zeros(NUM_MUSICIANS)
    for musician in range(game.num_musicians):
        if game.phase == TAKE_FOR_BOT:
            worth[musician] = _harm_by_bot(game, player, musician, tiles)
        else:
            pay = _worth_of_pay(game, musician, coin)
            held = lasting + (LATER_PAY * pay if rounds_after(game) > 0 else 0.0)
            worth[musician] = _worth_of_pick(game, player, musician, tiles, pay + held) if game.phase <= BUY_8 else held
    if game.phase == CONTRIBUTE or game.phase == DISCUSS:
        return contribute(game, best_bid(game, player, worth, coin))
    return trade(game, worth, coin)


@rule
def worth_of_coin(game: Game) -> float:
    return (1 + EARLY_MONEY * rounds_after(game)) / MONEY_PER_POINT


@rule
def _worth_of_lasting(game: Game, player: int) -> float:
    """What tile 3B gives for a cube that lasts to the end."""
    points = 0.0
    for musician in range(game.num_musicians):
        if game.scoring_method[musician] == CUBES_LEFT:
            points += points_at(game, musician, int(game.compositions[player, musician]))
    return points


@rule
def _worth_of_pay(game: Game, musician: int, coin: float) -> float:
    """What this round's concert may pay for a cube of his."""
    concert_class = fame(game, musician)
    return CONCERT_ODDS[concert_class] * int(game.income[concert_class]) * coin


@rule
def _worth_of_pick(game: Game, player: int, musician: int, tiles: Any, kept: float) -> float:
    """One more cube before compositions are awarded: a better chance of the tile, and what is left of it after."""
    chance = _chance_of_tile(game, player, musician, 1)
    more = chance - _chance_of_tile(game, player, musician, 0)
    points = more * tiles[player, musician]
    leader = major_patron(game, musician)
    if leader != NONE and leader != player and leader < game.num_players:
        points += DENIAL * more * tiles[leader, musician]
    left = 1 - chance * (cubes(game, player, musician) % 2)  # the award takes half: every second cube
    return points + left * kept


@rule
def _chance_of_tile(game: Game, player: int, musician: int, more: int) -> float:
    """How likely a player with so many more cubes of his ends the sponsor phase as the major patron."""
    own = cubes(game, player, musician) + more
    if own == 0 or game.dead[musician]:
        return 0.0
    chance = 1.0
    for board in range(game.num_boards):
        if board != player:
            tie = 0.5 if _wins_tie(game, player, board) else -0.5
            chance *= _squash(LEAD * (own - cubes(game, board, musician) + tie))
    return chance


@rule
def _squash(lead: float) -> float:
    """From 0 to 1, half at 0; cheaper than a logistic curve."""
    return 0.5 + 0.5 * lead / (1 + abs(lead))


@rule
def _wins_tie(game: Game, player: int, board: int) -> bool:
    """Whoever is nearer to the start player clockwise; the bot always."""
    return board < game.num_players and _turn_of(game, player) < _turn_of(game, board)


@rule
def _turn_of(game: Game, player: int) -> int:
    turn = player - int(game.start)
    return turn if turn >= 0 else turn + int(game.num_players)


@rule
def _harm_by_bot(game: Game, player: int, musician: int, tiles: Any) -> float:
    """What a cube for the bot costs the player in chances of a composition, less what it costs the rival."""
    rival, bot = 1 - player, int(game.num_players)
    own = _chance_of_tile(game, player, musician, 0)
    theirs = _chance_of_tile(game, rival, musician, 0)
    game.new_cubes[bot, musician] += 1
    own -= _chance_of_tile(game, player, musician, 0)
    theirs -= _chance_of_tile(game, rival, musician, 0)
    game.new_cubes[bot, musician] -= 1
    return own * tiles[player, musician] - theirs * tiles[rival, musician]
