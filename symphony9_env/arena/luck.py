"""How lucky each seat of a game was: corrections with an expectation of zero, for control variates.

The method is that of AIVAT (Burch et al. 2018). At every random event of a game, the estimated value of the position
after each possible outcome is known: the correction is its expectation less its value at the actual outcome. Given the
game before the event, the expectation of the correction is zero, whatever the quality of the estimate. The better the
estimate, the more of the result's variance the corrections explain.

Random events are the budget tokens (drawn from those that have not been shown), the bot's tiles, and the actions of
agents that draw them with known probabilities. Positions after other outcomes are made by the rules, in copies of the
state. The value of a position for a seat is what the shipped policy expects, as the seat observes it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from symphony9_env.agents import Agent
from symphony9_env.agents.inference import LIST_SIZE, new_workspace
from symphony9_env.agents.packing import pack_network
from symphony9_env.agents.policy import PolicyAgent, ShippedPolicy, load_policy, shipped_path
from symphony9_env.agents.scripted import ScriptedAgent
from symphony9_env.agents.seat_values import value_seats
from symphony9_env.agents.strategies import RANDOM
from symphony9_env.arena.matches import PlayedGame
from symphony9_env.components import BUDGET_TOKENS
from symphony9_env.game_replay import deal_again, replay_moves
from symphony9_env.rules.game import play
from symphony9_env.rules.state import OVER, States
from symphony9_env.scores import score_sheet
from symphony9_env.views.seat import legal_numbers

KINDS: Final = ("tokens", "bot_tiles", "actions")
TOKENS, BOT_TILES, ACTIONS = range(len(KINDS))
_VALUE_ROWS: Final = 4096  # positions that are evaluated in one call

Floats = NDArray[np.float64]
Outcome = tuple[States, float]  # a position after an event, and its weight: its probability, less 1 if it happened
Probabilities = Callable[[States], Floats]  # of every action, in one position


def find_probabilities(agent: Agent, num_players: int) -> Probabilities | None:
    """Return how an agent draws its actions; None if it draws none, or if nobody knows."""
    if isinstance(agent, ScriptedAgent) and agent.strategy == RANDOM:
        return _legal_uniformly
    if isinstance(agent, PolicyAgent | ShippedPolicy):
        policy = agent.for_players(num_players)
        if policy.card.temperature > 0:
            return lambda states: _draw_probabilities(policy, states)
    return None


def describe_actions(agent: Agent, num_players: int) -> str:
    """Return whether the actions of an agent are corrected, and why."""
    if find_probabilities(agent, num_players):
        return "corrected: it draws them with known probabilities"
    is_fixed = isinstance(agent, ScriptedAgent | PolicyAgent | ShippedPolicy)
    return "not random" if is_fixed else "not corrected: their probabilities are unknown"


def _legal_uniformly(states: States) -> Floats:
    legal = legal_numbers(states, 0)
    probabilities = np.zeros(max(legal) + 1)
    probabilities[list(legal)] = 1 / len(legal)
    return probabilities


def _draw_probabilities(policy: PolicyAgent, states: States) -> Floats:
    """Return the probabilities of a policy at its own temperature."""
    weights = policy.compute_probabilities(states, np.zeros(1, np.int64))[0].astype(np.float64)
    return np.asarray(weights / weights.sum())


class Luck:
    """Computes the corrections of games of one number of players."""

    def __init__(self, agents: Sequence[Agent], num_players: int) -> None:
        self.num_players = num_players
        self._network = pack_network(*load_policy(shipped_path(num_players)))
        self._workspace = new_workspace(int(self._network[0][LIST_SIZE]))
        self._probabilities = [find_probabilities(agent, num_players) for agent in agents]

    def correct(self, games: Sequence[PlayedGame]) -> Floats:
        """Return the corrections of each game: (games, seats, kinds). Add them to a seat's share of the win."""
        corrections = np.zeros((len(games), self.num_players, len(KINDS)))
        events = ((number, *event) for number, game in enumerate(games) for event in self._list_outcomes(game))
        chunk: list[tuple[int, int, States, float]] = []
        for event in events:
            chunk.append(event)
            if len(chunk) == _VALUE_ROWS:
                self._add(corrections, chunk)
                chunk = []
        if chunk:
            self._add(corrections, chunk)
        return corrections

    def _add(self, corrections: Floats, chunk: list[tuple[int, int, States, float]]) -> None:
        values = self.evaluate(np.concatenate([states for _, _, states, _ in chunk]))
        for (game, kind, _, weight), value in zip(chunk, values, strict=True):
            corrections[game, :, kind] += weight * value

    def _list_outcomes(self, played: PlayedGame) -> Iterator[tuple[int, States, float]]:
        """Yield each possible outcome of each random event of a game: the kind of event, the position, the weight."""
        game = deal_again(played.final, 0)
        before = game.copy()
        for player, action, events in replay_moves(game, played.moves):
            kinds = {event.kind for event in events}
            probabilities = self._probabilities[played.game.agents[player]]
            if probabilities:
                yield from ((ACTIONS, *outcome) for outcome in _list_actions(before, action, probabilities(before)))
            if "concert_resolved" in kinds and game["has_bot"][0]:
                yield from ((BOT_TILES, *outcome) for outcome in _list_bot_tiles(before, action))
            if "budget_revealed" in kinds:
                yield from ((TOKENS, *outcome) for outcome in _list_tokens(game))
            before = game.copy()

    def evaluate(self, states: States) -> Floats:
        """Return every seat's estimated probability of winning: (positions, seats). Games that are over are known."""
        returns = np.empty((len(states), self.num_players))
        value_seats(self._network, self._workspace, states, returns)
        rates = (returns * (self.num_players - 1) + 1) / self.num_players  # a win pays 1, and the others share -1
        for row in np.flatnonzero(states["phase"] == OVER).tolist():
            rates[row] = [line.win_share for line in score_sheet(states, row).values()]
        return np.asarray(np.clip(rates, 0, 1))


def _list_actions(before: States, action: int, probabilities: Floats) -> Iterator[Outcome]:
    """Yield the position after each action that could have been drawn."""
    for other in np.flatnonzero(probabilities).tolist():
        states = before.copy()
        play(states, 0, other)
        yield states, float(probabilities[other]) - (other == action)


def _list_bot_tiles(before: States, action: int) -> Iterator[Outcome]:
    """Yield the position after each tile of the bot, which is drawn when the last hand is closed."""
    round_index, tiles = int(before["round_index"][0]), before["bot_tile_set"][0]
    actual = before["bot_tiles"][0, round_index].copy()
    is_actual = [bool((tile == actual).all()) for tile in tiles]
    for tile, same in zip(tiles, is_actual, strict=True):
        states = before.copy()
        states["bot_tiles"][0, round_index] = tile
        play(states, 0, action)
        yield states, 1 / len(tiles) - same / sum(is_actual)


def _list_tokens(after: States) -> Iterator[Outcome]:
    """Yield the position after each budget token that could have been drawn instead of the one just shown."""
    round_index, budget = int(after["round_index"][0]), after["budget"][0].tolist()
    unseen = list(BUDGET_TOKENS)
    for token in budget[:round_index]:
        unseen.remove(token)
    for token in sorted(set(unseen)):
        states = after.copy()
        states["budget"][0, round_index] = token
        yield states, unseen.count(token) / len(unseen) - (token == budget[round_index])
