"""The lines of one decision of `think:N`: compiled, but for rivals that are agents of any other kind."""

from __future__ import annotations

from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from symphony9_env.actions import BID, HANDS, is_bid
from symphony9_env.agents import inference, lines
from symphony9_env.agents.base import Agent, Positions, Rows, StoredPositions, has_ledger
from symphony9_env.agents.external import AgentFailed
from symphony9_env.engine import play_rows
from symphony9_env.rules.state import NONE, NUM_ROUNDS, States, new_states

_BATCH: Final = 64  # worlds that are simulated in one call


class Models(NamedTuple):
    """How the seats are simulated, as `lines.py` needs it."""

    rivals: int  # MIXED, NETWORK, OUTSIDE, or a strategy's number
    guide: tuple[Any, ...]
    network: tuple[Any, ...]  # the rivals', if they play a policy; otherwise the guide again
    own_temperature: float
    rival_temperature: float
    known_temperature: float  # of the rivals that play another policy
    scripted_share: float
    known: int  # the set of seats that `rivals` is about; the others play as MIXED, but for the team
    team: int  # the set of seats that share the goal, which play as the guide unless they are known

    def with_roles(self, known: int, team: int) -> Models:
        """Return the same with other sets of seats."""
        return self._replace(known=known, team=team)


class Buffers(NamedTuple):
    """What one thread needs."""

    workspace: tuple[Any, ...]
    root: States
    priors: NDArray[np.float64]


class Simulation:
    """The worlds and lines of one decision; `roots` of the buffers holds its position."""

    def __init__(
        self,
        positions: Positions,
        row: int,
        models: Models,
        buffers: Buffers,
        seed: int,
        num_rounds: int,
        rivals: Agent | None,
        weights: NDArray[np.float64],
    ) -> None:
        """`weights` are those of the seats' returns in the value of a line."""
        self._positions = positions
        self._ledger = has_ledger(positions)
        self._row = row
        self._models = models
        self._workspace, self._root, _ = buffers
        self._seed = np.uint64(seed)
        self._rivals = rivals
        self._weights = weights
        self._seat = int(self._root["player"][0])
        self._num_worlds = 0
        has_value = models.guide[0][inference.HAS_VALUE]
        self._last_round = int(self._root["round_index"][0]) + (num_rounds if has_value else NUM_ROUNDS) - 1

    def simulate(self, actions: NDArray[np.int64], num_worlds: int) -> NDArray[np.float64]:
        """Simulate each action in so many new worlds; return the sums of the values."""
        sums = np.zeros(len(actions))
        end = self._num_worlds + num_worlds
        while self._num_worlds < end:
            size = min(_BATCH, end - self._num_worlds)
            worlds, streams = new_states(size), np.empty(size, np.uint64)
            lines.make_worlds(self._root, self._seed, self._num_worlds, self._models, self._workspace, worlds, streams)
            self._num_worlds += size
            sums += self._play(worlds, streams, actions).reshape(size, -1).sum(axis=0)
        return sums

    def _play(self, worlds: States, streams: NDArray[np.uint64], actions: NDArray[np.int64]) -> NDArray[np.float64]:
        """Play each action in each world to the end of the line; return the values."""
        roots = self._ask_about_hands(worlds) if self._models.rivals == lines.OUTSIDE else StoredPositions.of(worlds)
        played = StoredPositions.of(new_states(len(worlds) * len(actions)), self._ledger)
        played.history[:] = np.repeat(roots.history, len(actions), axis=0)
        played.length[:] = np.repeat(roots.length, len(actions))
        lines.begin_lines(worlds, actions, played.states, played.history, played.length)
        values, numbers = np.zeros(len(played.states)), np.arange(len(played.states))
        while len(numbers):
            num_waiting = lines.play_lines(
                played.states,
                numbers,
                streams,
                self._seat,
                self._weights,
                self._last_round,
                self._models,
                self._workspace,
                values,
                played.history,
                played.length,
            )
            numbers = numbers[:num_waiting]
            if num_waiting:
                self._ask_rivals(played, numbers)
        return values

    # Rivals that are neither scripted nor a policy are asked.

    def _ask(self, positions: StoredPositions, rows: Rows) -> Rows:
        assert self._rivals is not None
        try:
            return self._rivals.decide(positions, rows)
        except AgentFailed as failure:
            failure.row = self._row
            raise

    def _ask_rivals(self, played: StoredPositions, numbers: Rows) -> None:
        """Ask the rivals for a move in each of these lines, and play it."""
        actions = self._ask(played, numbers)
        index = play_rows(played.states, numbers, actions, played.history, played.length)
        if index != NONE:
            name = self._rivals.name if self._rivals else ""
            raise AgentFailed(name, f"chose {actions[index]}, which is illegal, in a simulated game", self._row)

    def _ask_about_hands(self, worlds: States) -> StoredPositions:
        """Replace the hands that rivals have closed by what they would bid now; return the worlds with their moves."""
        positions = StoredPositions.of(worlds, self._ledger)
        moves = list(self._positions.moves(self._row))
        positions.history[:, : len(moves)] = moves
        seats = (int(worlds["start"][0]) + np.arange(int(worlds["num_players"][0]))) % int(worlds["num_players"][0])
        closed = [seat for seat in seats.tolist() if self._root["hand"][0, seat] != NONE]  # in turn order
        bids = [number for number, move in enumerate(moves) if is_bid(move)][-len(closed) :] if closed else []
        for seat, number in zip(closed, bids or [0] * len(closed), strict=True):
            positions.length[:] = min(number, len(moves))
            self._ask_about_hand(positions, seat, number)
        worlds["player"] = self._seat
        positions.length[:] = len(moves)
        return positions

    def _ask_about_hand(self, positions: StoredPositions, seat: int, number: int) -> None:
        """Replace one seat's closed hand in each world; its bid was the move with this number."""
        worlds = positions.states
        drawn = worlds["hand"][:, seat].copy(), worlds["hand_token"][:, seat].copy()
        worlds["player"] = seat
        worlds["hand"][:, seat] = worlds["hand_token"][:, seat] = NONE
        actions = self._ask(positions, np.arange(len(worlds)))
        for row, action in enumerate(actions.tolist()):
            # A sale would have been public: the hand stays as it was drawn then.
            hand = HANDS[action - BID] if is_bid(action) else (int(drawn[0][row]), int(drawn[1][row]))
            worlds["hand"][row, seat], worlds["hand_token"][row, seat] = hand
            positions.history[row, number] = BID + HANDS.index(hand)
