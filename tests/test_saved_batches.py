"""Saved batches are restored exactly; damaged and forged ones are refused before anything has changed."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import load, save

from symphony9_env import BatchedGames
from symphony9_env.envs.vector import Symphony9VectorEnv
from symphony9_env.saved_arrays import Arrays, pack_arrays


def play(num_players: int = 3, steps: int = 200) -> BatchedGames:
    games = BatchedGames(5, seed=3, num_players=num_players, tracks="random")
    for _ in range(steps):
        games.step(games.sample_actions())
    return games


def forge(saved: bytes, change: Callable[[Arrays], Any]) -> bytes:
    """Change the arrays of a save and give it a right hash again."""
    arrays = load(saved)
    header = json.loads(arrays.pop("header").tobytes())
    del arrays["hash"]
    arrays = {name: array.copy() for name, array in arrays.items()}
    change(arrays)
    return pack_arrays(header, arrays)


@pytest.mark.parametrize("num_players", [2, 3, 4])
@pytest.mark.parametrize("steps", [0, 40, 400])
def test_everything_is_restored_finished_games_included(num_players: int, steps: int) -> None:
    games = play(num_players, steps)
    twin = BatchedGames(5, seed=8, num_players=num_players, tracks="random")
    observation = twin.observation
    twin.load(games.save())
    assert twin.save() == games.save()
    assert twin.observation is observation
    for name in (
        "observation",
        "action_mask",
        "player",
        "terminated",
        "rewards",
        "final_scores",
        "final_ranks",
        "seeds",
    ):
        np.testing.assert_array_equal(getattr(twin, name), getattr(games, name), err_msg=name)
    assert twin.states.tobytes() == games.states.tobytes()
    assert twin.final_states.tobytes() == games.final_states.tobytes()


def set_values(name: str, value: Any) -> Callable[[Arrays], None]:
    def change(arrays: Arrays) -> None:
        arrays[name][:] = value

    return change


def resize(name: str, shape: tuple[int, ...]) -> Callable[[Arrays], None]:
    def change(arrays: Arrays) -> None:
        arrays[name] = np.zeros(shape, arrays[name].dtype)

    return change


FORGERIES: dict[str, Callable[[Arrays], Any]] = {
    "an illegal action": set_values("history", 48),
    "an action that does not exist": set_values("history", 255),
    "too many actions": set_values("length", 10_000),
    "fewer than no actions": set_values("length", -1),
    "one action too few": lambda arrays: arrays["length"].__isub__(1),
    "an illegal action of a finished game": set_values("ended_history", 0),
    "a finished game that has not ended": set_values("ended_length", 3),
    "a finished game with another seed": set_values("ended_seeds", 12),
    "a seed out of range": set_values("ended_seeds", -(2**62)),
    "no game dealt": set_values("num_dealt", 0),
    "another game dealt": set_values("num_dealt", 2**40),
    "another seed": set_values("seed", 4),
    "rewards that are not numbers": set_values("rewards", np.nan),
    "endless rewards": set_values("rewards", np.inf),
    "endless points": set_values("points", 2**62),
    "an array of another shape": resize("history", (5, 100_000)),
    "an array that is missing": lambda arrays: arrays.pop("stream"),
    "an array too many": lambda arrays: arrays.update(states=np.zeros(7)),
    "an array of another type": lambda arrays: arrays.update(stream=arrays["stream"].astype(np.float64)),
}


@pytest.mark.parametrize("change", FORGERIES.values(), ids=FORGERIES)
def test_a_forged_save_is_refused_and_nothing_changes(change: Callable[[Arrays], Any]) -> None:
    games = play()
    forged = forge(games.save(), change)
    target = play(steps=60)
    before = target.save()
    with pytest.raises(ValueError, match="not a save, or damaged"):
        target.load(forged)
    assert target.save() == before
    target.step(target.sample_actions())


def begin_ended_games_again(arrays: Arrays) -> None:
    """Let the rows hold the games that ended there, with all their actions, as if they had not ended."""
    arrays["num_dealt"] -= 1
    arrays["history"], arrays["length"] = arrays["ended_history"], arrays["ended_length"]


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (FORGERIES["a finished game that has not ended"], "a finished game has not ended"),
        (begin_ended_games_again, "a game goes on after its end"),
    ],
)
def test_games_that_end_too_early_or_not_at_all_are_refused_though_their_hash_is_right(
    monkeypatch: pytest.MonkeyPatch, change: Callable[[Arrays], Any], reason: str
) -> None:
    monkeypatch.setattr(BatchedGames, "_hash_games", lambda games: "the same for all games")
    games = play()
    assert (games.final_ranks > 0).all()
    saved = games.save()
    with pytest.raises(ValueError, match=reason):
        games.load(forge(saved, change))
    assert games.save() == saved


def test_flags_that_are_neither_true_nor_false_are_refused() -> None:
    games = play()

    def change(arrays: Arrays) -> None:
        arrays["terminated"].view(np.uint8)[:] = 7

    with pytest.raises(ValueError, match="terminated has a value outside 0 to 1"):
        games.load(forge(games.save(), change))


def test_every_flipped_byte_is_noticed() -> None:
    games = play(steps=30)
    saved = games.save()
    rng = np.random.default_rng(0)
    for position in rng.integers(len(saved), size=300).tolist():
        damaged = bytearray(saved)
        damaged[position] ^= 1 << int(rng.integers(8))
        with pytest.raises(ValueError, match=r"not a save, or damaged|saved with"):
            games.load(bytes(damaged))
    assert games.save() == saved


@pytest.mark.parametrize(
    "data",
    [
        *(None, 5, "text", b"\xff" * 8, b"\x02" + bytes(7) + b"{}", save({"header": np.zeros(0)})),
        save({"header": np.zeros(1)}).replace(b'"F64"', rb'"\n6"'),  # the library's message quotes it
    ],
)
def test_what_is_no_save_is_refused(data: Any) -> None:
    with pytest.raises(ValueError, match="not a save, or damaged") as refused:
        play(steps=0).load(data)
    assert "\n" not in str(refused.value)


def test_a_header_that_is_nested_too_deeply_is_refused() -> None:
    header = np.frombuffer(b"[" * 100_000, np.uint8)
    with pytest.raises(ValueError, match="not a save, or damaged"):
        play(steps=0).load(save({"header": header}))


def test_learners_seats_that_do_not_fit_the_games_are_refused() -> None:
    env = Symphony9VectorEnv(4, num_players=3, opponents="random")
    env.reset(seed=1)
    saved = env.save()
    size = env.seats.nbytes
    for seats in (np.full(4, 1_000_000), (env.seats + 1) % 3):
        with pytest.raises(ValueError, match="a learner is not to decide"):
            env.load(seats.astype(np.int64).tobytes() + saved[size:])
    with pytest.raises(ValueError, match="not a save, or damaged"):
        env.load(b"")
    assert env.save() == saved
    env.load(saved)
    assert env.save() == saved
