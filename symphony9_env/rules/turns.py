# kernel: compiled by Numba; a change here changes the key of the compile cache
# mypy: disable-error-code="no-any-return"
"""The order of decisions: the phases of a round, and in each phase the seats clockwise from the start player.

Rulebook pp. 7-13.
"""

from __future__ import annotations

from typing import Any

from symphony9_env.compilation import rule
from symphony9_env.rules.boards import award_compositions, has_furniture, merge_piles, num_cubes, seat_at
from symphony9_env.rules.concert import (
    is_punished,
    is_success,
    may_keep_cube,
    may_take_bonus,
    open_hands,
    pay_income,
    penalty,
)
from symphony9_env.rules.events import (
    BUDGET_REVEALED,
    GAME_ENDED,
    LAST_SALES_STARTED,
    MUSICIAN_DIED,
    ROUND_STARTED,
    emit,
)
from symphony9_env.rules.state import (
    BUY_4,
    BUY_8,
    CONTRIBUTE,
    DISCUSS,
    GIVE_UP,
    KEEP_CUBE,
    NONE,
    NUM_ROUNDS,
    OVER,
    SELL_LAST,
    TAKE_BONUS,
    TAKE_FOR_BOT,
    TAKE_FREE,
    Game,
)
from symphony9_env.rules.tracks import num_cubes_left

FREE_CUBES = 2
CUBES_FOR_BOT = 2


@rule
def next_decision(game: Game, events: Any) -> None:
    """Go on to the next seat that has something to decide, and do what happens between the phases on the way."""
    while game.phase != OVER:
        while game.turn < game.num_players:
            game.player = seat_at(game, game.start, int(game.turn))
            game.pending = num_decisions(game, game.player)
            if game.pending > 0:
                return
            game.turn += 1
        _finish_phase(game, events)
        game.turn = 0
    game.pending = 0
    emit(events, game, GAME_ENDED, NONE, NONE, NONE, NONE)


@rule
def num_decisions(game: Game, player: int) -> int:
    """Return how many decisions the current phase asks of a player, not counting the sales before each."""
    phase = game.phase
    if phase == TAKE_FREE:
        return min(FREE_CUBES, num_cubes_left(game))  # R2
    if phase == TAKE_FOR_BOT:
        return min(CUBES_FOR_BOT, num_cubes_left(game)) if game.has_bot else 0  # R2
    if phase == BUY_4 or phase == BUY_8 or phase == CONTRIBUTE:
        return 1  # asked even if the only choice is to pass (R3)
    if phase == DISCUSS:
        return 1 if game.discussion else 0
    if phase == KEEP_CUBE:
        return 1 if may_keep_cube(game, player) else 0  # R13
    if phase == TAKE_BONUS:
        return 1 if may_take_bonus(game, player) else 0
    if phase == GIVE_UP:
        return min(penalty(game), num_cubes(game, player)) if is_punished(game, player) else 0
    return 1 if has_furniture(game, player) else 0  # SELL_LAST (R8)


@rule
def _finish_phase(game: Game, events: Any) -> None:
    """Do what follows once all seats have had their turn in this phase, and go on to the next phase."""
    if game.phase == BUY_8:
        award_compositions(game, events)
        emit(events, game, BUDGET_REVEALED, NONE, NONE, game.budget[game.round_index], NONE)
    elif game.phase == CONTRIBUTE:
        open_hands(game, events)
    elif game.phase == KEEP_CUBE and is_success(game):
        pay_income(game, events)
    elif game.phase == GIVE_UP:
        _clean_up(game, events)
        return
    game.phase += 1


@rule
def _clean_up(game: Game, events: Any) -> None:
    """Let musicians die; then start the next round, the marker passed counter-clockwise, or the last sales (R8)."""
    for musician in range(game.num_musicians):
        if game.cubes_left[musician] == 0 and not game.dead[musician]:
            game.dead[musician] = 1
            emit(events, game, MUSICIAN_DIED, NONE, musician, NONE, NONE)
    merge_piles(game)
    game.sales[:] = 0
    game.announced[:] = NONE
    game.kept[:] = NONE
    if game.round_index == NUM_ROUNDS - 1:
        game.phase = SELL_LAST
        emit(events, game, LAST_SALES_STARTED, NONE, NONE, NONE, NONE)
    else:
        game.phase = TAKE_FREE
        game.round_index += 1
        game.start = (game.start + game.num_players - 1) % game.num_players
        emit(events, game, ROUND_STARTED, game.start, NONE, int(game.round_index) + 1, NONE)
