# kernel: compiled by Numba; a change here changes the key of the compile cache
# mypy: disable-error-code="no-any-return"
"""`planner`: weighs compositions, concerts, deaths and money together, all in points at the end of the game.

The value of a cube is the sum of a higher probability of this round's composition, the income that concerts may pay for
it, and a part of what a rival loses by it. `valuation` estimates the value of a composition, `bidding` chooses the
contribution, and `choices` makes all other decisions.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from symphony9_env.agents.choices import choose_move
from symphony9_env.agents.valuation import expected_deaths, next_composition_points, points_per_item, rounds_left
from symphony9_env.compilation import rule
from symphony9_env.rules.boards import cubes, major_patron, offset_of
from symphony9_env.rules.scoring import CUBES_LEFT, MONEY_PER_POINT
from symphony9_env.rules.state import BUY_8, NONE, NUM_BOARDS, NUM_MUSICIANS, TAKE_FOR_BOT, Game
from symphony9_env.rules.tracks import fame

COIN_GAIN_PER_ROUND: Final = 0.1  # how much more a dollar is worth for each round left in which it can buy cubes
LEAD_SHARPNESS: Final = 2.5  # how strongly a lead in cubes decides who gets the composition
RIVAL_LOSS_WEIGHT: Final = 0.3  # how much of a rival's loss counts as a gain of one's own
CLASS_PROBABILITIES: Final = (0.35, 0.25, 0.15)  # of a concert of low, medium, high class in this round
LATER_CONCERTS: Final = 1.5  # expected income from all later concerts, in units of that from this round's


@rule
def planner_move(game: Game) -> int:
    """Return the action of the planner strategy."""
    composition_values = np.zeros((NUM_BOARDS, NUM_MUSICIANS))
    if game.phase <= BUY_8:
        estimate_composition_values(game, composition_values)
    return plan_move(game, composition_values)


@rule
def estimate_composition_values(game: Game, composition_values: Any) -> None:
    """Estimate the points of a further composition of each musician for each player, and write them to the array."""
    deaths = expected_deaths(game)
    for player in range(game.num_players):
        for musician in range(game.num_musicians):
            composition_values[player, musician] = next_composition_points(game, player, musician, deaths)


@rule
def plan_move(game: Game, composition_values: Any) -> int:
    """Return the planner's action, given the estimated values of compositions (needed while cubes can be taken)."""
    cube_values = np.zeros(NUM_MUSICIANS)
    coin_value = weigh_cubes(game, composition_values, cube_values)
    return choose_move(game, cube_values, coin_value)


@rule
def weigh_cubes(game: Game, composition_values: Any, cube_values: Any) -> float:
    """Write the points that a cube of each musician is worth to `cube_values`; return those of a dollar."""
    player, coin_value = int(game.player), (1 + COIN_GAIN_PER_ROUND * rounds_left(game)) / MONEY_PER_POINT
    kept_points = _kept_cube_points(game, player)
    for musician in range(game.num_musicians):
        if game.phase == TAKE_FOR_BOT:
            cube_values[musician] = _bot_cube_cost(game, player, musician, composition_values)
        else:
            concert_class = fame(game, musician)  # this round's concert pays if it is of this class
            income = CLASS_PROBABILITIES[concert_class] * int(game.income[concert_class]) * coin_value
            held = kept_points + (LATER_CONCERTS * income if rounds_left(game) > 0 else 0.0)
            cube_values[musician] = (
                _pick_value(game, player, musician, composition_values, income + held) if game.phase <= BUY_8 else held
            )
    return coin_value


@rule
def _kept_cube_points(game: Game, player: int) -> float:
    """Return the points that tile 3B gives for a cube that the player keeps to the end."""
    points = 0.0
    for musician in range(game.num_musicians):
        if game.scoring_method[musician] == CUBES_LEFT:
            points += points_per_item(game, musician, int(game.compositions[player, musician]))
    return points


@rule
def _pick_value(game: Game, player: int, musician: int, composition_values: Any, kept: float) -> float:
    """Return the value of one more cube before compositions are awarded.

    It makes the composition more probable; if it is not given up for the award, it is worth `kept` afterwards.
    """
    probability = _composition_probability(game, player, musician, 1)
    more = probability - _composition_probability(game, player, musician, 0)
    points = more * composition_values[player, musician]
    leader = major_patron(game, musician)
    if leader != NONE and leader != player and leader < game.num_players:
        points += RIVAL_LOSS_WEIGHT * more * composition_values[leader, musician]
    left = 1 - probability * (cubes(game, player, musician) % 2)  # the award takes half: every second cube
    return points + left * kept


@rule
def _composition_probability(game: Game, player: int, musician: int, more: int) -> float:
    """Return the probability that a player with `more` additional cubes of a musician gets his composition."""
    own = cubes(game, player, musician) + more
    if own == 0 or game.dead[musician]:
        return 0.0
    probability = 1.0
    for board in range(game.num_boards):
        if board != player:
            tie = 0.5 if _wins_tie(game, player, board) else -0.5
            probability *= _sigmoid(LEAD_SHARPNESS * (own - cubes(game, board, musician) + tie))
    return probability


@rule
def _sigmoid(lead: float) -> float:
    """Map a lead to a probability: 0.5 at 0, cheaper than the logistic function."""
    return 0.5 + 0.5 * lead / (1 + abs(lead))


@rule
def _wins_tie(game: Game, player: int, board: int) -> bool:
    """Return whether a player wins a tie: he is nearer to the start player clockwise; the bot wins all ties."""
    return board < game.num_players and offset_of(game, game.start, player) < offset_of(game, game.start, board)


@rule
def _bot_cube_cost(game: Game, player: int, musician: int, composition_values: Any) -> float:
    """Return what a cube for the bot costs the player in expected compositions, less what it costs the rival."""
    rival, bot = 1 - player, int(game.num_players)
    own = _composition_probability(game, player, musician, 0)
    theirs = _composition_probability(game, rival, musician, 0)
    game.new_cubes[bot, musician] += 1
    own -= _composition_probability(game, player, musician, 0)
    theirs -= _composition_probability(game, rival, musician, 0)
    game.new_cubes[bot, musician] -= 1
    return own * composition_values[player, musician] - theirs * composition_values[rival, musician]
