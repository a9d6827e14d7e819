"""OpenSpiel: importing this module registers the game `python_symphony9`.

    import pyspiel
    import symphony9_env.integrations.openspiel
    game = pyspiel.load_game("python_symphony9", {"players": 3, "deals": 1000})

The game has one chance node, the root. It chooses one of `deals` deals with equal probability; deal 0 is that of
`seed`, deal 1 that of `seed + 1`, and so on. All possible deals (boards, tiles, cubes, and the tokens of all rounds)
are far too many to list, so this is a sample of them, and a seed deals the same game as in the other environments.
After the root, only players decide. The tokens to come stay hidden in the state; `resample_from_infostate` draws them
again.

The observation is that of the environment, with the ledger if asked for. The information state adds perfect recall:
every move that the seat saw (the others' closed hands only once they are open) and the tokens in their order.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from math import prod
from typing import Any, Final, Self

import numpy as np
import pyspiel
from numpy.typing import NDArray

from symphony9_env.actions import NAMES, num_actions
from symphony9_env.compilation import as_python
from symphony9_env.engine import MAX_DECISIONS, SEATS
from symphony9_env.names import agent_name
from symphony9_env.options import OPTION_FIELDS, make_options
from symphony9_env.records import Record, make_record
from symphony9_env.rewards import compute_rewards
from symphony9_env.rules.game import play
from symphony9_env.rules.setup import deal
from symphony9_env.rules.state import NUM_CLASSES, NUM_ROUNDS, OVER, States, game_at, new_states
from symphony9_env.setup_format import pack_box, read_setup
from symphony9_env.views import describe, observation_fields, observation_size, resample, seat_view
from symphony9_env.views.fields import TOKEN_UNIT
from symphony9_env.views.moves import replace_bids, see_moves
from symphony9_env.views.seat import legal_numbers
from symphony9_env.views.vector import observe
from symphony9_env.views.visible import num_bot_tiles_shown, num_tokens_shown

NAME: Final = "python_symphony9"
MAX_POINTS: Final = 1000.0  # a bound of the returns for rewards that count points; no game comes near it
# Options that are no parameters: `players` stands for the number of players, rewards come only at the end, and
# OpenSpiel has no parameter that may be None.
_OTHER_OPTIONS: Final = ("num_players", "shaping", "components")
PARAMETERS: Final[dict[str, Any]] = {
    "players": make_options().num_players,
    **{option.name: option.default for option in OPTION_FIELDS if option.name not in _OTHER_OPTIONS},
    "deals": 10_000,
    "seed": 0,
}


def _game_type(reward: str) -> pyspiel.GameType:
    is_zero_sum = reward != "score"
    return pyspiel.GameType(
        short_name=NAME,
        long_name="Symphony No. 9",
        dynamics=pyspiel.GameType.Dynamics.SEQUENTIAL,
        chance_mode=pyspiel.GameType.ChanceMode.EXPLICIT_STOCHASTIC,
        information=pyspiel.GameType.Information.IMPERFECT_INFORMATION,
        utility=pyspiel.GameType.Utility.ZERO_SUM if is_zero_sum else pyspiel.GameType.Utility.GENERAL_SUM,
        reward_model=pyspiel.GameType.RewardModel.TERMINAL,
        max_num_players=4,
        min_num_players=2,
        provides_information_state_string=True,
        provides_information_state_tensor=True,
        provides_observation_string=True,
        provides_observation_tensor=True,
        parameter_specification=PARAMETERS,
    )


class Symphony9Game(pyspiel.Game):
    """The game. Its parameters are `players`, `deals`, `seed`, and options of the environment by their names."""

    def __init__(self, params: dict[str, Any] | None = None) -> None:
        chosen = {**PARAMETERS, **(params or {})}
        self.num_deals = int(chosen.pop("deals"))
        self.first_seed = int(chosen.pop("seed"))
        if self.num_deals < 1 or self.first_seed < 0:
            raise ValueError(
                f"deals={self.num_deals}, seed={self.first_seed}; allowed: deals from 1 up, seed from 0 up"
            )
        self.options = make_options(num_players=chosen.pop("players"), **chosen)
        self.box = pack_box(self.options.variant)
        self.deals = [(number, 1 / self.num_deals) for number in range(self.num_deals)]
        bound = 1.0 if self.options.reward == "win" else MAX_POINTS
        info = pyspiel.GameInfo(
            num_distinct_actions=num_actions(self.options.variant.discussion),
            max_chance_outcomes=self.num_deals,
            num_players=self.options.num_players,
            min_utility=-bound,
            max_utility=bound,
            utility_sum=None if self.options.reward == "score" else 0.0,
            max_game_length=MAX_DECISIONS,
        )
        super().__init__(_game_type(self.options.reward), info, params or {})

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        return self  # OpenSpiel clones a state by deep copies of all it refers to; the game need not be copied

    def new_initial_state(self, _state: str | None = None) -> Symphony9State:
        return Symphony9State(self)

    def make_py_observer(self, iig_obs_type: Any = None, params: Any = None) -> Observer:
        if params:
            raise ValueError(f"observer parameters: {params}; allowed: none")
        return Observer(self, iig_obs_type is not None and iig_obs_type.perfect_recall)


class Symphony9State(pyspiel.State):
    """A state of the game, and the moves that led to it."""

    def __init__(self, game: Symphony9Game) -> None:
        super().__init__(game)
        self.game = game
        self.states = new_states(1)
        self.is_dealt = False
        self.seed: int | None = None  # of the deal; None before it and in a resampled state
        self.public_setup = ""  # what everybody sees of the deal, as JSON
        self._players = self._actions = b""  # of the moves so far; bytes are cheap to clone

    @property
    def moves(self) -> list[tuple[int, int]]:
        """All moves so far as (player, action), closed hands included."""
        return list(zip(self._players, self._actions, strict=True))

    def record(self) -> Record:
        """Return the game so far as plain JSON data, as `raw_env().record()` does."""
        if not self.is_dealt:
            raise ValueError("record() before the deal: apply a chance outcome first")
        return make_record(self.states, self.moves, self.seed)

    def current_player(self) -> Any:
        if not self.is_dealt:
            return pyspiel.PlayerId.CHANCE
        return pyspiel.PlayerId.TERMINAL if self.is_terminal() else int(self.states["player"][0])

    def is_terminal(self) -> bool:
        return bool(self.is_dealt and self.states["phase"][0] == OVER)

    def chance_outcomes(self) -> list[tuple[int, float]]:
        return self.game.deals

    def _legal_actions(self, player: int) -> list[int]:
        return list(legal_numbers(self.states, 0)) if player == self.current_player() else []

    def _apply_action(self, action: int) -> None:
        if not self.is_dealt:
            self.is_dealt = True
            self.seed = self.game.first_seed + action
            deal(self.game.box, self.states, 0, np.uint64(self.seed))
            self.public_setup = _format_public_setup(self.states)
            return
        self._players += bytes([int(self.states["player"][0])])
        self._actions += bytes([action])
        play(self.states, 0, action)

    def _action_to_string(self, player: int, action: int) -> str:
        return f"deal {action}" if player == pyspiel.PlayerId.CHANCE else NAMES[action]

    def returns(self) -> list[float]:
        rewards = np.zeros(SEATS)
        if self.is_terminal():
            points, ranks = np.zeros(SEATS, np.int64), np.zeros(SEATS)
            compute_rewards(self.states, 0, self.game.options.reward_kind, 0.0, points, ranks, rewards)
        return [float(reward) for reward in rewards[: self.game.options.num_players]]

    def resample_from_infostate(self, player_id: int, sampler: Callable[[], float]) -> Symphony9State:
        """Return a state that this player can't tell from the true one; `sampler` draws numbers from 0 to 1.

        The others' money and furniture are kept, because a perfect memory of the payments knows them. The returned
        state has no seed. OpenSpiel's own `history()` of it still names the true deal and hands: use it for search, and
        do not serialize it.
        """
        twin: Symphony9State = self.clone()
        if self.is_dealt:
            twin.seed = None  # it would reveal the true deal
            twin.states = resample(self.states, player_id, np.random.default_rng(int(sampler() * 2**53)))
            twin._actions = bytes(action for _, action in replace_bids(twin.states, 0, self.moves))
        return twin

    def __str__(self) -> str:
        if not self.is_dealt:
            return "before the deal"
        deal_name = "resampled deal" if self.seed is None else f"deal {self.seed}"
        return f"{deal_name}: " + ", ".join(f"{agent_name(player)} {NAMES[action]}" for player, action in self.moves)


def _format_public_setup(states: States) -> str:
    """Return what everybody sees of the deal, as JSON."""
    setup = read_setup(states, 0)
    return json.dumps({name: part for name, part in setup.items() if name not in ("budget", "bot_tiles")})


class Observer:
    """What a player may know, as a tensor with named parts and as text; with perfect recall also all he has seen."""

    def __init__(self, game: Symphony9Game, perfect_recall: bool) -> None:
        self._ledger = game.options.ledger
        self._perfect_recall = perfect_recall
        size = observation_size(self._ledger)
        parts = {field.name: field.shape for field in observation_fields(self._ledger)}
        if perfect_recall:
            parts |= {
                "tokens": (NUM_ROUNDS, 2),  # for each round: whether its token is revealed, its value
                "bot_tiles": (NUM_ROUNDS, NUM_CLASSES),
                "moves": (MAX_DECISIONS, 3),  # for each move: offset of the seat, action, whether the action is known
            }
        self.tensor = np.zeros(sum(prod(shape) for shape in parts.values()), np.float32)
        self._observation = self.tensor[:size]
        self.dict: dict[str, NDArray[np.float32]] = {}
        start = 0
        for name, shape in parts.items():
            self.dict[name] = self.tensor[start : start + prod(shape)].reshape(shape)
            start += prod(shape)

    def set_from(self, state: Symphony9State, player: int) -> None:
        self.tensor.fill(0)
        if not state.is_dealt:
            return
        observe(state.states, 0, player, self._observation)
        if self._perfect_recall:
            tokens, tiles = _find_revealed(state.states)
            self.dict["tokens"][: len(tokens), 0] = 1
            self.dict["tokens"][: len(tokens), 1] = tokens / TOKEN_UNIT
            self.dict["bot_tiles"][: len(tiles)] = tiles
            count = state.game.options.num_players
            for index, (mover, action) in enumerate(see_moves(state.states, 0, state.moves, player)):
                is_known = action is not None
                self.dict["moves"][index] = (mover - player) % count, (action or 0) / len(NAMES), is_known

    def string_from(self, state: Symphony9State, player: int) -> str:
        if not state.is_dealt:
            return f"{agent_name(player)} before the deal"
        if not self._perfect_recall:
            return describe(seat_view(state.states, 0, player, self._ledger))
        tokens, tiles = _find_revealed(state.states)
        moves = (
            f"{agent_name(mover)} {'closes a hand' if action is None else NAMES[action]}"
            for mover, action in see_moves(state.states, 0, state.moves, player)
        )
        return (
            f"{agent_name(player)}\nset-up: {state.public_setup}\ntokens: {tokens.tolist()}\n"
            f"bot tiles: {tiles.tolist()}\nmoves: {', '.join(moves)}"
        )


def _find_revealed(states: States) -> tuple[NDArray[np.int8], NDArray[np.int8]]:
    """Return the budget tokens and the bot tiles that have been revealed, round by round."""
    game = game_at(states, 0)
    num_tiles = as_python(num_bot_tiles_shown)(game) if game.has_bot else 0
    return states["budget"][0, : as_python(num_tokens_shown)(game)], states["bot_tiles"][0, :num_tiles]


pyspiel.register_game(_game_type("win"), Symphony9Game)
