"""The set-up of a game as plain JSON data, the `setup` of a game record; and the box that the kernel deals from."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from symphony9_env.compilation import as_recarray
from symphony9_env.components import (
    BUDGET_TOKENS,
    MUSICIAN_INDEX,
    PLAYER_COUNT_RULES,
    SCORING_METHODS,
    SCORING_TILES,
    SIDES,
    PlayerCountRules,
    check_bot_tile,
    check_track,
    is_int_list,
    scoring_method,
)
from symphony9_env.names import agent_name
from symphony9_env.options import Variant, check_assignment, whole_number
from symphony9_env.rules.setup import begin
from symphony9_env.rules.state import BOX, NONE, NUM_ROUNDS, SIXTHS, States, game_at, new_states

Box = NDArray[np.void]  # an array of one BOX value
SetUp = dict[str, Any]


def pack_box(variant: Variant) -> Box:
    """Pack everything that a game of this variant is dealt from into the array that the kernel reads."""
    rules = PLAYER_COUNT_RULES[variant.num_players]
    components = variant.load_components()
    box = np.zeros(1, BOX)
    contents = as_recarray(box)[0]
    for name in ("num_players", "num_boards", "num_musicians", "has_bot", "limit", "class_from", "class_to", "income"):
        box[name] = getattr(rules, name)
    contents.discussion = variant.discussion
    contents.bot_tile_set[:] = components.bot_tiles
    contents.starting_cubes[: rules.num_boards] = rules.starting_cubes
    contents.budget_tokens[:] = BUDGET_TOKENS
    contents.random_tracks = variant.tracks == "random"
    for board, musician in enumerate(rules.musicians):
        for side, side_name in enumerate(SIDES):
            spaces = components.track(musician, side_name, variant.num_players)
            contents.board_length[board, side] = len(spaces)
            contents.board_reputations[board, side, : len(spaces)] = [space[0] for space in spaces]
            contents.board_cubes[board, side, : len(spaces)] = [space[1] for space in spaces]
    _pack_scoring(contents, rules, variant.scoring)
    return box


def hash_box(box: Box) -> str:
    """Return a hash of everything that games are dealt from."""
    return hashlib.sha256(box.tobytes()).hexdigest()[:16]


def _pack_scoring(contents: Any, rules: PlayerCountRules, scoring: str | Mapping[str, str]) -> None:
    for tile in rules.scoring_tiles:
        number = SCORING_TILES.index(tile)
        contents.tile_method[number] = SCORING_METHODS.index(scoring_method(tile))
        contents.tile_points[number] = [round(SIXTHS * points) for points in rules.scoring_points(tile)]
    contents.scoring_side = SIDES.index(scoring) if scoring in SIDES else NONE
    contents.scoring_by_hand[:] = NONE
    if isinstance(scoring, Mapping):
        for musician, tile in scoring.items():
            contents.scoring_by_hand[MUSICIAN_INDEX[musician]] = SCORING_TILES.index(tile)


def read_setup(states: States, index: int) -> SetUp:
    """Return the deal of a game, at any moment of it, as plain JSON data."""
    game = game_at(states, index)
    rules = PLAYER_COUNT_RULES[int(game.num_players)]
    setup: SetUp = {
        "start_player": int(game.first_start),
        "tracks": {name: _read_track(game, row) for row, name in enumerate(rules.musicians)},
        "scoring": {name: SCORING_TILES[game.scoring_tile[row]] for row, name in enumerate(rules.musicians)},
        "budget": [int(token) for token in game.budget],
        "starting_cubes": [
            [rules.musicians[musician] for musician in game.dealt_cubes[board] if musician != NONE]
            for board in range(rules.num_boards)
        ],
    }
    if rules.has_bot:
        setup["bot_tiles"] = [[int(amount) for amount in tile] for tile in game.bot_tiles]
    return setup


def _read_track(game: Any, musician: int) -> list[list[int]]:
    spaces = np.stack([game.track_reputations[musician], game.track_cubes[musician]], axis=1)
    return cast("list[list[int]]", spaces[: game.track_length[musician]].tolist())


def write_setup(box: Box, states: States, index: int, setup: Any) -> None:
    """Deal game `index` by hand; refuse a set-up that the rules don't allow, and leave the game as it was."""
    rules = PLAYER_COUNT_RULES[int(box["num_players"][0])]
    checked = check_setup(setup, rules)
    fresh = new_states(1)
    game = game_at(fresh)
    game.first_start = checked["start_player"]
    game.budget[:] = checked["budget"]
    if rules.has_bot:
        game.bot_tiles[:] = checked["bot_tiles"]
    game.dealt_cubes[:] = NONE
    for board, names in enumerate(checked["starting_cubes"]):
        game.dealt_cubes[board, : len(names)] = [MUSICIAN_INDEX[name] for name in names]
    game.scoring_tile[:] = NONE
    for row, name in enumerate(rules.musicians):
        spaces = checked["tracks"][name]
        game.track_length[row] = len(spaces)
        game.track_reputations[row, : len(spaces)] = [space[0] for space in spaces]
        game.track_cubes[row, : len(spaces)] = [space[1] for space in spaces]
        game.scoring_tile[row] = SCORING_TILES.index(checked["scoring"][name])
    begin(box, fresh, 0)
    states[index] = fresh[0]


