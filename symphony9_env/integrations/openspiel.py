"""OpenSpiel: importing this module registers the game `python_symphony9`.

    import pyspiel
    import symphony9_env.integrations.openspiel
    game = pyspiel.load_game("python_symphony9", {"players": 3, "deals": 1000})

Chance decides in two nodes, with two players in three, before the first player does:

    deal       what everybody sees: start player, boards, scoring tiles and cubes. Outcome 0 is as in the game of `seed`
               in the other environments, outcome 1 as in that of `seed + 1`, and so on: `deals` outcomes of equal
               probability. All possible ones are far too many to list, so this is a sample of them.
    tokens     the budget tokens of all rounds: every possible sequence, with its exact probability
    bot tiles  (two players) the bot's tiles of all rounds: every possible sequence, all equally probable

What is hidden is thus independent of what is seen: the opening position says nothing about the tokens and tiles to
come. `resample_from_infostate` builds a state from chance outcomes and actions that the player can't tell from the true
ones; nothing in it depends on those that he can't know.

The observation is that of the environment, with the ledger if asked for. The information state adds perfect recall:
every move that the seat saw (the others' closed hands only once they are open) and the tokens in their order. An
observer for public information sees what everybody does, one for private information what only its seat knows.
"""

from __future__ import annotations

from bisect import bisect
from collections import Counter
from collections.abc import Callable, Sequence
from functools import cache
from itertools import accumulate, permutations, product
from typing import Any, Final, Self

import numpy as np
import pyspiel

from symphony9_env.actions import NAMES, is_bid, num_actions
from symphony9_env.components import BUDGET_TOKENS, NUM_BOT_TILES
from symphony9_env.engine import MAX_DECISIONS, SEATS
from symphony9_env.integrations.openspiel_observer import Observer, find_revealed, format_public_setup
from symphony9_env.names import agent_name
from symphony9_env.options import OPTION_FIELDS, make_options
from symphony9_env.records import Record, make_record
from symphony9_env.rewards import compute_rewards
from symphony9_env.rules.game import play
from symphony9_env.rules.setup import deal
from symphony9_env.rules.state import NUM_ROUNDS, OVER, States, new_states
from symphony9_env.setup_format import pack_box
from symphony9_env.suggestions import show
from symphony9_env.views import seat_view
from symphony9_env.views.moves import see_moves
from symphony9_env.views.seat import legal_numbers
from symphony9_env.views.seat_json import seat_json

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
CHANCE_NODES: Final = ("deal", "tokens", "bot tiles")
# How many of all ordered draws from the box give each sequence of tokens; sorted, so that outcomes keep their numbers.
_TOKEN_DRAWS: Final = sorted(Counter(permutations(BUDGET_TOKENS, NUM_ROUNDS)).items())
_TILE_DRAWS: Final = [(tiles, 1) for tiles in product(range(NUM_BOT_TILES), repeat=NUM_ROUNDS)]  # by their numbers
HIDDEN: Final = {"tokens": _TOKEN_DRAWS, "bot tiles": _TILE_DRAWS}  # by chance node: sequences and their weights

Outcomes = list[tuple[int, float]]  # of a chance node: outcomes and their probabilities


