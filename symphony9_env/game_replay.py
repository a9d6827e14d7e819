"""Play the moves of a game again, from its own set-up, and read their events."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cache

from symphony9_env.events import Event, EventBuffer
from symphony9_env.options import Variant
from symphony9_env.rules.game import play_with_events
from symphony9_env.rules.state import States, new_states
from symphony9_env.setup_format import Box, pack_box, read_setup, write_setup


def deal_again(states: States, row: int) -> States:
    """Return the game on a row as it was dealt, in an array of one."""
    game = new_states(1)
    box = _pack_box(int(states["num_players"][row]), bool(states["discussion"][row]))
    write_setup(box, game, 0, read_setup(states, row))
    return game


def replay_moves(game: States, moves: Iterable[int]) -> Iterator[tuple[int, int, list[Event]]]:
    """Play moves in a game (an array of one, changed in place); yield the player, action and events of each."""
    buffer = EventBuffer()
    for action in moves:
        player = int(game["player"][0])
        play_with_events(game, 0, action, buffer.array)
        yield player, action, buffer.read()


@cache
def _pack_box(num_players: int, discussion: bool) -> Box:
    """Return a box for games of this kind; tracks, tiles and cubes come from their set-ups."""
    return pack_box(Variant(num_players=num_players, discussion=discussion))
