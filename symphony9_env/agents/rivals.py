"""Rivals that are known to play as an agent: how compiled code simulates them, and how Python asks them.

Scripted agents and saved policies are simulated in compiled code. Any other agent is asked for each of its moves in a
simulated game, with the game as its seat may see it there.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from symphony9_env.actions import BID, HANDS, is_bid
from symphony9_env.agents.base import Agent, Positions, Rows, StoredPositions, has_ledger
from symphony9_env.agents.external import AgentFailed
from symphony9_env.agents.policy import PolicyAgent, ShippedPolicy
from symphony9_env.agents.scripted import ScriptedAgent
from symphony9_env.agents.strategies import ASKED, POLICY, UNKNOWN
from symphony9_env.engine import play_rows
from symphony9_env.rules.state import NONE, NUM_BOARDS, TAKE_FREE, States
from symphony9_env.rules.turns import FREE_CUBES

ALL_SEATS: Final = (1 << NUM_BOARDS) - 1


def find_kind(rivals: Agent | None) -> int:
    """Return how rivals that play as this agent are simulated: UNKNOWN, POLICY, ASKED, or a strategy's number."""
    if rivals is None:
        return UNKNOWN
    if isinstance(rivals, ScriptedAgent):
        return rivals.strategy
    return POLICY if isinstance(rivals, PolicyAgent | ShippedPolicy) else ASKED


class AskedRivals:
    """An agent that rivals play as in simulated games, which begin at one position of a real game."""

    def __init__(self, agent: Agent, positions: Positions, row: int, root: States, seats: int = ALL_SEATS) -> None:
        """`root` is the position without what the deciding seat can't know; `seats` is the set of these rivals."""
        self._agent = agent
        self._row = row
        self._root = root
        self._seats = seats
        self._ledger = has_ledger(positions)
        self._moves = list(positions.moves(row))
        # Without the moves of the game so far, those of a simulated game would be taken for its beginning.
        self._has_moves = bool(self._moves) or _is_new(root)

    def follow(self, worlds: States) -> StoredPositions:
        """Return worlds of the position, together with the moves of the game so far."""
        positions = StoredPositions.of(worlds, self._ledger)
        self._restore_moves(positions)
        return positions

    def _restore_moves(self, positions: StoredPositions) -> None:
        positions.history[:, : len(self._moves)] = self._moves
        positions.length[:] = len(self._moves)

    def play(self, positions: StoredPositions, rows: Rows) -> None:
        """Ask for a move on each of these rows, and play it."""
        actions = self._ask(positions, rows)
        index = play_rows(positions.states, rows, actions, positions.history, positions.length)
        if index != NONE:
            reason = f"chose {actions[index]}, which is illegal, in a simulated game"
            raise AgentFailed(self._agent.name, reason, self._row)

    def _ask(self, positions: StoredPositions, rows: Rows) -> Rows:
        if not self._has_moves:
            positions.length[rows] = 0
        try:
            return self._agent.decide(positions, rows)
        except AgentFailed as failure:
            failure.row = self._row
            raise

    def close_hands(self, positions: StoredPositions) -> None:
        """Replace the hands that these rivals have closed by what they would bid now, and put the moves right.

        The moves of the real game say what was in closed hands. In a simulated game, they must say what is in them
        there, because everybody sees it when the hands are opened.
        """
        self._restore_moves(positions)
        worlds, deciding_seat = positions.states, int(self._root["player"][0])
        num_players = int(self._root["num_players"][0])
        in_turn_order = (int(self._root["start"][0]) + np.arange(num_players)) % num_players
        closed = [seat for seat in in_turn_order.tolist() if self._root["hand"][0, seat] != NONE]
        bids = [number for number, move in enumerate(self._moves) if is_bid(move)][-len(closed) :] if closed else []
        for seat, number in zip(closed, bids or [0] * len(closed), strict=True):
            if self._seats >> seat & 1:
                positions.length[:] = min(number, len(self._moves))
                self._ask_about_hand(positions, seat)
            for row in range(len(worlds)):
                hand = int(worlds["hand"][row, seat]), int(worlds["hand_token"][row, seat])
                positions.history[row, number] = BID + HANDS.index(hand)
        worlds["player"] = deciding_seat
        positions.length[:] = len(self._moves)

    def _ask_about_hand(self, positions: StoredPositions, seat: int) -> None:
        """Replace one seat's closed hand in each world; the moves before it are those of the positions."""
        worlds = positions.states
        drawn = worlds["hand"][:, seat].copy(), worlds["hand_token"][:, seat].copy()
        worlds["player"] = seat
        worlds["hand"][:, seat] = worlds["hand_token"][:, seat] = NONE
        actions = self._ask(positions, np.arange(len(worlds)))
        for row, action in enumerate(actions.tolist()):
            # A sale would have been public: the hand stays as it was drawn then.
            hand = HANDS[action - BID] if is_bid(action) else (int(drawn[0][row]), int(drawn[1][row]))
            worlds["hand"][row, seat], worlds["hand_token"][row, seat] = hand


def _is_new(root: States) -> bool:
    """Return whether nobody has moved yet."""
    first = {"round_index": 0, "phase": TAKE_FREE, "turn": 0, "pending": FREE_CUBES}
    return all(int(root[field][0]) == value for field, value in first.items()) and not root["sales"].any()
