"""The options of an environment: names, types, defaults, allowed values and help, each defined once.

A `Variant` says which game is played; `EnvOptions` adds how it is presented to a learner. Command lines, training
settings, OpenSpiel parameters and web forms are derived from the fields of these two dataclasses.

>>> make_options(num_players=3, reward="margin").variant.num_players
3
"""

from __future__ import annotations

import contextlib
import inspect
import math
import operator
import os
import secrets
from collections.abc import Callable, Mapping
from dataclasses import Field, dataclass, field, fields
from types import NoneType
from typing import Any, Final, TypedDict, TypeVar, Unpack

import numpy as np

from symphony9_env.components import PLAYER_COUNT_RULES, PLAYER_COUNTS
from symphony9_env.components.tracks import Components, load_components
from symphony9_env.rewards import REWARDS
from symphony9_env.rules.chance import MAX_SEED, SEED_BITS
from symphony9_env.suggestions import show, suggest

TRACKS: Final = ("historical", "random")
SCORING: Final = ("random", "A", "B")

F = TypeVar("F", bound=Callable[..., Any])


def _option(default: Any, about: str, choices: tuple[Any, ...] | None = None) -> Any:
    """Return the field of an option: its default, a line of help and, where they can be listed, its allowed values."""
    return field(default=default, metadata={"help": about, "choices": choices})


@dataclass(frozen=True)
class Variant:
    """Which game is played: the options that change the rules or the deal.

    >>> Variant(num_players=3, tracks="random").discussion
    False
    """

    num_players: int = _option(4, "number of players", PLAYER_COUNTS)
    tracks: str = _option("historical", "which career track each musician gets", TRACKS)
    scoring: str | Mapping[str, str] = _option("random", "sides of the scoring tiles", SCORING)
    discussion: bool = _option(False, "announce amounts before the hands are closed")
    components: str | os.PathLike[str] | None = _option(  # noqa: RUF009
        None, "path of a component file of your own (TOML)"
    )

    def __post_init__(self) -> None:
        check_fields(self, exclude=("scoring",))
        if isinstance(self.scoring, Mapping):
            object.__setattr__(self, "scoring", check_assignment(self.scoring, self.num_players))
        elif not isinstance(self.scoring, str) or self.scoring not in SCORING:
            allowed = f"{_list_choices(SCORING)}, or a full assignment such as {{'handel': '4A', ...}}"
            raise ValueError(f"scoring={self.scoring!r}; allowed: {allowed}")

    def load_components(self) -> Components:
        """Return the game components: the shipped ones, or those of the component file."""
        return load_components(self.components)

    def as_json(self) -> dict[str, Any]:
        """Return the variant as plain JSON data."""
        path = self.components
        return {**vars(self), "components": None if path is None else os.fspath(path)}


@dataclass(frozen=True)
class EnvOptions:
    """A variant, and how it is presented to a learner. Environments keep theirs in `options`.

    >>> options = EnvOptions(Variant(num_players=2), reward="margin")
    >>> options.as_keywords()["num_players"], options.shaping
    (2, False)
    """

    variant: Variant = field(default_factory=Variant)
    reward: str = _option("win", "the reward at the end of a game", REWARDS)
    shaping: bool = _option(False, "also reward the change in an agent's own points after every step")
    ledger: bool = _option(False, "show the other players' money and furniture in the observation")

    def __post_init__(self) -> None:
        if not isinstance(self.variant, Variant):
            raise ValueError(f"variant={self.variant!r}; allowed: a Variant")
        check_fields(self, exclude=("variant",))

    @property
    def num_players(self) -> int:
        """The number of players of the variant."""
        return self.variant.num_players

    @property
    def reward_kind(self) -> int:
        """The number by which the kernel knows the kind of reward."""
        return REWARDS.index(self.reward)

    def as_keywords(self) -> OptionValues:
        """Return the options as the keywords that `make_options` and the environments take."""
        own = {name: value for name, value in vars(self).items() if name != "variant"}
        return {**vars(self.variant), **own}  # type: ignore[typeddict-item]


class OptionValues(TypedDict, total=False):
    """The keywords of an environment, for type checkers; `tests/test_options.py` compares them with the fields."""

    num_players: int
    tracks: str
    scoring: str | Mapping[str, str]
    discussion: bool
    components: str | os.PathLike[str] | None
    reward: str
    shaping: bool
    ledger: bool


VARIANT_FIELDS: Final[tuple[Field[Any], ...]] = fields(Variant)
OPTION_FIELDS: Final[tuple[Field[Any], ...]] = (*VARIANT_FIELDS, *fields(EnvOptions)[1:])
VARIANT_NAMES: Final = tuple(option.name for option in VARIANT_FIELDS)
OPTION_NAMES: Final = tuple(option.name for option in OPTION_FIELDS)


def make_options(more_names: tuple[str, ...] = (), /, **options: Unpack[OptionValues]) -> EnvOptions:
    """Return checked options; an unknown name is refused with the nearest known one.

    `more_names` are further keywords of the caller, for that message.
    """
    if unknown := [name for name in options if name not in OPTION_NAMES]:
        allowed = (*OPTION_NAMES, *more_names)
        # "unexpected keyword argument" is Python's own wording, which some libraries look for.
        reason = f"got an unexpected keyword argument {unknown[0]!r}: unknown option"
        raise TypeError(f"{reason}; {suggest(unknown[0], allowed)}allowed: {_join(allowed)}")
    given: dict[str, Any] = dict(options)
    variant = Variant(**{name: given.pop(name) for name in VARIANT_NAMES if name in given})
    return EnvOptions(variant, **given)


