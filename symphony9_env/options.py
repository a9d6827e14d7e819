"""The options of an environment, checked; one place for their names, defaults and allowed values."""

from __future__ import annotations

import difflib
import operator
import os
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, Final, TypedDict, Unpack

from symphony9_env.components import PLAYER_COUNTS, TABLES, Components, load_components

TRACKS: Final = ("historical", "random")
SCORING: Final = ("random", "A", "B")
REWARDS: Final = ("win", "margin", "score")
SEED_BITS: Final = 53  # seeds are 0 ... 2**53 - 1: exact in JSON and in a float64
MAX_SEED: Final = 2**SEED_BITS - 1


@dataclass(frozen=True)
class Options:
    """What kind of game is played, and how it is shown to a learner."""

    num_players: int = 4
    tracks: str = "historical"
    scoring: str | Mapping[str, str] = "random"
    reward: str = "win"
    shaping: bool = False
    discussion: bool = False
    ledger: bool = False
    components: str | os.PathLike[str] | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "num_players", check_num_players(self.num_players))
        _check_choice("tracks", self.tracks, TRACKS)
        _check_choice("reward", self.reward, REWARDS)
        for name in ("shaping", "discussion", "ledger"):
            _check_flag(name, getattr(self, name))
        if isinstance(self.scoring, Mapping):
            object.__setattr__(self, "scoring", check_assignment(self.scoring, self.num_players))
        else:
            _check_choice("scoring", self.scoring, SCORING, "or a full assignment such as {'handel': '4A', ...}")

    def load_components(self) -> Components:
        return load_components(self.components)

    @property
    def reward_number(self) -> int:
        """How the kernel knows the kind of reward."""
        return REWARDS.index(self.reward)


class OptionValues(TypedDict, total=False):
    """The same names, for `**options: Unpack[OptionValues]`."""

    num_players: int
    tracks: str
    scoring: str | Mapping[str, str]
    reward: str
    shaping: bool
    discussion: bool
    ledger: bool
    components: str | os.PathLike[str] | None


OPTION_NAMES: Final = tuple(field.name for field in fields(Options))


def make_options(**options: Unpack[OptionValues]) -> Options:
    """Options from keywords; an unknown one is refused with the nearest right name."""
    if unknown := [name for name in options if name not in OPTION_NAMES]:
        near = difflib.get_close_matches(unknown[0], OPTION_NAMES, 1)
        hint = f"did you mean {near[0]!r}? " if near else ""
        raise TypeError(f"unknown option {unknown[0]!r}; {hint}allowed: {_listed(OPTION_NAMES)}, render_mode")
    return Options(**options)


def check_num_players(value: Any) -> int:
    try:
        count = operator.index(value)
    except TypeError:
        count = -1
    if count not in PLAYER_COUNTS or isinstance(value, bool):
        raise ValueError(f"num_players={value!r}; allowed: {_listed(PLAYER_COUNTS)}")
    return count


def check_assignment(scoring: Mapping[str, str], num_players: int, name: str = "scoring") -> dict[str, str]:
    """A scoring tile side for every musician in play, each tile number once."""
    table = TABLES[num_players]
    if missing := [musician for musician in table.musicians if musician not in scoring]:
        raise ValueError(f"{name}={dict(scoring)!r}: no tile for {missing[0]!r}; needed: {_listed(table.musicians)}")
    if unknown := [musician for musician in scoring if musician not in table.musicians]:
        raise ValueError(f"{name}: {unknown[0]!r} is not in this game; needed: {_listed(table.musicians)}")
    for musician, tile in scoring.items():
        if not isinstance(tile, str) or tile not in table.scoring_tiles:
            raise ValueError(f"{name}[{musician!r}]={tile!r}; allowed: {_listed(table.scoring_tiles)}")
    numbers = [tile[0] for tile in scoring.values()]
    if repeated := [tile for tile in scoring.values() if numbers.count(tile[0]) > 1]:
        raise ValueError(f"{name}: tile number {repeated[0][0]} is given twice; each number once")
    return {musician: scoring[musician] for musician in table.musicians}


def check_seed(seed: Any) -> int:
    try:
        value = operator.index(seed)
    except TypeError:
        raise ValueError(f"seed={seed!r}; allowed: a whole number from 0 to 2**53 - 1, or None") from None
    if isinstance(seed, bool) or not 0 <= value <= MAX_SEED:
        raise ValueError(f"seed={seed!r}; allowed: a whole number from 0 to 2**53 - 1, or None")
    return value


def _check_choice(name: str, value: Any, allowed: tuple[str, ...], more: str = "") -> None:
    if not isinstance(value, str) or value not in allowed:
        choices = ", ".join(repr(choice) for choice in allowed)
        raise ValueError(f"{name}={value!r}; allowed: {choices}{', ' + more if more else ''}")


def _check_flag(name: str, value: Any) -> None:
    if not isinstance(value, bool):
        raise ValueError(f"{name}={value!r}; allowed: True, False")


def _listed(values: tuple[Any, ...]) -> str:
    return ", ".join(str(value) for value in values)


__all__ = [
    "MAX_SEED",
    "OPTION_NAMES",
    "REWARDS",
    "SCORING",
    "SEED_BITS",
    "TRACKS",
    "OptionValues",
    "Options",
    "check_assignment",
    "check_num_players",
    "check_seed",
    "make_options",
]
