"""Options of every environment: names, defaults, and what is refused."""

from __future__ import annotations

from typing import Any, get_type_hints

import numpy as np
import pytest

from symphony9_env import symphony9_v0
from symphony9_env.arguments import Parser, add_variant_arguments, format_variant, read_variant
from symphony9_env.options import OPTION_NAMES, OptionValues, Variant, make_options
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