def check_setup(setup: Any, rules: PlayerCountRules) -> SetUp:
    """Return a set-up that the rules allow, or raise a ValueError."""
    if not isinstance(setup, Mapping):
        raise ValueError(f"setup: must be a mapping, not {type(setup).__name__}")
    needed = ["start_player", "tracks", "scoring", "budget", "starting_cubes"]
    needed += ["bot_tiles"] if rules.has_bot else []
    if missing := [name for name in needed if name not in setup]:
        raise ValueError(f"setup: {missing[0]!r} is missing; needed: {', '.join(needed)}")
    if unknown := [name for name in setup if name not in needed]:
        raise ValueError(f"setup: unknown entry {unknown[0]!r}; needed: {', '.join(needed)}")
    start = whole_number(setup["start_player"])
    if start is None or not 0 <= start < rules.num_players:
        raise ValueError(f"setup: start_player is {setup['start_player']!r}; allowed: 0 to {rules.num_players - 1}")
    checked: SetUp = {
        "start_player": start,
        "tracks": _check_tracks(setup["tracks"], rules),
        "scoring": check_assignment(setup["scoring"], rules.num_players, "setup: scoring"),
        "budget": _check_budget(setup["budget"]),
        "starting_cubes": _check_starting_cubes(setup["starting_cubes"], start, rules),
    }
    if rules.has_bot:
        checked["bot_tiles"] = _check_bot_tiles(setup["bot_tiles"])
    return checked


def _check_tracks(tracks: Any, rules: PlayerCountRules) -> dict[str, list[tuple[int, int]]]:
    if not isinstance(tracks, Mapping) or set(tracks) != set(rules.musicians):
        raise ValueError(f"setup: tracks must name just the musicians in play: {', '.join(rules.musicians)}")
    for name, spaces in tracks.items():
        where = f"setup: track of {name}"
        if not isinstance(spaces, list | tuple) or not all(is_int_list(space, 2) for space in spaces):
            raise ValueError(f"{where}: must be a list of [reputation, cubes], whole numbers")
        check_track([(space[0], space[1]) for space in spaces], where)
    return {name: [(space[0], space[1]) for space in tracks[name]] for name in rules.musicians}


def _check_budget(budget: Any) -> list[int]:
    if not is_int_list(budget, NUM_ROUNDS):
        raise ValueError(f"setup: budget must be {NUM_ROUNDS} tokens, one for each round")
    for token in budget:
        if budget.count(token) > BUDGET_TOKENS.count(token):
            raise ValueError(
                f"setup: budget has {budget.count(token)} tokens of {token}; "
                f"there are {BUDGET_TOKENS.count(token)} in the box"
            )
    return list(budget)


def _check_starting_cubes(cubes: Any, start: int, rules: PlayerCountRules) -> list[list[str]]:
    if not isinstance(cubes, list | tuple) or len(cubes) != rules.num_boards:
        raise ValueError(f"setup: starting_cubes must be {rules.num_boards} lists of musicians")
    seen: set[str] = set()
    for board, names in enumerate(cubes):
        offset = (board - start) % rules.num_players if board < rules.num_players else board
        count = rules.starting_cubes[offset]
        who = agent_name(board) if board < rules.num_players else "the bot"
        if not isinstance(names, list | tuple) or len(names) != count:
            raise ValueError(f"setup: starting_cubes of {who}: {names!r}; the chart gives {count}")
        for name in names:
            if not isinstance(name, str) or name not in rules.musicians:
                raise ValueError(f"setup: starting_cubes of {who}: {name!r} is no musician in play")
            if name in seen:
                raise ValueError(f"setup: starting_cubes: {name} is dealt twice; one cube of each colour")
            seen.add(name)
    return [list(names) for names in cubes]


def _check_bot_tiles(tiles: Any) -> list[tuple[int, int, int]]:
    if not isinstance(tiles, list | tuple) or len(tiles) != NUM_ROUNDS:
        raise ValueError(f"setup: bot_tiles must be {NUM_ROUNDS} tiles, one for each round")
    return [check_bot_tile(tile, f"setup: bot tile {index}") for index, tile in enumerate(tiles)]
