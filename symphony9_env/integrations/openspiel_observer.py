"""What OpenSpiel's players may know of `python_symphony9`: observations and information states, as tensors and text."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace
from math import prod
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyspiel
from numpy.typing import NDArray

from symphony9_env.actions import NAMES, is_bid
from symphony9_env.compilation import as_python
from symphony9_env.components import BUDGET_TOKENS
from symphony9_env.engine import MAX_DECISIONS
from symphony9_env.envs.aec import RawEnv
from symphony9_env.names import agent_name
from symphony9_env.rules.state import NUM_CLASSES, NUM_ROUNDS, States, game_at
from symphony9_env.setup_format import read_setup
from symphony9_env.views import describe, observation_fields, observation_size, seat_view
from symphony9_env.views.fields import TOKEN_UNIT
from symphony9_env.views.moves import see_moves
from symphony9_env.views.seat import legal_numbers
from symphony9_env.views.seat_json import game_json, own_json, position_json
from symphony9_env.views.vector import observe
from symphony9_env.views.visible import num_bot_tiles_shown, num_tokens_shown

if TYPE_CHECKING:
    from symphony9_env.integrations.openspiel import Symphony9Game, Symphony9State

# What only the observer knows. With the ledger everybody knows the purses, and only the closed hand is private.
_HAND_FIELDS: Final = frozenset({"hand", "hand_token"})
_PRIVATE_FIELDS: Final = _HAND_FIELDS | {"money", "furniture"}
_CLOSED: Final = "closes a hand"  # the name of a bid that is hidden
_NOBODY: Final = -1  # the seat of somebody who sees only what everybody does


class Observer:
    """What a player may know, as a tensor with named parts and as text; with perfect recall also all he has seen.

    With public information alone it is what everybody sees, the same for all players and seen from seat 0; with private
    information alone, what only the player knows.
    """

    def __init__(self, game: Symphony9Game, kind: Any) -> None:
        self._ledger = game.options.ledger
        self._perfect_recall = kind.perfect_recall
        self._is_public = kind.public_info
        self._is_private = kind.private_info == pyspiel.PrivateInfoType.SINGLE_PLAYER
        _check_kind(kind)
        secret = _HAND_FIELDS if self._ledger else _PRIVATE_FIELDS
        fields = [
            field
            for field in observation_fields(self._ledger)
            if (self._is_private if field.name in secret else self._is_public)
        ]
        parts = {field.name: field.shape for field in fields}
        if self._perfect_recall:
            parts |= {
                "tokens": (NUM_ROUNDS, 2),  # for each round: whether its token is revealed, its value
                "bot_tiles": (NUM_ROUNDS, NUM_CLASSES),
                "moves": (MAX_DECISIONS, 3),  # for each move: offset of the seat, action, whether the action is known
            }
        self.tensor = np.zeros(sum(prod(shape) for shape in parts.values()), np.float32)
        self._whole = np.zeros(observation_size(self._ledger), np.float32)
        self._chosen = np.concatenate([np.arange(field.start, field.stop) for field in fields])
        self.dict: dict[str, NDArray[np.float32]] = {}
        start = 0
        for name, shape in parts.items():
            self.dict[name] = self.tensor[start : start + prod(shape)].reshape(shape)
            start += prod(shape)

    def set_from(self, state: Symphony9State, player: int) -> None:
        self.tensor.fill(0)
        if not state.is_dealt:
            return
        observe(state.states, 0, player if self._is_private else 0, self._whole)
        self.tensor[: len(self._chosen)] = self._whole[self._chosen]
        if self._perfect_recall:
            tokens, tiles = find_revealed(state.states)
            self.dict["tokens"][: len(tokens), 0] = 1
            self.dict["tokens"][: len(tokens), 1] = tokens / TOKEN_UNIT
            self.dict["bot_tiles"][: len(tiles)] = tiles
            count, first = state.game.options.num_players, player if self._is_private else 0
            for index, (mover, action) in enumerate(self._see_moves(state, player)):
                is_known = action is not None
                self.dict["moves"][index] = (mover - first) % count, (action or 0) / len(NAMES), is_known

    def string_from(self, state: Symphony9State, player: int) -> str:
        who = agent_name(player) if self._is_private else "everybody"
        if not state.is_dealt:
            return f"{who} before the deal"
        if self._perfect_recall:
            return self._recall(state, player, who)
        if self._is_public and self._is_private:
            return describe(seat_view(state.states, 0, player, self._ledger))
        return json.dumps(self._see_part(state, player))

    def _see_part(self, state: Symphony9State, player: int) -> dict[str, Any]:
        """Return what everybody sees, or what only this player knows, as parts of `symphony9-view/1`."""
        if self._is_public:
            view, other = (seat_view(state.states, 0, seat, self._ledger) for seat in (0, 1))
            (board,) = [board for board in other.boards if board.seat == view.seat]  # its purse as others see it
            view = replace(view, boards=(board, *view.boards[1:]))
            return {"game": game_json(view), "position": position_json(view)}
        own = own_json(seat_view(state.states, 0, player, self._ledger))
        return {"hand": own["hand"]} if self._ledger else {**own}

    def _recall(self, state: Symphony9State, player: int, who: str) -> str:
        tokens, tiles = find_revealed(state.states)
        moves = (
            f"{agent_name(mover)} {_CLOSED if action is None else NAMES[action]}"
            for mover, action in self._see_moves(state, player)
        )
        return (
            f"{who}\nset-up: {state.public_setup}\ntokens: {tokens.tolist()}\n"
            f"bot tiles: {tiles.tolist()}\nmoves: {', '.join(moves)}"
        )

    def _see_moves(self, state: Symphony9State, player: int) -> list[tuple[int, int | None]]:
        return see_moves(state.states, 0, state.moves, player if self._is_private else _NOBODY)


def _check_kind(kind: Any) -> None:
    """Raise a ValueError if there is no observation of this kind."""
    kinds = pyspiel.PrivateInfoType
    if kind.private_info == kinds.ALL_PLAYERS:
        raise ValueError("observer: private_info=ALL_PLAYERS; allowed: SINGLE_PLAYER, NONE")
    if not kind.public_info and kind.private_info == kinds.NONE:
        raise ValueError("observer: neither public nor private information; allowed: at least one of them")
    if not kind.public_info and kind.perfect_recall:
        raise ValueError("observer: perfect_recall without public_info; a player's moves are public in time")


def find_revealed(states: States) -> tuple[NDArray[np.int8], NDArray[np.int8]]:
    """Return the budget tokens and the bot tiles that have been revealed, round by round."""
    game = game_at(states, 0)
    num_tiles = as_python(num_bot_tiles_shown)(game) if game.has_bot else 0
    return states["budget"][0, : as_python(num_tokens_shown)(game)], states["bot_tiles"][0, :num_tiles]


def format_public_setup(states: States) -> str:
    """Return the number of players, the discussion, and what everybody sees of the deal, as JSON."""
    kind = {"num_players": int(states["num_players"][0]), "discussion": bool(states["discussion"][0])}
    setup = read_setup(states, 0)
    return json.dumps(kind | {name: part for name, part in setup.items() if name not in ("budget", "bot_tiles")})


def rebuild_game(information: str) -> RawEnv:
    """Return a game that its player can't tell from the true one, from the text of his information state.

    It is filled up with what he can't know: tokens and tiles to come, and closed hands, are any that are possible.
    """
    parts = dict(line.split(": ", 1) for line in information.splitlines()[1:])
    setup, tokens, tiles = (json.loads(parts[name]) for name in ("set-up", "tokens", "bot tiles"))
    env = RawEnv(num_players=setup.pop("num_players"), discussion=setup.pop("discussion"))
    left = list((Counter(BUDGET_TOKENS) - Counter(tokens)).elements())
    setup["budget"] = [*tokens, *left][:NUM_ROUNDS]
    if env.options.variant.num_players == 2:
        any_tile = list(env.options.variant.load_components().bot_tiles[0])
        setup["bot_tiles"] = [*tiles, *[any_tile] * (NUM_ROUNDS - len(tiles))]
    env.reset(options={"setup": setup})
    for move in filter(None, parts["moves"].split(", ")):
        name = move.partition(" ")[2]
        env.step(next(filter(is_bid, legal_numbers(env.states, 0))) if name == _CLOSED else NAMES.index(name))
    return env