def _list_outcomes(weights: Sequence[int]) -> Outcomes:
    total = sum(weights)
    return [(number, weight / total) for number, weight in enumerate(weights)]


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
        provides_factored_observation_string=True,
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
        hidden = CHANCE_NODES[1:] if self.box["has_bot"][0] else CHANCE_NODES[1:2]
        self.chance_nodes = [
            _list_outcomes([1] * self.num_deals),
            *(_list_outcomes([weight for _, weight in HIDDEN[node]]) for node in hidden),
        ]
        self._last_deal: tuple[int, States, str] | None = None
        bound = 1.0 if self.options.reward == "win" else MAX_POINTS
        info = pyspiel.GameInfo(
            num_distinct_actions=num_actions(self.options.variant.discussion),
            max_chance_outcomes=max(map(len, self.chance_nodes)),
            num_players=self.options.num_players,
            min_utility=-bound,
            max_utility=bound,
            utility_sum=None if self.options.reward == "score" else 0.0,
            max_game_length=MAX_DECISIONS,
        )
        super().__init__(_game_type(self.options.reward), info, params or {})

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        return self  # OpenSpiel clones a state by deep copies of all it refers to; the game need not be copied

    def new_initial_state(self, state: Any = None) -> Symphony9State:
        """Return a new state; or, from a struct or a dict as `State.to_struct` makes them, that state again."""
        new = Symphony9State(self)
        if state is None:
            return new
        contents = state.to_dict() if isinstance(state, pyspiel.StateStruct) else state
        if not isinstance(contents, dict) or not isinstance(contents.get("history"), list):
            raise ValueError(f"state: {show(contents)}; allowed: what to_struct() or to_dict() of a state returns")
        for number, action in enumerate(contents["history"]):
            if action not in new.legal_actions():
                raise ValueError(f"state: history[{number}] is {show(action)}, which is illegal there")
            new.apply_action(action)
        return new

    def deal(self, number: int) -> tuple[States, str]:
        """Return a deal, and what everybody sees of it as JSON; the last is kept, as search begins there many times."""
        if self._last_deal is None or self._last_deal[0] != number:
            states = new_states(1)
            deal(self.box, states, 0, np.uint64(self.first_seed + number))
            self._last_deal = number, states, format_public_setup(states)
        return self._last_deal[1].copy(), self._last_deal[2]

    def make_py_observer(self, iig_obs_type: Any = None, params: Any = None) -> Observer:
        if params:
            raise ValueError(f"observer parameters: {params}; allowed: none")
        return Observer(self, iig_obs_type or pyspiel.IIGObservationType(perfect_recall=False))

    def find_outcomes(self, seed: int) -> list[int]:
        """Return the outcomes of the chance nodes that deal the game of a seed, as the other environments do."""
        if not 0 <= seed - self.first_seed < self.num_deals:
            last = self.first_seed + self.num_deals - 1
            raise ValueError(f"seed={seed}; allowed with these parameters: {self.first_seed} to {last}")
        states, _ = self.deal(seed - self.first_seed)
        drawn = {"tokens": states["budget"][0].tolist()}
        if self.box["has_bot"][0]:
            tile_set = states["bot_tile_set"][0].tolist()
            drawn["bot tiles"] = [tile_set.index(tile) for tile in states["bot_tiles"][0].tolist()]
        numbers = (_find_sequence(node, tuple(sequence)) for node, sequence in drawn.items())
        return [seed - self.first_seed, *numbers]


