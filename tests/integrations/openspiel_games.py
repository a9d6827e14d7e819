"""States of OpenSpiel's game, and what can be learned from them, for its tests."""

from __future__ import annotations

import json
import pickle
from typing import Any

import numpy as np
import pytest

from symphony9_env.actions import is_bid

pyspiel = pytest.importorskip("pyspiel")

from symphony9_env.integrations.openspiel import NAME  # noqa: E402


def load(**params: Any) -> Any:
    return pyspiel.load_game(NAME, {"deals": 20, **params})


def play_random_moves(game: Any, moves: int, deal: int = 3, seed: int = 0) -> Any:
    """A state after so many random moves."""
    state, rng = game.new_initial_state(), np.random.default_rng(seed)
    state.apply_action(deal)
    while state.is_chance_node():
        numbers, probabilities = zip(*state.chance_outcomes(), strict=True)
        state.apply_action(int(rng.choice(numbers, p=probabilities)))
    for _ in range(moves):
        if not state.is_terminal():
            state.apply_action(int(rng.choice(state.legal_actions())))
    return state


def has_closed_hand(state: Any) -> bool:
    """Whether the player to decide has somebody else's closed hand before him."""
    return any(
        hand >= 0 for player, hand in enumerate(state.states["hand"][0].tolist()) if player != state.current_player()
    )


def at_closed_hands(game: Any) -> Any:
    """A state in which the player to decide has somebody's closed hand before him."""
    return next(state for state in (play_random_moves(game, moves) for moves in range(200)) if has_closed_hand(state))


def find_shown(state: Any, me: int) -> tuple[list[Any], list[Any], list[str]]:
    """The tokens, the bot tiles and the moves that a player has seen, read from his information."""
    _, _, tokens, tiles, moves = state.information_state_string(me).split("\n")
    return (
        json.loads(tokens.removeprefix("tokens: ")),
        json.loads(tiles.removeprefix("bot tiles: ")),
        moves.removeprefix("moves: ").split(", ")[: len(state.moves)],
    )


def change_hidden(state: Any, me: int) -> Any:
    """A state that a player can't tell from this one, with everything different that he can't know."""
    tokens, tiles, moves = find_shown(state, me)
    other = state.get_game().new_initial_state()
    other.apply_action(state.history()[0])
    for number, shown in zip(state.history()[1:3], (tokens, tiles), strict=False):
        if other.is_chance_node():
            drawn = {one: other.action_to_string(one).split()[-6:] for one, _ in other.chance_outcomes()}
            alike = [one for one in drawn if drawn[one][: len(shown)] == drawn[number][: len(shown)]]
            other.apply_action(alike[alike.index(number) - 1])
    for (_, action), seen in zip(state.moves, moves, strict=True):
        hands = [number for number in other.legal_actions() if is_bid(number)]
        other.apply_action(hands[hands.index(action) - 1] if seen.endswith("closes a hand") else action)
    return other


def list_contents(state: Any) -> dict[str, Any]:
    """Everything that can be learned from a state object."""
    game = state.get_game()
    seats = range(game.num_players())
    return {
        "history": state.history(),
        "players": [(one.player, one.action) for one in state.full_history()],
        "str": str(state),
        "record": state.record(),
        "serialized": state.serialize(),
        "with the game": pyspiel.serialize_game_and_state(game, state),
        "pickle": pickle.dumps(state),
        "attributes": {name: str(value) for name, value in vars(state).items() if name != "game"},
        "states": state.states.tobytes(),
        "tensors": [state.information_state_tensor(seat) for seat in seats],
        "strings": [state.information_state_string(seat) for seat in seats],
    }
