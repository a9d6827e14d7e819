"""OpenSpiel: observers of public and of private information, and structs."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

pyspiel = pytest.importorskip("pyspiel")

from symphony9_env.rules.state import game_at  # noqa: E402
from symphony9_env.schemas import load as load_schema  # noqa: E402
from tests.integrations.openspiel_games import (  # noqa: E402
    at_closed_hands,
    change_hidden,
    list_contents,
    load,
    play_random_moves,
)
from tests.properties.test_secrets import change_secrets  # noqa: E402


def observe_kind(state: Any, player: int, **kind: Any) -> tuple[list[float], str]:
    """What an observer of a kind sees: its tensor and its text."""
    observer = state.get_game().make_py_observer(pyspiel.IIGObservationType(**{"perfect_recall": False, **kind}))
    observer.set_from(state, player)
    assert sum(part.size for part in observer.dict.values()) == len(observer.tensor)
    return observer.tensor.tolist(), observer.string_from(state, player)


PUBLIC = {"public_info": True, "private_info": pyspiel.PrivateInfoType.NONE}
PRIVATE = {"public_info": False, "private_info": pyspiel.PrivateInfoType.SINGLE_PLAYER}


@pytest.mark.parametrize("params", [{"players": 2}, {"players": 4}, {"players": 3, "ledger": True}], ids=str)
@pytest.mark.parametrize("perfect_recall", [False, True])
def test_public_observations_are_the_same_for_all_and_hold_nobody_s_secrets(
    params: dict[str, Any], perfect_recall: bool
) -> None:
    state = at_closed_hands(load(**params))
    players = range(params["players"])
    seen = observe_kind(state, 0, **PUBLIC, perfect_recall=perfect_recall)
    for player in players:
        assert observe_kind(state, player, **PUBLIC, perfect_recall=perfect_recall) == seen
        if not params.get("ledger"):
            assert observe_kind(change_hidden(state, player), 0, **PUBLIC, perfect_recall=perfect_recall) == seen
    if not params.get("ledger"):
        change_secrets(game_at(state.states), -1, np.random.default_rng(0))
        assert observe_kind(state, 0, **PUBLIC) == observe_kind(state, 1, **PUBLIC)
        assert perfect_recall or observe_kind(state, 0, **PUBLIC) == seen


def test_public_and_private_fields_together_are_the_observation() -> None:
    for ledger in (False, True):
        state = at_closed_hands(load(players=3, ledger=ledger))
        whole = state.get_game().make_py_observer()
        parts = [
            state.get_game().make_py_observer(pyspiel.IIGObservationType(perfect_recall=False, **kind))
            for kind in (PUBLIC, PRIVATE)
        ]
        for observer in (whole, *parts):
            observer.set_from(state, 0)
        names = [set(observer.dict) for observer in parts]
        assert not names[0] & names[1]
        assert names[0] | names[1] == set(whole.dict)
        assert names[1] == {"hand", "hand_token"} | (set() if ledger else {"money", "furniture"})
        for name, part in whole.dict.items():
            assert np.array_equal(part, next(one.dict[name] for one in parts if name in one.dict))


def test_private_observations_depend_on_the_own_purse_and_hand_only() -> None:
    state = at_closed_hands(load(players=4))
    hands = state.states["hand"][0].tolist()
    bidder = next(player for player, hand in enumerate(hands) if hand >= 0)
    seen = observe_kind(state, bidder, **PRIVATE)
    told = json.loads(seen[1])
    assert told["hand"]["amount"] == hands[bidder]
    assert told["money"] == int(state.states["money"][0, bidder])
    change_secrets(game_at(state.states), bidder, np.random.default_rng(0))
    assert observe_kind(state, bidder, **PRIVATE) == seen
    state.states["money"][0, bidder] += 1
    changed = observe_kind(state, bidder, **PRIVATE)
    assert changed[0] != seen[0]
    assert changed[1] != seen[1]


def test_public_text_shows_purses_only_when_everybody_sees_them() -> None:
    for ledger in (False, True):
        state = at_closed_hands(load(players=3, ledger=ledger))
        boards = json.loads(observe_kind(state, 0, **PUBLIC)[1])["position"]["boards"]
        assert [board["seat"] for board in boards] == [0, 1, 2]
        assert [board["money"] is not None for board in boards] == [ledger] * 3


@pytest.mark.parametrize(
    ("kind", "message"),
    [
        ({"private_info": pyspiel.PrivateInfoType.ALL_PLAYERS}, "private_info=ALL_PLAYERS; allowed"),
        ({"public_info": False, "private_info": pyspiel.PrivateInfoType.NONE}, "neither public nor private"),
        ({**PRIVATE, "perfect_recall": True}, "perfect_recall without public_info"),
    ],
)
def test_kinds_of_observation_that_do_not_exist_are_refused(kind: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        load(players=2).make_py_observer(pyspiel.IIGObservationType(**{"perfect_recall": False, **kind}))


def test_structs_of_observations_are_views_without_secrets() -> None:
    jsonschema = pytest.importorskip("jsonschema")
    state = at_closed_hands(load(players=3))
    me = state.current_player()
    seen = state.to_observation_struct(me).to_json()
    jsonschema.validate(json.loads(seen), load_schema("symphony9-view/1"))
    assert json.loads(seen)["seat"] == me
    assert json.loads(state.to_observation_struct().to_json()) == json.loads(seen)
    change_secrets(game_at(state.states), me, np.random.default_rng(0))
    assert state.to_observation_struct(me).to_json() == seen


@pytest.mark.parametrize("moves", [0, 40, 1000])
def test_a_struct_is_the_whole_state(moves: int) -> None:
    game = load(players=2)
    state = play_random_moves(game, moves)
    contents = json.loads(state.to_json())
    assert contents == state.to_dict()
    assert contents["current_player"] == state.current_player()
    assert [view["seat"] for view in contents["views"]] == [0, 1]
    for source in (state.to_struct(), contents):
        assert list_contents(game.new_initial_state(source)) == list_contents(state)
    assert game.new_initial_state().to_dict() == {"current_player": -1, "history": [], "views": []}
    for wrong, message in (("x", "allowed"), ({"history": 3}, "allowed"), ({"history": [3, 999]}, r"history\[1\]")):
        with pytest.raises(ValueError, match=message):
            game.new_initial_state(wrong)


def test_structs_of_actions() -> None:
    state = play_random_moves(load(players=3), 5)
    for action in state.legal_actions():
        struct = state.action_to_struct(action)
        assert json.loads(struct.to_json()) == {"action": action, "name": state.action_to_string(action)}
        assert state.struct_to_actions(struct) == [action]
    before = state.clone()
    assert state.apply_action_struct(struct).ok()
    before.apply_action(action)
    assert str(state) == str(before)
    start = load(players=3).new_initial_state()
    assert json.loads(start.action_to_struct(3).to_json()) == {"action": 3, "name": "deal 3"}
