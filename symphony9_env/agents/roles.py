"""What a searching agent is told about the seats: whose wins count for it, and who plays as a known agent.

By default an agent plays for itself. In a name, `+` and seats make it play for a *team*: `search:200+12` in seat 1 or 2
wants one of these two seats to win, whichever it is. In any other seat it plays for itself. `@NAME` tells it that all
seats outside its team play as NAME, and `@0:NAME` that only seat 0 does. The seats of a team share their goal, but no
hidden information: each decides by what its own seat may know.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from symphony9_env.rules.state import NUM_BOARDS

TEAM_PATTERN: Final = r"(?:\+(?P<team>[0-9]{1,9}))?"  # in the name of an agent
KNOWN_PATTERN: Final = r"(?:(?P<known>[0-9]{1,9}):)?"  # before the name of the known agent
ROLES_HELP: Final = "+12 before the @ is a team of seats 1 and 2, and 0: behind it means seat 0 alone"
_ALL: Final = (1 << NUM_BOARDS) - 1


@dataclass(frozen=True)
class Roles:
    """The seats of the team and those that play as a known agent; both empty if a name says nothing about them."""

    team: tuple[int, ...] = ()
    known: tuple[int, ...] = ()

    def as_sets(self, seat: int) -> tuple[int, int]:
        """Return the seats that play as the known agent, if there is one, and the team, for a seat that decides.

        They are sets, for compiled code. By default all seats outside the team are known. A seat outside the team
        plays for itself: it is its own team.
        """
        team = _as_set(self.team) if seat in self.team else 1 << seat
        known = _as_set(self.known) if self.known else _ALL & ~team
        return known & ~(1 << seat), team

    def check_players(self, name: str, num_players: int) -> None:
        """Raise a ValueError if the seats are not those of a game of this many players."""
        if any(seat >= num_players for seat in (*self.team, *self.known)):
            raise ValueError(f"agent {name!r}: with {num_players} players, the seats are 0 to {num_players - 1}")
        if len(self.team) == num_players:
            raise ValueError(f"agent {name!r}: a team of all {num_players} players always wins; leave out a seat")

    def format_team(self) -> str:
        """Return the team as it is written in a name; empty without one."""
        return f"+{''.join(map(str, self.team))}" if self.team else ""

    def format_known(self, name: str) -> str:
        """Return the name of the known agent as it is written behind an `@`."""
        return f"{''.join(map(str, self.known))}:{name}" if self.known else name

    def weigh_returns(self, seat: int, num_players: int) -> NDArray[np.float64]:
        """Return by how much each seat's return counts for a seat: the goal is the weighted sum.

        The returns of a game add up to 0. Those of a team are therefore half of the difference between its own and the
        others', which uses the estimates for all seats where returns are estimated.

        >>> Roles().weigh_returns(1, 3).tolist()
        [0.0, 1.0, 0.0]
        >>> Roles(team=(1, 2)).weigh_returns(1, 3).tolist()
        [-0.5, 0.5, 0.5]
        """
        weights = np.zeros(num_players)
        if seat in self.team:
            weights[:] = -0.5
            weights[list(self.team)] = 0.5
        else:
            weights[seat] = 1
        return weights


NO_ROLES: Final = Roles()


def parse_roles(found: re.Match[str]) -> Roles | None:
    """Return the roles in a name that matched the two patterns; None if they are not seats in ascending order."""
    parts = [found[group] or "" for group in ("team", "known")]
    seats = [tuple(map(int, part)) for part in parts]
    for part in seats:
        if list(part) != sorted({seat for seat in part if seat < NUM_BOARDS}):
            return None
    return None if len(seats[0]) == 1 else Roles(*seats)


def _as_set(seats: tuple[int, ...]) -> int:
    return sum(1 << seat for seat in seats)