def with_option_signature(callable_: F) -> F:
    """Let `help` show the options: with types and defaults in the signature, and explained in the docstring."""
    signature = inspect.signature(callable_)
    parameters = [one for one in signature.parameters.values() if one.kind is not inspect.Parameter.VAR_KEYWORD]
    parameters += [
        inspect.Parameter(option.name, inspect.Parameter.KEYWORD_ONLY, default=option.default, annotation=option.type)
        for option in OPTION_FIELDS
    ]
    callable_.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]
    callable_.__doc__ = describe_options()
    return callable_


def describe_options() -> str:
    """Return every option with its help and allowed values, one on each line."""
    lines = ["Take these options, all by keyword:"]
    for option in OPTION_FIELDS:
        choices = option.metadata["choices"]
        allowed = f" ({_list_choices(choices)})" if choices else ""
        lines.append(f"    {option.name}: {option.metadata['help']}{allowed}")
    return "\n".join(lines)


def check_num_players(value: Any) -> int:
    """Return a number of players as an int, or raise a ValueError."""
    return Variant(num_players=value).num_players


def check_assignment(scoring: Any, num_players: int, name: str = "scoring") -> dict[str, str]:
    """Return a scoring tile side for every musician in the game, each number once, or raise a ValueError."""
    if not isinstance(scoring, Mapping):
        raise ValueError(f"{name} must be a mapping from musicians to tile sides")
    rules = PLAYER_COUNT_RULES[num_players]
    if missing := [musician for musician in rules.musicians if musician not in scoring]:
        raise ValueError(f"{name}={show(dict(scoring))}: no tile for {missing[0]!r}; needed: {_join(rules.musicians)}")
    if unknown := [musician for musician in scoring if musician not in rules.musicians]:
        raise ValueError(f"{name}: {show(unknown[0])} is not in this game; needed: {_join(rules.musicians)}")
    for musician, tile in scoring.items():
        if not isinstance(tile, str) or tile not in rules.scoring_tiles:
            raise ValueError(f"{name}[{musician!r}]={show(tile)}; allowed: {_join(rules.scoring_tiles)}")
    numbers = [tile[0] for tile in scoring.values()]
    if repeated := [tile for tile in scoring.values() if numbers.count(tile[0]) > 1]:
        raise ValueError(f"{name}: tile number {repeated[0][0]} is given twice; each number once")
    return {musician: scoring[musician] for musician in rules.musicians}


def check_seed(seed: Any) -> int:
    """Return a seed as an int, or raise a ValueError."""
    value = whole_number(seed)
    if value is None or not 0 <= value <= MAX_SEED:
        raise ValueError(f"seed={seed!r}; allowed: a whole number from 0 to 2**53 - 1, or None")
    return value


def check_limit(name: str, value: Any, least: int = 1) -> int | None:
    """Return a limit as an int, or None for no limit; raise a ValueError for anything else."""
    number = whole_number(value)
    if value is not None and (number is None or number < least):
        raise ValueError(f"{name}={value!r}; allowed: a whole number from {least} on, or None")
    return number


def draw_seed() -> int:
    """Return a seed from the system's entropy."""
    return secrets.randbits(SEED_BITS)


def whole_number(value: Any) -> int | None:
    """Return a whole number, also one of NumPy's, as an int, and None for anything else, including True and False."""
    try:
        return None if isinstance(value, bool | np.bool_) else operator.index(value)  # NumPy 1 takes np.bool_ for one
    except TypeError:
        return None


# The checks that follow from a field. The type of its default is the type of the option; an option whose default is
# None is a path.


def option_type(option: Field[Any]) -> type[Any]:
    """Return the type that an option's value has in text, as in a command or a form: bool, int, float or str."""
    kind = type(option.default)
    return kind if kind in (bool, int, float) else str


def parse_option(option: Field[Any], value: Any) -> Any:
    """Return the number that a text stands for, if the option is a number; any other value as it is, to be checked."""
    if isinstance(value, str) and option_type(option) in (int, float):
        with contextlib.suppress(ValueError):
            return option_type(option)(value)
    return value


def check_option(option: Field[Any], value: Any) -> Any:
    """Return an option's value in the type of its default, or raise a ValueError that lists what is allowed."""
    kind, choices = type(option.default), option.metadata["choices"]
    with contextlib.suppress(TypeError, ValueError, OverflowError):
        checked = _convert(value, kind)
        if not choices or checked in choices:
            return checked
    raise ValueError(f"{option.name}={value!r}; allowed: {_list_choices(choices) or _ALLOWED[kind]}")


# What is allowed, in words, by the type of the default.
_ALLOWED: Final[dict[type[Any], str]] = {
    bool: "True, False",
    int: "a whole number",
    float: "a finite number",
    str: "a text",
    NoneType: "a path, or None",
}


def _convert(value: Any, kind: type[Any]) -> Any:
    """Return a value in the type of an option's default; raise an error if it is none of that type."""
    if kind in (int, float):
        if isinstance(value, bool | str) or (kind is float and not math.isfinite(value)):
            raise TypeError
        return operator.index(value) if kind is int else float(value)
    if not isinstance(value, str | os.PathLike | None if kind is NoneType else kind):
        raise TypeError
    return value


def check_fields(options: Any, exclude: tuple[str, ...] = ()) -> None:
    """Check the options that are the fields of a dataclass, and give each the type of its default."""
    for option in fields(options):
        if option.name not in exclude:
            object.__setattr__(options, option.name, check_option(option, getattr(options, option.name)))


def _list_choices(choices: tuple[Any, ...] | None) -> str:
    return ", ".join(repr(choice) for choice in choices or ())


def _join(values: tuple[Any, ...]) -> str:
    return ", ".join(str(value) for value in values)
