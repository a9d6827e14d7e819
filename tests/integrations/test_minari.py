"""Minari: recorded games as datasets."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from symphony9_env import records, symphony9_v0
from symphony9_env.actions import number

minari = pytest.importorskip("minari")
pytest.importorskip("h5py")

from symphony9_env.integrations.minari import episodes, export, main  # noqa: E402

GAMES = sorted((Path(__file__).parents[1] / "records").glob("*.json"))


@pytest.fixture(autouse=True)
def _datasets(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MINARI_DATASETS_PATH", str(tmp_path))


def load(name: str) -> Any:
    return records.load(next(path for path in GAMES if path.stem == name))


@pytest.mark.parametrize("name", ["2p-0", "3p-1", "4p-2"])
def test_a_reloaded_dataset_is_the_game_seat_by_seat(name: str) -> None:
    record = load(name)
    export([record], "symphony9/test-v0")
    dataset = minari.load_dataset("symphony9/test-v0")
    assert dataset.total_episodes == record["num_players"]
    for seat, episode in enumerate(dataset.iterate_episodes()):
        agent = f"player_{seat}"
        own = [number(move) for who, move in record["actions"] if who == agent]
        assert episode.actions.tolist() == own
        assert len(episode.observations["observation"]) == len(own) + 1
        assert all(mask[action] for mask, action in zip(episode.observations["action_mask"], own, strict=False))
        assert episode.terminations.tolist() == [False] * (len(own) - 1) + [True]
        winners = record["result"]["winners"]
        share = 1 / len(winners) if agent in winners else -1 / (record["num_players"] - len(winners))
        assert episode.rewards.sum() == pytest.approx(share)
        assert not episode.rewards[:-1].any()


def test_observations_are_what_the_seat_saw() -> None:
    record = load("3p-0")
    episode = episodes(record)[0]
    env = symphony9_v0.raw_env(num_players=3)
    env.reset(options={"setup": record["setup"]})
    seen = []
    for agent, name in record["actions"]:
        if agent == "player_0":
            seen.append(env.observe(agent)["observation"])
        env.step(number(name))
    assert np.array_equal(episode.observations["observation"][:-1], np.stack(seen))


def test_rewards_between_two_decisions_are_added_up() -> None:
    record = load("4p-0")
    for seat, episode in enumerate(episodes(record, shaping=True, reward="score")):
        env = symphony9_v0.raw_env(num_players=4, shaping=True, reward="score")
        env.reset(options={"setup": record["setup"]})
        total, begun = 0.0, False
        for agent, name in record["actions"]:
            begun = begun or agent == f"player_{seat}"
            env.step(number(name))
            total += env.rewards[f"player_{seat}"] if begun else 0.0
        assert sum(episode.rewards) == pytest.approx(total)


def test_only_winners_or_chosen_seats() -> None:
    record = load("4p-1")
    winners = episodes(record, "winners")
    assert [episode.options["agent"] for episode in winners] == record["result"]["winners"]
    assert [episode.options["agent"] for episode in episodes(record, "2,0")] == ["player_2", "player_0"]


def test_the_command(capsys: pytest.CaptureFixture[str]) -> None:
    files = [str(path) for path in GAMES if path.stem in ("4p-0", "4p-1")]
    assert main([*files, "--dataset", "symphony9/both-v0", "--ledger"]) == 0
    assert "symphony9/both-v0: 8 episodes" in capsys.readouterr().out
    assert main([*files, "--dataset", "symphony9/both-v0"]) == 2
    assert "exists already" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("names", "more", "reason"),
    [
        (["4p-0"], ["--seats", "7"], "no player_7; allowed: all, winners, or 0 to 3"),
        (["4p-0", "2p-0"], [], "records of different kinds"),
        (["4p-0"], ["--reward", "fame"], "reward='fame'"),
    ],
)
def test_what_cannot_be_exported_is_refused_and_leaves_nothing(
    names: list[str], more: list[str], reason: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    files = [str(path) for path in GAMES if path.stem in names]
    assert main([*files, "--dataset", "symphony9/no-v0", *more]) == 2
    assert reason in capsys.readouterr().err
    assert not list(tmp_path.rglob("*.hdf5"))


def test_a_game_that_is_not_over_is_refused() -> None:
    record = {key: value for key, value in load("4p-0").items() if key != "result"}
    with pytest.raises(ValueError, match="not over"):
        episodes(record)
