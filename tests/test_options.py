"""Options of every environment: names, defaults, and what is refused."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from functools import partial
from typing import Any, get_type_hints

import numpy as np
import pytest

from symphony9_env import BatchedGames, symphony9_v0
from symphony9_env.arguments import (
    Parser,
    add_option_argument,
    add_variant_arguments,
    format_option,
    format_variant,
    read_variant,
)
from symphony9_env.envs.aec import RawEnv
from symphony9_env.envs.single import SingleSeatEnv
from symphony9_env.envs.vector import Symphony9VectorEnv
from symphony9_env.options import (
    OPTION_NAMES,
    EnvOptions,
    OptionValues,
    Variant,
    check_fields,
    make_options,
    parse_option,
)
from tests.scenarios import setup


def test_defaults_are_as_documented() -> None:
    assert make_options() == make_options(
        num_players=4,
        tracks="historical",
        scoring="random",
        reward="win",
        shaping=False,
        discussion=False,
        ledger=False,
        components=None,
    )


def test_the_typed_keywords_are_the_options() -> None:
    assert tuple(get_type_hints(OptionValues)) == OPTION_NAMES


BY_HAND = setup(4)["scoring"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"num_players": 1}, "num_players=1; allowed: 2, 3, 4"),
        ({"num_players": 5}, "num_players=5; allowed: 2, 3, 4"),
        ({"num_players": "4"}, "num_players='4'"),
        ({"num_players": 3.0}, r"num_players=3\.0"),
        ({"num_players": None}, "num_players=None"),
        ({"num_players": True}, "num_players=True"),
        ({"tracks": "modern"}, "tracks='modern'; allowed: 'historical', 'random'"),
        ({"tracks": ["random"]}, "tracks="),
        ({"scoring": "C"}, "scoring='C'; allowed: 'random', 'A', 'B', or a full assignment"),
        ({"scoring": None}, "scoring=None"),
        ({"scoring": {}}, "no tile for 'handel'"),
        ({"scoring": {**BY_HAND, "salieri": "1A"}}, "'salieri' is not in this game"),
        ({"scoring": {**BY_HAND, "bach": "7A"}}, r"scoring\['bach'\]='7A'; allowed: 1A, 1B"),
        ({"scoring": {**BY_HAND, "bach": 2}}, r"scoring\['bach'\]=2"),
        ({"scoring": {**BY_HAND, "bach": "1B"}}, "tile number 1 is given twice"),
        ({"scoring": BY_HAND, "num_players": 3}, "'schubert' is not in this game"),
        ({"scoring": {**setup(3)["scoring"], "bach": "6A"}, "num_players": 3}, r"scoring\['bach'\]='6A'"),
        ({"reward": "wins"}, "reward='wins'; allowed: 'win', 'margin', 'score'"),
        ({"shaping": 1}, "shaping=1; allowed: True, False"),
        ({"discussion": "yes"}, "discussion='yes'; allowed: True, False"),
        ({"ledger": None}, "ledger=None; allowed: True, False"),
        ({"render_mode": "rgb"}, "render_mode='rgb'; allowed: None, 'human', 'ansi'"),
    ],
    ids=str,
)
@pytest.mark.parametrize("kind", ["env", "raw_env", "parallel_env"])
def test_a_wrong_value_is_refused_by_name(kind: str, options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        getattr(symphony9_v0, kind)(**options)


def test_an_unknown_option_is_refused() -> None:
    with pytest.raises(
        TypeError, match=r"argument 'num_player': unknown option; did you mean 'num_players'\? allowed: num_"
    ):
        symphony9_v0.env(num_player=3)  # type: ignore[call-arg]
    with pytest.raises(TypeError):
        symphony9_v0.env(4)  # type: ignore[call-arg, arg-type]


@pytest.mark.parametrize(
    ("make", "wrong", "right"),
    [
        (SingleSeatEnv, "oponents", "opponents"),
        (SingleSeatEnv, "seats", "seat"),
        (SingleSeatEnv, "rendermode", "render_mode"),
        (partial(Symphony9VectorEnv, 2), "oponents", "opponents"),
        (partial(Symphony9VectorEnv, 2), "num_thread", "num_threads"),
        (partial(BatchedGames, 2), "num_thread", "num_threads"),
        (RawEnv, "render", "render_mode"),
    ],
)
def test_the_hint_knows_the_other_keywords_of_an_environment(make: Any, wrong: str, right: str) -> None:
    with pytest.raises(TypeError, match=rf"did you mean '{right}'\? allowed: num_players, .*{right}"):
        make(**{wrong: 1})


@pytest.mark.parametrize("variant", [4, None, {"num_players": 4}, make_options()], ids=str)
def test_options_are_made_of_a_variant(variant: Any) -> None:
    with pytest.raises(ValueError, match="; allowed: a Variant"):
        EnvOptions(variant)


def test_numpy_integers_are_player_counts() -> None:
    assert symphony9_v0.env(num_players=np.int64(3)).options.num_players == 3  # type: ignore[arg-type]


@pytest.mark.parametrize("seed", [-1, 2**53, 1.0, "7", True, [1]], ids=repr)
def test_a_wrong_seed_is_refused(seed: Any) -> None:
    env = symphony9_v0.env()
    with pytest.raises(ValueError, match="seed="):
        env.reset(seed=seed)


@pytest.mark.parametrize("seed", [0, 2**53 - 1, np.int64(5), np.uint8(5)], ids=repr)
def test_every_seed_in_range_deals(seed: Any) -> None:
    env = symphony9_v0.raw_env()
    env.reset(seed=seed)
    assert env.game_seed == int(seed)


@pytest.mark.parametrize(
    "variant",
    [Variant(), Variant(num_players=2, tracks="random", scoring="B", discussion=True)],
    ids=str,
)
def test_a_variant_is_read_from_the_arguments_it_is_formatted_as(variant: Variant) -> None:
    parser = Parser()
    add_variant_arguments(parser)
    assert read_variant(parser.parse_args(format_variant(variant))) == variant


# What follows from a field, for options of every type.


@dataclass(frozen=True)
class Scratch:
    """Options of types that the game does not have yet."""

    cubes: int = field(default=2, metadata={"help": "cubes to take", "choices": (1, 2, 3)})
    rounds: int = field(default=6, metadata={"help": "rounds to play", "choices": None})
    weight: float = field(default=0.5, metadata={"help": "weight of a point", "choices": None})
    income: bool = field(default=True, metadata={"help": "pay income", "choices": None})
    title: str = field(default="game", metadata={"help": "title of the game", "choices": None})
    file: str | None = field(default=None, metadata={"help": "a file", "choices": None})

    def __post_init__(self) -> None:
        check_fields(self)


def read_scratch(*arguments: str) -> Scratch:
    parser = Parser()
    for option in fields(Scratch):
        add_option_argument(parser, option)
    return Scratch(**vars(parser.parse_args(arguments)))


def test_options_of_every_type_accept_their_defaults() -> None:
    assert read_scratch() == Scratch()


@pytest.mark.parametrize(
    "chosen",
    [
        Scratch(),
        Scratch(cubes=3, rounds=-1, weight=1e-7, income=False, title="a b", file="x.toml"),
        Scratch(cubes=np.int64(1), weight=2, income=True),  # type: ignore[arg-type]
    ],
    ids=str,
)
def test_options_of_every_type_are_read_from_the_arguments_they_are_formatted_as(chosen: Scratch) -> None:
    arguments = [argument for option in fields(chosen) for argument in format_option(option, vars(chosen)[option.name])]
    assert read_scratch(*arguments) == chosen
    assert [type(value) for value in vars(chosen).values()][:5] == [int, int, float, bool, str]


def test_a_flag_can_be_set_and_cleared() -> None:
    assert read_scratch("--no-income") == Scratch(income=False)
    assert read_scratch("--income") == Scratch()


def test_numbers_are_read_from_text_by_the_type_of_the_default() -> None:
    texts = {"cubes": "3", "rounds": "8", "weight": "0.25", "income": False, "title": "7"}
    given = {option.name: parse_option(option, texts[option.name]) for option in fields(Scratch)[:5]}
    assert Scratch(**given) == Scratch(3, 8, 0.25, False, "7")


@pytest.mark.parametrize(
    ("name", "value", "allowed"),
    [
        ("cubes", 4, "1, 2, 3"),
        ("cubes", "2", "1, 2, 3"),
        ("cubes", True, "1, 2, 3"),
        ("cubes", 2.0, "1, 2, 3"),
        ("rounds", 1.5, "a whole number"),
        ("rounds", True, "a whole number"),
        ("weight", "0.5", "a finite number"),
        ("weight", float("nan"), "a finite number"),
        ("weight", True, "a finite number"),
        ("weight", None, "a finite number"),
        ("income", 1, "True, False"),
        ("title", 7, "a text"),
        ("file", 7, "a path, or None"),
    ],
)
def test_options_of_every_type_are_checked(name: str, value: Any, allowed: str) -> None:
    with pytest.raises(ValueError, match=f"{name}=.*; allowed: {allowed}$"):
        Scratch(**{name: value})


@pytest.mark.parametrize(("option", "text"), [("--weight", "much"), ("--rounds", "1.5"), ("--cubes", "two")])
def test_arguments_that_are_no_numbers_are_refused(option: str, text: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        read_scratch(option, text)
    assert f"argument {option}: invalid" in capsys.readouterr().err