class Symphony9State(pyspiel.State):
    """A state of the game, and the moves that led to it."""

    def __init__(self, game: Symphony9Game) -> None:
        super().__init__(game)
        self.game = game
        self.states = new_states(1)
        self.num_drawn = 0  # chance nodes so far
        self.is_dealt = False
        self.public_setup = ""  # what everybody sees of the deal, as JSON
        self._players = self._actions = b""  # of the moves so far; bytes are cheap to clone

    @property
    def moves(self) -> list[tuple[int, int]]:
        """All moves so far as (player, action), closed hands included."""
        return list(zip(self._players, self._actions, strict=True))

    def record(self) -> Record:
        """Return the game so far as plain JSON data, as `raw_env().record()` does.

        It has no seed, because no seed deals these tokens and tiles.
        """
        if not self.is_dealt:
            raise ValueError("record() before the deal: apply an outcome of each chance node first")
        return make_record(self.states, self.moves, seed=None)

    def current_player(self) -> Any:
        if not self.is_dealt:
            return pyspiel.PlayerId.CHANCE
        return pyspiel.PlayerId.TERMINAL if self.is_terminal() else int(self.states["player"][0])

    def is_terminal(self) -> bool:
        return bool(self.is_dealt and self.states["phase"][0] == OVER)

    def chance_outcomes(self) -> Outcomes:
        return self.game.chance_nodes[self.num_drawn]

    def _legal_actions(self, player: int) -> list[int]:
        return list(legal_numbers(self.states, 0)) if player == self.current_player() else []

    def _apply_action(self, action: int) -> None:
        if not self.is_dealt:
            self._apply_outcome(action)
            return
        self._players += bytes([int(self.states["player"][0])])
        self._actions += bytes([action])
        play(self.states, 0, action)

    def _apply_outcome(self, number: int) -> None:
        node = CHANCE_NODES[self.num_drawn]
        if node == "deal":
            self.states, self.public_setup = self.game.deal(number)
        elif node == "tokens":
            self.states["budget"][0] = HIDDEN[node][number][0]
        else:
            self.states["bot_tiles"][0] = self.states["bot_tile_set"][0, HIDDEN[node][number][0]]
        self.num_drawn += 1
        self.is_dealt = self.num_drawn == len(self.game.chance_nodes)

    def _action_to_string(self, player: int, action: int) -> str:
        if player != pyspiel.PlayerId.CHANCE:
            return NAMES[action]
        return _format_outcome(CHANCE_NODES[min(self.num_drawn, len(self.game.chance_nodes) - 1)], action)

    def returns(self) -> list[float]:
        rewards = np.zeros(SEATS)
        if self.is_terminal():
            points, ranks = np.zeros(SEATS, np.int64), np.zeros(SEATS)
            compute_rewards(self.states, 0, self.game.options.reward_kind, 0.0, points, ranks, rewards)
        return [float(reward) for reward in rewards[: self.game.options.num_players]]

    def resample_from_infostate(self, player_id: int, sampler: Callable[[], float]) -> Symphony9State:
        """Return a state that this player can't tell from the true one; `sampler` draws numbers from 0 to 1.

        It is built from the beginning, by chance outcomes and actions: those that the player has seen, and for the rest
        (tokens and bot tiles to come, closed hands) new ones, drawn by their probabilities given what he has seen;
        every legal hand is equally probable.
        """
        twin = self.game.new_initial_state()
        for node in CHANCE_NODES[: self.num_drawn]:
            twin.apply_action(self._draw_outcome(node, sampler()))
        if self.is_dealt:
            for _, action in see_moves(self.states, 0, self.moves, player_id):
                twin.apply_action(twin.draw_hand(sampler()) if action is None else action)
        return twin

    def draw_hand(self, chance: float) -> int:
        """Return a legal bid of the player to decide, all equally probable, by a random number from 0 to 1."""
        return _draw_member([action for action in self.legal_actions() if is_bid(action)], chance)

    def _draw_outcome(self, node: str, chance: float) -> int:
        """Return an outcome of a chance node, drawn by its probability given all that has been shown."""
        if node == "deal":
            return self.history()[0] if self.is_dealt else _draw_member(range(self.game.num_deals), chance)
        shown: tuple[int, ...] = ()
        if self.is_dealt:
            tokens, tiles = find_revealed(self.states)
            tile_set = self.states["bot_tile_set"][0].tolist()
            shown = tuple(tokens.tolist() if node == "tokens" else map(tile_set.index, tiles.tolist()))
        numbers, cumulative = _find_possible(node, shown)
        return numbers[bisect(cumulative, chance * cumulative[-1], hi=len(numbers) - 1)]

    def hides_state_from_agents(self) -> bool:
        """Return True; without this method, kaggle-environments sends every agent the whole state."""
        return True

    # OpenSpiel calls these for `to_struct`, `to_json`, `to_observation_struct`, `action_to_struct` and so on.

    def _to_struct(self) -> dict[str, Any]:
        """Return the whole state, hidden information included: its history, and what each seat sees."""
        seats = range(self.game.options.num_players if self.is_dealt else 0)
        return {
            "current_player": int(self.current_player()),
            "history": [int(action) for action in self.history()],
            "views": [self._to_observation_struct(seat) for seat in seats],
        }

    def _to_observation_struct(self, player: int) -> dict[str, Any]:
        """Return what a player may know as `symphony9-view/1`; before the deal, nothing but who he is."""
        if not self.is_dealt:
            return {"seat": player}
        return {**seat_json(seat_view(self.states, 0, player, self.game.options.ledger))}

    def _action_to_struct(self, player: int, action: int) -> dict[str, Any]:
        return {"action": action, "name": self._action_to_string(player, action)}

    def _struct_to_actions(self, struct: dict[str, Any]) -> list[int]:
        if type(struct.get("action")) is not int:
            raise ValueError(f"action struct: {show(struct)}; needed: 'action', a number")
        return [struct["action"]]

    def __str__(self) -> str:
        outcomes = self.history()[: self.num_drawn]
        drawn = [_format_outcome(node, number) for node, number in zip(CHANCE_NODES, outcomes, strict=False)]
        moves = [f"{agent_name(player)} {NAMES[action]}" for player, action in self.moves]
        return ", ".join(drawn + moves) or "before the deal"


def _format_outcome(node: str, number: int) -> str:
    """Return the name of an outcome of a chance node."""
    return f"{node} {number if node == 'deal' else ' '.join(map(str, HIDDEN[node][number][0]))}"


def _draw_member(members: Sequence[int], chance: float) -> int:
    """Return one of the members, all equally probable, by a random number from 0 to 1."""
    return members[min(int(chance * len(members)), len(members) - 1)]


@cache
def _find_sequence(node: str, drawn: tuple[int, ...]) -> int:
    """Return the outcome of a chance node that draws this sequence of tokens or tiles."""
    return [sequence for sequence, _ in HIDDEN[node]].index(drawn)


@cache
def _find_possible(node: str, shown: tuple[int, ...]) -> tuple[list[int], list[int]]:
    """Return the outcomes of a chance node that begin with what has been shown, and their cumulative weights."""
    possible = [(number, weight) for number, (drawn, weight) in enumerate(HIDDEN[node]) if drawn[: len(shown)] == shown]
    return [number for number, _ in possible], list(accumulate(weight for _, weight in possible))


pyspiel.register_game(_game_type("win"), Symphony9Game)
